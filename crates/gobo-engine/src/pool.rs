//! A bounded pool of worker threads with two queues.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// How soon work is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Priority {
    /// Somebody waits for it. Begun before any prewarm work.
    #[default]
    Interactive,
    /// Compiled ahead of demand; done even when its caller has left.
    Prewarm,
}

/// Why a job was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turned {
    /// Its queue is full.
    Full,
    /// The pool is closed.
    Closed,
}

/// Worker threads and the jobs before them.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    workers: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared {
    queues: Mutex<Queues>,
    work: Condvar,
    /// Most jobs of one queue.
    queue_length: usize,
    running: AtomicU64,
    panics: AtomicU64,
}

#[derive(Default)]
struct Queues {
    interactive: VecDeque<Job>,
    prewarm: VecDeque<Job>,
    closed: bool,
}

struct Job {
    /// Set when nobody wants the job any more; its address tells the job apart.
    cancelled: Arc<AtomicBool>,
    run: Box<dyn FnOnce() + Send>,
}

impl Queues {
    fn of(&mut self, priority: Priority) -> &mut VecDeque<Job> {
        match priority {
            Priority::Interactive => &mut self.interactive,
            Priority::Prewarm => &mut self.prewarm,
        }
    }
}

impl Shared {
    /// A panic while the lock is held leaves the queues whole: every change to them is one push or pop.
    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work_until_closed(&self) {
        loop {
            let mut queues = self.lock();
            let job = loop {
                if queues.closed {
                    return;
                }
                match queues.interactive.pop_front().or_else(|| queues.prewarm.pop_front()) {
                    Some(job) => break job,
                    None => queues = self.work.wait(queues).unwrap_or_else(PoisonError::into_inner),
                }
            };
            // Counted under the lock, so that no snapshot misses a job between its queue and its worker.
            self.running.fetch_add(1, Ordering::Relaxed);
            drop(queues);
            if catch_unwind(AssertUnwindSafe(job.run)).is_err() {
                self.panics.fetch_add(1, Ordering::Relaxed);
            }
            self.running.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Pool {
    /// Starts `workers` threads called `name` before queues of `queue_length` jobs each.
    ///
    /// # Errors
    /// The operating system's, if it gives no more threads.
    pub(crate) fn start(name: &str, workers: usize, queue_length: usize) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            queues: Mutex::default(),
            work: Condvar::new(),
            queue_length,
            running: AtomicU64::new(0),
            panics: AtomicU64::new(0),
        });
        let pool = Self { shared: Arc::clone(&shared), workers: Mutex::default() };
        for number in 0..workers {
            let shared = Arc::clone(&shared);
            // Dropping the pool on the way out closes the threads that did start.
            let worker = thread::Builder::new()
                .name(format!("{name}-{number}"))
                .spawn(move || shared.work_until_closed())?;
            pool.workers().push(worker);
        }
        Ok(pool)
    }

