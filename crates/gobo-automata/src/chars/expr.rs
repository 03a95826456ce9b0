//! Expressions over characters and calls of rules: the form in which front ends write texts.

use std::sync::Arc;

use gobo_types::{Table, dense_id};

use super::set::CharSet;
use crate::ids::RuleId;

/// What a rule is made of. All alternatives are alive, and repetition is neither greedy nor lazy: an expression is a set of
/// texts.
///
/// Front ends bound how deep expressions nest: a few hundred levels are walked on the call stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expr {
    /// Exactly this text; the empty one too.
    Text(String),
    /// One character of the set: see [`Expr::chars`].
    Chars(CharSet),
    /// One after the other.
    Concat(Vec<Expr>),
    /// Any one of these; of none, nothing at all.
    Alternate(Vec<Expr>),
    /// `min` to `max` times; without texts if `max` is below `min`.
    Repeat {
        /// What is repeated.
        expr: Box<Expr>,
        /// Least number of times.
        min: u32,
        /// Most, if there is a limit.
        max: Option<u32>,
    },
    /// What the rule of that number stands for.
    Call(RuleId),
    /// The texts along the paths of a machine.
    Machine(Box<Machine>),
    /// What stands in several places. Copies are cheap, and those that the same follows are built once.
    Shared(Arc<Expr>),
}

dense_id! {
    /// A state of a [`Machine`].
    pub struct MachineState;
}

/// The first state.
impl Default for MachineState {
    fn default() -> Self {
        Self(0)
    }
}

/// A nondeterministic automaton whose edges read texts of expressions. Without states it has no text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    /// The state in which texts begin.
    pub start: MachineState,
    /// `[states]`: expressions and the states after them.
    pub(crate) edges: Table<MachineState, Vec<(Expr, MachineState)>>,
    /// `[states]`.
    pub(crate) accepting: Table<MachineState, bool>,
}

impl Machine {
    /// Adds a state.
    pub fn add_state(&mut self, accepting: bool) -> MachineState {
        self.edges.push(Vec::new());
        self.accepting.push(accepting)
    }

    /// Lets texts end at a state.
    pub fn accept(&mut self, state: MachineState) {
        self.accepting[state] = true;
    }

    /// Adds an edge. States that it leads to may be added later.
    pub fn add_edge(&mut self, from: MachineState, expr: Expr, to: MachineState) {
        self.edges[from].push((expr, to));
    }

    /// Number of states.
    pub fn len(&self) -> usize {
        self.edges.len()
    }

    /// Whether it has no state.
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }
}

impl Expr {
    /// One character of the ranges: see [`CharSet::new`].
    pub fn chars(ranges: impl IntoIterator<Item = (char, char)>) -> Self {
        Self::Chars(CharSet::new(ranges))
    }

    /// Exactly this text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// The same expression, whose copies are cheap.
    #[must_use]
    pub fn shared(self) -> Self {
        Self::Shared(Arc::new(self))
    }

    /// The expression `min` to `max` times.
    #[must_use]
    pub fn repeat(self, min: u32, max: Option<u32>) -> Self {
        Self::Repeat { expr: Box::new(self), min, max }
    }
}
