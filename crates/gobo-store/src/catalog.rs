use std::collections::HashSet;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use gobo_artifact::{Index, Vocabulary};
use gobo_types::{ArtifactDigest, Digest, IndexKey, error_chain};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::access::create_folder;
use crate::artifact::{Depth, Looked, look};
use crate::catalog_folder::{make_private, not_a_folder, require_room};
use crate::clock::{from_unix_ms, unix_ms};
use crate::database::{Database, DatabaseError, Entry, Guarded, OpenDatabase};
use crate::group_commit::GroupCommit;
use crate::migration::{Migrations, State, name};
use crate::owner_lock::{OwnerLock, locked};
use crate::quarantine::Reason;
use crate::record::IndexRecord;
use crate::scan::{Published, passing_over};
use crate::sled_database::Sled;
use crate::verdicts::{Ledger, VerdictKey};
use crate::{PublishStep, Store, StoreError};

/// `i/<index key>` → [`IndexRecord`]; declared by `migrations/0001_indices.toml`.
const INDICES: &[u8] = b"i/";
/// `r/<index key><digest of the limits, or zeros>` → a cached verdict; `migrations/0002_verdicts.toml`.
pub(crate) const VERDICTS: &[u8] = b"r/";
/// `s/<index key>` → when the index was last used, in milliseconds since 1970; `migrations/0003_uses.toml`.
const USES: &[u8] = b"s/";
/// Stands for the limits in the key of a refusal, which holds under any.
pub(crate) const ANY_LIMITS: Digest = Digest([0; 32]);

/// How [`Catalog::open`] came by the catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    /// It was there. Records were added for files without one, and removed where the file is gone.
    Existing,
    /// The store is new: there was no catalog, and there are no indices.
    Created,
    /// The same, and the steps after `from` up to `to` were applied.
    Migrated {
        /// Number of the last step it knew.
        from: u32,
        /// Number of the last step it knows now.
        to: u32,
    },
    /// It was lost, unreadable or not understood, and was made anew from the files. What was there is in quarantine.
    Rebuilt {
        /// What was wrong, for a person.
        why: String,
        /// What was found.
        found: Rebuilt,
    },
}

/// What a rebuild found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// Number of sound indices, all of them on record now.
    pub indices: u64,
    /// Number of sound vocabularies.
    pub vocabularies: u64,
    /// Number of files moved to quarantine.
    pub quarantined: u64,
    /// Bytes of the sound files.
    pub bytes: u64,
}

/// What is known about a store's files and what was refused: a projection that can be rebuilt from the files.
///
/// One process owns it at a time. Methods that store something return when it is on the disk; those that wait for it at
/// the same time share one flush. All methods may be called from many threads; they block on the disk, so not from async
/// ones. A panic of the database is an error.
#[derive(Debug)]
pub struct Catalog {
    // Dropped in this order: nobody else may come in before the database is closed.
    pub(crate) db: Guarded,
    store: Store,
    commits: GroupCommit,
    totals: Totals,
    pub(crate) verdicts: Mutex<Ledger>,
    lock: Arc<OwnerLock>,
    /// It is kept in memory, for want of room on the disk.
    is_in_memory: bool,
}

/// What the records of indices add up to. Each change adds the difference to what it replaced, so the order of changes
/// does not matter; between two of them a reader may see one that is half counted.
#[derive(Debug, Default)]
struct Totals {
    indices: AtomicI64,
    bytes: AtomicI64,
    flushes: AtomicU64,
}

/// The part of a record of an index that is added up.
#[derive(Deserialize)]
struct Sized {
    bytes: i64,
}

impl Totals {
    /// Counts a record in, or out.
    fn count(&self, value: &[u8], sign: i64) {
        // What cannot be read was never counted.
        if let Ok(Sized { bytes }) = serde_json::from_slice(value) {
            self.indices.fetch_add(sign, Ordering::Relaxed);
            self.bytes.fetch_add(sign * bytes, Ordering::Relaxed);
        }
    }
}

impl Catalog {
    /// Opens the catalog of `store`, or makes it: new for an empty store, migrated from an earlier version, rebuilt
    /// from the files if it is lost, damaged, or written by a version this one does not understand (then the old one
    /// is moved to quarantine). An existing one is brought in step with the names of the files ([`Catalog::reconcile`]).
    /// O(records + files); O(bytes of all files) when rebuilding.
    ///
    /// # Errors
    /// [`StoreError::Locked`] if it has an owner, in this process or another. [`StoreError::Io`] and
    /// [`StoreError::Catalog`] if the disk refuses, [`StoreError::NoRoom`] if it is full: what is there stays there.
    /// [`StoreError::NetworkFileSystem`] where locks and `fsync` of the store's file system do not mean what they say.
    pub fn open(store: &Store) -> Result<(Self, Opened), StoreError> {
        Self::open_in(store, &Sled)
    }

