//! The database on the disk: sled 0.34.

use std::fs;
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use gobo_artifact::file::{Links, OpenRegular, kind_name};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::{Database, DatabaseError, Entry, OpenDatabase};

/// Size of the cache. A larger one would hold facts that the files hold too.
const CACHE_BYTES: u64 = 64 << 20;

/// The database's threads let go of its file a moment after it is dropped.
const RELEASE_WAIT: Duration = Duration::from_secs(3);

/// Databases of sled 0.34: a folder with a log, a lock and snapshots. A catalog uses it, unless it is opened in another one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sled;

#[derive(Debug)]
struct Open(sled::Db);

impl OpenDatabase for Sled {
    /// Waits a little for a former owner in this process that is still closing it.
    fn open(&self, folder: &Path) -> Result<Box<dyn Database>, DatabaseError> {
        no_strangers(folder)?;
        let give_up = Instant::now() + RELEASE_WAIT;
        loop {
            match sled::Config::new().path(folder).cache_capacity(CACHE_BYTES).open() {
                Ok(db) => return Ok(Box::new(Open(db))),
                Err(sled::Error::Io(error)) if is_lock(&error) => {
                    if Instant::now() >= give_up {
                        return Err(DatabaseError::InUse);
                    }
                    thread::sleep(Duration::from_millis(10));
                }
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// The threads of a dropped database still write by path. They must not write into the folder that takes its place.
    fn await_release(&self, folder: &Path) {
        let give_up = Instant::now() + RELEASE_WAIT;
        // The file that the database locks. Damage may include its absence.
        let Ok(file) = OpenRegular::new(Links::Refuse).open(&folder.join("db")) else { return };
        while flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK)
            && Instant::now() < give_up
        {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Refuses a folder with anything but files and folders in it: the database opens what it finds, and would wait for the writer
/// of a named pipe. O(files).
fn no_strangers(folder: &Path) -> Result<(), DatabaseError> {
    for entry in fs::read_dir(folder).map_err(DatabaseError::Io)? {
        let entry = entry.map_err(DatabaseError::Io)?;
        let found = entry.file_type().map_err(DatabaseError::Io)?;
        if found.is_dir() {
            no_strangers(&entry.path())?;
        } else if !found.is_file() {
            let what = format!("{} is {}", entry.path().display(), kind_name(found));
            return Err(DatabaseError::Damaged(what.into()));
        }
    }
    Ok(())
}

impl Database for Open {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, DatabaseError> {
        Ok(self.0.get(key).map_err(failed)?.map(|value| value.to_vec()))
    }

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<Option<Vec<u8>>, DatabaseError> {
        Ok(self.0.insert(key, value).map_err(failed)?.map(|old| old.to_vec()))
    }

    fn remove(&self, key: &[u8]) -> Result<Option<Vec<u8>>, DatabaseError> {
        Ok(self.0.remove(key).map_err(failed)?.map(|old| old.to_vec()))
    }

    fn apply(&self, batch: &[Entry]) -> Result<(), DatabaseError> {
        let mut changes = sled::Batch::default();
        for (key, value) in batch {
            changes.insert(key.as_slice(), value.as_slice());
        }
        self.0.apply_batch(changes).map_err(failed)
    }

    fn scan<'db>(
        &'db self,
        from: &[u8],
    ) -> Box<dyn Iterator<Item = Result<Entry, DatabaseError>> + Send + 'db> {
        Box::new(self.0.range(from.to_vec()..).map(|entry| {
            let (key, value) = entry.map_err(failed)?;
            Ok((key.to_vec(), value.to_vec()))
        }))
    }

    fn flush(&self) -> Result<(), DatabaseError> {
        self.0.flush().map(drop).map_err(failed)
    }
}

/// The database reports its own lock as an error of no particular kind.
fn is_lock(error: &io::Error) -> bool {
    error.to_string().contains("could not acquire lock")
}

fn failed(error: sled::Error) -> DatabaseError {
    match error {
        sled::Error::Io(error) => DatabaseError::Io(error),
        error @ sled::Error::Corruption { .. } => DatabaseError::Damaged(error.into()),
        error @ sled::Error::Unsupported(_) => DatabaseError::Version(error.into()),
        error => DatabaseError::Bug(error.into()),
    }
}
