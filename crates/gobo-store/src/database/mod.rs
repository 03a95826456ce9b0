//! An ordered map on the disk: the interface that the catalog uses ([`interface`]), and its implementations.
//!
//! [`sled`] keeps the map in a folder, [`memory`] in memory. [`guarded`] turns the panics of either into errors, and
//! [`group_commit`] lets concurrent writers share a flush. This floor knows neither stores nor records: it uses no other
//! module of the crate.

mod group_commit;
mod guarded;
mod interface;
mod memory;
mod sled;

pub use self::sled::Sled;
pub(crate) use group_commit::GroupCommit;
pub(crate) use guarded::Guarded;
pub use interface::{Database, DatabaseError, Entry, OpenDatabase};
pub use memory::{DatabaseCall, MemoryDatabase};
