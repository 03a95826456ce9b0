//! The identifiers of this crate.

use gobo_types::{DenseId, dense_id};

dense_id! {
    /// A state of an automaton over bytes.
    pub struct StateId;

    /// A state of an automaton over characters, or, in a grammar, over characters and calls.
    pub struct CharState;

    /// What an edge reads: a class of characters (a minterm), a call of a rule, or a class of bytes, as the automaton has it. Calls
    /// come after classes.
    pub struct Symbol;

    /// A rule: its index in [`Grammar::rules`](crate::Grammar::rules).
    pub struct RuleId;

    /// Where a rule ends: which of the ways on its caller has there. A rule with one end ends at the first.
    pub struct ExitId;

    /// What can lie on the stack: an index in [`Calls::returns`](crate::Calls::returns).
    pub struct ReturnId;

    /// A class of states that share a row.
    pub struct RowClass;
}

/// A state of a total automaton.
pub(crate) trait State: DenseId {
    /// The state from which no text is accepted. Every automaton has it, as state 0.
    const DEAD: Self;
}

impl StateId {
    /// The state from which no text is accepted. Every automaton has it, as state 0.
    pub const DEAD: Self = Self(gobo_types::DEAD);

    /// The state after a relative transition that leads on.
    #[inline]
    #[must_use]
    pub fn offset(self, delta: i32) -> Self {
        Self(self.0.wrapping_add_signed(delta))
    }

    /// The relative transition to another state.
    ///
    /// # Panics
    /// If the two are 2^31 apart, which the budget of states prevents.
    pub(crate) fn distance(self, to: Self) -> i32 {
        i32::try_from(i64::from(to.0) - i64::from(self.0)).expect("the budget keeps states below 2^31")
    }
}

impl CharState {
    /// The state from which no text is accepted. Every automaton has it, as state 0.
    pub const DEAD: Self = Self(0);
}

impl Symbol {
    /// The first symbol.
    pub(crate) const FIRST: Self = Self(0);
}

impl ExitId {
    /// The exit of a rule that has one.
    pub const FIRST: Self = Self(0);
}

impl RuleId {
    /// The rule with this number.
    #[must_use]
    pub const fn of(number: u32) -> Self {
        Self(number)
    }
}

impl State for StateId {
    const DEAD: Self = Self::DEAD;
}

impl State for CharState {
    const DEAD: Self = Self::DEAD;
}