    /// As [`Catalog::open`], in another database: for tests that break it.
    ///
    /// # Errors
    /// As for [`Catalog::open`].
    pub fn open_in(store: &Store, databases: &dyn OpenDatabase) -> Result<(Self, Opened), StoreError> {
        store.refuse_network()?;
        Self::open_locked(store, databases, Arc::new(OwnerLock::take(store)?))
    }

    /// A catalog without a disk, for an owner whose disk is full: empty, and lost when it is dropped. The catalog on the disk
    /// is not looked at; nobody else can open it meanwhile. What is in the store is verified and put on record one by one, as it
    /// is asked for. [`Catalog::reopen`] goes back to the disk.
    ///
    /// # Errors
    /// As for [`Catalog::open`], but for those of the database.
    pub fn in_memory(store: &Store) -> Result<Self, StoreError> {
        store.refuse_network()?;
        let lock = Arc::new(OwnerLock::take(store)?);
        let mut catalog = Self::over(Guarded::in_memory(), store, lock);
        catalog.is_in_memory = true;
        Ok(catalog)
    }

    /// Whether what it knows is lost when it is dropped: it is [`Catalog::in_memory`], or a [`Catalog::reopen`] has failed.
    pub fn is_in_memory(&self) -> bool {
        self.is_in_memory
    }

    /// Closes the database and opens it again, as [`Catalog::open`] does: one that has met a full disk fails for ever after.
    /// The ownership of the store is never given up. If that fails, the catalog is in memory from then on.
    ///
    /// # Errors
    /// As for [`Catalog::open_in`].
    pub fn reopen(&mut self, databases: &dyn OpenDatabase) -> Result<Opened, StoreError> {
        if !self.is_in_memory {
            let mut memory = Self::over(Guarded::in_memory(), &self.store, Arc::clone(&self.lock));
            memory.is_in_memory = true;
            *self = memory;
            databases.await_release(&self.store.layout().catalog());
        }
        let (catalog, opened) = Self::open_locked(&self.store, databases, Arc::clone(&self.lock))?;
        *self = catalog;
        Ok(opened)
    }

    fn open_locked(
        store: &Store,
        databases: &dyn OpenDatabase,
        lock: Arc<OwnerLock>,
    ) -> Result<(Self, Opened), StoreError> {
        let migrations = Migrations::built_in()?;
        let path = store.layout().catalog();
        require_room(store)?;
        let mut why = not_a_folder(&path);
        let mut db = None;
        if why.is_none() && path.exists() {
            make_private(store)?;
            match attempt(store, databases, &migrations)? {
                Attempt::Ready(db, State::At(from)) => {
                    let catalog = Self::over(db, store, lock);
                    let to = migrations.last();
                    if from < to {
                        catalog.finish(&migrations, from)?;
                    }
                    catalog.add_up()?;
                    catalog.note_verdicts()?;
                    // A database that lost its tail opens without a word.
                    let (added, removed) = catalog.reconcile()?;
                    if added + removed > 0 {
                        tracing::info!(added, removed, "brought the catalog in step with the files");
                    }
                    let opened = if from < to { Opened::Migrated { from, to } } else { Opened::Existing };
                    return Ok((catalog, opened));
                }
                // Its maker died before the first record: as good as missing.
                Attempt::Ready(blank, State::Blank) => db = Some(blank),
                Attempt::Ready(foreign, State::Foreign(reason)) => {
                    drop(foreign);
                    why = Some(reason);
                }
                Attempt::Unreadable(reason) => why = Some(reason),
            }
        }
        if let Some(reason) = &why {
            databases.await_release(&path);
            store.quarantine(&path, Reason::Catalog, reason)?;
        }
        let (db, absence) = if let Some(blank) = db {
            (blank, "it was empty")
        } else {
            create_folder(&path)?;
            make_private(store)?;
            (Guarded::open(databases, &path).map_err(|error| failed(store, error))?, "it was missing")
        };
        let catalog = Self::over(db, store, lock);
        let found = catalog.rebuild()?;
        // Last: dying before this leaves records that no step declares, which is taken for foreign and done again.
        catalog.finish(&migrations, 0)?;
        if why.is_none() && found.indices == 0 {
            // Vocabularies may have been imported before any catalog was needed: nothing is out of order.
            return Ok((catalog, Opened::Created));
        }
        let why = why.unwrap_or_else(|| absence.to_owned());
        tracing::warn!(path = %path.display(), why, indices = found.indices, "the catalog was rebuilt from the files");
        Ok((catalog, Opened::Rebuilt { why, found }))
    }

