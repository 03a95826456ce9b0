use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What goes on on one connection, for whoever decides whether it may stay open.
#[derive(Debug)]
pub(crate) struct Traffic {
    opened: Instant,
    /// Calls under way.
    calls: AtomicU32,
    /// Requests of those that have not come whole.
    unfinished: AtomicU32,
    /// Answers of those that are there and that the client has not made room for.
    unread: AtomicU32,
    /// When a call last began or ended, or a piece of an answer was taken: milliseconds since it was opened.
    moved: AtomicU64,
}

/// What there is to say against a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stillness {
    /// It has had no call for so long.
    Idle(Duration),
    /// It has left answers unread, and taken nothing, for so long.
    Unread(Duration),
    /// All its calls wait for the rest of their requests, the last of them for so long.
    Unfinished(Duration),
    /// Nothing: the daemon is at work for it.
    None,
}

impl Traffic {
    pub(crate) fn new() -> Arc<Self> {
        let [calls, unfinished, unread] = [0; 3].map(AtomicU32::new);
        Arc::new(Self { opened: Instant::now(), calls, unfinished, unread, moved: AtomicU64::new(0) })
    }

    /// Calls under way.
    pub(crate) fn calls(&self) -> u32 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Those of which the rest of the request is waited for.
    pub(crate) fn unfinished(&self) -> u32 {
        self.unfinished.load(Ordering::Relaxed)
    }

    pub(crate) fn begin(&self) {
        self.moves();
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// A request has to be waited for, or no longer.
    pub(crate) fn is_unfinished(&self, is_unfinished: bool) {
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

    /// A piece of an answer was taken, or is there to be taken first.
    pub(crate) fn moves(&self) {
        let now = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.moved.store(now, Ordering::Relaxed);
    }

    pub(crate) fn is_unread(&self, is_unread: bool) {
        if is_unread {
            self.moves();
            self.unread.fetch_add(1, Ordering::Relaxed);
        } else {
            self.unread.fetch_sub(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn stillness(&self) -> Stillness {
        let moved = Duration::from_millis(self.moved.load(Ordering::Relaxed));
        let still = self.opened.elapsed().saturating_sub(moved);
        let calls = self.calls();
        if calls == 0 {
            Stillness::Idle(still)
        } else if self.unfinished.load(Ordering::Relaxed) >= calls {
            Stillness::Unfinished(still)
        } else if self.unread.load(Ordering::Relaxed) > 0 {
            Stillness::Unread(still)
        } else {
            Stillness::None
        }
    }
}
