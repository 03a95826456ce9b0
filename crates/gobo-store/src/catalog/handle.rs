//! The catalog's handle: its database, sums over its records, and access to single records.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::owner_lock::{OwnerLock, locked};
use super::records::name;
use super::verdict_ledger::Ledger;
use crate::database::{Database, DatabaseError, Entry, GroupCommit, Guarded};
use crate::{Store, StoreError};

/// Facts about a store's files, and cached verdicts: a projection that can be rebuilt from the files.
///
/// One process owns it at a time. Methods that store something return when it is on the disk; concurrent ones share one
/// flush. All methods may be called from many threads, but not from async ones, because they block on the disk. A panic of
/// the database is an error.
#[derive(Debug)]
pub struct Catalog {
    // Dropped in this order: the lock is freed after the database is closed.
    pub(super) db: Guarded,
    pub(super) store: Store,
    commits: GroupCommit,
    pub(super) totals: Totals,
    pub(super) verdicts: Mutex<Ledger>,
    pub(super) lock: Arc<OwnerLock>,
    /// It is in memory, for want of room on the disk.
    is_in_memory: bool,
}

/// Sums over the records of indices. Each change adds its difference to the old record, so the order of changes does not
/// matter; a reader may see a change that is half counted.
#[derive(Debug, Default)]
pub(super) struct Totals {
    indices: AtomicI64,
    bytes: AtomicI64,
    flushes: AtomicU64,
}

/// The part of an index record that is summed.
#[derive(Deserialize)]
struct Sized {
    bytes: i64,
}

impl Totals {
    /// Counts a record in, or out.
    pub(super) fn count(&self, value: &[u8], sign: i64) {
        // An unreadable record was never counted.
        if let Ok(Sized { bytes }) = serde_json::from_slice(value) {
            self.indices.fetch_add(sign, Ordering::Relaxed);
            self.bytes.fetch_add(sign * bytes, Ordering::Relaxed);
        }
    }
}

impl Catalog {
    /// A catalog over an opened database.
    pub(super) fn over(db: Guarded, store: &Store, lock: Arc<OwnerLock>) -> Self {
        let (commits, totals) = (GroupCommit::default(), Totals::default());
        let verdicts = Mutex::default();
        Self { db, store: store.clone(), commits, totals, verdicts, lock, is_in_memory: false }
    }

    /// An empty catalog without a disk.
    pub(super) fn over_memory(store: &Store, lock: Arc<OwnerLock>) -> Self {
        Self { is_in_memory: true, ..Self::over(Guarded::in_memory(), store, lock) }
    }

    /// Whether its records are lost when it is dropped: it is [`Catalog::in_memory`], or a [`Catalog::reopen`] has failed.
    pub fn is_in_memory(&self) -> bool {
        self.is_in_memory
    }

    pub(super) fn failed(&self, error: DatabaseError) -> StoreError {
        failed(&self.store, error)
    }

    /// The store whose catalog this is.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Number of recorded indices, and their bytes. O(1).
    pub fn usage(&self) -> (u64, u64) {
        let read = |total: &AtomicI64| u64::try_from(total.load(Ordering::Relaxed)).unwrap_or(0);
        (read(&self.totals.indices), read(&self.totals.bytes))
    }

    /// The records under `prefix` with keys of at least `from`.
    pub(super) fn with_prefix<'a>(
        &'a self,
        prefix: &'static [u8],
        from: &[u8],
    ) -> impl Iterator<Item = Result<Entry, StoreError>> + use<'a> {
        self.db
            .scan(from)
            .map(|entry| entry.map_err(|error| self.failed(error)))
            .take_while(move |entry| entry.as_ref().map_or(true, |(key, _)| key.starts_with(prefix)))
    }

    /// Puts everything on the disk, or waits for another thread that does so for both. For shutdown: acknowledged changes are on
    /// the disk already.
    ///
    /// # Errors
    /// [`StoreError::Catalog`] if the database fails.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.commits
            .commit(|| {
                self.totals.flushes.fetch_add(1, Ordering::Relaxed);
                self.db.flush()
            })
            .map_err(|error| self.failed(error))
    }

    /// Number of flushes since the database was opened: with concurrent writers, far fewer than their acknowledgements.
    pub fn flushes(&self) -> u64 {
        self.totals.flushes.load(Ordering::Relaxed)
    }

    pub(super) fn get<T: DeserializeOwned>(&self, key: &[u8]) -> Result<Option<T>, StoreError> {
        let value = self.db.get(key).map_err(|error| self.failed(error))?;
        value.map(|value| self.decode(key, &value)).transpose()
    }

    pub(super) fn remove(&self, key: &[u8]) -> Result<bool, StoreError> {
        Ok(self.db.remove(key).map_err(|error| self.failed(error))?.is_some())
    }

    pub(super) fn decode<T: DeserializeOwned>(&self, key: &[u8], value: &[u8]) -> Result<T, StoreError> {
        serde_json::from_slice(value).map_err(|source| StoreError::Record {
            path: self.store.layout().catalog(),
            record: name(key),
            source,
        })
    }
}

/// An error of the database, as one of the store.
pub(super) fn failed(store: &Store, source: DatabaseError) -> StoreError {
    let path = store.layout().catalog();
    match source {
        DatabaseError::Io(source) => StoreError::io("use the catalog", &path)(source),
        DatabaseError::InUse => locked(store),
        source => StoreError::Catalog { path, source },
    }
}
