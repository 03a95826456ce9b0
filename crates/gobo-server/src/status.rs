//! The only place where errors become gRPC statuses. Codes are part of the API.
//!
//! | kind | code |
//! |---|---|
//! | `Invalid`, `Unsupported`, `Limit` | `INVALID_ARGUMENT`: the request itself; what is wrong with a constraint is a reply |
//! | `NotFound` | `NOT_FOUND`; for the digest of a vocabulary with `ErrorInfo` |
//! | `Exists` | `ALREADY_EXISTS` with `ErrorInfo` |
//! | `Version` | `FAILED_PRECONDITION` |
//! | `Corrupt` | `DATA_LOSS` |
//! | `Busy` | `RESOURCE_EXHAUSTED` with `RetryInfo` |
//! | `Deadline` | `DEADLINE_EXCEEDED` |
//! | `Cancelled` | `CANCELLED` |
//! | `Denied` | `PERMISSION_DENIED`; `UNAUTHENTICATED` where nobody knows the caller |
//! | `Internal` | `INTERNAL` |
//!
//! Where one field of a request is at fault, a `BadRequest` names it. A daemon that is closing answers `UNAVAILABLE` whatever the kind.

use std::collections::HashMap;
use std::time::Duration;

use gobo_engine::EngineError;
use gobo_proto::{ConvertError, CostError, ERROR_DOMAIN, NAME_TAKEN, UNKNOWN_VOCABULARY};
use gobo_types::{Clipped, CompileError, ErrorKind, error_chain};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

/// The delay that `RetryInfo` advises where none is known. A worker takes its next job within milliseconds; a queue takes
/// longer to drain.
const RETRY_AFTER: Duration = Duration::from_millis(200);

/// The least delay that it advises: a caller that comes sooner finds the same queue.
const LEAST_RETRY: Duration = Duration::from_millis(20);

fn code(kind: ErrorKind) -> Code {
    match kind {
        ErrorKind::Invalid | ErrorKind::Unsupported | ErrorKind::Limit => Code::InvalidArgument,
        ErrorKind::NotFound => Code::NotFound,
        ErrorKind::Exists => Code::AlreadyExists,
        ErrorKind::Version => Code::FailedPrecondition,
        ErrorKind::Corrupt => Code::DataLoss,
        ErrorKind::Busy => Code::ResourceExhausted,
        ErrorKind::Deadline => Code::DeadlineExceeded,
        ErrorKind::Cancelled => Code::Cancelled,
        ErrorKind::Denied => Code::PermissionDenied,
        // A kind without a code is a bug here.
        _ => Code::Internal,
    }
}

pub(crate) fn of_kind(kind: ErrorKind, message: impl Into<String>) -> Status {
    retry(kind, message, RETRY_AFTER)
}

/// The text of a status, cut to the length of a header: no status repeats a request at length.
pub(crate) fn clipped(message: impl Into<String>) -> String {
    Clipped::from(message.into()).into()
}

fn retry(kind: ErrorKind, message: impl Into<String>, after: Duration) -> Status {
    let message = clipped(message);
    match code(kind) {
        code @ Code::ResourceExhausted => {
            let details = ErrorDetails::with_retry_info(Some(after.max(LEAST_RETRY)));
            Status::with_error_details(code, message, details)
        }
        code => Status::new(code, message),
    }
}

/// As [`of_kind`], about one field of the request.
pub(crate) fn of_field(kind: ErrorKind, field: impl Into<String>, message: impl Into<String>) -> Status {
    let message = clipped(message);
    let details = ErrorDetails::with_bad_request_violation(clipped(field), message.clone());
    Status::with_error_details(code(kind), message, details)
}

/// A status about a constraint, told of the request that has it as its field `part`: its text and its fields begin so.
pub(crate) fn within(part: &str, status: &Status) -> Status {
    let message = clipped(format!("{part}: {}", status.message()));
    let mut details = status.get_error_details();
    let mut violations =
        details.bad_request().map(|request| request.field_violations.clone()).unwrap_or_default();
    for violation in &mut violations {
        let field = violation.field.strip_prefix("constraint.").unwrap_or(&violation.field);
        violation.field = clipped(format!("{part}.{field}"));
    }
    details.set_bad_request(violations);
    Status::with_error_details(status.code(), message, details)
}

