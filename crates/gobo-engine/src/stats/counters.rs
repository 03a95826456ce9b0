//! Counters of requests, jobs and workers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gobo_worker::EndCounters;
use metrics::histogram;

/// The counters of an engine since it was opened, and the lengths of its queues now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Resolves that found a file.
    pub hits: u64,
    /// Resolves that found a cached verdict.
    pub negative_hits: u64,
    /// Resolves that had to wait: for a compile, or until the file of another process was verified; shared ones included.
    pub misses: u64,
    /// Those of them whose index the bucket of several hosts had.
    pub fetched: u64,
    /// Those of them whose index the pool had or compiled.
    pub forwarded: u64,
    /// Verdicts that the bucket had, each counted once for all who waited for it.
    pub fetched_verdicts: u64,
    /// Compiles that ended in an index, those for a report alone included.
    pub compiled: u64,
    /// Compiles that ended refused or over budget.
    pub refused: u64,
    /// Compiles that ended unavailable, those that were turned away included.
    pub unavailable: u64,
    /// Compiles that failed, by a panic or otherwise.
    pub failed: u64,
    /// Passes that ended over their own small budget, and were tried again with a larger one.
    pub later_passes: u64,
    /// Passes that were ended because they used more processor time than their steps allow. Each is a bug in what the compiler
    /// charges.
    pub out_of_proportion: u64,
    /// Compiles and imports on a worker now.
    pub in_flight: u64,
    /// Compiles and imports that wait for a worker now.
    pub queued: u64,
    /// For how long the one that has waited longest has waited.
    pub oldest_wait: Duration,
    /// Compiles turned away because the queue was full.
    pub shed_queue: u64,
    /// Compiles turned away because their tenant had its share.
    pub shed_quota: u64,
    /// Compiles turned away because they would have come after their caller's deadline.
    pub shed_deadline: u64,
    /// Worker processes killed for the time a compile took by the clock.
    pub killed_wall_clock: u64,
    /// Worker processes that the system ended for their processor time.
    pub killed_processor_time: u64,
    /// Worker processes that ended themselves for the processor time of a pass.
    pub killed_pass_time: u64,
    /// Worker processes killed because they did not see that their job was cancelled.
    pub killed_cancelled: u64,
    /// Worker processes killed for an answer that made no sense.
    pub killed_nonsense: u64,
    /// Worker processes that died by themselves: for want of memory, of a crash, by somebody's hand.
    pub died: u64,
    /// Worker processes replaced for the memory that they held.
    pub retired: u64,
}

impl Stats {
    /// Compiles turned away at once, for whatever reason.
    pub fn shed(&self) -> u64 {
        self.shed_queue + self.shed_quota + self.shed_deadline
    }

    /// Worker processes that were killed or died; those that retired are not among them.
    pub fn killed(&self) -> u64 {
        self.killed_wall_clock
            + self.killed_processor_time
            + self.killed_pass_time
            + self.killed_cancelled
            + self.killed_nonsense
            + self.died
    }
}

/// Counts without order: a snapshot may see one counter ahead of another, never a counter going back.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) hits: AtomicU64,
    pub(crate) negative_hits: AtomicU64,
    pub(crate) misses: AtomicU64,
    pub(crate) fetched: AtomicU64,
    pub(crate) forwarded: AtomicU64,
    pub(crate) fetched_verdicts: AtomicU64,
    pub(crate) compiled: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) unavailable: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) later_passes: AtomicU64,
    pub(crate) out_of_proportion: AtomicU64,
    pub(crate) shed_queue: AtomicU64,
    pub(crate) shed_quota: AtomicU64,
    pub(crate) shed_deadline: AtomicU64,
    /// Why worker processes ended.
    pub(crate) ended: Arc<EndCounters>,
}

impl Counters {
    pub(crate) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn snapshot(&self, (queued, in_flight): (u64, u64), oldest_wait: Duration) -> Stats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            hits: read(&self.hits),
            negative_hits: read(&self.negative_hits),
            misses: read(&self.misses),
            fetched: read(&self.fetched),
            forwarded: read(&self.forwarded),
            fetched_verdicts: read(&self.fetched_verdicts),
            compiled: read(&self.compiled),
            refused: read(&self.refused),
            unavailable: read(&self.unavailable),
            failed: read(&self.failed),
            later_passes: read(&self.later_passes),
            out_of_proportion: read(&self.out_of_proportion),
            in_flight,
            queued,
            oldest_wait,
            shed_queue: read(&self.shed_queue),
            shed_quota: read(&self.shed_quota),
            shed_deadline: read(&self.shed_deadline),
            killed_wall_clock: read(&self.ended.wall_clock),
            killed_processor_time: read(&self.ended.processor_time),
            killed_pass_time: read(&self.ended.pass_time),
            killed_cancelled: read(&self.ended.cancelled),
            killed_nonsense: read(&self.ended.nonsense),
            died: read(&self.ended.died),
            retired: read(&self.ended.retired),
        }
    }
}

/// Tells how long something took to whatever recorder of the crate `metrics` the program has installed; nobody without
/// one. Misses alone pay for it.
pub(crate) fn record(what: &'static str, took: Duration) {
    histogram!(what).record(took);
}

/// From a miss to its end, whatever that is.
pub(crate) const RESOLVE: &str = "gobo_resolve_seconds";
/// Before a worker, each pass by itself.
pub(crate) const QUEUE: &str = "gobo_queue_seconds";
/// On a worker, each pass by itself, publishing not included.
pub(crate) const COMPILE: &str = "gobo_compile_seconds";
