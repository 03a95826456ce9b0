//! Verdicts of which every field is filled. The test worker, and the tests of server and client include this file.

use std::time::Duration;

use gobo_types::{CompileError, Limit, OverBudget, Refusal, RefusalKind};

/// The verdict on a constraint with this text, if it is one of those that ask for one.
pub(crate) fn full_verdict(text: &str) -> Option<CompileError> {
    match text {
        "refused, in full" => Some(CompileError::from(Refusal {
            kind: RefusalKind::Unsupported,
            place: "offset 3".into(),
            span: Some((3..7).into()),
            reason: "look-around".into(),
            help: "Leave it out.".into(),
        })),
        "over budget, in full" => Some(CompileError::from(OverBudget {
            limit: Limit::MaxSteps,
            given: 12,
            phase: "determinise".into(),
            place: "offset 1".into(),
            span: Some((1..2).into()),
            reason: "the repetition multiplies".into(),
            needed: Some(4711),
            help: "Give it 4711 steps.".into(),
        })),
        "busy, in full" => Some(CompileError::Unavailable {
            why: "the room is full".into(),
            retry_after: Some(Duration::from_micros(1_234_567)),
        }),
        _ => None,
    }
}
