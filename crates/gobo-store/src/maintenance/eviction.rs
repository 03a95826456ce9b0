//! Eviction: the least recently used indices go first (LRU), until the store is within its bounds.
//!
//! Invariant: pinned indices, and those published or used within the grace, stay. A file is removed before its record, so a
//! crash leaves a record without a file, which is no hit. Cost: O(files), and O(files · log files) if something has to go.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

use gobo_types::IndexKey;

use crate::directory::Published;
use crate::{Catalog, StoreError};

/// Number of records that are removed together: each group costs one flush.
const GROUP: usize = 256;

/// Bounds of the store, and which indices stay in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CollectPolicy {
    /// Bytes of indices above which eviction begins. Vocabularies, quarantine and the catalog are not counted.
    pub high_bytes: u64,
    /// Bytes of indices at which eviction ends. At most `high_bytes`.
    pub low_bytes: u64,
    /// An index that was published or used within this time stays, whatever the bytes.
    pub grace: Duration,
    /// Remove nothing, and report the indices that would be removed.
    pub dry_run: bool,
}

/// The uses of indices that a process knows beyond those in the files and the catalog.
pub trait Uses {
    /// How long ago `key` was last used through this process, by a clock that never jumps and rounded down; `None` if it was
    /// not, or that is forgotten.
    fn idle(&self, key: &IndexKey) -> Option<Duration>;

    /// For how long this process has known all uses that are younger than that.
    fn watched(&self) -> Duration;

    /// Calls `remove` while nobody can be handed the index of `key`, unless it was used within `grace`; says whether it
    /// was called.
    ///
    /// # Errors
    /// Those of `remove`.
    fn retire(
        &self,
        key: &IndexKey,
        grace: Duration,
        remove: &mut dyn FnMut() -> Result<(), StoreError>,
    ) -> Result<bool, StoreError>;
}

/// Nobody uses anything through this process.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoUses;

impl Uses for NoUses {
    fn idle(&self, _: &IndexKey) -> Option<Duration> {
        None
    }

    fn watched(&self) -> Duration {
        Duration::ZERO
    }

    fn retire(
        &self,
        _: &IndexKey,
        _: Duration,
        remove: &mut dyn FnMut() -> Result<(), StoreError>,
    ) -> Result<bool, StoreError> {
        remove().map(|()| true)
    }
}

/// An index that eviction looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// Its key.
    pub key: IndexKey,
    /// Length of its file.
    pub bytes: u64,
    /// The latest of these times: its use through the owner, its stamp in the catalog, the file's time of access, and its publishing.
    pub last_used: SystemTime,
}

/// Why an index stays although its turn had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Spared {
    /// It is pinned.
    Pinned,
    /// It was published or used within the grace.
    InGrace,
}

/// A step of eviction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CollectEvent {
    /// All files were listed.
    Scanned {
        /// Number of indices.
        indices: u64,
        /// Their bytes.
        bytes: u64,
    },
    /// This one will be removed.
    Chosen(Candidate),
    /// Its file was removed; in a dry run, it would have been.
    Removed(Candidate),
    /// Its turn had come, and it stays.
    Spared(Candidate, Spared),
    /// So many records of removed indices are gone, durably.
    Forgotten(usize),
}

/// The result of eviction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Collected {
    /// Number of indices before.
    pub indices: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How many were removed.
    pub removed: u64,
    /// Their bytes. Mapped files take room until they are unmapped.
    pub removed_bytes: u64,
    /// How many stay because they are pinned, of those whose turn had come.
    pub pinned: u64,
    /// Their bytes.
    pub pinned_bytes: u64,
    /// How many stay because of the grace, of those whose turn had come.
    pub in_grace: u64,
    /// Their bytes.
    pub in_grace_bytes: u64,
}

