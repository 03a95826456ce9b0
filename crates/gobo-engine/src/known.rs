use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use gobo_types::{ArtifactDigest, IndexKey, VocabularyDigest};

/// Most locations that are remembered, some 16 MiB of them. Beyond, all are forgotten and found again one by one.
const MAX_KNOWN: usize = 1 << 16;

/// How a resolve came by an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The file was in the store.
    Host,
    /// It was compiled now, for this caller or for one that it shared the compile with.
    Compile,
}

/// Where an index is, and its counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The index key.
    pub key: IndexKey,
    /// The file: published, whole, never written again.
    pub path: PathBuf,
    /// How this resolve came by it.
    pub origin: Origin,
    /// blake3 of the file.
    pub artifact_digest: ArtifactDigest,
    /// Its length.
    pub bytes: u64,
    /// The vocabulary that it was compiled for.
    pub vocabulary: VocabularyDigest,
    /// Number of states.
    pub states: u32,
    /// Number of distinct mask rows.
    pub rows: u32,
    /// What the compile took in microseconds, from text to complete file in memory, if this engine did it; else 0.
    pub compile_us: u64,
}

/// Files that were opened and found sound, so that a hit costs one look at a file's metadata. No file stays mapped for
/// it: an evicted index frees its space at once.
#[derive(Default)]
pub(crate) struct Known {
    entries: Mutex<HashMap<IndexKey, (Stamp, Resolved)>>,
}

/// What changes when somebody puts another file in a file's place or writes to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    length: u64,
    inode: u64,
    modified: (i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        Ok(Self {
            length: metadata.len(),
            inode: metadata.ino(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        })
    }
}

impl Known {
    fn lock(&self) -> MutexGuard<'_, HashMap<IndexKey, (Stamp, Resolved)>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The location of `key`, if its file is still the one that was put.
    pub(crate) fn get(&self, key: &IndexKey) -> Option<Resolved> {
        let (stamp, resolved) = self.lock().get(key).cloned()?;
        if Stamp::of(&resolved.path).is_ok_and(|now| now == stamp) {
            return Some(resolved);
        }
        self.lock().remove(key);
        None
    }

    /// Remembers where a sound file is.
    pub(crate) fn put(&self, resolved: &Resolved) {
        let Ok(stamp) = Stamp::of(&resolved.path) else { return };
        let mut entries = self.lock();
        if entries.len() >= MAX_KNOWN {
            entries.clear();
        }
        entries.insert(resolved.key, (stamp, resolved.clone()));
    }

    /// Forgets one file.
    pub(crate) fn remove(&self, key: &IndexKey) {
        self.lock().remove(key);
    }

    /// Forgets all.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }
}
