//! The numbers that everything here goes by.

/// The number of a state.
pub type StateId = u32;

/// The state from which no text is accepted. Every automaton has it, as state 0.
pub const DEAD: StateId = 0;

/// The number of a rule: its place in [`Grammar::rules`](crate::Grammar::rules).
pub type RuleId = u32;

/// A count as a number.
///
/// # Panics
/// If it does not fit, which the budget of states and bytes prevents.
pub(crate) fn number(n: usize) -> u32 {
    u32::try_from(n).expect("the budget keeps counts below 2^32")
}
