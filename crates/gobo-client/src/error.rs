//! Why a client has no index to give, and whether to ask again.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use gobo_proto::{ConvertError, ERROR_DOMAIN, UNKNOWN_VOCABULARY};
use gobo_store::StoreError;
use gobo_types::{CompileError, ErrorKind, IndexKey, VocabularyDigest};
use tonic::{Code, ConnectError, Status, TimeoutExpired};
use tonic_types::StatusExt as _;

use crate::background::Lost;

/// Why a client has no index to give.
///
/// ```
/// use gobo_client::{Client, ClientError, Constraint, ErrorKind};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let store = folder.path();
/// // No daemon runs on this store.
/// let client = Client::builder().store(store).connect()?;
/// let error = client.resolve("tiny", &Constraint::regex("a")).await.unwrap_err();
/// assert!(matches!(error, ClientError::Unreachable { .. }));
/// assert_eq!((error.kind(), error.retry_after()), (ErrorKind::Busy, None));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The verdict is no: refused or over budget. The same everywhere; the constraint or the limits have to change.
    #[error(transparent)]
    Verdict(#[from] CompileError),
    /// The store of this host cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A client needs a store on this host.
    #[error("a client needs a store on this host, and none was given")]
    NoStore,
    /// An address that is none.
    #[error(
        "{address:?} is no address of a daemon: expected unix:PATH, http://HOST:PORT or https://HOST:PORT"
    )]
    Address {
        /// The text that was given.
        address: String,
    },
    /// A file of what is shown to the daemon, or asked of it, cannot be used.
    #[error("{}: {why}", path.display())]
    Credentials {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A token would travel where others can read it.
    #[error("a token must not travel to {address} in the plain; use https://, or the daemon of this host")]
    TokenInThePlain {
        /// Where to.
        address: String,
    },
    /// This program was built without TLS.
    #[error(
        "{address} needs TLS, which this program was built without; hint: a daemon on this host may have it (`gobo serve --upstream`)"
    )]
    NoTls {
        /// The address.
        address: String,
    },
    /// A tenant's name that is none.
    #[error("{name:?} is no tenant's name: 1 to 64 of A-Z, a-z, 0-9, '.', '_' and '-'")]
    Tenant {
        /// The text that was given.
        name: String,
    },
    /// No daemon answers: there is none, or it went away before it had answered.
    #[error("no daemon answers at {address}; start one with `gobo serve`")]
    Unreachable {
        /// Where.
        address: String,
        /// What the system says of it, without the errors of gRPC, HTTP/2 and the connector around it.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The daemon answered with an error.
    #[error("the daemon answered: {message}")]
    Daemon {
        /// The kind of error.
        kind: ErrorKind,
        /// The message of the daemon, for a person.
        message: String,
        /// After which time another attempt may succeed, where the daemon advises one.
        retry_after: Option<Duration>,
    },
    /// No answer of the daemon in time: the call was given up. The daemon goes on only with what others wait for, too.
    #[error("the daemon at {address} gave no answer in time")]
    Timeout {
        /// Where.
        address: String,
    },
    /// The daemon has no vocabulary of this digest. [`Client::import_vocabulary`](crate::Client::import_vocabulary) sends one to a
    /// daemon on another host, [`Client::publish_vocabulary`](crate::Client::publish_vocabulary) puts one into a store that both share.
    #[error("the daemon has no vocabulary {digest}; import its tokenizer there, or send its file")]
    UnknownVocabulary {
        /// The digest that was asked for.
        digest: VocabularyDigest,
    },
    /// The call ended on this side.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// The daemon answered with something that means nothing.
    #[error("the daemon's answer cannot be read")]
    Reply(#[source] Box<dyn Error + Send + Sync>),
    /// The daemon has another idea of the key: its epochs are not this client's.
    #[error(
        "the daemon answered with index {found}, this client asked for {expected}; update the older of the two"
    )]
    OtherKey {
        /// The key that this client derives.
        expected: IndexKey,
        /// The key that the daemon derived.
        found: IndexKey,
    },
    /// A stream is not the file that was announced.
    #[error("the daemon streamed {what}")]
    Stream {
        /// The fault, for a person.
        what: String,
    },
    /// A file is longer than this client takes.
    #[error(
        "the daemon has a file of {announced} bytes, this client takes {limit}; hint: `max_file_bytes` of its builder"
    )]
    TooLarge {
        /// Its length as the daemon says.
        announced: u64,
        /// The limit of the client.
        limit: u64,
    },
    /// An index that was just published or located is gone.
    #[error("index {key} was found and could not be opened again")]
    Vanished {
        /// The index.
        key: IndexKey,
    },
    /// The operating system gives no thread to publish on.
    #[error("cannot start a thread to publish on")]
    Thread(#[source] io::Error),
}

