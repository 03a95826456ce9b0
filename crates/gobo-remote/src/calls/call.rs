//! How a call ends.

use gobo_types::Clipped;
use object_store::Error;

use crate::breaker::CallEnd;

/// How a call that did not do what it was to do has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// There is no such object.
    Absent,
    /// There is one already.
    Present,
    /// The credentials are missing, wrong, expired, or do not suffice.
    Denied,
    /// Anything else: the network, the server, its limits.
    Failed,
}

impl Trouble {
    /// What an error comes to. The crate `object_store` tells some refusals by their text alone.
    pub(super) fn of(error: &Error) -> Self {
        match error {
            Error::NotFound { .. } => Self::Absent,
            // `NotModified` is how object_store reports 304, which some servers answer in place of 412.
            Error::AlreadyExists { .. } | Error::Precondition { .. } | Error::NotModified { .. } => {
                Self::Present
            }
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => Self::Denied,
            Error::Generic { .. } if is_refusal(&cause(error)) => Self::Denied,
            _ => Self::Failed,
        }
    }

    /// What that says of the bucket.
    pub(super) fn end(self) -> CallEnd {
        match self {
            Self::Absent | Self::Present => CallEnd::Answered,
            Self::Denied => CallEnd::Denied,
            Self::Failed => CallEnd::Failed,
        }
    }
}

/// The innermost error: those around it repeat its text.
fn cause(error: &Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

fn is_refusal(cause: &str) -> bool {
    ["status code: 401", "status code: 403"].iter().any(|status| cause.contains(status))
}

/// What went wrong in a call, in one line: the innermost error, without the document that a server sends with it but for its code.
pub(super) fn in_short(error: &Error) -> String {
    let text = cause(error);
    let between = |from: &str, to: &str| Some(text.split_once(from)?.1.split_once(to)?.0);
    let line = text.split("<?xml").next().unwrap_or_default().lines().next().unwrap_or_default();
    let line = line.trim_end_matches([':', ' ']);
    match between("<Code>", "</Code>") {
        Some(code) => Clipped::from(format!("{line} ({code})")).into(),
        None => Clipped::from(line).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_and_a_refusal_is_told_from_a_failure() {
        let generic = |text: &str| Error::Generic { store: "S3", source: text.into() };
        let refused = generic(
            "Server returned non-2xx status code: 403 Forbidden: <?xml version=\"1.0\"?>\n<Error><Code>AccessDenied</Code></Error>",
        );
        assert_eq!(in_short(&refused), "Server returned non-2xx status code: 403 Forbidden (AccessDenied)");
        assert_eq!(Trouble::of(&refused), Trouble::Denied);
        let busy = generic("Server returned non-2xx status code: 503 Slow Down");
        assert_eq!((Trouble::of(&busy), in_short(&busy).lines().count()), (Trouble::Failed, 1));
        assert!(in_short(&generic(&"x".repeat(1 << 20))).len() < 1 << 13);
    }
}
