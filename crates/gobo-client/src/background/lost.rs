//! How a call ends that gets no answer on this side.

use std::io;

use gobo_types::ErrorKind;

/// Why a call ended on this side, without an answer and without the daemon's fault.
///
/// A [`Pending`](crate::Pending) always ends with a value of its type, so that type says how it is made of this one. A
/// `Result<T, E>` does where `E` does, as [`ClientError`](crate::ClientError).
///
/// ```
/// use gobo_client::{ClientError, ErrorKind, Lost};
///
/// let ended: Result<u32, ClientError> = Lost::Forked.into();
/// assert_eq!(ended.unwrap_err().kind(), ErrorKind::Cancelled);
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Lost {
    /// What was to be done panicked.
    #[error("the call panicked on the thread of its client; the program's panic hook was told why")]
    Panicked,
    /// The call was made before this process was forked, and goes on in its parent alone.
    #[error(
        "the call was made before this process was forked, and goes on in the parent alone; make it again"
    )]
    Forked,
    /// The operating system gives no thread, or no descriptors, to make calls on.
    #[error("cannot start the thread on which a client makes its calls")]
    Thread(#[source] io::Error),
}

impl Lost {
    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Panicked => ErrorKind::Internal,
            Self::Forked => ErrorKind::Cancelled,
            Self::Thread(_) => ErrorKind::Busy,
        }
    }
}

impl<T, E: From<Lost>> From<Lost> for Result<T, E> {
    fn from(lost: Lost) -> Self {
        Err(lost.into())
    }
}
