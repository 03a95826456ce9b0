//! Counts of characters in a walk of the vocabulary.
//!
//! In a rule that a token finds itself in, how much was read before is not known: its row takes no notice of lengths, and the
//! matcher cuts it down near a bound. In a counted rule that a token enters itself, all is known. There the return state on the
//! token's own stack carries the count, unless no token is long enough for a bound to matter: a length that is large enough, and no
//! least one. Invariant: each stack of a set can be brought to an end within the bounds of its top.

use foldhash::{HashMap, HashMapExt};
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
    known: HashMap<(StateId, CharCount), u32>,
    /// `[classes]`: a byte of each.
    bytes: Vec<u8>,
}

impl Lengths {
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn new(dfa: &Dfa, vocabulary: &Vocabulary, budget: &Budget) -> Result<Self, CompileError> {
        let distances = dfa.distances(budget)?;
        let greatest = distances.iter().map(|of| of.distance).max().unwrap_or(0);
        let reach = vocabulary.root().longest_token_chars.saturating_add(greatest);
        let returns = dfa.calls.as_ref().map_or(&[][..], |calls| &calls.returns);
        let of = |lengths: LengthRange| (lengths, lengths.allows_up_to(reach));
        let mut known = HashMap::with_capacity(distances.len());
        known.extend(distances.iter().map(|of| ((of.state, of.place), of.distance)));
        let of_return = returns.iter().map(|top| top.lengths.map(of)).collect();
        Ok(Self { of_return, distances, known, bytes: dfa.byte_of_class() })
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
        let distance = self.known.get(&(state, count.place())).copied()?;
        lengths.allows_up_to(count.chars().saturating_add(distance)).then_some(Top { count, ..top })
    }

    /// Whether the rule above a return state may end.
    pub(crate) fn may_pop(&self, top: Top) -> bool {
        !top.is_counted() || self.of(top.of).is_none_or(|(lengths, _)| lengths.has(top.count.chars()))
    }
}
