//! Publishes, opens and catalogues artifact files.
//!
//! A store is a directory. Files appear in it whole and durable or not at all ([`Store`]), are never written again, and leave
//! by unlink, which live maps survive. A file that fails a check is moved to `quarantine/` and counts as a miss. The files
//! are the truth: with the feature `catalog` (on by default) one process keeps a [`Catalog`] of them, which is rebuilt from
//! the files if it is lost or not understood. Inference workers open files without it, without a lock and without a daemon.
//!
//! The floors, each of which uses only those before it: `database` (an ordered map on the disk), `directory` (paths, folders,
//! the handle to a store), `files` (how files are published, opened, checked and set aside), `catalog` (records about the
//! files), `maintenance` (sweep, scrub, eviction).
//!
//! ```
//! use gobo_store::Store;
//! use gobo_types::IndexKey;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let store = Store::open(folder.path())?;
//! assert!(store.open_index(&IndexKey::from([7; 32]))?.is_none());
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

#[cfg(feature = "catalog")]
mod catalog;
mod clock;
#[cfg(feature = "catalog")]
mod database;
mod directory;
mod error;
mod files;
mod maintenance;
mod owner;

#[cfg(feature = "catalog")]
pub use catalog::{CachedVerdict, Catalog, IndexRecord, Opened, Rebuilt, VerdictBounds, VerdictUsage};
#[cfg(feature = "catalog")]
pub use database::{Database, DatabaseCall, DatabaseError, Entry, MemoryDatabase, OpenDatabase, Sled};
pub use directory::{FileSystem, PublishStep, Published, Store, Usage, Writers};
pub use error::StoreError;
pub use files::{NamedVocabulary, PendingIndex, Quarantine, Trimmed, write_file};
pub use maintenance::Checked;
#[cfg(feature = "catalog")]
pub use maintenance::{Candidate, CollectEvent, CollectPolicy, Collected, NoUses, Spared, Uses};
pub use owner::{Owner, OwnerProcess};
