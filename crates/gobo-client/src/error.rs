use std::io;

use gobo_proto::ConvertError;
use gobo_store::StoreError;
use gobo_types::{CompileError, ErrorKind, IndexKey};
use tonic::{Code, Status};

/// Why a client has no index to give.
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
    #[error("{address:?} is no address of a daemon: expected unix:PATH or http://HOST:PORT")]
    Address {
        /// What was given.
        address: String,
    },
    /// A tenant's name that is none.
    #[error("{name:?} is no tenant's name: 1 to 64 of A-Z, a-z, 0-9, '.', '_' and '-'")]
    Tenant {
        /// What was given.
        name: String,
    },
    /// Nobody answers.
    #[error("no daemon answers at {address}; start one with `gobo serve`")]
    Unreachable {
        /// Where.
        address: String,
        /// What the transport said.
        source: Box<Status>,
    },
    /// The daemon answered with an error.
    #[error("the daemon answered: {}", status.message())]
    Daemon {
        /// The whole answer.
        status: Box<Status>,
    },
    /// The daemon answered with something that means nothing.
    #[error("the daemon's answer cannot be read")]
    Reply(#[from] ConvertError),
    /// The daemon has another idea of the key: its epochs are not this client's.
    #[error(
        "the daemon answered with index {found}, this client asked for {expected}; update the older of the two"
    )]
    OtherKey {
        /// What this client derives.
        expected: IndexKey,
        /// What the daemon derived.
        found: IndexKey,
    },
    /// What was streamed is not what was announced.
    #[error("the daemon streamed {what}")]
    Stream {
        /// What it did.
        what: String,
    },
    /// A file is longer than this client takes.
    #[error(
        "the daemon has a file of {announced} bytes, this client takes {limit}; hint: `max_file_bytes` of its builder"
    )]
    TooLarge {
        /// Its length as the daemon says.
        announced: u64,
        /// What the client takes.
        limit: u64,
    },
    /// What was just published or located is gone.
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
            Self::NoStore | Self::Address { .. } | Self::Tenant { .. } => ErrorKind::Invalid,
            Self::Unreachable { .. } | Self::Thread(_) => ErrorKind::Busy,
            Self::Daemon { status } => kind_of(status.code()),
            Self::Reply(_) | Self::OtherKey { .. } => ErrorKind::Version,
            Self::TooLarge { .. } => ErrorKind::Limit,
            Self::Stream { .. } | Self::Vanished { .. } => ErrorKind::Corrupt,
        }
    }

    pub(crate) fn of_status(status: Status, address: &str) -> Self {
        let source = Box::new(status);
        // A daemon that answers says so in its trailers; a transport that fails has a source.
        if source.code() == Code::Unavailable && std::error::Error::source(&*source).is_some() {
            return Self::Unreachable { address: address.to_owned(), source };
        }
        Self::Daemon { status: source }
    }
}

/// The daemon's table read backwards.
fn kind_of(code: Code) -> ErrorKind {
    match code {
        Code::InvalidArgument | Code::OutOfRange => ErrorKind::Invalid,
        Code::NotFound => ErrorKind::NotFound,
        Code::FailedPrecondition => ErrorKind::Version,
        Code::Unimplemented => ErrorKind::Unsupported,
        Code::DataLoss => ErrorKind::Corrupt,
        Code::ResourceExhausted | Code::Unavailable | Code::Aborted => ErrorKind::Busy,
        Code::DeadlineExceeded => ErrorKind::Deadline,
        Code::Cancelled => ErrorKind::Cancelled,
        _ => ErrorKind::Internal,
    }
}
