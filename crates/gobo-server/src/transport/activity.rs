//! The activity of a connection: which calls it has, and for how long its client has been inactive.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The calls of one connection, by which it is decided whether the connection may stay open.
#[derive(Debug)]
pub(crate) struct Activity {
    opened: Instant,
    /// Whether there was any.
    has_begun: AtomicBool,
    /// Calls under way.
    calls: AtomicU32,
    /// Those whose requests are not whole.
    unfinished: AtomicU32,
    /// Those with an answer for which the client has made no room.
    unread: AtomicU32,
    /// When a call last began or ended, or a piece of an answer was taken: milliseconds since it was opened.
    moved: AtomicU64,
}

/// The reason for which a connection may be closed, with its duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inactivity {
    /// It has no call.
    Idle(Duration),
    /// It has unread answers, and takes nothing.
    Unread(Duration),
    /// All its calls wait for the rest of their requests; the duration is that of the last.
    Unfinished(Duration),
    /// There is none: the daemon works for it.
    None,
}

impl Activity {
    pub(crate) fn new() -> Arc<Self> {
        let [calls, unfinished, unread] = [0; 3].map(AtomicU32::new);
        Arc::new(Self {
            opened: Instant::now(),
            has_begun: AtomicBool::new(false),
            calls,
            unfinished,
            unread,
            moved: AtomicU64::new(0),
        })
    }

    /// Calls under way.
    pub(crate) fn calls(&self) -> u32 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Those whose requests are not whole.
    pub(crate) fn unfinished(&self) -> u32 {
        self.unfinished.load(Ordering::Relaxed)
    }

    /// Whether there was any call yet.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::Relaxed)
    }

    pub(crate) fn begin(&self) {
        self.has_begun.store(true, Ordering::Relaxed);
        self.moves();
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// A request has to be waited for, or is whole now.
    pub(crate) fn mark_unfinished(&self, is_unfinished: bool) {
        if is_unfinished {
            self.unfinished.fetch_add(1, Ordering::Relaxed);
        } else {
            self.unfinished.fetch_sub(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn end(&self) {
        self.moves();
        self.calls.fetch_sub(1, Ordering::Relaxed);
    }

    /// A piece of an answer was taken, or became available.
    pub(crate) fn moves(&self) {
        let now = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.moved.store(now, Ordering::Relaxed);
    }

    pub(crate) fn mark_unread(&self, is_unread: bool) {
        if is_unread {
            self.moves();
            self.unread.fetch_add(1, Ordering::Relaxed);
        } else {
            self.unread.fetch_sub(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn inactivity(&self) -> Inactivity {
        let moved = Duration::from_millis(self.moved.load(Ordering::Relaxed));
        let still = self.opened.elapsed().saturating_sub(moved);
        let calls = self.calls();
        if calls == 0 {
            Inactivity::Idle(still)
        } else if self.unfinished.load(Ordering::Relaxed) >= calls {
            Inactivity::Unfinished(still)
        } else if self.unread.load(Ordering::Relaxed) > 0 {
            Inactivity::Unread(still)
        } else {
            Inactivity::None
        }
    }
}
