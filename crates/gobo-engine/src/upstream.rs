//! The pool of daemons that compiles for this host.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use gobo_remote::Breaker;
use gobo_store::{PendingIndex, Store};
use gobo_types::{ArtifactDigest, CompileError, CompileLimits, Constraint, IndexKey};

use crate::OpenVocabulary;
use crate::request::Checked;
use crate::workers::{Priority, Tenant};

/// Another daemon, or a balancer before several: who asks an engine for what is not on its host has it ask there.
///
/// The engine knows no transport. Who opens one gives it this.
pub trait Upstream: Send + Sync + fmt::Debug {
    /// Its address, for a person.
    fn address(&self) -> &str;

    /// Begins a call, and returns at once. However it ends, `done` is called with that, on a thread that may block; where it is
    /// given up, because [`Forward::cancelled`] is set, `done` is dropped.
    fn forward(&self, call: Forward, done: Box<dyn FnOnce(Forwarded) + Send>);
}

/// What is asked of an [`Upstream`].
#[derive(Debug)]
pub struct Forward {
    /// The index key, by which a balancer may choose a daemon.
    pub key: IndexKey,
    /// Over which vocabulary.
    pub vocabulary: Arc<OpenVocabulary>,
    /// What.
    pub constraint: Constraint,
    /// What a compile may use.
    pub limits: CompileLimits,
    /// How soon it is wanted.
    pub priority: Priority,
    /// On whose account.
    pub tenant: Tenant,
    /// When the caller gives up.
    pub deadline: Option<Instant>,
    /// A report is wanted, and no index.
    pub is_check: bool,
    /// Where the temporary file of an index is made: [`gobo_store::Store::begin_index`].
    pub store: Store,
    /// Set once nobody wants it any more. It is to be looked at several times a second.
    pub cancelled: Arc<AtomicBool>,
    /// What has the call belong to the trace of the request: see [`Trace::parent`](crate::Trace::parent).
    pub trace_parent: Option<String>,
}

/// How a call of an [`Upstream`] ended.
#[derive(Debug)]
pub enum Forwarded {
    /// The file of an index, whole, not verified yet.
    Index {
        /// Its file, which nobody writes to any more.
        file: PendingIndex,
        /// blake3 of it, as the upstream says.
        digest: ArtifactDigest,
    },
    /// A report.
    Report(Box<Checked>),
    /// Refused or over budget: what this host would have said.
    Verdict(CompileError),
    /// It has no room now; for the caller, who may come again.
    Busy(CompileError),
    /// The caller's deadline has passed.
    Late,
    /// There is nobody, or it is shutting down, or gave no answer within the budget.
    Down(String),
    /// It answered with something that is of no use here, or failed.
    Failed(String),
    /// It derives another key, or speaks another protocol: a later call ends the same.
    OtherVersion(String),
}

/// What became of the calls to an upstream since the engine was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UpstreamStats {
    /// Calls that brought an index.
    pub indices: u64,
    /// Calls that brought a report.
    pub reports: u64,
    /// Calls that brought a verdict.
    pub verdicts: u64,
    /// Calls that were turned away for want of room.
    pub busy: u64,
    /// Calls whose caller's deadline passed.
    pub late: u64,
    /// Calls that nobody answered.
    pub down: u64,
    /// Calls whose answer was of no use.
    pub failed: u64,
    /// Calls that an upstream of another version answered.
    pub other_version: u64,
    /// Calls that were not made, because the upstream is left alone for a while after failures, or too many were under way.
    pub skipped: u64,
    /// Calls that were given up, because nobody wanted them any more.
    pub given_up: u64,
    /// Calls under way.
    pub under_way: u64,
    /// Whether no calls are made now, after failures.
    pub is_paused: bool,
}

/// An upstream and what is known of it.
pub(crate) struct UpstreamTier {
    pub(crate) upstream: Arc<dyn Upstream>,
    pub(crate) breaker: Arc<Breaker>,
    pub(crate) counters: UpstreamCounters,
}

/// The counters of [`UpstreamStats`].
#[derive(Default)]
pub(crate) struct UpstreamCounters {
    pub(crate) indices: AtomicU64,
    pub(crate) reports: AtomicU64,
    pub(crate) verdicts: AtomicU64,
    pub(crate) busy: AtomicU64,
    pub(crate) late: AtomicU64,
    pub(crate) down: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) other_version: AtomicU64,
    pub(crate) skipped: AtomicU64,
    pub(crate) given_up: AtomicU64,
    pub(crate) under_way: AtomicU64,
}

/// From the beginning of a call to its end.
pub(crate) const FORWARD: &str = "gobo_upstream_seconds";

impl UpstreamTier {
    pub(crate) fn new(upstream: Arc<dyn Upstream>) -> Self {
        Self { upstream, breaker: Breaker::new(), counters: UpstreamCounters::default() }
    }

    pub(crate) fn stats(&self) -> UpstreamStats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &self.counters;
        UpstreamStats {
            indices: read(&counters.indices),
            reports: read(&counters.reports),
            verdicts: read(&counters.verdicts),
            busy: read(&counters.busy),
            late: read(&counters.late),
            down: read(&counters.down),
            failed: read(&counters.failed),
            other_version: read(&counters.other_version),
            skipped: read(&counters.skipped),
            given_up: read(&counters.given_up),
            under_way: read(&counters.under_way),
            is_paused: self.breaker.is_open(),
        }
    }
}
