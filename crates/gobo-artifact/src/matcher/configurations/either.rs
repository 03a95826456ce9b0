//! A step along two ways at once: a token that is read by its bytes and by an edge.

use super::{Configurations, Stuck, Tables};
use crate::matcher::counted::Counted;
use crate::read::index::Index;

impl Configurations {
    /// Goes on by `one` or `other`, or by both where both lead on, as one step: the configurations after either, one for each state.
    ///
    /// # Errors
    /// As for [`Self::advance`], if neither leads on.
    pub(crate) fn advance_either(&mut self, index: &Index, one: &[u8], other: &[u8]) -> Result<(), Stuck> {
        self.check()?;
        if !self.would_take_token(index, other) {
            return self.advance_token(index, one);
        }
        if !self.would_take_token(index, one) {
            return self.advance_token(index, other);
        }
        let Some(calls) = index.calls() else { return Err(Stuck::Refused(0)) };
        let tables = &Tables { index, calls, counted: Counted::new(index) };
        let mut result = self.walk_token(index, one);
        let first = std::mem::take(&mut self.next);
        first.iter().for_each(|at| self.stacks.hold(at.frame));
        if result.is_ok() {
            result = self.walk_token(index, other);
        }
        if result.is_ok() {
            self.merger.found.clear();
            self.merger.found.extend_from_slice(&first);
            self.merger.found.append(&mut self.next);
            self.merge(tables);
            self.next.iter().for_each(|at| self.stacks.hold(at.frame));
            std::mem::swap(&mut self.now, &mut self.next);
            self.keep();
        }
        self.next.clear();
        self.stacks.settle();
        first.iter().for_each(|at| self.stacks.release(at.frame));
        result
    }
}
