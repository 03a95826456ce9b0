use std::io;

use gobo_artifact::ArtifactError;
use gobo_store::StoreError;
use gobo_types::{ErrorKind, IndexKey, VocabularyDigest};
use gobo_vocab::VocabError;

/// What can go wrong around compiling; how a compile itself ends is a
/// [`CompileError`](gobo_types::CompileError).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The store or its catalog failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file of the store cannot be read to its end.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// Neither in the store nor built in.
    #[error("there is no vocabulary {name:?}; import its tokenizer under that name first")]
    UnknownVocabulary {
        /// The name, or the digest as text.
        name: String,
    },
    /// A name stands for a vocabulary whose file is not there, or was damaged and set aside.
    #[error("the file of vocabulary {digest} is missing or damaged; import the tokenizer of {name:?} again")]
    MissingVocabulary {
        /// The name.
        name: String,
        /// What it stands for.
        digest: VocabularyDigest,
    },
    /// No index of this key is in the store.
    #[error("there is no index {key} in the store")]
    UnknownIndex {
        /// The key.
        key: IndexKey,
    },
    /// A tokenizer does not make a vocabulary.
    #[error("the tokenizer of {name:?} makes no vocabulary")]
    Vocabulary {
        /// The name it was to have.
        name: String,
        /// Why.
        source: VocabError,
    },
    /// Too much waits already.
    #[error("too many jobs wait for a worker (limit {limit}); try again")]
    QueueFull {
        /// The length of the queue.
        limit: usize,
    },
    /// The engine is closing.
    #[error("the engine is closing; ask again once it is back")]
    Closed,
    /// The operating system gives no threads.
    #[error("cannot start the worker threads")]
    Threads(#[source] io::Error),
    /// A job panicked.
    #[error("a worker failed: {message}; this is a bug of gobo")]
    Panicked {
        /// The panic's message.
        message: String,
    },
}

impl EngineError {
    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Store(source) => source.kind(),
            Self::Artifact(source) => source.kind(),
            Self::UnknownVocabulary { .. } | Self::MissingVocabulary { .. } | Self::UnknownIndex { .. } => {
                ErrorKind::NotFound
            }
            Self::Vocabulary { source, .. } => source.kind(),
            Self::QueueFull { .. } | Self::Closed | Self::Threads(_) => ErrorKind::Busy,
            Self::Panicked { .. } => ErrorKind::Internal,
        }
    }
}
