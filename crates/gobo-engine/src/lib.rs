//! Get-or-compile: constraint to key to store to single-flight to worker pool to verdict.
//!
//! An [`Engine`] owns one store and its catalog. The daemon puts gRPC before it; the command line calls it in its own
//! process. Nothing here is asynchronous: work is done by a bounded pool of workers (threads, or processes that can be
//! killed: [`WorkerConfig`]) in the order that [`Priority`], cost and [`Tenant`] say, and callers hold a [`Ticket`],
//! which a thread waits for and a task awaits.
//!
//! The order of a resolve: the file in the store; a remembered verdict; the compile of another caller that is under
//! way; the pool that compiles for this host ([`Upstream`]); the bucket that hosts share ([`RemoteTier`]), and a compile of its own, published and on record before anyone is told. `gobo_worker::compile_constraint` is the
//! compile alone, without any of that.
#![forbid(unsafe_code)]

mod config;
mod engine;
mod error;
mod handed_out;
mod import;
mod inner;
mod owned_catalog;
mod pull;
mod request;
mod resolve;
mod single_flight;
mod stats;
mod upkeep;
mod upstream;
mod vocabularies;
mod workers;

pub use config::{EngineConfig, LookupOrder, RemoteTier, UpkeepConfig};
pub use engine::Engine;
pub use error::EngineError;
pub use gobo_remote::{
    Limits as RemoteLimits, Mode as RemoteMode, Remote, RemoteConfig, RemoteStats, Shard, Signer, Trust,
    connect,
};
pub use gobo_store::{
    CachedVerdict, Candidate, CollectEvent, Collected, Owner, Quarantine, Spared, Trimmed, VerdictBounds,
    Writers,
};
pub use gobo_worker::{CompileFn, PassTime, WorkerConfig};
pub use handed_out::{Resolved, Source};
pub use import::{ImportRequest, MAX_VOCABULARIES};
pub use pull::{PullRequest, Pulled};
pub use request::{Checked, Outcome, Request, Step, Ticket, Trace};
pub use stats::{Stats, StoreStats};
pub use upkeep::{Audit, CollectRequest, Garbage, audit};
pub use upstream::{Forward, Forwarded, Upstream, UpstreamStats};
pub use vocabularies::{Existing, OpenVocabulary, VocabularyRef, publish_builtin, publish_vocabulary};
pub use workers::{Priority, Tenant, TenantLimits};
