//! Why a lookup has no index to give.

use std::io;
use std::time::Duration;

use gobo_client::ClientError;
use gobo_store::StoreError;
use gobo_types::{CompileError, ErrorKind, IndexKey};
use gobo_vocab::VocabError;

/// Why a lookup has no index to give. Only [`LookupError::Verdict`] is about the constraint; it is the same each time, and
/// remembered. Everything else is transient, or a mistake of the caller.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// There is no such index: the constraint is refused, or over budget under these limits.
    #[error(transparent)]
    Verdict(CompileError),
    /// The request took longer than it may.
    #[error("index {key} was not there within {} s; ask again, or allow more time", after.as_secs_f32())]
    Timeout {
        /// The index.
        key: IndexKey,
        /// How long the request may take.
        after: Duration,
    },
    /// Nobody could compile it now.
    #[error("nobody can compile index {key} now: {tried}")]
    Unavailable {
        /// The index.
        key: IndexKey,
        /// What each stage said, for a person.
        tried: String,
    },
    /// A compile failed of a bug.
    #[error("index {key} cannot be compiled: {why}")]
    Failed {
        /// The index.
        key: IndexKey,
        /// The bug, for a person.
        why: String,
    },
    /// The request was cancelled by its caller.
    #[error("the request for index {key} was cancelled")]
    Cancelled {
        /// The index.
        key: IndexKey,
    },
    /// The request was made before this process was forked.
    #[error(
        "the request for index {key} belongs to process {process}, from which this one was forked; ask again"
    )]
    Forked {
        /// The index.
        key: IndexKey,
        /// The process that made it.
        process: u32,
    },
    /// The client of the daemon cannot be made, or a file of this host's store cannot be read.
    #[error(transparent)]
    Client(Box<ClientError>),
    /// The store cannot be used.
    #[error(transparent)]
    Store(Box<StoreError>),
    /// A tokenizer's table makes no vocabulary.
    #[error("the table of vocabulary {name} makes no vocabulary")]
    Vocabulary {
        /// Its name, or what it was imported from.
        name: String,
        /// What is wrong with it.
        source: VocabError,
    },
    /// There is no folder for temporary files.
    #[error("cannot make a temporary folder")]
    Temporary(#[source] io::Error),
}

impl LookupError {
    /// The kind of error.
    ///
    /// ```
    /// use gobo_lookup::LookupError;
    /// use gobo_types::{ErrorKind, IndexKey};
    ///
    /// let error = LookupError::Unavailable { key: IndexKey::from([7; 32]), tried: "no daemon answers".into() };
    /// assert_eq!(error.kind(), ErrorKind::Busy);
    /// ```
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Verdict(verdict) => verdict.kind(),
            Self::Timeout { .. } => ErrorKind::Deadline,
            Self::Unavailable { .. } | Self::Temporary(_) => ErrorKind::Busy,
            Self::Failed { .. } => ErrorKind::Internal,
            Self::Cancelled { .. } | Self::Forked { .. } => ErrorKind::Cancelled,
            Self::Client(source) => source.kind(),
            Self::Store(source) => source.kind(),
            Self::Vocabulary { .. } => ErrorKind::Invalid,
        }
    }

    /// The verdict about the constraint, if that is what it is: asking again ends the same.
    pub fn verdict(&self) -> Option<&CompileError> {
        if let Self::Verdict(verdict) = self { Some(verdict) } else { None }
    }
}

impl From<ClientError> for LookupError {
    fn from(error: ClientError) -> Self {
        Self::Client(Box::new(error))
    }
}

impl From<StoreError> for LookupError {
    fn from(error: StoreError) -> Self {
        Self::Store(Box::new(error))
    }
}
