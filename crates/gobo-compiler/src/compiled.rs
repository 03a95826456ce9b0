//! What a compile makes.

use gobo_artifact::file::AlignedBytes;
use gobo_types::{ArtifactDigest, IndexKey};

/// What a compile counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompileStats {
    /// States of the automaton, the dead one left out.
    pub states: u32,
    /// Rows computed: one per state-equivalence class and one per (suffix set, return class) pair.
    pub rows: u32,
    /// Rows stored: distinct ones.
    pub distinct_rows: u32,
    /// Rows of earlier compiles that were found in the cache: of canonical indices the lists of tokens that rows inside of characters are made of.
    pub shared_rows: u32,
    /// Steps charged to the budget.
    pub steps: u64,
    /// Bytes charged to the budget.
    pub bytes: u64,
}

/// A compiled index: the very bytes of its file.
#[derive(Debug)]
pub struct Compiled {
    /// The key of the inputs.
    pub key: IndexKey,
    /// blake3 of the file.
    pub artifact_digest: ArtifactDigest,
    /// What was counted.
    pub stats: CompileStats,
    pub(crate) bytes: AlignedBytes,
}

impl Compiled {
    /// The bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
