//! Expressions over characters and calls of rules: the form in which front ends write texts.

use std::sync::Arc;

use gobo_types::checked_u32;

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

/// A nondeterministic automaton whose edges read texts of expressions. Without states it has no text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    /// The state in which texts begin.
    pub start: u32,
    /// `[states]`: expressions and the states after them.
    pub(crate) edges: Vec<Vec<(Expr, u32)>>,
    /// `[states]`.
    pub(crate) accepting: Vec<bool>,
}

impl Machine {
    /// Adds a state and returns its number: states are numbered from 0.
    pub fn add_state(&mut self, accepting: bool) -> u32 {
        self.edges.push(Vec::new());
        self.accepting.push(accepting);
        checked_u32(self.edges.len() - 1)
    }

    /// Lets texts end at a state.
    pub fn accept(&mut self, state: u32) {
        self.accepting[state as usize] = true;
    }

    /// Adds an edge. States that it leads to may be added later.
    pub fn add_edge(&mut self, from: u32, expr: Expr, to: u32) {
        self.edges[from as usize].push((expr, to));
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
