//! Group commit: writers that wait for the disk at the same time share one flush.
//!
//! Invariant: a writer returns after the success of a flush that began after its own change. At most one flush runs at a
//! time, so with `n` writers at once the disk is flushed about twice, not `n` times.
//!
//! Source: *Implementation Techniques for Main Memory Database Systems*, SIGMOD 1984, section 5.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Counts flushes, so that each writer knows of one that began after its change.
#[derive(Debug, Default)]
pub(crate) struct GroupCommit {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Flushes that were begun.
    begun: u64,
    /// The last flush that succeeded, which covers all before it.
    done: u64,
    running: bool,
    #[cfg(test)]
    waiting: usize,
}

/// Ends a flush, however it ends.
struct Running<'a> {
    commits: &'a GroupCommit,
    number: u64,
    is_done: bool,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut state = self.commits.lock();
        state.running = false;
        if self.is_done {
            state.done = self.number;
        }
        drop(state);
        self.commits.ended.notify_all();
    }
}

impl GroupCommit {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns after the success of a flush that began after this call, whichever caller did it. At most one runs at a time:
    /// callers that come meanwhile wait, and one of them then flushes for all. A caller whose own `flush` fails gets its
    /// error; the others try again themselves.
    pub(crate) fn commit<E>(&self, flush: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let mut state = self.lock();
        // A flush that runs already may have missed this caller's change.
        let wanted = state.begun + 1;
        loop {
            if state.done >= wanted {
                return Ok(());
            }
            if !state.running {
                break;
            }
            #[cfg(test)]
            {
                state.waiting += 1;
            }
            state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.running = true;
        state.begun += 1;
        let mut running = Running { commits: self, number: state.begun, is_done: false };
        drop(state);
        flush()?;
        running.is_done = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn writers_that_wait_at_the_same_time_share_the_next_flush() {
        const OTHERS: usize = 63;
        let commits = GroupCommit::default();
        let flushes = AtomicUsize::new(0);
        let count = || {
            flushes.fetch_add(1, Ordering::SeqCst);
            Ok::<(), Infallible>(())
        };
        thread::scope(|scope| {
            commits
                .commit(|| {
                    for _ in 0..OTHERS {
                        scope.spawn(|| commits.commit(count));
                    }
                    while commits.lock().waiting < OTHERS {
                        thread::yield_now();
                    }
                    count()
                })
                .unwrap();
        });
        assert_eq!(flushes.load(Ordering::SeqCst), 2, "none of those who waited may rely on the first");
    }

    #[test]
    fn a_failed_flush_covers_nobody_and_blocks_nobody() {
        let commits = GroupCommit::default();
        assert_eq!(commits.commit(|| Err("full")), Err("full"));
        let panicked = std::panic::catch_unwind(|| commits.commit::<()>(|| panic!("contained")));
        assert!(panicked.is_err());
        let mut flushed = false;
        commits
            .commit::<()>(|| {
                flushed = true;
                Ok(())
            })
            .unwrap();
        assert!(flushed);
    }
}
