//! Publishes, opens and catalogues artifact files.
//!
//! A store is a directory. Files appear in it whole and durable or not at all ([`Store`]), are never written again,
//! and leave by unlink, which live maps survive. What fails its checks is moved to `quarantine/` and counts as a
//! miss. The files are the truth: with the feature `catalog` (on by default) one process keeps a [`Catalog`] of
//! them, which is rebuilt from the files whenever it is lost or not understood. Inference workers open files
//! without it, without a lock and without a daemon.
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

mod access;
mod artifact;
#[cfg(feature = "catalog")]
mod catalog;
#[cfg(feature = "catalog")]
mod catalog_folder;
mod clock;
#[cfg(feature = "catalog")]
mod collect;
#[cfg(feature = "catalog")]
mod database;
mod error;
#[cfg(feature = "catalog")]
mod group_commit;
mod layout;
mod mapped;
#[cfg(feature = "catalog")]
mod memory_database;
#[cfg(feature = "catalog")]
mod migration;
mod names;
mod network;
#[cfg(feature = "catalog")]
mod owner_lock;
mod pins;
mod publish;
mod quarantine;
#[cfg(feature = "catalog")]
mod record;
mod scan;
mod scrub;
#[cfg(feature = "catalog")]
mod sled_database;
mod stamp;
mod store;
mod sweep;
#[cfg(feature = "catalog")]
mod verdicts;

pub use access::Writers;
#[cfg(feature = "catalog")]
pub use catalog::{Catalog, Opened, Rebuilt};
#[cfg(feature = "catalog")]
pub use collect::{Candidate, CollectEvent, CollectPolicy, Collected, NoUses, Spared, Uses};
#[cfg(feature = "catalog")]
pub use database::{Database, DatabaseError, Entry, OpenDatabase};
pub use error::StoreError;
#[cfg(feature = "catalog")]
pub use memory_database::{DatabaseCall, MemoryDatabase};
pub use names::NamedVocabulary;
pub use network::FileSystem;
pub use publish::{PublishStep, write_file};
pub use quarantine::{Quarantine, Trimmed};
#[cfg(feature = "catalog")]
pub use record::{CachedVerdict, IndexRecord};
pub use scan::{Published, Usage};
pub use scrub::Checked;
#[cfg(feature = "catalog")]
pub use sled_database::Sled;
pub use store::{PendingIndex, Store};
#[cfg(feature = "catalog")]
pub use verdicts::{VerdictBounds, VerdictUsage};
