//! What an engine is made of.

mod remote;
mod upkeep;

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use gobo_store::{Owner, VerdictBounds, Writers};
use gobo_types::CompileLimits;
use gobo_worker::{PassTime, WorkerConfig};

use crate::Upstream;
use crate::workers::TenantLimits;
pub use remote::{LookupOrder, RemoteTier};
pub use upkeep::UpkeepConfig;

/// What an engine is made of. `EngineConfig::new(store)` is a working one for a trusted caller in its own process;
/// [`EngineConfig::serving`] makes of it one for callers that are not.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// The directory of the store; created if missing.
    pub store: PathBuf,
    /// Number of workers, at least 1. Each compiles one index at a time on itself alone, so that many compiles at once
    /// do not fight for cores. Default: the cores of this machine.
    pub workers: usize,
    /// How many of the workers begin nothing but first passes of interactive compiles, each of a tenant of whom none runs. One at
    /// least does the rest. Default 0.
    pub kept_workers: usize,
    /// Compiles run in processes of their own, started so; `None`, the default: on threads of this process.
    pub processes: Option<WorkerConfig>,
    /// The budgets of steps of the passes before the last one, ascending. A compile that ends over one of them goes back
    /// to the queue, after all cheaper ones, and begins again with the next; its own limit counts in the last. Default none: each compile is begun once.
    pub passes: Vec<u64>,
    /// How much processor time each pass may use. What reaches it ends unavailable: a second net below the budget of steps.
    pub pass_time: PassTime,
    /// Most compiles that wait for a worker, interactive and prewarm each. When it is full, the tenant that has most in it gives
    /// way: its newest compile is turned away as unavailable, and what comes on top if no other tenant has more. Default 1,024.
    pub queue_length: usize,
    /// Most bytes of constraint text of the compiles that wait, interactive and prewarm each. Default 64 MiB.
    pub queue_bytes: u64,
    /// What one tenant may have before the workers.
    pub tenant: TenantLimits,
    /// How long a compile waits for those before it, until every eighth start is for the one that has waited
    /// longest. Default 5 seconds.
    pub ageing: Duration,
    /// The limits of a compile whose request names none, and the most that a request may name: of each limit the lesser
    /// counts.
    pub limits: CompileLimits,
    /// How many verdicts are remembered.
    pub verdicts: VerdictBounds,
    /// How long a refusal is remembered. It holds for ever; this bounds the catalog. Default one day.
    pub refusal_ttl: Duration,
    /// How long an over-budget verdict is remembered. Default ten minutes: asked with equal limits it ends the same,
    /// but a newer gobo may need less.
    pub over_budget_ttl: Duration,
    /// Who may write to the store; one that others may write to is refused. Default: the user of this process.
    pub writers: Writers,
    /// What this process is: so says the error that other processes get while it owns the store. Default: a program.
    pub owner: Owner,
    /// The bucket that is shared with other hosts. Default: none.
    pub remote: Option<RemoteTier>,
    /// Who compiles for this host: asked before the bucket and the workers. Default: nobody.
    pub upstream: Option<Arc<dyn Upstream>>,
    /// How the store is cared for in the long run.
    pub upkeep: UpkeepConfig,
}

impl EngineConfig {
    /// The defaults over the store at `store`.
    pub fn new(store: impl Into<PathBuf>) -> Self {
        Self {
            store: store.into(),
            workers: thread::available_parallelism().map_or(1, usize::from),
            kept_workers: 0,
            processes: None,
            passes: Vec::new(),
            pass_time: PassTime::default(),
            queue_length: 1024,
            queue_bytes: 64 << 20,
            tenant: TenantLimits::default(),
            ageing: Duration::from_secs(5),
            limits: CompileLimits::default(),
            verdicts: VerdictBounds::default(),
            refusal_ttl: Duration::from_secs(24 * 3600),
            over_budget_ttl: Duration::from_secs(600),
            writers: Writers::default(),
            owner: Owner::default(),
            remote: None,
            upstream: None,
            upkeep: UpkeepConfig::default(),
        }
    }

    /// The same for a daemon: two workers more, which are kept for new interactive compiles (one for whoever has others under way, and
    /// one for who comes beside them), and passes of 8 and 128 million
    /// steps (some 0.1 and 1.5 seconds), so that no expensive compile stands before a cheap one. A compile that needs the
    /// last pass has cost up to as much again in those before.
    #[must_use]
    pub fn serving(self) -> Self {
        Self {
            workers: self.workers + 2,
            kept_workers: 2,
            passes: vec![8_000_000, 128_000_000],
            owner: Owner::Daemon,
            ..self
        }
    }
}
