//! A compile that a flight waits for.

use gobo_types::Constraint;

use crate::error::LookupError;
use crate::flight::Lead;
use crate::found::Bound;

/// A compile that a flight waits for.
pub(crate) struct Job {
    pub(super) lead: Lead,
    pub(super) bound: Bound,
    pub(super) constraint: Constraint,
    /// What the stages before this one said.
    tried: String,
    /// Passes that it was too expensive for.
    pub(super) pass: usize,
    /// Attempts that ended for a transient reason.
    pub(super) retries: u32,
    /// The store could not take it.
    pub(super) in_memory: bool,
}

impl Job {
    pub(crate) fn new(lead: Lead, bound: Bound, constraint: Constraint, tried: String) -> Self {
        Self { lead, bound, constraint, tried, pass: 0, retries: 0, in_memory: false }
    }

    /// The memory that its constraint takes.
    pub(super) fn bytes(&self) -> usize {
        self.constraint.text_bytes()
    }

    /// Ends the flight: nobody compiled it.
    pub(super) fn end_unavailable(self, why: &str) {
        let (key, tried) = (*self.lead.key(), format!("{}; the local worker: {why}", self.tried));
        self.lead.end(Err(LookupError::Unavailable { key, tried }));
    }
}