    fn over(db: Guarded, store: &Store, lock: Arc<OwnerLock>) -> Self {
        let (commits, totals) = (GroupCommit::default(), Totals::default());
        let verdicts = Mutex::default();
        Self { db, store: store.clone(), commits, totals, verdicts, lock, is_in_memory: false }
    }

    /// Counts the records that are there. O(records), once.
    fn add_up(&self) -> Result<(), StoreError> {
        for entry in self.with_prefix(INDICES, INDICES) {
            self.totals.count(&entry?.1, 1);
        }
        Ok(())
    }

    fn finish(&self, migrations: &Migrations, from: u32) -> Result<(), StoreError> {
        self.db.apply(&migrations.entries(from, SystemTime::now())?).map_err(|error| self.failed(error))?;
        self.flush()
    }

    pub(crate) fn failed(&self, error: DatabaseError) -> StoreError {
        failed(&self.store, error)
    }

    /// The store whose catalog this is.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Makes the records of indices anew: opens and verifies every file, moves unsound ones to quarantine, removes the
    /// records of files that are gone. Cached verdicts stay. O(bytes of all files). Dying in the middle leaves a
    /// catalog that is right about every file it has a record of, as before.
    ///
    /// # Errors
    /// [`StoreError::Catalog`] if the database fails; [`StoreError::Io`] and [`StoreError::Artifact`] if this process can read
    /// nothing. Single folders and files that cannot be read are passed over, with a warning.
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