/// The caller is known, and may not do this.
pub(crate) fn denied(message: impl Into<String>) -> Status {
    of_kind(ErrorKind::Denied, message)
}

/// Nobody knows the caller.
pub(crate) fn unauthenticated(message: impl Into<String>) -> Status {
    Status::unauthenticated(clipped(message))
}

/// The daemon is shutting down: the one answer that does not depend on the request.
pub(crate) fn draining() -> Status {
    Status::unavailable("the daemon is shutting down; ask again once it is back")
}

pub(crate) fn of_engine(error: &EngineError) -> Status {
    match error {
        EngineError::Closed => draining(),
        EngineError::BadImport { field, .. } => {
            of_field(error.kind(), format!("head.{field}"), error.to_string())
        }
        EngineError::NameTaken { name, stands_for, given } => of_reason(
            error,
            NAME_TAKEN,
            [("name", name.clone()), ("stands_for", stands_for.to_string()), ("given", given.to_string())],
        ),
        EngineError::UnknownDigest { digest } => {
            of_reason(error, UNKNOWN_VOCABULARY, [("digest", digest.to_string())])
        }
        error => of_kind(error.kind(), error_chain(error)),
    }
}

/// A status that a program can tell from others of its code: by its reason, with facts beside it.
fn of_reason<const N: usize>(error: &EngineError, reason: &str, facts: [(&str, String); N]) -> Status {
    let facts: HashMap<_, _> = facts.into_iter().map(|(key, fact)| (key.to_owned(), fact)).collect();
    let details = ErrorDetails::with_error_info(reason, ERROR_DOMAIN, facts);
    Status::with_error_details(code(error.kind()), clipped(error.to_string()), details)
}

/// As [`of_engine`], for a vocabulary that a request names to compile over: naming one that does not exist is a
/// mistake in the request. A digest is none: the vocabulary exists, and can be sent.
pub(crate) fn of_request_vocabulary(error: &EngineError) -> Status {
    match error {
        EngineError::UnknownVocabulary { .. } => of_kind(ErrorKind::Invalid, error_chain(error)),
        error => of_engine(error),
    }
}

/// Unavailable and failed; the other ends of a compile are replies.
pub(crate) fn of_compile(error: &CompileError, is_draining: bool) -> Status {
    match error {
        CompileError::Unavailable { .. } if is_draining => draining(),
        CompileError::Unavailable { retry_after: Some(after), .. } => {
            retry(error.kind(), error.to_string(), *after)
        }
        error => of_kind(error.kind(), error.to_string()),
    }
}

pub(crate) fn of_convert(error: &ConvertError) -> Status {
    of_field(ErrorKind::Invalid, error.field(), error.to_string())
}

pub(crate) fn of_cost(error: &CostError) -> Status {
    of_kind(ErrorKind::Limit, error.to_string())
}