impl ClientError {
    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Verdict(verdict) => verdict.kind(),
            Self::Store(source) => source.kind(),
            Self::NoStore
            | Self::Address { .. }
            | Self::Credentials { .. }
            | Self::TokenInThePlain { .. }
            | Self::Tenant { .. } => ErrorKind::Invalid,
            Self::NoTls { .. } => ErrorKind::Unsupported,
            Self::Unreachable { .. } | Self::Thread(_) => ErrorKind::Busy,
            Self::Daemon { kind, .. } => *kind,
            Self::Timeout { .. } => ErrorKind::Deadline,
            Self::UnknownVocabulary { .. } => ErrorKind::NotFound,
            Self::Lost(lost) => lost.kind(),
            Self::Reply(_) | Self::OtherKey { .. } => ErrorKind::Version,
            Self::TooLarge { .. } => ErrorKind::Limit,
            Self::Stream { .. } | Self::Vanished { .. } => ErrorKind::Corrupt,
        }
    }

    /// After which time another attempt may succeed, as a busy daemon advises. `None` where it advises nothing, where
    /// there is none, and where no other attempt helps ([`Self::kind`] says which).
    ///
    /// ```
    /// use std::time::Duration;
    /// use gobo_client::{ClientError, CompileError, ErrorKind};
    ///
    /// fn wait_before_next_attempt(error: &ClientError) -> Option<Duration> {
    ///     match error.kind() {
    ///         ErrorKind::Busy | ErrorKind::Deadline => Some(error.retry_after().unwrap_or(Duration::from_millis(200))),
    ///         _ => None,
    ///     }
    /// }
    ///
    /// let after = Duration::from_secs(2);
    /// let busy = ClientError::Verdict(CompileError::Unavailable { why: "full".into(), retry_after: Some(after) });
    /// assert_eq!(wait_before_next_attempt(&busy), Some(after));
    /// assert_eq!(wait_before_next_attempt(&ClientError::NoStore), None);
    /// ```
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Daemon { retry_after, .. }
            | Self::Verdict(CompileError::Unavailable { retry_after, .. }) => *retry_after,
            _ => None,
        }
    }

    pub(crate) fn of_status(status: &Status, address: &str) -> Self {
        // The deadline of a call is kept on both sides, and either may be the first.
        if status.code() == Code::Cancelled && status.message() == TimeoutExpired(()).to_string() {
            return Self::Timeout { address: address.to_owned() };
        }
        // A daemon that answers says so in its trailers; a transport that fails, also in the middle of a call, has a source.
        if status.source().is_some() {
            let cause = root_cause(status);
            let source: Box<dyn Error + Send + Sync> =
                if is_about_connecting(status) { Box::new(NotConnected(cause)) } else { cause.into() };
            return Self::Unreachable { address: address.to_owned(), source };
        }
        if let Some(digest) = unknown_vocabulary(status) {
            return Self::UnknownVocabulary { digest };
        }
        let retry_after = status.get_details_retry_info().and_then(|info| info.retry_delay);
        Self::Daemon { kind: kind_of(status.code()), message: status.message().to_owned(), retry_after }
    }

    /// Whether a file of the daemon's, or one that it told of, is gone or damaged: asked again, it mends that.
    pub(crate) fn is_about_a_file(&self) -> bool {
        matches!(self.kind(), ErrorKind::NotFound | ErrorKind::Corrupt)
            && !matches!(self, Self::UnknownVocabulary { .. })
    }

    /// Whether the same call may end otherwise at once: the daemon went away in the middle of it or is about to, and behind a balancer
    /// there may be another. Where nobody could be connected to, or a daemon has no room, that would help nobody.
    pub(crate) fn is_worth_repeating(&self) -> bool {
        match self {
            Self::Unreachable { source, .. } => !source.is::<NotConnected>(),
            // A daemon that has no room says when to come back; one that shuts down, and a balancer without daemons, do not.
            Self::Daemon { kind: ErrorKind::Busy, retry_after, .. } => retry_after.is_none(),
            _ => false,
        }
    }

    pub(crate) fn unreadable(error: ConvertError) -> Self {
        Self::Reply(Box::new(error))
    }

    pub(crate) fn missing(field: &'static str) -> Self {
        Self::unreadable(ConvertError::Missing { field })
    }
}