impl Catalog {
    /// Evicts indices: if their files have more bytes than `policy.high_bytes`, the least recently used ones are removed until
    /// `policy.low_bytes` are left. Pinned indices stay, and so do those that were published or used within the grace.
    /// Processes keep the files that they map. O(files), and O(files · log files) if something has to go.
    ///
    /// A file is removed first and its record after it, in groups. A crash in between leaves records without a file, which
    /// are no hits and are removed at the next [`Catalog::open`].
    ///
    /// The grace is measured by the clock of `uses` for the uses that it knows, and otherwise by times of the host's clock.
    /// Times beyond `now` come from a clock that was ahead: they protect a file only until `uses` has watched for the grace.
    ///
    /// # Errors
    /// [`StoreError::Catalog`] if the database fails: the files removed until then are gone. [`StoreError::Io`] if a file
    /// cannot be removed: others went in its place. A catalog that fails for want of room ([`StoreError::NoRoom`]) is no
    /// error here, because removing makes room: then the last uses are those of `uses` and the files, and records of removed
    /// files stay until [`Catalog::reopen`].
    pub fn collect(
        &self,
        policy: &CollectPolicy,
        uses: &dyn Uses,
        now: SystemTime,
        each: &mut dyn FnMut(CollectEvent),
    ) -> Result<Collected, StoreError> {
        let files = self.store().scan_indices().collect::<Result<Vec<_>, _>>()?;
        let bytes = files.iter().map(|file| file.bytes).sum();
        let indices = files.len() as u64;
        each(CollectEvent::Scanned { indices, bytes });
        let mut collected = Collected { indices, bytes, ..Collected::default() };
        if bytes <= policy.high_bytes {
            return Ok(collected);
        }
        let mut queue = Vec::with_capacity(files.len());
        for file in files {
            let last_used = self.last_use(&file, uses, now)?;
            queue.push((Candidate { key: file.key, bytes: file.bytes, last_used }, file));
        }
        queue.sort_unstable_by_key(|(candidate, _)| (candidate.last_used, candidate.key));

        let mut left = bytes;
        let mut gone = Vec::new();
        let mut failed = None;
        let result = queue.iter().try_for_each(|(candidate, file)| {
            if left <= policy.low_bytes {
                return Ok(());
            }
            let spared = match self.evict(policy, uses, now, candidate, file, each) {
                // A file that cannot be removed does not keep the others.
                Err(error) if error.is_of_its_path() => {
                    failed.get_or_insert(error);
                    return Ok(());
                }
                spared => spared?,
            };
            match spared {
                None => {
                    left -= candidate.bytes;
                    collected.removed += 1;
                    collected.removed_bytes += candidate.bytes;
                    if !policy.dry_run {
                        gone.push(candidate.key);
                    }
                }
                Some(why) => {
                    let (count, bytes) = match why {
                        Spared::Pinned => (&mut collected.pinned, &mut collected.pinned_bytes),
                        Spared::InGrace => (&mut collected.in_grace, &mut collected.in_grace_bytes),
                    };
                    *count += 1;
                    *bytes += candidate.bytes;
                    each(CollectEvent::Spared(*candidate, why));
                }
            }
            if gone.len() >= GROUP { self.forget(&mut gone, each) } else { Ok(()) }
        });
        // Also after a failure: the removed files are gone.
        self.forget(&mut gone, each)?;
        result?;
        failed.map_or(Ok(collected), Err)
    }

    fn forget(&self, gone: &mut Vec<IndexKey>, each: &mut dyn FnMut(CollectEvent)) -> Result<(), StoreError> {
        if !gone.is_empty() {
            match self.remove_indices(gone) {
                // Records without files are no hits, and a catalog that is opened again drops them.
                Err(StoreError::NoRoom { .. }) => {}
                removed => {
                    removed?;
                    each(CollectEvent::Forgotten(gone.len()));
                }
            }
            gone.clear();
        }
        Ok(())
    }

    /// Removes one file, or says why not.
    fn evict(
        &self,
        policy: &CollectPolicy,
        uses: &dyn Uses,
        now: SystemTime,
        candidate: &Candidate,
        file: &Published<IndexKey>,
        each: &mut dyn FnMut(CollectEvent),
    ) -> Result<Option<Spared>, StoreError> {
        let store = self.store();
        if store.is_pinned(&candidate.key)? {
            return Ok(Some(Spared::Pinned));
        }
        if is_in_grace(policy.grace, uses, now, candidate) {
            return Ok(Some(Spared::InGrace));
        }
        if policy.dry_run {
            each(CollectEvent::Removed(*candidate));
            return Ok(None);
        }
        each(CollectEvent::Chosen(*candidate));
        let mut spared = None;
        let was_called = uses.retire(&candidate.key, policy.grace, &mut || {
            // Checked again while nobody is handed the index: it may have been pinned, or published again.
            if store.is_pinned(&candidate.key)? {
                spared = Some(Spared::Pinned);
            } else if !is_the_same(file) {
                spared = Some(Spared::InGrace);
            } else {
                store.remove_index(&candidate.key)?;
            }
            Ok(())
        })?;
        if !was_called {
            spared = Some(Spared::InGrace);
        }
        if spared.is_none() {
            each(CollectEvent::Removed(*candidate));
        }
        Ok(spared)
    }

    fn last_use(
        &self,
        file: &Published<IndexKey>,
        uses: &dyn Uses,
        now: SystemTime,
    ) -> Result<SystemTime, StoreError> {
        let here = uses.idle(&file.key).and_then(|idle| now.checked_sub(idle));
        // A damaged stamp counts as none, and so does one that a full disk hides.
        let stamped = match self.get_use(&file.key) {
            Err(StoreError::Record { .. } | StoreError::NoRoom { .. }) => None,
            stamped => stamped?,
        };
        let later = |a: SystemTime, b: Option<SystemTime>| b.map_or(a, |b| a.max(b));
        Ok(later(later(file.published.max(file.accessed), stamped), here))
    }
}

fn is_in_grace(grace: Duration, uses: &dyn Uses, now: SystemTime, candidate: &Candidate) -> bool {
    if uses.idle(&candidate.key).is_some_and(|idle| idle < grace) {
        return true;
    }
    match now.duration_since(candidate.last_used) {
        Ok(age) => age < grace,
        // From a clock that was ahead: only a process that has watched since then knows the age.
        Err(_) => uses.watched() < grace,
    }
}

/// Whether the file is still the one that was scanned. A file that is gone counts as the same.
fn is_the_same(file: &Published<IndexKey>) -> bool {
    match fs::metadata(&file.path) {
        Ok(metadata) => {
            metadata.ino() == file.inode
                && metadata.len() == file.bytes
                && metadata.modified().is_ok_and(|modified| modified == file.published)
        }
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}