    /// Brings the records in step with the names of the files, opening only those without a record: what a process
    /// that died between publishing and recording left, or what workers published by themselves. Returns how many
    /// records were added and removed. O(files).
    ///
    /// # Errors
    /// As for [`Catalog::rebuild`].
    pub fn reconcile(&self) -> Result<(u64, u64), StoreError> {
        // In one pass over each side: asking the database about every file and the system about every record costs most of a
        // start otherwise.
        let mut unseen = self.keys()?;
        let mut added = 0;
        for published in self.store.scan_indices() {
            let published = published?;
            // It may have been recorded since.
            if unseen.remove(&published.key) || self.has_record(&published.key)? {
                continue;
            }
            // One that cannot be read keeps nobody from starting.
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

    fn has_record(&self, key: &IndexKey) -> Result<bool, StoreError> {
        Ok(self.db.get(&index_record(key)).map_err(|error| self.failed(error))?.is_some())
    }

    fn adopt(&self, published: &Published<IndexKey>, index: &Index) -> Result<(), StoreError> {
        let digest = ArtifactDigest(Digest::of(index.file_bytes()));
        self.put_record(&published.key, &IndexRecord::of(index, digest, published.published))
    }

    fn put_record(&self, key: &IndexKey, record: &IndexRecord) -> Result<(), StoreError> {
        let json = encode(record)?;
        let old = self.db.insert(&index_record(key), &json).map_err(|error| self.failed(error))?;
        self.totals.count(&json, 1);
        if let Some(old) = old {
            self.totals.count(&old, -1);
        }
        Ok(())
    }

    /// Removes the record of an index and its stamp, without waiting for the disk.
    fn remove_record(&self, key: &IndexKey) -> Result<bool, StoreError> {
        let old = self.db.remove(&index_record(key)).map_err(|error| self.failed(error))?;
        if let Some(old) = &old {
            self.totals.count(old, -1);
        }
        self.remove(&use_record(key))?;
        Ok(old.is_some())
    }

    /// Removes those of the records of `keys` whose file is gone, and the stamps that outlived their record.
    fn drop_stale(&self, keys: impl IntoIterator<Item = IndexKey>) -> Result<u64, StoreError> {
        let mut removed = 0;
        for key in keys {
            // Where a folder cannot be read, nobody knows.
            if matches!(self.store.index_path(&key).try_exists(), Ok(false)) {
                self.remove_record(&key)?;
                removed += 1;
            }
        }
        // The death of an index came between the two.
        for entry in self.with_prefix(USES, USES) {
            let Some(key) = key_in(&entry?.0) else { continue };
            if !self.has_record(&key)? {
                self.remove(&use_record(&key))?;
            }
        }
        Ok(removed)
    }

    /// Records a published index; on the disk when it returns.
    ///
    /// # Errors
    /// [`StoreError::Catalog`] if the database fails.
    pub fn put_index(&self, key: &IndexKey, record: &IndexRecord) -> Result<(), StoreError> {
        self.put_record(key, record)?;
        self.flush()?;
        self.store.observe(PublishStep::Catalogued);
        Ok(())
    }

    /// The record of an index.
    ///
    /// # Errors
    /// [`StoreError::Catalog`] if the database fails, [`StoreError::Record`] if the record is damaged.
    pub fn get_index(&self, key: &IndexKey) -> Result<Option<IndexRecord>, StoreError> {
        self.get(&index_record(key))
    }

    /// Removes the record of an index; says whether there was one. On the disk when it returns.
    ///
    /// # Errors
    /// [`StoreError::Catalog`] if the database fails.
    pub fn remove_index(&self, key: &IndexKey) -> Result<bool, StoreError> {
        let removed = self.remove_record(key)?;
        self.flush()?;
        Ok(removed)
    }

    /// Removes the records of many indices, with one flush at the end; on the disk when it returns.
    ///
    /// # Errors
    /// [`StoreError::Catalog`] if the database fails: some of them are removed then.
    pub fn remove_indices(&self, keys: &[IndexKey]) -> Result<(), StoreError> {
        for key in keys {
            self.remove_record(key)?;
        }
        if keys.is_empty() { Ok(()) } else { self.flush() }
    }

    /// Number of indices on record, and their bytes. O(1).
    pub fn usage(&self) -> (u64, u64) {
        let read = |total: &AtomicI64| u64::try_from(total.load(Ordering::Relaxed)).unwrap_or(0);
        (read(&self.totals.indices), read(&self.totals.bytes))
    }

    /// Stamps indices with the times of their last uses: one batch, one flush, whatever their number. A stamp never goes
    /// back, unless it is later than `now`: a clock that was ahead does not keep an index for ever. Stamps of indices
    /// without a record are passed over.
    ///
    /// # Errors
    /// [`StoreError::Catalog`] if the database fails.
    pub fn put_uses(&self, uses: &[(IndexKey, SystemTime)], now: SystemTime) -> Result<(), StoreError> {
        let mut batch: Vec<Entry> = Vec::with_capacity(uses.len());
        for (key, used) in uses {
            let on_record = self.db.get(&index_record(key)).map_err(|error| self.failed(error))?.is_some();
            let old = self.get_use(key)?.filter(|old| *old <= now);
            if on_record && old.is_none_or(|old| old < *used) {
                batch.push((use_record(key).to_vec(), encode(&unix_ms(*used))?));
            }
        }
        if batch.is_empty() {
            return Ok(());
        }
        self.db.apply(&batch).map_err(|error| self.failed(error))?;
        self.flush()
    }

    /// When an index was last used, as far as it was stamped. To the millisecond.
    ///
    /// # Errors
    /// [`StoreError::Catalog`] if the database fails, [`StoreError::Record`] if the stamp is damaged.
    pub fn get_use(&self, key: &IndexKey) -> Result<Option<SystemTime>, StoreError> {
        Ok(self.get::<u64>(&use_record(key))?.map(from_unix_ms))
    }

    /// All records of indices, ascending by key. Changes made meanwhile may or may not be seen.
    ///
    /// # Errors
    /// An item is [`StoreError::Catalog`] if the database fails, [`StoreError::Record`] for a damaged record.
    pub fn indices(&self) -> impl Iterator<Item = Result<(IndexKey, IndexRecord), StoreError>> + '_ {
        self.indices_after(None)
    }

    /// As [`Catalog::indices`], only those with keys beyond `after`. The first one costs O(log records).
    ///
    /// # Errors
    /// As for [`Catalog::indices`].
    pub fn indices_after<'a>(
        &'a self,
        after: Option<&IndexKey>,
    ) -> impl Iterator<Item = Result<(IndexKey, IndexRecord), StoreError>> + use<'a> {
        let mut from = INDICES.to_vec();
        if let Some(after) = after {
            from.extend_from_slice(after.as_bytes());
            // The least key beyond.
            from.push(0);
        }
        self.with_prefix(INDICES, &from).filter_map(|entry| {
            let (key, value) = match entry {
                Ok(entry) => entry,
                Err(error) => return Some(Err(error)),
            };
            // A key of another length is nobody's: `state` saw to the prefix, and nothing here writes it.
            let index = key_in(&key)?;
            Some(self.decode(&key, &value).map(|record| (index, record)))
        })
    }

    /// The records under `prefix` with keys of at least `from`.
    pub(crate) fn with_prefix<'a>(
        &'a self,
        prefix: &'static [u8],
        from: &[u8],
    ) -> impl Iterator<Item = Result<Entry, StoreError>> + use<'a> {
        self.db
            .scan(from)
            .map(|entry| entry.map_err(|error| self.failed(error)))
            .take_while(move |entry| entry.as_ref().map_or(true, |(key, _)| key.starts_with(prefix)))
    }

    /// Puts everything on the disk, or waits for another thread that does so for both. For shutdown; what was
    /// acknowledged is there already.
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

    /// How often the database was put on the disk since it was opened: with writers at the same time, far less often than
    /// they were acknowledged.
    pub fn flushes(&self) -> u64 {
        self.totals.flushes.load(Ordering::Relaxed)
    }

    pub(crate) fn get<T: DeserializeOwned>(&self, key: &[u8]) -> Result<Option<T>, StoreError> {
        let value = self.db.get(key).map_err(|error| self.failed(error))?;
        value.map(|value| self.decode(key, &value)).transpose()
    }

    pub(crate) fn remove(&self, key: &[u8]) -> Result<bool, StoreError> {
        Ok(self.db.remove(key).map_err(|error| self.failed(error))?.is_some())
    }

    pub(crate) fn decode<T: DeserializeOwned>(&self, key: &[u8], value: &[u8]) -> Result<T, StoreError> {
        serde_json::from_slice(value).map_err(|source| StoreError::Record {
            path: self.store.layout().catalog(),
            record: name(key),
            source,
        })
    }
}

