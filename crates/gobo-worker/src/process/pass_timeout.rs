//! A thread of a worker process that ends the process when a job has used more processor time than it may.
//!
//! The system's own limit (`RLIMIT_CPU`) counts whole seconds, and is the net below this one.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::time::ClockId;

use crate::pass_time::used;

/// The exit status that tells the parent why.
pub(super) const OUT_OF_TIME: i32 = 86;

/// Shortest time between two looks at the clock.
const SHORTEST: Duration = Duration::from_millis(1);

#[derive(Default)]
struct Shared {
    /// The processor time of the process at which the present job is out of time.
    until: Mutex<Option<Duration>>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Option<Duration>> {
        self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells the watching thread when jobs begin and end.
pub(super) struct Watch(Arc<Shared>);

impl Watch {
    /// Starts the thread, which calls `end` at most once, and then ends itself.
    pub(super) fn start(end: impl FnOnce() + Send + 'static) -> Self {
        let shared = Arc::<Shared>::default();
        let watched = Arc::clone(&shared);
        thread::spawn(move || {
            let mut until = watched.lock();
            loop {
                let Some(limit) = *until else {
                    until = watched.changed.wait(until).unwrap_or_else(PoisonError::into_inner);
                    continue;
                };
                let now = used(ClockId::ProcessCPUTime);
                if now > limit {
                    // Under the lock: a job that ends in this moment does not answer any more.
                    return end();
                }
                // One thread works at a time, so its time does not run faster than the clock's.
                let rest = limit.saturating_sub(now).max(SHORTEST);
                let waited = watched.changed.wait_timeout(until, rest);
                until = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        });
        Self(shared)
    }

    /// A job begins, and may use so much processor time.
    pub(super) fn allow(&self, time: Duration) {
        *self.0.lock() = Some(used(ClockId::ProcessCPUTime).saturating_add(time));
        self.0.changed.notify_one();
    }

    /// The job has ended: whether within its time. A job of some milliseconds may be over before a busy machine has run the
    /// thread, and must not be judged by that.
    pub(super) fn rest(&self) -> bool {
        self.0.lock().take().is_none_or(|limit| used(ClockId::ProcessCPUTime) <= limit)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_job_that_goes_on_is_ended_and_others_are_not() {
        let (sender, ended) = mpsc::channel();
        let watch = Watch::start(move || sender.send(()).unwrap());
        watch.allow(Duration::from_secs(3600));
        assert!(watch.rest());
        assert!(ended.try_recv().is_err());
        watch.allow(Duration::from_millis(1));
        while ended.try_recv().is_err() {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn a_job_that_is_over_before_the_thread_looks_is_judged_all_the_same() {
        // Nobody watches.
        let watch = Watch(Arc::default());
        watch.allow(Duration::from_millis(1));
        let before = used(ClockId::ProcessCPUTime);
        while used(ClockId::ProcessCPUTime) < before + Duration::from_millis(2) {
            std::hint::spin_loop();
        }
        assert!(!watch.rest());
        assert!(watch.rest(), "it is judged once");
    }
}