/// The vocabulary that the daemon has not, where this is what it says.
fn unknown_vocabulary(status: &Status) -> Option<VocabularyDigest> {
    let info = status.get_details_error_info()?;
    let is_this = info.domain == ERROR_DOMAIN && info.reason == UNKNOWN_VOCABULARY;
    info.metadata.get("digest").filter(|_| is_this)?.parse().ok()
}

/// The daemon's table read backwards.
fn kind_of(code: Code) -> ErrorKind {
    match code {
        Code::InvalidArgument | Code::OutOfRange => ErrorKind::Invalid,
        Code::NotFound => ErrorKind::NotFound,
        Code::AlreadyExists => ErrorKind::Exists,
        Code::FailedPrecondition => ErrorKind::Version,
        Code::Unimplemented => ErrorKind::Unsupported,
        Code::DataLoss => ErrorKind::Corrupt,
        Code::ResourceExhausted | Code::Unavailable | Code::Aborted => ErrorKind::Busy,
        Code::DeadlineExceeded => ErrorKind::Deadline,
        Code::Cancelled => ErrorKind::Cancelled,
        Code::PermissionDenied | Code::Unauthenticated => ErrorKind::Denied,
        _ => ErrorKind::Internal,
    }
}

/// Why no connection was made.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct NotConnected(String);

fn is_about_connecting(status: &Status) -> bool {
    let mut next = status.source();
    while let Some(error) = next {
        if error.is::<ConnectError>() {
            return true;
        }
        next = error.source();
    }
    false
}

/// The last error of a chain, as text: each one before it says less, or the same again.
fn root_cause(error: &dyn Error) -> String {
    let mut last = error;
    while let Some(next) = last.source() {
        last = next;
    }
    last.to_string()
}

#[cfg(test)]
mod tests {
    use tonic_types::ErrorDetails;

    use super::*;

    #[test]
    fn a_busy_daemon_says_when_to_come_back() {
        let advised = Duration::from_millis(1500);
        let details = ErrorDetails::with_retry_info(Some(advised));
        let busy = Status::with_error_details(Code::ResourceExhausted, "full", details);
        let error = ClientError::of_status(&busy, "unix:x");
        assert_eq!((error.kind(), error.retry_after()), (ErrorKind::Busy, Some(advised)));
        assert_eq!(error.to_string(), "the daemon answered: full");
        let draining = ClientError::of_status(&Status::unavailable("shutting down"), "unix:x");
        assert_eq!((draining.kind(), draining.retry_after()), (ErrorKind::Busy, None));
        let shed = CompileError::Unavailable { why: "full".into(), retry_after: Some(advised) };
        assert_eq!(ClientError::Verdict(shed).retry_after(), Some(advised));
    }

    #[test]
    fn a_deadline_is_one_error_on_whichever_side_it_passes() {
        // As the transport makes it here, and as it comes from a daemon.
        let here = Status::from_error(Box::new(TimeoutExpired(())));
        let there = Status::cancelled(here.message());
        for status in [here, there] {
            let error = ClientError::of_status(&status, "unix:x");
            assert!(matches!(&error, ClientError::Timeout { address } if address == "unix:x"), "{error}");
            assert_eq!(error.kind(), ErrorKind::Deadline);
        }
        let other = ClientError::of_status(&Status::cancelled("by the daemon"), "unix:x");
        assert_eq!(other.kind(), ErrorKind::Cancelled);
    }
}