    fn workers(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a job at the end of its queue. Where the queue is full, cancelled jobs make room first.
    pub(crate) fn submit(
        &self,
        priority: Priority,
        cancelled: Arc<AtomicBool>,
        run: impl FnOnce() + Send + 'static,
    ) -> Result<(), Turned> {
        let mut dropped = Vec::new();
        let mut queues = self.shared.lock();
        if queues.closed {
            return Err(Turned::Closed);
        }
        let queue = queues.of(priority);
        if queue.len() >= self.shared.queue_length {
            let (gone, wanted): (Vec<_>, Vec<_>) =
                queue.drain(..).partition(|job| job.cancelled.load(Ordering::Relaxed));
            queue.extend(wanted);
            dropped = gone;
        }
        let result = if queue.len() < self.shared.queue_length {
            queue.push_back(Job { cancelled, run: Box::new(run) });
            self.shared.work.notify_one();
            Ok(())
        } else {
            Err(Turned::Full)
        };
        drop(queues);
        // What a job owns may take other locks as it drops.
        drop(dropped);
        result
    }

    /// Moves a prewarm job that somebody waits for now to the interactive queue, if it has not begun.
    pub(crate) fn promote(&self, cancelled: &Arc<AtomicBool>) {
        let mut queues = self.shared.lock();
        if let Some(at) = queues.prewarm.iter().position(|job| Arc::ptr_eq(&job.cancelled, cancelled)) {
            let job = queues.prewarm.remove(at);
            queues.interactive.extend(job);
        }
    }

    /// Jobs before the workers, and jobs on them.
    pub(crate) fn queued_and_running(&self) -> (u64, u64) {
        let queues = self.shared.lock();
        let queued = queues.interactive.len() + queues.prewarm.len();
        (queued as u64, self.shared.running.load(Ordering::Relaxed))
    }

    /// Panics that reached a worker.
    pub(crate) fn panics(&self) -> u64 {
        self.shared.panics.load(Ordering::Relaxed)
    }

    /// Takes no more jobs, drops those that wait, and returns when the running ones have ended. May be called again.
    pub(crate) fn close(&self) {
        let mut queues = self.shared.lock();
        queues.closed = true;
        let dropped = (std::mem::take(&mut queues.interactive), std::mem::take(&mut queues.prewarm));
        drop(queues);
        self.shared.work.notify_all();
        // What a job owns may take other locks as it drops.
        drop(dropped);
        let workers = std::mem::take(&mut *self.workers());
        for worker in workers {
            // A job that owned the last handle of the engine closes the pool from within: it cannot wait for itself.
            if worker.thread().id() != thread::current().id() {
                let _ = worker.join();
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn flag() -> Arc<AtomicBool> {
        Arc::default()
    }

    /// Occupies the only worker until the sender is dropped.
    fn block(pool: &Pool) -> mpsc::Sender<()> {
        let (release, wait) = mpsc::channel::<()>();
        let (begun, begins) = mpsc::channel();
        let run = move || {
            begun.send(()).unwrap();
            let _ = wait.recv();
        };
        pool.submit(Priority::Interactive, flag(), run).unwrap();
        begins.recv().unwrap();
        release
    }

    #[test]
    fn interactive_jobs_go_first_and_promoted_ones_are_interactive() {
        let pool = Pool::start("test", 1, 8).unwrap();
        let release = block(&pool);
        let (sender, order) = mpsc::channel();
        let mut flags = Vec::new();
        for (name, priority) in
            [("p0", Priority::Prewarm), ("p1", Priority::Prewarm), ("i0", Priority::Interactive)]
        {
            let sender = sender.clone();
            flags.push(flag());
            let run = move || sender.send(name).unwrap();
            pool.submit(priority, Arc::clone(flags.last().unwrap()), run).unwrap();
        }
        drop(sender);
        pool.promote(&flags[1]);
        assert_eq!(pool.queued_and_running(), (3, 1));
        drop(release);
        assert_eq!(order.iter().collect::<Vec<_>>(), ["i0", "p1", "p0"]);
    }

    #[test]
    fn a_full_queue_turns_jobs_away_and_cancelled_ones_make_room() {
        let pool = Pool::start("test", 1, 1).unwrap();
        let release = block(&pool);
        let cancelled = flag();
        pool.submit(Priority::Interactive, Arc::clone(&cancelled), || ()).unwrap();
        assert_eq!(pool.submit(Priority::Interactive, flag(), || ()), Err(Turned::Full));
        assert_eq!(pool.submit(Priority::Prewarm, flag(), || ()), Ok(()), "the queues fill apart");
        cancelled.store(true, Ordering::Relaxed);
        assert_eq!(pool.submit(Priority::Interactive, flag(), || ()), Ok(()));
        drop(release);
    }

    #[test]
    fn a_worker_outlives_a_panic() {
        let pool = Pool::start("test", 1, 8).unwrap();
        pool.submit(Priority::Interactive, flag(), || panic!("contained")).unwrap();
        let (sender, after) = mpsc::channel();
        pool.submit(Priority::Interactive, flag(), move || sender.send(()).unwrap()).unwrap();
        after.recv().unwrap();
        assert_eq!(pool.panics(), 1);
    }

    #[test]
    fn closing_drops_what_waits_and_refuses_what_comes() {
        let pool = Pool::start("test", 1, 8).unwrap();
        let release = block(&pool);
        let (sender, dropped) = mpsc::channel::<()>();
        pool.submit(Priority::Prewarm, flag(), move || drop(sender)).unwrap();
        drop(release);
        pool.close();
        assert!(dropped.recv().is_err());
        assert_eq!(pool.submit(Priority::Interactive, flag(), || ()), Err(Turned::Closed));
    }
}
