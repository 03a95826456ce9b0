//! An index that a client found, with all that a matcher needs.

use std::path::PathBuf;
use std::sync::Arc;

use gobo_artifact::{Index, Vocabulary};
use gobo_types::{Binding, IndexKey};

use crate::answer::Source;

/// An index on this host, mapped, with all that a matcher needs.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The index.
    pub index: Arc<Index>,
    /// The vocabulary that it was compiled for.
    pub vocabulary: Arc<Vocabulary>,
    /// The default binding of the vocabulary's name.
    pub binding: Arc<Binding>,
    /// How it was come by.
    pub source: Source,
    /// The index key.
    pub key: IndexKey,
    /// The file on this host.
    pub path: PathBuf,
    /// What this resolve took, in microseconds.
    pub resolve_us: u64,
}
