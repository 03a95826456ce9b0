//! Classes of states that no token tells apart: they share a row.
//!
//! Two states are *k-equivalent* if no string of at most k symbols tells them apart: k rounds of partition refinement (Moore 1956).
//! With k the length of the longest token, in characters where the automaton knows them, no token does.

mod call_edges;
mod of_chars;

use gobo_types::{Budget, CompileError, DenseId as _};

use super::dfa::Dfa;
use crate::equivalence::refine;
use crate::ids::{RowClass, StateId};

/// Classes of states that no token tells apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowClasses {
    /// `[states]`: the class of each state.
    pub of: Vec<RowClass>,
    /// More than the greatest index of a class.
    pub count: usize,
    /// Which states short texts do not tell apart, ascending by their length; empty where that is not known.
    pub equivalences: Vec<KEquivalence>,
}

/// States that no text of at most `chars` characters tells apart, as [`Dfa::row_classes`] means it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KEquivalence {
    /// Characters; parts of characters at the ends of a text count as whole ones.
    pub chars: u32,
    /// `[states]`: the first state that is not told apart from each. States inside characters stand for themselves.
    pub representative: Vec<StateId>,
}

impl Dfa {
    /// Classes of states such that those of one group are told apart by no
    /// token of at most `longest_bytes` bytes and `longest_chars` characters, `longest_inner_chars` if it begins inside a
    /// character: from both it leads to a state of `useful`, `[states]`, or from neither.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn row_classes(
        &self,
        useful: &[bool],
        longest_bytes: u32,
        longest_chars: u32,
        longest_inner_chars: u32,
        budget: &Budget,
    ) -> Result<RowClasses, CompileError> {
        const PHASE: &str = "grouping states by their rows";
        if let Some(chars) = self.chars.as_ref().filter(|_| useful.iter().skip(1).all(|&useful| useful)) {
            return chars.row_classes(
                self.len(),
                self.calls.as_ref(),
                longest_chars,
                longest_inner_chars,
                budget,
            );
        }
        let marks: Vec<u32> = StateId::enumerate(useful)
            .map(|(state, &useful)| if state == StateId::DEAD { 0 } else { 2 - u32::from(useful) })
            .collect();
        let partition = refine(self, &marks, Some(longest_bytes), PHASE, budget)?;
        let of = StateId::range(0..self.len())
            .map(|state| RowClass::new(partition.block(state).index()))
            .collect();
        Ok(RowClasses { of, count: partition.blocks(), equivalences: Vec::new() })
    }
}
