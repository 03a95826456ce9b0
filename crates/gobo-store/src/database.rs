//! What the catalog asks of a database, and what may come back.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::MemoryDatabase;

/// What a database says went wrong below it.
type Cause = Box<dyn Error + Send + Sync>;

/// One record: its key and its value.
pub type Entry = (Vec<u8>, Vec<u8>);

/// Why a database did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseError {
    /// The file system refused.
    #[error("the file system refused")]
    Io(#[source] io::Error),
    /// Somebody else has it open.
    #[error("another process has it open")]
    InUse,
    /// Its bytes are not what was written.
    #[error("its bytes are damaged")]
    Damaged(#[source] Cause),
    /// Another version of the database wrote it.
    #[error("another version of the database wrote it")]
    Version(#[source] Cause),
    /// It contradicts itself.
    #[error("the database failed")]
    Bug(#[source] Cause),
    /// It panicked, as some do over damaged bytes. Contained.
    #[error("the database panicked: {message}")]
    Panicked {
        /// What it said.
        message: String,
    },
}

/// An ordered map from keys to values that can be put on the disk. One tree; what a record is, its key's prefix says.
///
/// # Contract
/// - A change is seen by every thread once its method has returned, and survives a crash once a [`Database::flush`] that
///   began later has returned.
/// - After a crash each key has a value that it had at some time; a batch is there whole or not at all.
/// - Methods may be called from many threads at once.
pub trait Database: Send + Sync + fmt::Debug {
    /// The value of `key`.
    ///
    /// # Errors
    /// Any [`DatabaseError`]; so for all methods.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, DatabaseError>;

    /// Sets the value of `key` and returns the one that it had.
    ///
    /// # Errors
    /// See [`Database::get`]. The record is as it was then, or as it was to be.
    fn insert(&self, key: &[u8], value: &[u8]) -> Result<Option<Vec<u8>>, DatabaseError>;

    /// Removes `key` and returns the value that it had.
    ///
    /// # Errors
    /// See [`Database::insert`].
    fn remove(&self, key: &[u8]) -> Result<Option<Vec<u8>>, DatabaseError>;

    /// Sets many values, all or none.
    ///
    /// # Errors
    /// See [`Database::insert`].
    fn apply(&self, batch: &[Entry]) -> Result<(), DatabaseError>;

    /// The records with keys of at least `from`, ascending. The first one costs O(log records). Changes made meanwhile may
    /// or may not be seen.
    fn scan<'db>(
        &'db self,
        from: &[u8],
    ) -> Box<dyn Iterator<Item = Result<Entry, DatabaseError>> + Send + 'db>;

    /// Puts on the disk what was changed before this call.
    ///
    /// # Errors
    /// See [`Database::get`].
    fn flush(&self) -> Result<(), DatabaseError>;
}

/// Where databases come from.
pub trait OpenDatabase {
    /// Opens the database in `folder`, which exists, or makes one if there is none in it.
    ///
    /// # Errors
    /// [`DatabaseError::InUse`] if it has an owner; else what is wrong with it.
    fn open(&self, folder: &Path) -> Result<Box<dyn Database>, DatabaseError>;

    /// Returns once a database of `folder` that was dropped writes to it no more, or after a few seconds.
    fn await_release(&self, folder: &Path);
}

/// A database whose panics are errors: some databases panic over damaged bytes, and a caller of a catalog is no place to
/// die of that.
#[derive(Debug)]
pub(crate) struct Guarded(Box<dyn Database>);

impl Guarded {
    pub(crate) fn open(opener: &dyn OpenDatabase, folder: &Path) -> Result<Self, DatabaseError> {
        contained(|| opener.open(folder)).map(Self)
    }

    /// Of nothing, on no disk.
    pub(crate) fn in_memory() -> Self {
        Self(Box::new(MemoryDatabase::default()))
    }
}

impl Database for Guarded {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, DatabaseError> {
        contained(|| self.0.get(key))
    }

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<Option<Vec<u8>>, DatabaseError> {
        contained(|| self.0.insert(key, value))
    }

    fn remove(&self, key: &[u8]) -> Result<Option<Vec<u8>>, DatabaseError> {
        contained(|| self.0.remove(key))
    }

    fn apply(&self, batch: &[Entry]) -> Result<(), DatabaseError> {
        contained(|| self.0.apply(batch))
    }

    fn scan<'db>(
        &'db self,
        from: &[u8],
    ) -> Box<dyn Iterator<Item = Result<Entry, DatabaseError>> + Send + 'db> {
        let mut entries = match contained(|| Ok(self.0.scan(from))) {
            Ok(entries) => Some(entries),
            Err(error) => return Box::new(std::iter::once(Err(error))),
        };
        Box::new(std::iter::from_fn(move || {
            let next = contained(|| entries.as_mut().and_then(Iterator::next).transpose()).transpose();
            // Whatever panicked is not asked again.
            if matches!(next, Some(Err(DatabaseError::Panicked { .. }))) {
                entries = None;
            }
            next
        }))
    }

    fn flush(&self) -> Result<(), DatabaseError> {
        contained(|| self.0.flush())
    }
}

fn contained<T>(job: impl FnOnce() -> Result<T, DatabaseError>) -> Result<T, DatabaseError> {
    catch_unwind(AssertUnwindSafe(job))
        .unwrap_or_else(|panic| Err(DatabaseError::Panicked { message: message(&*panic) }))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message").to_owned()
}
