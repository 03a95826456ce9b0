//! Counts of characters in a walk of the vocabulary.
//!
//! In a rule that a token finds itself in, how much was read before is not known: its row takes no notice of lengths, and the
//! matcher cuts it down near a bound. In a counted rule that a token enters itself, all is known. There the return state on the
//! token's own stack carries the count, unless no token is long enough for a bound to matter: a length that is large enough, and no
//! least one. Invariant: each stack of a set can be brought to an end within the bounds of its top, that of its head included.

use foldhash::HashMap;
use gobo_artifact::Vocabulary;
use gobo_automata::{Dfa, Distance, ReturnId, StateId};
use gobo_types::{Budget, CharCount, CompileError, DenseId as _, LengthRange};

/// The count where no bound matters any more.
const FREE: CharCount = CharCount::of(CharCount::MAX_CHARS);

/// A return state on a token's own stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Top {
    /// The return state.
    pub(crate) of: ReturnId,
    /// The characters read since it was pushed, or [`FREE`].
    count: CharCount,
}

impl Top {
    /// Whether some bound may still matter.
    pub(crate) fn is_counted(self) -> bool {
        self.count != FREE
    }
}

/// The bounds of an automaton's counted rules.
pub(crate) struct Lengths {
    /// `[returns]`: the bounds, and whether the upper one is beyond the reach of a token that begins the rule.
    of_return: Vec<Option<(LengthRange, bool)>>,
    /// As they are written.
    pub(crate) distances: Vec<Distance>,
    /// Those to the last `@`, as they are written.
    pub(crate) head_distances: Vec<Distance>,
    known: HashMap<(StateId, CharCount), u32>,
    known_heads: HashMap<(StateId, CharCount), u32>,
    /// `[classes]`: a byte of each.
    bytes: Vec<u8>,
}

impl Lengths {
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn new(dfa: &Dfa, vocabulary: &Vocabulary, budget: &Budget) -> Result<Self, CompileError> {
        let returns = dfa.calls.as_ref().map_or(&[][..], |calls| &calls.returns);
        let (distances, head_distances) = (dfa.distances(budget)?, dfa.head_distances(budget)?);
        let longest = vocabulary.root().longest_token_chars;
        let reach = |distances: &[Distance]| {
            longest.saturating_add(distances.iter().map(|of| of.distance).max().unwrap_or(0))
        };
        let (reach, reach_of_head) = (reach(&distances), reach(&head_distances));
        let is_far = |of: &LengthRange| of.allows_up_to(reach) && of.allows_head_up_to(reach_of_head);
        let by_state =
            |distances: &[Distance]| distances.iter().map(|of| ((of.state, of.place), of.distance)).collect();
        Ok(Self {
            of_return: returns.iter().map(|top| top.lengths.map(|of| (of, is_far(&of)))).collect(),
            known: by_state(&distances),
            known_heads: by_state(&head_distances),
            distances,
            head_distances,
            bytes: dfa.byte_of_class(),
        })
    }

    fn of(&self, top: ReturnId) -> Option<(LengthRange, bool)> {
        self.of_return.get(top.index()).copied().flatten()
    }

    /// A return state that is pushed.
    pub(crate) fn pushed(&self, of: ReturnId) -> Top {
        let is_counted = self.of(of).is_some_and(|(lengths, is_far)| lengths.min > 0 || !is_far);
        Top { of, count: if is_counted { CharCount::default() } else { FREE } }
    }

    /// The top of the stack after a byte of the class has led to `state`; `None` where the rule cannot end in time.
    pub(crate) fn after(&self, top: Top, state: StateId, class: u8) -> Option<Top> {
        let Some((lengths, is_far)) = self.of(top.of).filter(|_| top.is_counted()) else { return Some(top) };
        let count = top.count.after(self.bytes[usize::from(class)]);
        if is_far {
            return Some(Top { count: if count.chars() >= lengths.min { FREE } else { count }, ..top });
        }
        let (chars, at) = (count.chars(), (state, count.place()));
        let distance = self.known.get(&at).copied()?;
        // A state after the head has no distance to its end.
        let of_head = self.known_heads.get(&at).map_or(0, |distance| chars.saturating_add(*distance));
        let fits = lengths.allows_up_to(chars.saturating_add(distance)) && lengths.allows_head_up_to(of_head);
        fits.then_some(Top { count, ..top })
    }

    /// Whether the rule above a return state may end.
    pub(crate) fn may_pop(&self, top: Top) -> bool {
        !top.is_counted() || self.of(top.of).is_none_or(|(lengths, _)| lengths.has(top.count.chars()))
    }
}
