//! What the catalog asks of a database, and the errors that a database may return.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::Path;

/// The error that a database reports as its reason.
type Cause = Box<dyn Error + Send + Sync>;

/// One record: its key and its value.
pub type Entry = (Vec<u8>, Vec<u8>);

/// Why a database call failed.
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

/// An ordered map from keys to values that can be put on the disk. One tree: the prefix of a key says what its record is.
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
    /// [`DatabaseError::InUse`] if it has an owner; other errors say why it cannot be opened.
    fn open(&self, folder: &Path) -> Result<Box<dyn Database>, DatabaseError>;

    /// Returns once a database of `folder` that was dropped writes to it no more, or after a few seconds.
    fn await_release(&self, folder: &Path);
}
