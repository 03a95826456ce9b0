use gobo_types::ErrorKind;

use crate::object::{KeyFileError, Rejected};

/// Why a bucket cannot be used at all. What goes wrong later is counted, and costs no answer.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The address is none, or its parts do not suffice.
    #[error("the bucket {url} cannot be used: {why}")]
    Address {
        /// The address.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// A file of keys cannot be used.
    #[error(transparent)]
    KeyFile(#[from] KeyFileError),
    /// There is no such object.
    #[error("the bucket has not {what} of that name")]
    NotThere {
        /// What was asked for.
        what: &'static str,
    },
    /// There is something else.
    #[error("{what} of the bucket is not used: {why}")]
    Rejected {
        /// What was asked for.
        what: &'static str,
        /// Why it is not used.
        why: Rejected,
    },
    /// The credentials are missing, wrong or expired, or do not suffice.
    #[error("the bucket refuses {what} with these credentials: {why}")]
    Denied {
        /// What was asked for.
        what: &'static str,
        /// What it said.
        why: String,
    },
    /// A call failed that somebody waits for.
    #[error("the bucket fails with {what}: {why}")]
    Call {
        /// What was asked for.
        what: &'static str,
        /// What it said.
        why: String,
    },
    /// The bucket is closed.
    #[error("the bucket is closed")]
    Closed,
    /// The threads of the calls cannot be started.
    #[error("cannot start the threads that call the bucket")]
    Threads(#[source] std::io::Error),
}

impl RemoteError {
    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Address { .. } | Self::KeyFile(_) | Self::Denied { .. } => ErrorKind::Invalid,
            Self::NotThere { .. } => ErrorKind::NotFound,
            Self::Rejected { .. } => ErrorKind::Corrupt,
            Self::Call { .. } | Self::Closed | Self::Threads(_) => ErrorKind::Busy,
        }
    }
}
