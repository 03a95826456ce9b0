//! How a call ends.

use object_store::Error;

use super::breaker::End;

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
    pub(super) fn of(error: &Error) -> Self {
        match error {
            Error::NotFound { .. } => Self::Absent,
            // `NotModified` is how object_store reports 304, which some servers answer in place of 412.
            Error::AlreadyExists { .. } | Error::Precondition { .. } | Error::NotModified { .. } => {
                Self::Present
            }
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => Self::Denied,
            _ => Self::Failed,
        }
    }

    /// What that says of the bucket.
    pub(super) fn end(self) -> End {
        match self {
            Self::Absent | Self::Present => End::Answered,
            Self::Denied => End::Denied,
            Self::Failed => End::Failed,
        }
    }
}
