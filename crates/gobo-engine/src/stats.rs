use std::sync::atomic::{AtomicU64, Ordering};

/// The counters of an engine since it was opened, and the lengths of its queues now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Resolves that found a file or a cached verdict.
    pub hits: u64,
    /// Resolves that had to wait for a compile, shared ones included.
    pub misses: u64,
    /// Compiles that ended in an index.
    pub compiled: u64,
    /// Compiles that ended refused or over budget.
    pub refused: u64,
    /// Compiles that ended unavailable.
    pub unavailable: u64,
    /// Compiles that failed, by a panic or otherwise.
    pub failed: u64,
    /// Compiles and imports on a worker now.
    pub in_flight: u64,
    /// Compiles and imports that wait for a worker now.
    pub queued: u64,
}

/// Counts without order: a snapshot may see one counter ahead of another, never a counter going back.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) hits: AtomicU64,
    pub(crate) misses: AtomicU64,
    pub(crate) compiled: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) unavailable: AtomicU64,
    pub(crate) failed: AtomicU64,
}

impl Counters {
    pub(crate) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn snapshot(&self, (queued, in_flight): (u64, u64)) -> Stats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            hits: read(&self.hits),
            misses: read(&self.misses),
            compiled: read(&self.compiled),
            refused: read(&self.refused),
            unavailable: read(&self.unavailable),
            failed: read(&self.failed),
            in_flight,
            queued,
        }
    }
}
