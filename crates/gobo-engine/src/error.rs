use std::io;

use gobo_artifact::ArtifactError;
use gobo_remote::RemoteError;
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
        /// The name.
        name: String,
    },
    /// No vocabulary of this digest is in the store.
    #[error("there is no vocabulary {digest} in the store; import its tokenizer, or send its file")]
    UnknownDigest {
        /// The digest.
        digest: VocabularyDigest,
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
    /// A name stands for something else, and is to keep its meaning.
    #[error("{}", taken(name, stands_for, given))]
    NameTaken {
        /// The name.
        name: String,
        /// What it stands for.
        stands_for: VocabularyDigest,
        /// What it was to stand for; the same, where only the bindings differ.
        given: VocabularyDigest,
    },
    /// What a caller says of a vocabulary file does not hold.
    #[error("{field}: {why}")]
    BadImport {
        /// The field of [`ImportRequest`](crate::ImportRequest), as the proto file has it.
        field: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// What a caller has sent is no sound vocabulary file.
    #[error("what was sent is no sound vocabulary file")]
    BadFile(#[source] ArtifactError),
    /// What a caller has sent is sound, and another file than this version builds from its table.
    #[error(
        "the file of vocabulary {vocabulary} is not the one that this version of gobo builds from its table; \
         import its tokenizer with the version of the daemon"
    )]
    OtherBuild {
        /// The vocabulary.
        vocabulary: VocabularyDigest,
    },
    /// The store has as many vocabularies as callers may make.
    #[error("the store has {limit} vocabularies, and takes no more from callers; remove some by hand")]
    TooManyVocabularies {
        /// The limit.
        limit: usize,
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
    /// There is no bucket.
    #[error("this host shares no bucket with others; --remote URL gives one")]
    NoRemote,
    /// The bucket that hosts share cannot be used.
    #[error(transparent)]
    Remote(#[from] RemoteError),
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
            Self::UnknownVocabulary { .. }
            | Self::UnknownDigest { .. }
            | Self::MissingVocabulary { .. }
            | Self::UnknownIndex { .. } => ErrorKind::NotFound,
            Self::Vocabulary { source, .. } => source.kind(),
            Self::NameTaken { .. } => ErrorKind::Exists,
            Self::BadImport { .. } | Self::NoRemote => ErrorKind::Invalid,
            Self::BadFile(source) => match source.kind() {
                ErrorKind::Version => ErrorKind::Version,
                // Damage is the mistake of its sender.
                _ => ErrorKind::Invalid,
            },
            Self::OtherBuild { .. } => ErrorKind::Version,
            Self::TooManyVocabularies { .. } => ErrorKind::Limit,
            Self::QueueFull { .. } | Self::Closed | Self::Threads(_) => ErrorKind::Busy,
            Self::Remote(error) => error.kind(),
            Self::Panicked { .. } => ErrorKind::Internal,
        }
    }
}

/// Why a name is not given to another vocabulary.
fn taken(name: &str, stands_for: &VocabularyDigest, given: &VocabularyDigest) -> String {
    if stands_for == given {
        format!("the name {name:?} stands for the same vocabulary {given} with another binding")
    } else {
        format!("the name {name:?} stands for vocabulary {stands_for}, and this one is {given}")
    }
}
