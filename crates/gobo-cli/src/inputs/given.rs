//! A constraint as it was given.
use gobo_types::{CompileError, Constraint};

use crate::diagnostics::{Written, verdict};
use crate::output::Outcome;

/// A constraint, and the text that a person wrote it in.
#[derive(Debug, Clone)]
pub struct Given {
    /// The constraint.
    pub constraint: Constraint,
    /// Its text, as it was written.
    pub written: Written,
}

impl Given {
    /// Reports a compile of it that made no index: [`diagnostics::verdict`](verdict).
    ///
    /// # Errors
    /// If stdout is closed or full.
    pub fn verdict(&self, error: &CompileError, as_json: bool) -> anyhow::Result<Outcome> {
        verdict(error, Some(&self.written), as_json)
    }
}
