use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use gobo_types::CompileLimits;

use crate::UpkeepConfig;

/// What an engine is made of. `EngineConfig::new(store)` is a working one.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// The directory of the store; created if missing.
    pub store: PathBuf,
    /// Number of worker threads, at least 1. Each compiles one index at a time on itself alone, so that many
    /// compiles at once do not fight for cores. Default: the cores of this machine.
    pub workers: usize,
    /// Most compiles that wait for a worker, interactive and prewarm each. What comes on top is turned away as
    /// unavailable at once, instead of being late. Default 1,024.
    pub queue_length: usize,
    /// The limits of a compile whose request names none.
    pub limits: CompileLimits,
    /// How long a refusal is remembered. It holds for ever; this bounds the catalog. Default one day.
    pub refusal_ttl: Duration,
    /// How long an over-budget verdict is remembered. Default ten minutes: asked with equal limits it ends the same,
    /// but a newer gobo may need less.
    pub over_budget_ttl: Duration,
    /// How the store is cared for in the long run.
    pub upkeep: UpkeepConfig,
}

impl EngineConfig {
    /// The defaults over the store at `store`.
    pub fn new(store: impl Into<PathBuf>) -> Self {
        Self {
            store: store.into(),
            workers: thread::available_parallelism().map_or(1, usize::from),
            queue_length: 1024,
            limits: CompileLimits::default(),
            refusal_ttl: Duration::from_secs(24 * 3600),
            over_budget_ttl: Duration::from_secs(600),
            upkeep: UpkeepConfig::default(),
        }
    }
}