pub(crate) fn missing(field: &'static str) -> Status {
    of_convert(&ConvertError::Missing { field })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_code() {
        for (kind, expected) in [
            (ErrorKind::Invalid, Code::InvalidArgument),
            (ErrorKind::Unsupported, Code::InvalidArgument),
            (ErrorKind::Limit, Code::InvalidArgument),
            (ErrorKind::NotFound, Code::NotFound),
            (ErrorKind::Exists, Code::AlreadyExists),
            (ErrorKind::Version, Code::FailedPrecondition),
            (ErrorKind::Corrupt, Code::DataLoss),
            (ErrorKind::Busy, Code::ResourceExhausted),
            (ErrorKind::Deadline, Code::DeadlineExceeded),
            (ErrorKind::Cancelled, Code::Cancelled),
            (ErrorKind::Denied, Code::PermissionDenied),
            (ErrorKind::Internal, Code::Internal),
        ] {
            let status = of_kind(kind, "why");
            assert_eq!((status.code(), status.message()), (expected, "why"), "{kind:?}");
            let retry = status.get_details_retry_info().and_then(|info| info.retry_delay);
            assert_eq!(retry.is_some(), kind == ErrorKind::Busy, "{kind:?}");
        }
    }

    #[test]
    fn a_field_that_is_at_fault_is_named() {
        let missing = missing("constraint.source");
        let named = |status: &Status| {
            let violations = status.get_details_bad_request().unwrap().field_violations;
            violations
                .into_iter()
                .map(|violation| (violation.field, violation.description))
                .collect::<Vec<_>>()
        };
        let why = "constraint.source is missing or not known to this version";
        assert_eq!(missing.message(), why);
        assert_eq!(named(&missing), [("constraint.source".to_owned(), why.to_owned())]);
        let within = within("constraints[7]", &missing);
        assert_eq!(
            (within.code(), within.message()),
            (Code::InvalidArgument, &*format!("constraints[7]: {why}"))
        );
        assert_eq!(named(&within), [("constraints[7].source".to_owned(), why.to_owned())]);
    }

    #[test]
    fn a_name_that_is_taken_is_told_with_both_digests() {
        let [stands_for, given] = [[1; 32], [2; 32]].map(gobo_types::VocabularyDigest::from);
        let taken = of_engine(&EngineError::NameTaken { name: "llama".into(), stands_for, given });
        assert_eq!(taken.code(), Code::AlreadyExists);
        let info = taken.get_details_error_info().unwrap();
        assert_eq!((info.reason.as_str(), info.domain.as_str()), ("VOCABULARY_NAME_TAKEN", "gobo"));
        let facts = ["name", "stands_for", "given"].map(|fact| info.metadata[fact].clone());
        assert_eq!(facts, ["llama".to_owned(), stands_for.to_string(), given.to_string()]);
    }

    #[test]
    fn no_status_repeats_what_was_sent_at_length() {
        let unknown = EngineError::UnknownVocabulary { name: "n".repeat(15 << 20) };
        let failed = CompileError::Failed("f".repeat(15 << 20).into());
        for status in [of_request_vocabulary(&unknown), of_engine(&unknown), of_compile(&failed, false)] {
            assert!(status.message().len() <= Clipped::MAX_BYTES, "{}", status.message().len());
            assert!(status.message().contains("bytes) …"));
        }
    }

    #[test]
    fn what_is_shed_says_when_to_come_back() {
        let shed = |after| CompileError::Unavailable { why: "full".into(), retry_after: Some(after) };
        for (after, advised) in
            [(Duration::from_secs(3), Duration::from_secs(3)), (Duration::ZERO, LEAST_RETRY)]
        {
            let status = of_compile(&shed(after), false);
            let retry = status.get_details_retry_info().and_then(|info| info.retry_delay);
            assert_eq!((status.code(), retry), (Code::ResourceExhausted, Some(advised)));
        }
    }

    #[test]
    fn a_closing_daemon_is_unavailable() {
        assert_eq!(of_engine(&EngineError::Closed).code(), Code::Unavailable);
        let cancelled = CompileError::unavailable("cancelled");
        assert_eq!(of_compile(&cancelled, true).code(), Code::Unavailable);
        assert_eq!(of_compile(&cancelled, false).code(), Code::ResourceExhausted);
        assert_eq!(of_compile(&CompileError::Failed("bug".into()), true).code(), Code::Internal);
    }

    #[test]
    fn an_unknown_vocabulary_is_a_mistake_where_it_was_to_be_compiled_over() {
        let unknown = EngineError::UnknownVocabulary { name: "x".into() };
        assert_eq!(of_request_vocabulary(&unknown).code(), Code::InvalidArgument);
        assert_eq!(of_engine(&unknown).code(), Code::NotFound);
    }

    #[test]
    fn an_unknown_digest_is_told_apart_from_an_unknown_index() {
        let digest = gobo_types::VocabularyDigest::from([7; 32]);
        let unknown = of_request_vocabulary(&EngineError::UnknownDigest { digest });
        assert_eq!(unknown.code(), Code::NotFound);
        let info = unknown.get_details_error_info().unwrap();
        assert_eq!((info.reason.as_str(), info.domain.as_str()), ("VOCABULARY_UNKNOWN", "gobo"));
        assert_eq!(info.metadata["digest"], digest.to_string());
        let index = of_engine(&EngineError::UnknownIndex { key: [7; 32].into() });
        assert_eq!(index.code(), Code::NotFound);
        assert!(index.get_details_error_info().is_none());
    }
}
