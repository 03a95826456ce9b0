//! What the scheduler has to know of a job.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// How soon work is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Priority {
    /// Somebody waits for it. Begun before any prewarm work.
    #[default]
    Interactive,
    /// Compiled ahead of demand; done even when its caller has left.
    Prewarm,
}

/// On whose account work is done. The empty name is everybody who gives none.
pub type Tenant = Arc<str>;

/// Why a job was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turned {
    /// The queue of its priority is full, and no tenant has more in it than its own.
    Full,
    /// The queue of its priority was full, its tenant had most in it, and another one's job has taken its place.
    Displaced,
    /// Its tenant has as many jobs or bytes before the workers as it may.
    Quota(&'static str),
    /// Its tenant asks faster than it may; room comes after so long.
    Rate(Duration),
    /// It would begin so long from now, which is after its caller has given up.
    TooLate(Duration),
    /// The pool is closed.
    Closed,
}

/// What the scheduler has to know of a job.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) priority: Priority,
    pub(crate) tenant: Tenant,
    /// Bytes of its constraint.
    pub(crate) bytes: u64,
    /// Whether its tenant's limits hold for it.
    pub(crate) is_limited: bool,
    /// When its caller gives up.
    pub(crate) deadline: Option<Instant>,
    /// Set when nobody wants the job any more; its address tells the job apart.
    pub(crate) cancelled: Arc<AtomicBool>,
    /// Set when another tenant has come to wait for the job too.
    pub(crate) is_shared: Arc<AtomicBool>,
}

impl Ask {
    /// An interactive job on nobody's account.
    pub(crate) fn plain(cancelled: Arc<AtomicBool>) -> Self {
        Self {
            priority: Priority::Interactive,
            tenant: "".into(),
            bytes: 0,
            is_limited: false,
            deadline: None,
            cancelled,
            is_shared: Arc::default(),
        }
    }
}

/// What a scheduler is told at its start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) workers: usize,
    /// How many of them are kept for jobs in the foreground.
    pub(crate) kept: usize,
    /// Most jobs that wait, of each priority.
    pub(crate) queue_length: usize,
    /// Most bytes of constraints of those.
    pub(crate) queue_bytes: u64,
    pub(crate) tenant: TenantLimits,
    pub(crate) ageing: Duration,
}

/// What one tenant may have before the workers at once, and how fast it may ask. Hits cost nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TenantLimits {
    /// Most compiles that wait or run. Default 512.
    pub jobs: usize,
    /// Most bytes of constraint text of those. Default 64 MiB.
    pub bytes: u64,
    /// Most compiles a second, with a burst of as many. Default: any number.
    pub per_second: Option<u32>,
}

impl Default for TenantLimits {
    fn default() -> Self {
        Self { jobs: 512, bytes: 64 << 20, per_second: None }
    }
}
