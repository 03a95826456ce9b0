//! Regular sets of texts, with an algebra.
//!
//! A language is its minimal automaton over characters, so that equal sets are equal values. Sets are combined by the product
//! construction ([`product`]), found by exploring a deterministic procedure ([`explore`]), and written back into grammars
//! ([`write`]).

mod explore;
mod lengths;
mod minterms;
mod product;
mod write;

use gobo_types::{Budget, CompileError, DenseId as _, MatchMode};
use regex_syntax::hir::Hir;

pub use minterms::Minterms;
pub(crate) use minterms::{ClassRanges, joint_classes};

use super::alphabet::{Alphabet, CharSets};
use super::choice::choice;
use super::determinize::determinize;
use super::dfa::CharDfa;
use super::expr::Expr;
use super::nfa::Nfa;
use super::regex::regex;
use crate::ids::{CharState, Symbol};

/// A regular set of texts, as its minimal automaton over characters: one set has one value of this type.
///
/// Front ends combine languages here, where every operation of sets is exact, and write the result into a grammar with
/// [`Language::to_expr`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Language {
    pub(crate) dfa: CharDfa,
}

impl Language {
    /// The language of no text.
    pub fn none() -> Self {
        Self { dfa: CharDfa::new(Vec::new(), 0) }
    }

    /// The texts that match a regular expression in the syntax of `regex-syntax`.
    ///
    /// # Errors
    /// A refusal naming the construct and its byte offset in the pattern; [`CompileError::OverBudget`].
    pub fn regex(pattern: &str, mode: MatchMode, budget: &Budget) -> Result<Self, CompileError> {
        Self::held(budget, || regex(pattern, mode, budget)?.canonical(budget))
    }

    /// The texts of a list.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn choice(items: &[String], budget: &Budget) -> Result<Self, CompileError> {
        if items.is_empty() {
            return Ok(Self::none());
        }
        Self::held(budget, || choice(items, budget)?.canonical(budget))
    }

    /// The texts of an expression.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    ///
    /// # Panics
    /// If the expression calls a rule.
    pub fn expr(expr: &Expr, budget: &Budget) -> Result<Self, CompileError> {
        Self::held(budget, || {
            let mut sets = CharSets::default();
            let nfa = Nfa::of_expr(expr, &mut sets, budget)?;
            assert!(!nfa.has_calls(), "a regular language calls no rule");
            Self::of_nfa(&nfa, &sets, budget)
        })
    }

    /// The whole texts that a regular expression matches, in the form that `regex-syntax` gives it, in which front ends of
    /// other dialects write theirs.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    ///
    /// # Panics
    /// If the expression has other look-around than the start and the end of the text, or matches what is not UTF-8.
    pub fn hir(hir: &Hir, budget: &Budget) -> Result<Self, CompileError> {
        Self::held(budget, || {
            let mut sets = CharSets::default();
            let nfa = Nfa::of(hir, &mut sets, budget)?;
            Self::of_nfa(&nfa, &sets, budget)
        })
    }

    fn of_nfa(nfa: &Nfa, sets: &CharSets, budget: &Budget) -> Result<CharDfa, CompileError> {
        let alphabet = Alphabet::of(sets, budget)?;
        let mut dfa = determinize(nfa, &alphabet, budget)?;
        dfa.ranges = alphabet.ranges;
        dfa.canonical(budget)
    }

    /// The language of the automaton that `build` makes; only that stays charged.
    pub(in crate::chars) fn held(
        budget: &Budget,
        build: impl FnOnce() -> Result<CharDfa, CompileError>,
    ) -> Result<Self, CompileError> {
        Ok(Self { dfa: budget.holding(build, CharDfa::bytes)? })
    }

    /// Whether it has no text.
    pub fn is_empty(&self) -> bool {
        self.dfa.start() == CharState::DEAD
    }

    /// The state in which texts begin: [`CharState::DEAD`] of the language of no text.
    pub fn start(&self) -> CharState {
        self.dfa.start()
    }

    /// Whether texts may end in a state.
    pub fn may_end(&self, state: CharState) -> bool {
        self.dfa.is_accepting(state)
    }

    /// The state from which every text is accepted, if there is one.
    pub fn everything(&self) -> Option<CharState> {
        let mut next = 0;
        for &(first, last, _) in &self.dfa.ranges {
            if first != next {
                return None;
            }
            next = if last + 1 == 0xD800 { 0xE000 } else { last + 1 };
        }
        let is_all = |&state: &CharState| {
            let row = self.dfa.row(state);
            self.may_end(state) && row.len() == self.dfa.classes && row.iter().all(|edge| edge.1 == state)
        };
        if next <= u32::from(char::MAX) {
            return None;
        }
        CharState::range(1..self.len()).find(is_all)
    }

    /// The state after the characters of a class; [`CharState::DEAD`] without one.
    pub(super) fn step(&self, state: CharState, class: Option<Symbol>) -> CharState {
        let row = self.dfa.row(state);
        let at = class.and_then(|class| row.binary_search_by_key(&class, |edge| edge.0).ok());
        at.map_or(CharState::DEAD, |at| row[at].1)
    }

    /// Number of states, the dead one included.
    pub fn len(&self) -> usize {
        self.dfa.len()
    }

    /// Whether `text` belongs to it. O(length × log ranges).
    pub fn accepts(&self, text: &str) -> bool {
        let mut state = self.dfa.start();
        for char in text.chars() {
            let char = u32::from(char);
            let at = self.dfa.ranges.partition_point(|&(_, last, _)| last < char);
            let Some(&(_, _, class)) = self.dfa.ranges.get(at).filter(|range| range.0 <= char) else {
                return false;
            };
            let row = self.dfa.row(state);
            let Ok(at) = row.binary_search_by_key(&class, |edge| edge.0) else { return false };
            state = row[at].1;
        }
        self.dfa.is_accepting(state)
    }
}

#[cfg(test)]
mod tests;
