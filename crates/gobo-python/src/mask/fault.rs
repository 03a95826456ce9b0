//! What goes wrong while a lock is held.
//!
//! An exception is made by running Python, which may give the GIL to a thread that waits for that very lock. So what is found out under
//! locks is kept in this form, and told to Python once they are given back.

use gobo_artifact::{BatchError, DraftError, MatcherError};
use pyo3::prelude::*;

use crate::errors::{invalid, of, of_matcher};

/// Why masks could not be written, or logits not be put under them.
pub(crate) enum Fault {
    /// A matrix of `there` rows has not these.
    Rows {
        from: usize,
        rows: usize,
        there: usize,
    },
    /// Rows of so many words are shorter than a mask.
    Width {
        words: usize,
        mask_words: usize,
    },
    /// There are as many rows of logits, and so many of masks.
    Counts {
        logits: usize,
        masks: usize,
    },
    Matcher(MatcherError),
    Drafts(DraftError),
    Batch(BatchError),
}

impl Fault {
    /// The exception. No lock is held by the caller.
    #[cold]
    pub(crate) fn raised(&self, py: Python<'_>) -> PyErr {
        match *self {
            Self::Rows { from, rows: 1, there } => {
                invalid(py, format!("row {from} of a matrix of {there} rows"))
            }
            Self::Rows { from, rows, there } => {
                let to = from.saturating_add(rows);
                invalid(py, format!("rows {from} to {to} of a matrix of {there} rows"))
            }
            Self::Width { words, mask_words } => {
                invalid(py, format!("a row has {words} words, and a mask of this binding {mask_words}"))
            }
            Self::Counts { logits, masks } => {
                invalid(py, format!("there are {logits} rows of logits and {masks} of masks"))
            }
            Self::Matcher(ref error) => of_matcher(py, error),
            Self::Drafts(ref error) => of(py, error.kind(), error),
            Self::Batch(ref error) => of(py, error.kind(), error),
        }
    }
}

impl From<MatcherError> for Fault {
    fn from(error: MatcherError) -> Self {
        Self::Matcher(error)
    }
}

impl From<DraftError> for Fault {
    fn from(error: DraftError) -> Self {
        Self::Drafts(error)
    }
}

impl From<BatchError> for Fault {
    fn from(error: BatchError) -> Self {
        Self::Batch(error)
    }
}
