//! The good tenant: misses and hits in one open loop (Poisson arrivals), before the attack and beside it.
//!
//! One arrival in six is a miss; one hit in some fifty makes a connection of its own, so that exhausted descriptors show.
use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context;
use tokio::runtime::Runtime;

use super::tally::Tally;
use crate::generator::open_loop::{Lane, Plan, open_loop};
use crate::generator::workload::Workload;
use crate::subject::caller::Caller;

/// Schemas that the hits ask for.
const KNOWN: u64 = 16;

/// One arrival in this many is a miss; the others are hits.
pub(super) const ARRIVALS_PER_MISS: u64 = 6;

/// One hit in this many comes over a new connection.
const HITS_PER_CONNECTION: u64 = 50;

/// A tenant with a connection for its misses and one for its hits.
pub(super) struct Good {
    misses: Caller,
    hits: Caller,
    /// Makes a caller with a connection of its own.
    connect: Arc<dyn Fn() -> anyhow::Result<Caller> + Send + Sync>,
    workload: Workload,
}

/// The calls of one phase.
pub(super) struct Phase {
    pub(super) misses: Lane,
    pub(super) hits: Lane,
    /// Hits, each over a connection that is made for it.
    pub(super) connects: Lane,
    /// Answers to misses and hits that were no index.
    pub(super) errors: BTreeMap<String, u64>,
}

impl Good {
    /// Has the daemon compile the schemas of the hits. `connect` is called inside a tokio runtime.
    pub(super) fn prepare(
        runtime: &Runtime,
        workload: Workload,
        connect: impl Fn() -> anyhow::Result<Caller> + Send + Sync + 'static,
    ) -> anyhow::Result<Self> {
        let _context = runtime.enter();
        let good = Self { misses: connect()?, hits: connect()?, connect: Arc::new(connect), workload };
        for nth in 0..KNOWN {
            runtime.block_on(good.hits.index(&workload.schema("known", nth)))?;
        }
        Ok(good)
    }

    /// Calls in an open loop. `phase` makes its misses new.
    pub(super) fn ask(&self, runtime: &Runtime, plan: &Plan, phase: &'static str) -> anyhow::Result<Phase> {
        let errors = Arc::new(Tally::default());
        let lanes = open_loop(runtime, plan, &["misses", "hits", "connects"], |nth| {
            let lane = match nth % ARRIVALS_PER_MISS {
                0 => 0,
                _ if nth % HITS_PER_CONNECTION == 1 => 2,
                _ => 1,
            };
            let (misses, hits, connect) = (self.misses.clone(), self.hits.clone(), Arc::clone(&self.connect));
            let (workload, errors) = (self.workload, Arc::clone(&errors));
            let call = async move {
                let known = || workload.schema("known", nth % KNOWN);
                let answer = match lane {
                    0 => misses.index(&workload.schema(phase, nth)).await.map(drop),
                    1 => hits.hit(&known()).await,
                    _ => return connect()?.hit(&known()).await,
                };
                answer.inspect_err(|error| errors.error(error))
            };
            (lane, call)
        })?;
        let [misses, hits, connects] =
            <[_; 3]>::try_from(lanes).ok().context("three lanes were asked for")?;
        Ok(Phase { misses, hits, connects, errors: errors.counts() })
    }

    /// Whether a miss and a hit are answered.
    pub(super) async fn is_served(&self, phase: &'static str) -> anyhow::Result<()> {
        self.misses.index(&self.workload.schema(phase, u64::MAX)).await?;
        self.hits.hit(&self.workload.schema("known", 0)).await
    }
}
