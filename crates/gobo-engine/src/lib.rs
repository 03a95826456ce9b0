//! Get-or-compile: constraint to key to store to single-flight to worker pool to verdict.
//!
//! An [`Engine`] owns one store and its catalog. The daemon puts gRPC before it; the command line calls it in its own
//! process. Nothing here is asynchronous: work is done by a bounded pool of workers (threads, or processes that can be
//! killed: [`WorkerConfig`]) in the order that [`Priority`], cost and [`Tenant`] say, and callers hold a [`Ticket`],
//! which a thread waits for and a task awaits.
//!
//! The order of a resolve: the file in the store; a remembered verdict; the compile of another caller that is under
//! way; a compile of its own, published and on record before anyone is told. [`compile_constraint`] is the compile
//! alone, without any of that.
#![forbid(unsafe_code)]

mod audit;
mod compile;
mod config;
mod engine;
mod error;
mod known;
mod owned_catalog;
mod pass_time;
mod pool;
mod resolve;
mod schedule;
mod single_flight;
mod stats;
mod store_stats;
mod ticket;
mod upkeep;
mod vocabularies;
mod worker;

pub use audit::{Audit, audit};
pub use compile::{CompileFn, compile_alone, compile_constraint};
pub use config::EngineConfig;
pub use engine::Engine;
pub use error::EngineError;
pub use gobo_store::{
    Candidate, CollectEvent, Collected, Quarantine, Spared, Trimmed, VerdictBounds, Writers,
};
pub use known::{Origin, Resolved};
pub use pass_time::PassTime;
pub use resolve::{Checked, Outcome, Request};
pub use schedule::{Priority, Tenant, TenantLimits};
pub use stats::Stats;
pub use store_stats::StoreStats;
pub use ticket::Ticket;
pub use upkeep::{CollectRequest, Garbage, UpkeepConfig};
pub use vocabularies::{OpenVocabulary, VocabularyRef, publish_builtin, publish_vocabulary};
pub use worker::{WorkerConfig, WorkerError, run_worker, run_worker_with};
