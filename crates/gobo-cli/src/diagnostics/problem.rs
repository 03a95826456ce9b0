//! Errors about a place in a file that are no verdict of a compile.

use gobo_types::Span;

use super::Written;

/// What is wrong at a place of a text that the command line reads itself: a choice list, a file of documents.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{what} ({}:{})", written.name, span.line_and_column(&written.text).0)]
pub struct Problem {
    /// What is wrong.
    pub what: String,
    /// The text.
    pub written: Written,
    /// The place.
    pub span: Span,
    /// What to do next: a whole sentence, or empty.
    pub help: String,
}
