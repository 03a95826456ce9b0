//! The end of the threads that care for the store.

use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How often a thread looks around. Uses are stamped to the second.
pub(super) const TICK: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct Stop {
    stopped: Mutex<bool>,
    signal: Condvar,
}

impl Stop {
    /// Tells the threads to end.
    pub(super) fn tell(&self) {
        *self.stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.signal.notify_all();
    }

    /// Waits, at most for `time`; breaks off once it is time to stop.
    pub(super) fn wait(&self, time: Duration) -> ControlFlow<()> {
        let stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = self.signal.wait_timeout_while(stopped, time, |stopped| !*stopped);
        if *wait.unwrap_or_else(PoisonError::into_inner).0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}
