//! Facts about one vocabulary.

use std::path::PathBuf;

use gobo_proto::{digest, v1};
use gobo_types::{Binding, VocabularyDigest};

use crate::error::ClientError;

/// A vocabulary under a name of a daemon's store, or under its digest alone.
///
/// The answer of [`Client::vocabulary`](crate::Client::vocabulary), which has an example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VocabularyInfo {
    /// Its name; empty where it was asked for by digest.
    pub name: String,
    /// The digest of the canonical table.
    pub digest: VocabularyDigest,
    /// The default binding of the name; none by digest.
    pub binding: Option<Binding>,
    /// The kind of tokenizer that it came from; empty by digest.
    pub tokenizer_kind: String,
    /// Number of ids that stand for bytes or are special.
    pub tokens: u32,
    /// Number of ids that are special.
    pub special: u32,
    /// Vocabulary length: the highest id plus one; 0 if the file is gone or damaged.
    pub length: u32,
    /// Size of the vocabulary file in bytes; 0 if it is gone or damaged.
    pub bytes: u64,
    /// Whether texts can be cut as the tokenizer itself cuts them, and why not, for a person; empty if the file is gone or damaged.
    pub canonical: String,
    /// Where the file is on the daemon's host; empty if it is gone or damaged.
    pub path: PathBuf,
    /// The root of the daemon's store on its host, with links resolved.
    pub store: PathBuf,
}

impl VocabularyInfo {
    pub(crate) fn read(info: v1::VocabularyInfo) -> Result<Self, ClientError> {
        Ok(Self {
            name: info.name,
            digest: digest("vocabulary.digest", &info.digest).map_err(ClientError::unreadable)?,
            binding: info.binding.map(Into::into),
            tokenizer_kind: info.tokenizer_kind,
            tokens: info.tokens,
            special: info.special,
            length: info.length,
            bytes: info.bytes,
            canonical: info.canonical,
            path: info.path.into(),
            store: info.store.into(),
        })
    }
}
