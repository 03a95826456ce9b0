//! Counts of answers by their kind: an index, a refusal, a status.
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::{Mutex, PoisonError};

use tonic::Status;

/// Counts of answers. Shared by all who call.
#[derive(Debug, Default)]
pub(super) struct Tally(Mutex<BTreeMap<String, u64>>);

impl Tally {
    pub(super) fn add(&self, answer: impl Display) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(answer.to_string()).or_default() += 1;
    }

    /// Counts a status by its code, any other error as `other`.
    pub(super) fn error(&self, error: &anyhow::Error) {
        match error.downcast_ref::<Status>() {
            Some(status) => self.add(code(status)),
            None => self.add("other"),
        }
    }

    pub(super) fn counts(&self) -> BTreeMap<String, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The name of a status, as `DeadlineExceeded`.
pub(super) fn code(status: &Status) -> String {
    format!("{:?}", status.code())
}
