//! Dynamic references whose target does not depend on the way (JSON Schema 2020-12, Core, section 8.2.3.2).
//!
//! The target of a dynamic reference is in the outermost resource, of those entered on the way from the schema's root, that
//! has the anchor. If every way from the root to any resource with the anchor passes one of them first, that one is the
//! outermost always: it *dominates* the others in the graph whose nodes are resources and whose edges lead from a resource
//! to those that it refers to and those that stand in it (dominators: Aho et al., *Compilers*, section 9.6.1). Every object
//! of a document counts as a place of references, so there are more edges than ways and never fewer.
//!
//! Cost: a walk of the graph for each resource with the anchor.

use gobo_types::{Budget, CompileError};

use super::Documents;
use crate::phase::READING;

impl Documents {
    /// Of the resources with an anchor, the one that every way from the root to any of them passes first.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(super) fn outermost(
        &self,
        candidates: &[usize],
        budget: &Budget,
    ) -> Result<Option<usize>, CompileError> {
        if let &[only] = candidates {
            return Ok(Some(only));
        }
        for &candidate in candidates {
            let reached = self.reached_without(candidate, budget)?;
            if candidates.iter().all(|&other| other == candidate || !reached[other]) {
                return Ok(Some(candidate));
            }
        }
        Ok(None)
    }

    /// `[resources]`: those that the root reaches without passing `barrier`.
    fn reached_without(&self, barrier: usize, budget: &Budget) -> Result<Vec<bool>, CompileError> {
        budget.charge_steps(READING, self.resources.len() as u64)?;
        let mut reached = vec![false; self.resources.len()];
        let mut open = Vec::new();
        if barrier != 0 {
            reached[0] = true;
            open.push(0);
        }
        while let Some(resource) = open.pop() {
            budget.charge_steps(READING, 1 + self.edges[resource].len() as u64)?;
            for &next in &self.edges[resource] {
                if next != barrier && !std::mem::replace(&mut reached[next], true) {
                    open.push(next);
                }
            }
        }
        Ok(reached)
    }
}
