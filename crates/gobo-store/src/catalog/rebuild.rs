//! Brings the records in step with the files, which are the truth: from nothing, or by comparing names.

use std::collections::HashSet;

use gobo_artifact::{Index, Vocabulary};
use gobo_types::{ArtifactDigest, Digest, IndexKey};

use super::Catalog;
use super::records::{INDICES, IndexRecord, USES, key_in, use_record};
use crate::StoreError;
use crate::directory::Published;
use crate::directory::scan::passing_over;
use crate::files::check::{Depth, Looked, look};

/// The files that a rebuild found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// Number of sound indices, all of which have a record now.
    pub indices: u64,
    /// Number of sound vocabularies.
    pub vocabularies: u64,
    /// Number of files moved to quarantine.
    pub quarantined: u64,
    /// Bytes of the sound files.
    pub bytes: u64,
}

impl Catalog {
    /// Rebuilds the records of indices: opens and verifies every file, moves unsound ones to quarantine, removes the records of
    /// files that are gone. Cached verdicts stay. O(bytes of all files). After a crash in the middle every record is right, as
    /// before.
    ///
    /// # Errors
    /// [`StoreError::Catalog`] if the database fails; [`StoreError::Io`] and [`StoreError::Artifact`] if this process can read
    /// nothing. Single unreadable folders and files are skipped with a warning.
    pub fn rebuild(&self) -> Result<Rebuilt, StoreError> {
        let mut rebuilt = Rebuilt::default();
        for published in self.store.scan_indices() {
            let published = published?;
            let looked = look::<Index>(&self.store, &published.path, published.key.0, Depth::Verify);
            match passing_over(looked)? {
                Some(Looked::Sound(index)) => {
                    self.adopt(&published, &index)?;
                    rebuilt.indices += 1;
                    rebuilt.bytes += published.bytes;
                }
                Some(Looked::Quarantined) => rebuilt.quarantined += 1,
                Some(Looked::Absent | Looked::OtherVersion) | None => {}
            }
        }
        for published in self.store.scan_vocabularies() {
            let published = published?;
            let looked = look::<Vocabulary>(&self.store, &published.path, published.key.0, Depth::Verify);
            match passing_over(looked)? {
                Some(Looked::Sound(_)) => {
                    rebuilt.vocabularies += 1;
                    rebuilt.bytes += published.bytes;
                }
                Some(Looked::Quarantined) => rebuilt.quarantined += 1,
                Some(Looked::Absent | Looked::OtherVersion) | None => {}
            }
        }
        self.drop_stale(self.keys()?)?;
        self.flush()?;
        Ok(rebuilt)
    }

    /// Reconciles the records with the names of the files. Only files without a record are opened: those of a process that
    /// died between publishing and recording, and those that workers published themselves. Returns the numbers of added and
    /// removed records. O(files).
    ///
    /// # Errors
    /// As for [`Catalog::rebuild`].
    pub fn reconcile(&self) -> Result<(u64, u64), StoreError> {
        // One pass over each side: one query of the database for every file and of the system for every record would cost most
        // of a start.
        let mut unseen = self.keys()?;
        let mut added = 0;
        for published in self.store.scan_indices() {
            let published = published?;
            // It may have been recorded since.
            if unseen.remove(&published.key) || self.has_record(&published.key)? {
                continue;
            }
            // An unreadable file must not prevent the start.
            let looked = look::<Index>(&self.store, &published.path, published.key.0, Depth::Verify);
            if let Some(Looked::Sound(index)) = passing_over(looked)? {
                self.adopt(&published, &index)?;
                added += 1;
            }
        }
        let removed = self.drop_stale(unseen)?;
        if added + removed > 0 {
            self.flush()?;
        }
        Ok((added, removed))
    }

    /// The keys of all records of indices.
    fn keys(&self) -> Result<HashSet<IndexKey>, StoreError> {
        let entries = self.with_prefix(INDICES, INDICES);
        entries.filter_map(|entry| entry.map(|(key, _)| key_in(&key)).transpose()).collect()
    }

    /// Records a file that has no record.
    fn adopt(&self, published: &Published<IndexKey>, index: &Index) -> Result<(), StoreError> {
        let digest = ArtifactDigest(Digest::of(index.file_bytes()));
        self.put_record(&published.key, &IndexRecord::of(index, digest, published.published))
    }

    /// Removes the records of those `keys` whose file is gone, and stamps without a record.
    fn drop_stale(&self, keys: impl IntoIterator<Item = IndexKey>) -> Result<u64, StoreError> {
        let mut removed = 0;
        for key in keys {
            // In an unreadable folder the file may exist.
            if matches!(self.store.index_path(&key).try_exists(), Ok(false)) {
                self.remove_record(&key)?;
                removed += 1;
            }
        }
        // Stamps of indices that died between the writing of record and stamp.
        for entry in self.with_prefix(USES, USES) {
            let Some(key) = key_in(&entry?.0) else { continue };
            if !self.has_record(&key)? {
                self.remove(&use_record(&key))?;
            }
        }
        Ok(removed)
    }
}
