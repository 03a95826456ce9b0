//! What is counted of the calls to a bucket.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::object::Rejected;

/// The counters of a [`Remote`](crate::Remote) since it was opened, and what it is at now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RemoteStats {
    /// Lookups that found an index.
    pub indices: u64,
    /// Lookups that found a verdict.
    pub verdicts: u64,
    /// Lookups that the bucket answered with nothing.
    pub absent: u64,
    /// Lookups that were not made, because the bucket had nothing a moment before.
    pub remembered_absent: u64,
    /// Lookups that found what is not to be used, by the order of [`Rejected::ALL`].
    pub rejected: [u64; Rejected::ALL.len()],
    /// Lookups that failed.
    pub failed: u64,
    /// Lookups that were out of time.
    pub timeouts: u64,
    /// Calls whose credentials were refused, writing ones too.
    pub denied: u64,
    /// Lookups that were not made, because the breaker is open.
    pub skipped: u64,
    /// Lookups that were given up, because a compile was faster.
    pub given_up: u64,
    /// Bytes of objects that were read.
    pub read_bytes: u64,
    /// Objects that were written.
    pub written: u64,
    /// Their bytes.
    pub written_bytes: u64,
    /// Objects that were not written, because they were there.
    pub present: u64,
    /// Objects that could not be written.
    pub write_failures: u64,
    /// Objects that were not written, because too many waited for it.
    pub dropped: u64,
    /// Objects that wait to be written now.
    pub queued: u64,
    /// Whether reading is given up for a while now.
    pub is_reading_paused: bool,
    /// Whether writing is given up for a while now.
    pub is_writing_paused: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) indices: AtomicU64,
    pub(crate) verdicts: AtomicU64,
    pub(crate) absent: AtomicU64,
    pub(crate) remembered_absent: AtomicU64,
    pub(crate) rejected: [AtomicU64; Rejected::ALL.len()],
    pub(crate) failed: AtomicU64,
    pub(crate) timeouts: AtomicU64,
    pub(crate) denied: AtomicU64,
    pub(crate) skipped: AtomicU64,
    pub(crate) given_up: AtomicU64,
    pub(crate) read_bytes: AtomicU64,
    pub(crate) written: AtomicU64,
    pub(crate) written_bytes: AtomicU64,
    pub(crate) present: AtomicU64,
    pub(crate) write_failures: AtomicU64,
    pub(crate) dropped: AtomicU64,
}

pub(crate) fn count(counter: &AtomicU64) {
    add(counter, 1);
}

pub(crate) fn add(counter: &AtomicU64, number: u64) {
    counter.fetch_add(number, Ordering::Relaxed);
}

impl Counters {
    pub(crate) fn reject(&self, why: Rejected) {
        if let Some(at) = Rejected::ALL.iter().position(|reason| *reason == why) {
            count(&self.rejected[at]);
        }
    }

    /// The counters; the rest is for the caller to fill in.
    pub(crate) fn snapshot(&self) -> RemoteStats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        RemoteStats {
            indices: read(&self.indices),
            verdicts: read(&self.verdicts),
            absent: read(&self.absent),
            remembered_absent: read(&self.remembered_absent),
            rejected: std::array::from_fn(|at| read(&self.rejected[at])),
            failed: read(&self.failed),
            timeouts: read(&self.timeouts),
            denied: read(&self.denied),
            skipped: read(&self.skipped),
            given_up: read(&self.given_up),
            read_bytes: read(&self.read_bytes),
            written: read(&self.written),
            written_bytes: read(&self.written_bytes),
            present: read(&self.present),
            write_failures: read(&self.write_failures),
            dropped: read(&self.dropped),
            ..RemoteStats::default()
        }
    }
}
