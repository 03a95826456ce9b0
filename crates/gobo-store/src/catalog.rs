use std::fs::{File, OpenOptions};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use gobo_artifact::Index;
use gobo_types::{ArtifactDigest, CompileLimits, Digest, IndexKey, OverBudget, Refusal};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::artifact::{Depth, Looked, look};
use crate::clock::unix_ms;
use crate::migration::{Migrations, State, name};
use crate::publish::create_folder;
use crate::quarantine::Reason;
use crate::record::{CachedVerdict, IndexRecord, VerdictRecord, limits_digest};
use crate::scan::Published;
use crate::{PublishStep, Store, StoreError};

/// `i/<index key>` → [`IndexRecord`]; declared by `migrations/0001_indices.toml`.
const INDICES: &[u8] = b"i/";
/// `r/<index key><digest of the limits, or zeros>` → a cached verdict; `migrations/0002_verdicts.toml`.
const VERDICTS: &[u8] = b"r/";
/// Stands for the limits in the key of a refusal, which holds under any.
const ANY_LIMITS: Digest = Digest([0; 32]);

/// The database's threads let go of its file a moment after it is dropped.
const RELEASE_WAIT: Duration = Duration::from_secs(3);

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
/// One process owns it at a time. Methods that store something return when it is on the disk. All methods may be
/// called from many threads; they block on the disk, so not from async ones.
#[derive(Debug)]
pub struct Catalog {
    // Dropped in this order: nobody else may come in before the database is closed.
    db: sled::Db,
    store: Store,
    _lock: OwnerLock,
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
    pub fn open(store: &Store) -> Result<(Self, Opened), StoreError> {
        let migrations = Migrations::built_in()?;
        let lock = lock(store)?;
        let path = store.layout().catalog();
        let mut why = None;
        let mut db = None;
        if path.exists() {
            match attempt(store, &migrations)? {
                Attempt::Ready(db, State::At(from)) => {
                    let catalog = Self { db, store: store.clone(), _lock: lock };
                    let to = migrations.last();
                    if from < to {
                        catalog.finish(&migrations, from)?;
                    }
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
            await_release(&path);
            store.quarantine(&path, Reason::Catalog, reason)?;
        }
        let (db, absence) = if let Some(blank) = db {
            (blank, "it was empty")
        } else {
            create_folder(&path)?;
            (database(store).map_err(|error| failed(store, error))?, "it was missing")
        };
        let catalog = Self { db, store: store.clone(), _lock: lock };
        let found = catalog.rebuild()?;
        // Last: dying before this leaves records that no step declares, which is taken for foreign and done again.
        catalog.finish(&migrations, 0)?;
        if why.is_none() && found == Rebuilt::default() {
            return Ok((catalog, Opened::Created));
        }
        let why = why.unwrap_or_else(|| absence.to_owned());
        if found.indices == 0 {
            // A store into which vocabularies were imported before any catalog was needed: nothing is out of order.
            tracing::info!(path = %path.display(), why, "the catalog was built");
        } else {
            tracing::warn!(path = %path.display(), why, indices = found.indices, "the catalog was rebuilt from the files");
        }
        Ok((catalog, Opened::Rebuilt { why, found }))
    }

    fn finish(&self, migrations: &Migrations, from: u32) -> Result<(), StoreError> {
        migrations.apply(&self.db, from, SystemTime::now()).map_err(|error| failed(&self.store, error))?;
        self.flush()
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
    /// [`StoreError::Io`] if a folder cannot be read, [`StoreError::Artifact`] if a file cannot be,
    /// [`StoreError::Catalog`] if the database fails.
    pub fn rebuild(&self) -> Result<Rebuilt, StoreError> {
        let mut rebuilt = Rebuilt::default();
        for published in self.store.scan_indices() {
            let published = published?;
            match look::<Index>(&self.store, &published.path, published.key.0, Depth::Verify)? {
                Looked::Sound(index) => {
                    self.adopt(&published, &index)?;
                    rebuilt.indices += 1;
                    rebuilt.bytes += published.bytes;
                }
                Looked::Quarantined => rebuilt.quarantined += 1,
                Looked::Absent | Looked::OtherVersion => {}
            }
        }
        for published in self.store.scan_vocabularies() {
            let published = published?;
            match look::<gobo_artifact::Vocabulary>(
                &self.store,
                &published.path,
                published.key.0,
                Depth::Verify,
            )? {
                Looked::Sound(_) => {
                    rebuilt.vocabularies += 1;
                    rebuilt.bytes += published.bytes;
                }
                Looked::Quarantined => rebuilt.quarantined += 1,
                Looked::Absent | Looked::OtherVersion => {}
            }
        }
        self.drop_stale()?;
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
        let mut added = 0;
        for published in self.store.scan_indices() {
            let published = published?;
            let key = index_record(&published.key);
            if self.db.contains_key(key).map_err(|error| failed(&self.store, error))? {
                continue;
            }
            let looked = look::<Index>(&self.store, &published.path, published.key.0, Depth::Verify)?;
            if let Looked::Sound(index) = looked {
                self.adopt(&published, &index)?;
                added += 1;
            }
        }
        let removed = self.drop_stale()?;
        self.flush()?;
        Ok((added, removed))
    }

    fn adopt(&self, published: &Published<IndexKey>, index: &Index) -> Result<(), StoreError> {
        let digest = ArtifactDigest(Digest::of(index.file_bytes()));
        self.put(&index_record(&published.key), &IndexRecord::of(index, digest, published.published))
    }

    fn drop_stale(&self) -> Result<u64, StoreError> {
        let mut removed = 0;
        for record in self.indices() {
            let (key, _) = record?;
            if !self.store.index_path(&key).exists() {
                self.remove(&index_record(&key))?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// Records a published index; on the disk when it returns.
    ///
    /// # Errors
    /// [`StoreError::Catalog`] if the database fails.
    pub fn put_index(&self, key: &IndexKey, record: &IndexRecord) -> Result<(), StoreError> {
        self.put(&index_record(key), record)?;
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
        let removed = self.remove(&index_record(key))?;
        self.flush()?;
        Ok(removed)
    }

    /// All records of indices, ascending by key. Changes made meanwhile may or may not be seen.
    ///
    /// # Errors
    /// An item is [`StoreError::Catalog`] if the database fails, [`StoreError::Record`] for a damaged record.
    pub fn indices(&self) -> impl Iterator<Item = Result<(IndexKey, IndexRecord), StoreError>> + '_ {
        self.db.scan_prefix(INDICES).filter_map(|entry| {
            let (key, value) = match entry {
                Ok(entry) => entry,
                Err(error) => return Some(Err(failed(&self.store, error))),
            };
            // A key of another length is nobody's: `state` saw to the prefix, and nothing here writes it.
            let bytes: [u8; 32] = key.get(INDICES.len()..)?.try_into().ok()?;
            Some(self.decode(&key, &value).map(|record| (IndexKey::from(bytes), record)))
        })
    }

    /// Remembers a refusal until `expires`, whatever the limits; on the disk when it returns.
    ///
    /// # Errors
    /// [`StoreError::Catalog`] if the database fails.
    pub fn put_refusal(
        &self,
        key: &IndexKey,
        refusal: &Refusal,
        expires: SystemTime,
    ) -> Result<(), StoreError> {
        self.put_verdict(key, ANY_LIMITS, CachedVerdict::Refused(refusal.clone()), expires)
    }

    /// Remembers until `expires` that a compile ran over one of `limits`, for exactly these limits; on the disk when
    /// it returns.
    ///
    /// # Errors
    /// [`StoreError::Catalog`] if the database fails.
    pub fn put_over_budget(
        &self,
        key: &IndexKey,
        over: &OverBudget,
        limits: &CompileLimits,
        expires: SystemTime,
    ) -> Result<(), StoreError> {
        self.put_verdict(key, limits_digest(limits), CachedVerdict::OverBudget(over.clone()), expires)
    }

    fn put_verdict(
        &self,
        key: &IndexKey,
        limits: Digest,
        verdict: CachedVerdict,
        expires: SystemTime,
    ) -> Result<(), StoreError> {
        let record = VerdictRecord { verdict, expires_unix_ms: unix_ms(expires) };
        self.put(&verdict_record(key, limits), &record)?;
        self.flush()
    }

    /// The verdict remembered for this key under these limits, if it has not expired at `now`. An expired one is
    /// removed.
    ///
    /// # Errors
    /// [`StoreError::Catalog`] if the database fails, [`StoreError::Record`] if the record is damaged.
    pub fn get_verdict(
        &self,
        key: &IndexKey,
        limits: &CompileLimits,
        now: SystemTime,
    ) -> Result<Option<CachedVerdict>, StoreError> {
        for limits in [ANY_LIMITS, limits_digest(limits)] {
            let key = verdict_record(key, limits);
            match self.get::<VerdictRecord>(&key)? {
                Some(record) if record.expires_unix_ms > unix_ms(now) => return Ok(Some(record.verdict)),
                Some(_) => drop(self.remove(&key)?),
                None => {}
            }
        }
        Ok(None)
    }

    /// Puts everything on the disk. For shutdown; what was acknowledged is there already.
    ///
    /// # Errors
    /// [`StoreError::Catalog`] if the database fails.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.db.flush().map(drop).map_err(|error| failed(&self.store, error))
    }

    fn put(&self, key: &[u8], record: &impl Serialize) -> Result<(), StoreError> {
        let json = serde_json::to_vec(record)
            .map_err(|source| StoreError::Encode { what: "a record of the catalog", source })?;
        self.db.insert(key, json).map(drop).map_err(|error| failed(&self.store, error))
    }

    fn get<T: DeserializeOwned>(&self, key: &[u8]) -> Result<Option<T>, StoreError> {
        let value = self.db.get(key).map_err(|error| failed(&self.store, error))?;
        value.map(|value| self.decode(key, &value)).transpose()
    }

    fn remove(&self, key: &[u8]) -> Result<bool, StoreError> {
        let old = self.db.remove(key).map_err(|error| failed(&self.store, error))?;
        Ok(old.is_some())
    }

    fn decode<T: DeserializeOwned>(&self, key: &[u8], value: &[u8]) -> Result<T, StoreError> {
        serde_json::from_slice(value).map_err(|source| StoreError::Record {
            path: self.store.layout().catalog(),
            record: name(key),
            source,
        })
    }
}

fn index_record(key: &IndexKey) -> [u8; 34] {
    let mut record = [0; 34];
    record[..2].copy_from_slice(INDICES);
    record[2..].copy_from_slice(key.as_bytes());
    record
}

fn verdict_record(key: &IndexKey, limits: Digest) -> [u8; 66] {
    let mut record = [0; 66];
    record[..2].copy_from_slice(VERDICTS);
    record[2..34].copy_from_slice(key.as_bytes());
    record[34..].copy_from_slice(&limits.0);
    record
}

fn failed(store: &Store, source: sled::Error) -> StoreError {
    let path = store.layout().catalog();
    match source {
        sled::Error::Io(source) => StoreError::io("use the catalog", &path)(source),
        source => StoreError::Catalog { path, source },
    }
}

fn locked(store: &Store) -> StoreError {
    StoreError::Locked { path: store.layout().catalog(), socket: store.layout().socket() }
}

/// Ownership of a catalog, until dropped.
#[derive(Debug)]
struct OwnerLock(File);

impl Drop for OwnerLock {
    fn drop(&mut self) {
        // Closing is not enough: a child process between its fork and its exec still has the file open.
        if let Err(error) = flock(&self.0, FlockOperation::Unlock) {
            tracing::warn!(%error, "cannot unlock the catalog");
        }
    }
}

/// Becomes the owner. The lock is a file of our own, taken before the database touches anything; the system frees it
/// when the process ends, however it ends.
fn lock(store: &Store) -> Result<OwnerLock, StoreError> {
    let path = store.layout().catalog_lock();
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(StoreError::io("open the lock", &path))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(OwnerLock(file)),
        Err(Errno::WOULDBLOCK) => Err(locked(store)),
        Err(error) => Err(StoreError::io("lock", &path)(error.into())),
    }
}

/// What became of an attempt to use what lies in the catalog's folder.
enum Attempt {
    Ready(sled::Db, State),
    /// Not to be used, and why.
    Unreadable(String),
}

/// Opens and reads what is there. Errors are the machine's; whatever is wrong with the bytes is `Unreadable`.
fn attempt(store: &Store, migrations: &Migrations) -> Result<Attempt, StoreError> {
    // The database panics over some kinds of damage. It is dropped with the folder it was opened on.
    let opened = catch_unwind(AssertUnwindSafe(|| {
        let db = database(store)?;
        let state = migrations.state(&db)?;
        Ok((db, state))
    }));
    match opened {
        Ok(Ok((db, state))) => Ok(Attempt::Ready(db, state)),
        Ok(Err(sled::Error::Io(error))) if is_lock(&error) => Err(locked(store)),
        Ok(Err(error)) if is_machine(&error) => Err(failed(store, error)),
        Ok(Err(error)) => Ok(Attempt::Unreadable(error.to_string())),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            Ok(Attempt::Unreadable(format!("reading it panicked: {text}")))
        }
    }
}

/// Opens the database, waiting a little for a former owner in this process that is still closing it.
fn database(store: &Store) -> sled::Result<sled::Db> {
    let path = store.layout().catalog();
    let give_up = Instant::now() + RELEASE_WAIT;
    loop {
        match open_database(&path) {
            Err(sled::Error::Io(error)) if is_lock(&error) && Instant::now() < give_up => {
                thread::sleep(Duration::from_millis(10));
            }
            result => return result,
        }
    }
}

/// Waits until the threads of a database that was dropped have closed its file: what they still write by path must not
/// land in the folder that takes its place.
fn await_release(path: &Path) {
    let give_up = Instant::now() + RELEASE_WAIT;
    // The file that the database locks. Damage may include its absence.
    let Ok(file) = File::open(path.join("db")) else { return };
    while flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK)
        && Instant::now() < give_up
    {
        thread::sleep(Duration::from_millis(5));
    }
}

fn open_database(path: &Path) -> sled::Result<sled::Db> {
    // A larger cache would hold what the files say anyway.
    sled::Config::new().path(path).cache_capacity(64 << 20).open()
}

/// The database reports its own lock as an error of no particular kind.
fn is_lock(error: &std::io::Error) -> bool {
    error.to_string().contains("could not acquire lock")
}

/// Errors for which the bytes are not to blame: moving them away would lose them for nothing.
fn is_machine(error: &sled::Error) -> bool {
    use std::io::ErrorKind as Io;
    let sled::Error::Io(error) = error else { return false };
    matches!(
        error.kind(),
        Io::PermissionDenied
            | Io::ReadOnlyFilesystem
            | Io::StorageFull
            | Io::QuotaExceeded
            | Io::FileTooLarge
            | Io::OutOfMemory
            | Io::StaleNetworkFileHandle
    )
}
