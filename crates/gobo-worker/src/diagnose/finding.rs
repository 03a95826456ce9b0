//! What a diagnosis has found.

use gobo_types::Span;

/// What is known of a verdict.
#[derive(Debug, Default)]
pub(super) struct Finding {
    /// As in [`Refusal::place`](gobo_types::Refusal::place).
    pub(super) place: String,
    pub(super) span: Option<Span>,
    pub(super) reason: String,
    pub(super) help: String,
    pub(super) needed: Option<u64>,
}
