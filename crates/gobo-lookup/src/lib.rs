//! Finds an index for an inference worker: mapped, a file of this host, the daemon, else a worker process of its own.
//!
//! An inference worker asks the same few questions with every request, mostly for what it has mapped already, and its event
//! loop must not stop for the rest. A [`Lookup`] answers at once what is on this host; everything else is a [`Request`] that
//! is polled or waited for, and comes to an end whatever happens to daemons, workers, disks and threads meanwhile.
//!
//! | module | what it does |
//! |---|---|
//! | `config`, `error`, `stats`, `found` | what callers say, and what they are told |
//! | `host` | what this process has of this host: files, indices in memory, verdicts, vocabularies |
//! | `flight`, `request` | identical requests are one *flight*, which may be left and ends once |
//! | `local` | the local worker: one child process, one thread that drives it, a bounded queue |
//! | `daemon` | asks the daemon, and decides when nobody answers there |
//! | `order` | from a request to an end: each stage, and the reasons for which the next one has its turn |
//! | `lookup` | the handle, anew in each process |
//!
//! # Processes and threads
//!
//! No schema of a user is lowered in the engine's own process. It gets two threads at most, both started when they are first
//! needed: that of the client's connection, and `gobo-local`, which drives the local worker. The worker ends with the process
//! that started it, and after a minute without work.
//!
//! A child made by `fork` has neither those threads nor, for certain, unlocked locks. So all state of a lookup belongs to one
//! process: each call compares the process id, and the first call of a child makes everything anew and leaves what belongs to
//! its parent alone. A request made before the fork ends in the child with [`LookupError::Forked`]; indices, vocabularies and
//! requests that had ended stay what they are.
//!
//! ```
//! use gobo_lookup::{Lookup, LookupConfig, LookupError};
//! use gobo_types::Constraint;
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! // No daemon runs on this store, and no local worker is wanted.
//! let lookup = Arc::new(Lookup::open(LookupConfig::new(folder.path()))?);
//! let gpt2 = lookup.vocabulary_by_name("r50k_base")?.expect("a built-in name");
//! assert!(lookup.find(&gpt2, &Constraint::regex("a+b"))?.is_none());
//! let request = lookup.request(&gpt2, Constraint::regex("a+b"));
//! let end = request.wait(Duration::from_secs(60)).expect("nobody is there to wait for");
//! assert!(matches!(*end.unwrap_err(), LookupError::Unavailable { .. }));
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod config;
mod daemon;
mod error;
mod flight;
mod found;
mod host;
mod local;
mod lookup;
mod order;
mod request;
mod stats;

pub use config::{LocalConfig, LookupConfig};
pub use error::LookupError;
pub use found::{Bound, Found, FoundSource};
pub use lookup::Lookup;
pub use request::Request;
pub use stats::{FallbackCount, FoundCounts, Reason, Stats, WAIT_BOUNDS, Waits};
