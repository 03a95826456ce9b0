//! A database in memory, for an owner whose disk is full, and for tests.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Database, DatabaseError, Entry, OpenDatabase};

/// A call of a [`MemoryDatabase`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DatabaseCall {
    /// [`OpenDatabase::open`].
    Open,
    /// [`Database::get`].
    Get,
    /// [`Database::insert`].
    Insert,
    /// [`Database::remove`].
    Remove,
    /// [`Database::apply`].
    Apply,
    /// [`Database::scan`], and each entry of it.
    Scan,
    /// [`Database::flush`].
    Flush,
}

type Hook = Arc<dyn Fn(DatabaseCall) -> Result<(), DatabaseError> + Send + Sync>;
type Records = BTreeMap<Vec<u8>, Vec<u8>>;

/// A database in memory, for an owner without room on the disk, and for tests. Its disk is a second map. A test can make it
/// fail, panic or wait at each call ([`MemoryDatabase::before`]), and lose all changes that were not flushed
/// ([`MemoryDatabase::crash`]). Clones are the same database. A folder that never had it, or was moved away, opens empty.
#[derive(Clone, Default)]
pub struct MemoryDatabase(Arc<Shared>);

#[derive(Default)]
struct Shared {
    records: Mutex<Records>,
    disk: Mutex<Records>,
    hook: Mutex<Option<Hook>>,
    flushes: AtomicU64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for MemoryDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryDatabase").finish_non_exhaustive()
    }
}

impl MemoryDatabase {
    /// The file that says that a folder has had this database.
    const MARK: &str = "memory";

    /// Calls `hook` before each call is done, on the caller's thread: it may wait, panic, or fail the call.
    pub fn before(&self, hook: impl Fn(DatabaseCall) -> Result<(), DatabaseError> + Send + Sync + 'static) {
        *lock(&self.0.hook) = Some(Arc::new(hook));
    }

    /// Number of flushes that were done.
    pub fn flushes(&self) -> u64 {
        self.0.flushes.load(Ordering::SeqCst)
    }

    /// Forgets all changes that were not flushed, as a machine that loses its power does.
    pub fn crash(&self) {
        let disk = lock(&self.0.disk).clone();
        *lock(&self.0.records) = disk;
    }

    fn call(&self, call: DatabaseCall) -> Result<(), DatabaseError> {
        let hook = lock(&self.0.hook).clone();
        hook.map_or(Ok(()), |hook| hook(call))
    }
}

impl OpenDatabase for MemoryDatabase {
    fn open(&self, folder: &Path) -> Result<Box<dyn Database>, DatabaseError> {
        self.call(DatabaseCall::Open)?;
        let mark = folder.join(Self::MARK);
        if !mark.exists() {
            lock(&self.0.records).clear();
            lock(&self.0.disk).clear();
            fs::write(mark, b"").map_err(DatabaseError::Io)?;
        }
        Ok(Box::new(self.clone()))
    }

    fn await_release(&self, _: &Path) {}
}

impl Database for MemoryDatabase {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, DatabaseError> {
        self.call(DatabaseCall::Get)?;
        Ok(lock(&self.0.records).get(key).cloned())
    }

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<Option<Vec<u8>>, DatabaseError> {
        self.call(DatabaseCall::Insert)?;
        Ok(lock(&self.0.records).insert(key.to_vec(), value.to_vec()))
    }

    fn remove(&self, key: &[u8]) -> Result<Option<Vec<u8>>, DatabaseError> {
        self.call(DatabaseCall::Remove)?;
        Ok(lock(&self.0.records).remove(key))
    }

    fn apply(&self, batch: &[Entry]) -> Result<(), DatabaseError> {
        self.call(DatabaseCall::Apply)?;
        lock(&self.0.records).extend(batch.iter().cloned());
        Ok(())
    }

    fn scan<'db>(
        &'db self,
        from: &[u8],
    ) -> Box<dyn Iterator<Item = Result<Entry, DatabaseError>> + Send + 'db> {
        let mut next = from.to_vec();
        Box::new(std::iter::from_fn(move || {
            if let Err(error) = self.call(DatabaseCall::Scan) {
                return Some(Err(error));
            }
            let found =
                lock(&self.0.records).range(next.clone()..).next().map(|(k, v)| (k.clone(), v.clone()))?;
            // The least key beyond.
            next.clone_from(&found.0);
            next.push(0);
            Some(Ok(found))
        }))
    }

    fn flush(&self) -> Result<(), DatabaseError> {
        self.call(DatabaseCall::Flush)?;
        let records = lock(&self.0.records).clone();
        *lock(&self.0.disk) = records;
        self.0.flushes.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}
