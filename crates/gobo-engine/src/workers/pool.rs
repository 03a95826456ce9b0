//! A bounded pool of worker threads before a [`Scheduler`].

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::schedule::{Ask, Gone, Priority, Rules, Scheduler, Turned};

/// What each thread of a pool works with.
pub(crate) trait Executor: Send + 'static {
    /// Called between jobs, so that what a job broke is whole again before the next one comes.
    fn prepare(&mut self) {}
}

impl Executor for () {}

/// A job.
pub(crate) type Job<W> = Box<dyn FnOnce(Call<'_, W>) -> Then<W> + Send>;

/// What a job is called with, once. One that nobody wants any more is dropped instead.
pub(crate) enum Call<'a, W> {
    /// To be done on this executor, so long after it came into its queue, and in the background or not.
    Run(&'a mut W, Duration, bool),
    /// It waited and is turned away after all: those who wait for it are to be told.
    Turned(Turned),
}

/// What becomes of a job that has run.
pub(crate) enum Then<W> {
    Done,
    /// It is done, and this tells those who wait for it: called once the worker is free again. Who asks for one thing after the
    /// other never finds its last job still running.
    Tell(Box<dyn FnOnce() + Send>),
    /// It goes on in a later pass.
    Again(Job<W>),
    /// It goes on in a later pass, once something has happened: called once the worker is free again, with what has it go on. Dropped,
    /// that is the end of it.
    Wait(Box<dyn FnOnce(Paused<W>) + Send>),
}

/// A job between two of its passes that is in no queue.
pub(crate) struct Paused<W> {
    shared: Arc<Shared<W>>,
    ask: Ask,
}

impl<W> Paused<W> {
    /// Puts it into the queue, as urgent as it is by now; drops it where the pool is closed.
    pub(crate) fn go_on(self, priority: Priority, job: Job<W>) {
        let mut state = self.shared.lock();
        if state.closed {
            drop(state);
            // What it owns may take other locks as it drops.
            return drop(job);
        }
        state.scheduler.again(Ask { priority, ..self.ask }, job, Instant::now());
        drop(state);
        self.shared.work.notify_one();
    }
}

/// Worker threads and the jobs before them.
pub(crate) struct Pool<W: Executor> {
    shared: Arc<Shared<W>>,
    workers: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared<W> {
    state: Mutex<State<W>>,
    work: Condvar,
    panics: AtomicU64,
}

struct State<W> {
    scheduler: Scheduler<Job<W>>,
    running: usize,
    closed: bool,
}

impl<W> Shared<W> {
    fn lock(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None`: `work` panicked, which is counted.
    fn contain<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        let done = catch_unwind(AssertUnwindSafe(work));
        self.panics.fetch_add(u64::from(done.is_err()), Ordering::Relaxed);
        done.ok()
    }
}

impl<W: Executor> Shared<W> {
    fn work_until_closed(self: &Arc<Self>, executor: &mut W) {
        loop {
            executor.prepare();
            let mut state = self.lock();
            let started = loop {
                if state.closed {
                    return;
                }
                let mut dropped = Vec::new();
                let started = state.scheduler.next(Instant::now(), &mut dropped);
                if !dropped.is_empty() {
                    // What a job owns may take other locks as it drops.
                    drop(state);
                    drop(dropped);
                    state = self.lock();
                }
                match started {
                    Some(started) => break started,
                    None if state.closed => return,
                    None => state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner),
                }
            };
            // Counted under the lock, so that no snapshot misses a job between its queue and its worker.
            state.running += 1;
            drop(state);
            let begun = Instant::now();
            let mut ask = started.ask;
            let run = || (started.job)(Call::Run(executor, started.waited, started.is_background));
            let then = self.contain(run).unwrap_or(Then::Done);
            let mut state = self.lock();
            state.running -= 1;
            let now = Instant::now();
            state.scheduler.ended(&mut ask, started.lane, now - begun, now);
            let mut tell: Option<Box<dyn FnOnce() + Send>> = None;
            match then {
                Then::Done => {}
                Then::Tell(those_who_wait) => tell = Some(those_who_wait),
                Then::Wait(wait) => {
                    let paused = Paused { shared: Arc::clone(self), ask };
                    tell = Some(Box::new(move || wait(paused)));
                }
                Then::Again(job) if state.closed => {
                    drop(state);
                    drop(job);
                    continue;
                }
                Then::Again(job) => state.scheduler.again(ask, job, Instant::now()),
            }
            drop(state);
            // What this worker's end allows may be another one's to begin.
            self.work.notify_one();
            if let Some(tell) = tell {
                self.contain(tell);
            }
        }
    }
}

impl<W: Executor> Pool<W> {
    /// Starts a thread called `name` for each worker of `rules`, each with an executor made by `make`.
    ///
    /// # Errors
    /// The operating system's, if it gives no more threads.
    pub(crate) fn start(
        name: &str,
        rules: Rules,
        make: impl Fn() -> W + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let state = State { scheduler: Scheduler::new(rules), running: 0, closed: false };
        let shared =
            Arc::new(Shared { state: Mutex::new(state), work: Condvar::new(), panics: AtomicU64::new(0) });
        let pool = Self { shared: Arc::clone(&shared), workers: Mutex::default() };
        let make = Arc::new(make);
        for number in 0..rules.workers {
            let (shared, make) = (Arc::clone(&shared), Arc::clone(&make));
            // Dropping the pool on the way out closes the threads that did start.
            let worker = thread::Builder::new()
                .name(format!("{name}-{number}"))
                .spawn(move || shared.work_until_closed(&mut make()))?;
            pool.workers().push(worker);
        }
        Ok(pool)
    }

    fn workers(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a job to the scheduler, if it is admitted. One that is not is dropped; one that gives way to a later one is
    /// called with [`Call::Turned`], on the thread that submits that.
    pub(crate) fn submit(
        &self,
        ask: Ask,
        run: impl FnOnce(Call<'_, W>) -> Then<W> + Send + 'static,
    ) -> Result<(), Turned> {
        let job: Job<W> = Box::new(run);
        let mut gone = Gone::default();
        let mut state = self.shared.lock();
        let result = if state.closed {
            Err((Turned::Closed, job))
        } else {
            state.scheduler.submit(ask, job, Instant::now(), &mut gone)
        };
        drop(state);
        drop(gone.unwanted);
        for job in gone.displaced {
            job(Call::Turned(Turned::Displaced));
        }
        self.shared.work.notify_one();
        result.map_err(|(turned, _)| turned)
    }

    /// Makes a prewarm job interactive that somebody waits for now.
    pub(crate) fn promote(&self, cancelled: &Arc<AtomicBool>) {
        self.shared.lock().scheduler.promote(cancelled);
        self.shared.work.notify_one();
    }

    /// Jobs before the workers, and jobs on them.
    pub(crate) fn queued_and_running(&self) -> (u64, u64) {
        let state = self.shared.lock();
        (state.scheduler.waiting() as u64, state.running as u64)
    }

    /// Whether a new job would begin at once.
    pub(crate) fn has_idle_worker(&self) -> bool {
        self.shared.lock().scheduler.has_idle_worker()
    }

    /// For how long the job that has waited longest has waited.
    pub(crate) fn oldest_wait(&self) -> Duration {
        self.shared.lock().scheduler.oldest_wait(Instant::now())
    }

    /// How long a new job would wait.
    pub(crate) fn expected_wait(&self, priority: Priority) -> Duration {
        self.shared.lock().scheduler.expected_wait(priority)
    }

    /// Panics that reached a worker.
    pub(crate) fn panics(&self) -> u64 {
        self.shared.panics.load(Ordering::Relaxed)
    }

    /// Takes no more jobs, drops those that wait, and returns when the running ones have ended. May be called again.
    pub(crate) fn close(&self) {
        let mut state = self.shared.lock();
        state.closed = true;
        let dropped = state.scheduler.drain();
        drop(state);
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

impl<W: Executor> Drop for Pool<W> {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::workers::schedule::TenantLimits;

    fn start(queue_length: usize) -> Pool<()> {
        Pool::start("test", rules(1, 0, queue_length), || ()).unwrap()
    }

    fn rules(workers: usize, kept: usize, queue_length: usize) -> Rules {
        let tenant = TenantLimits::default();
        Rules { workers, kept, queue_length, queue_bytes: 100, tenant, ageing: Duration::from_secs(1) }
    }

    fn submit(pool: &Pool<()>, run: impl FnOnce() + Send + 'static) -> Result<(), Turned> {
        pool.submit(Ask::plain(Arc::default()), |_| {
            run();
            Then::Done
        })
    }

    /// Occupies the only worker until the sender is dropped.
    fn block(pool: &Pool<()>) -> mpsc::Sender<()> {
        let (release, wait) = mpsc::channel::<()>();
        let (begun, begins) = mpsc::channel();
        submit(pool, move || {
            begun.send(()).unwrap();
            let _ = wait.recv();
        })
        .unwrap();
        begins.recv().unwrap();
        release
    }

    #[test]
    fn jobs_that_go_on_come_back_behind_new_ones() {
        let pool = start(8);
        let release = block(&pool);
        let (sender, order) = mpsc::channel();
        let second = sender.clone();
        let first = sender.clone();
        pool.submit(Ask::plain(Arc::default()), move |_| {
            first.send("dear, first").unwrap();
            Then::Again(Box::new(move |_| {
                second.send("dear, second").unwrap();
                Then::Done
            }))
        })
        .unwrap();
        submit(&pool, move || sender.send("cheap").unwrap()).unwrap();
        assert_eq!(pool.queued_and_running(), (2, 1));
        drop(release);
        assert_eq!(order.iter().collect::<Vec<_>>(), ["dear, first", "cheap", "dear, second"]);
    }

    #[test]
    fn a_worker_outlives_a_panic() {
        let pool = start(8);
        submit(&pool, || panic!("contained")).unwrap();
        let (sender, after) = mpsc::channel();
        submit(&pool, move || sender.send(()).unwrap()).unwrap();
        after.recv().unwrap();
        assert_eq!(pool.panics(), 1);
    }

    #[test]
    fn who_is_told_finds_its_last_job_ended() {
        let pool = Arc::new(Pool::start("test", rules(2, 1, 8), || ()).unwrap());
        let (sender, told) = mpsc::channel();
        let next = Arc::clone(&pool);
        pool.submit(Ask::plain(Arc::default()), move |_| {
            Then::Tell(Box::new(move || {
                let running = next.queued_and_running();
                let second = next.submit(Ask::plain(Arc::default()), move |call| {
                    let Call::Run((), _, is_background) = call else { return Then::Done };
                    sender.send((running, is_background)).unwrap();
                    Then::Done
                });
                second.unwrap();
            }))
        })
        .unwrap();
        assert_eq!(told.recv().unwrap(), ((0, 0), false));
    }

    #[test]
    fn what_gives_way_is_told() {
        let pool = start(2);
        let release = block(&pool);
        let (sender, told) = mpsc::channel();
        let ask =
            |tenant: &str| Ask { tenant: tenant.into(), is_limited: true, ..Ask::plain(Arc::default()) };
        for number in 0..2 {
            let sender = sender.clone();
            let tell = move |call: Call<'_, ()>| {
                let turned = if let Call::Turned(turned) = call { Some(turned) } else { None };
                sender.send((number, turned)).unwrap();
                Then::Done
            };
            pool.submit(ask("flood"), tell).unwrap();
        }
        pool.submit(ask("calm"), |_| Then::Done).unwrap();
        assert_eq!(told.recv().unwrap(), (1, Some(Turned::Displaced)));
        drop((release, sender));
        assert_eq!(told.iter().collect::<Vec<_>>(), [(0, None)]);
    }

    #[test]
    fn closing_drops_what_waits_and_refuses_what_comes() {
        let pool = start(8);
        let release = block(&pool);
        let (sender, dropped) = mpsc::channel::<()>();
        submit(&pool, move || drop(sender)).unwrap();
        drop(release);
        pool.close();
        assert!(dropped.recv().is_err());
        assert_eq!(submit(&pool, || ()), Err(Turned::Closed));
    }
}
