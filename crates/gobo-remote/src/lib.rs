//! The tier beyond one host: indices, vocabularies and verdicts as objects in an object store.
//!
//! A host that lacks an index asks the *bucket* before it spends seconds on a compile, and what a host has compiled it leaves there for the
//! others. The bucket is a cache of caches: every object can be made again, so nothing is lost with it, and nothing waits
//! for it longer than a lookup's budget. gobo builds no distributed system: an object's name is its key, its bytes follow from
//! the key, and whoever writes last writes the same.
//!
//! - [`object`]: the *envelope* of an object: what it is, how long, blake3 of its content, who signed that; and its name.
//! - [`Bucket`] and [`RemoteConfig`]: where it is, and how a host uses it.
//! - [`Remote`]: the calls, each within its budget: [`Remote::lookup`] reads, [`Remote::put`] writes behind the answer. A
//!   breaker keeps a bucket that fails from costing anybody time.
//!
//! Nothing that is fetched is believed before it has been read to its last byte: its length, its digest, its signature where keys
//! are trusted, and then as a file of its format by [`gobo_store::PendingIndex::publish`].
#![forbid(unsafe_code)]

mod breaker;
mod bucket;
mod calls;
mod error;
pub mod object;

pub use breaker::{Breaker, CallEnd, Permit};
pub use bucket::{Answer, Bucket, Content, Limits, Mode, Put, RemoteConfig, RemoteStats, Shard, connect};
pub use calls::{Examined, Listed, Lookup, Remote, Written};
pub use error::RemoteError;
pub use object::{Entry, KeyFileError, Manifest, ManifestName, Signer, Trust, version};
