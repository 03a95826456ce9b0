//! A recursive transition network (Woods 1970): the states of all rules in one automaton, whose edges read a character or a text of
//! a rule.
//!
//! A rule may have several *exits*: a text of it ends at one of them, and an edge that reads a text of the rule says at which. So the edges of
//! a state that read texts of one rule are one call, with a state after it for each exit that they name.

use gobo_types::{DenseId as _, LengthRange, Table};

use crate::chars::dfa::CharDfa;
use crate::ids::{CharState, ExitId, RuleId};

/// A recursive transition network over classes of characters.
#[derive(Debug)]
pub(crate) struct Network {
    /// The edges that read a character.
    pub(crate) chars: CharDfa,
    /// The edges that read a text of a rule.
    pub(crate) calls: CallTable,
    /// `[states]`: the exit of those in which a rule ends; the first of all others.
    pub(crate) exits: Table<CharState, ExitId>,
    /// `[rules]`: where the texts of each rule begin.
    pub(crate) entries: Table<RuleId, CharState>,
    /// `[rules]`.
    pub(crate) names: Table<RuleId, String>,
    /// `[rules]`: the lengths of those whose characters are counted.
    pub(crate) lengths: Table<RuleId, Option<LengthRange>>,
    /// Whether some rule calls itself, directly or through others.
    pub(crate) is_recursive: bool,
}

/// Whether families are folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Folds {
    /// Each rule stays one.
    Nothing,
    /// Families become rules with exits, of at most so many states together.
    Families { most: usize },
}

/// An edge that reads a text of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Call {
    /// Where it begins.
    pub(crate) state: CharState,
    /// The rule whose text is read.
    pub(crate) rule: RuleId,
    /// Where that ends.
    pub(crate) exit: ExitId,
    /// The state after it.
    pub(crate) to: CharState,
    /// The rule of the grammar that it stands in.
    pub(crate) of: RuleId,
}

/// Calls by the state where they begin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CallTable {
    /// Ascending by state, then by rule, then by exit.
    pub(crate) all: Vec<Call>,
    /// `[states + 1]`: where the calls of each state begin. Empty: no state has any.
    starts: Vec<u32>,
}

impl CallTable {
    /// Of an automaton of `states` states; `calls` are ascending by state, rule and exit.
    pub(super) fn new(calls: Vec<Call>, states: usize) -> Self {
        let mut starts = vec![0; states + 1];
        calls.iter().for_each(|call| starts[call.state.index() + 1] += 1);
        (0..states).for_each(|state| starts[state + 1] += starts[state]);
        Self { all: calls, starts }
    }

    /// The calls that begin in a state.
    pub(crate) fn at(&self, state: CharState) -> &[Call] {
        match self.starts.get(state.index()..state.index() + 2) {
            Some(bounds) => &self.all[bounds[0] as usize..bounds[1] as usize],
            None => &[],
        }
    }

    /// The calls that begin in a state, those of one rule together.
    pub(crate) fn by_rule(&self, state: CharState) -> impl Iterator<Item = &[Call]> {
        self.at(state).chunk_by(|one, next| one.rule == next.rule)
    }

    /// The calls of one rule in one state, state after state.
    pub(crate) fn all_by_rule(&self) -> impl Iterator<Item = &[Call]> {
        self.all.chunk_by(|one, next| (one.state, one.rule) == (next.state, next.rule))
    }

    /// Bytes of its tables.
    pub(crate) fn bytes(&self) -> u64 {
        (self.all.len() * size_of::<Call>() + self.starts.len() * 4) as u64
    }
}

impl Network {
    /// Bytes of its tables.
    pub(crate) fn bytes(&self) -> u64 {
        self.chars.bytes() + self.calls.bytes() + self.entries.len() as u64 * 4
    }
}