pub(crate) fn encode(record: &impl Serialize) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(record)
        .map_err(|source| StoreError::Encode { what: "a record of the catalog", source })
}

fn of_index(prefix: &[u8], key: &IndexKey) -> [u8; 34] {
    let mut record = [0; 34];
    record[..2].copy_from_slice(prefix);
    record[2..].copy_from_slice(key.as_bytes());
    record
}

fn index_record(key: &IndexKey) -> [u8; 34] {
    of_index(INDICES, key)
}

fn use_record(key: &IndexKey) -> [u8; 34] {
    of_index(USES, key)
}

/// The index that a record is about, if its key has the length for it.
fn key_in(record: &[u8]) -> Option<IndexKey> {
    let bytes: [u8; 32] = record.get(INDICES.len()..)?.try_into().ok()?;
    Some(IndexKey::from(bytes))
}

pub(crate) fn verdict_record(key: &IndexKey, limits: Digest) -> VerdictKey {
    let mut record = [0; 66];
    record[..34].copy_from_slice(&of_index(VERDICTS, key));
    record[34..].copy_from_slice(&limits.0);
    record
}

fn failed(store: &Store, source: DatabaseError) -> StoreError {
    let path = store.layout().catalog();
    match source {
        DatabaseError::Io(source) => StoreError::io("use the catalog", &path)(source),
        DatabaseError::InUse => locked(store),
        source => StoreError::Catalog { path, source },
    }
}

/// What became of an attempt to use what lies in the catalog's folder.
enum Attempt {
    Ready(Guarded, State),
    /// Not to be used, and why.
    Unreadable(String),
}

/// Opens and reads what is there. Errors are the machine's; whatever is wrong with the bytes is `Unreadable`.
fn attempt(
    store: &Store,
    databases: &dyn OpenDatabase,
    migrations: &Migrations,
) -> Result<Attempt, StoreError> {
    let opened = Guarded::open(databases, &store.layout().catalog()).and_then(|db| {
        let state = migrations.state(&db)?;
        Ok((db, state))
    });
    match opened {
        Ok((db, state)) => Ok(Attempt::Ready(db, state)),
        Err(error) if is_machine(&error) => Err(failed(store, error)),
        Err(error) => Ok(Attempt::Unreadable(error_chain(&error))),
    }
}

/// Errors for which the bytes are not to blame: moving them away would lose them for nothing.
fn is_machine(error: &DatabaseError) -> bool {
    use std::io::ErrorKind as Io;

    match error {
        DatabaseError::InUse => true,
        DatabaseError::Io(error) => matches!(
            error.kind(),
            Io::PermissionDenied
                | Io::ReadOnlyFilesystem
                | Io::StorageFull
                | Io::QuotaExceeded
                | Io::FileTooLarge
                | Io::OutOfMemory
                | Io::StaleNetworkFileHandle
        ),
        _ => false,
    }
}
