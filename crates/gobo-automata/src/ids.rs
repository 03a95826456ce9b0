//! The numbers that everything here goes by.

/// The number of a state.
pub type StateId = u32;

/// The state from which no text is accepted. Every automaton has it, as state 0.
pub const DEAD: StateId = 0;

/// A state of the automaton over characters that an automaton over bytes was written out from: another numbering than that of the
/// automaton over bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CharState(StateId);

impl CharState {
    /// The state with this number in the automaton over characters.
    pub(crate) fn new(state: StateId) -> Self {
        Self(state)
    }

    /// Its number there.
    pub(crate) fn id(self) -> StateId {
        self.0
    }

    /// Its place in a table by character states.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The number of a rule: its place in [`Grammar::rules`](crate::Grammar::rules).
pub type RuleId = u32;

/// A count as a number.
///
/// # Panics
/// If it does not fit, which the budget of states and bytes prevents.
pub(crate) fn number(n: usize) -> u32 {
    u32::try_from(n).expect("the budget keeps counts below 2^32")
}
