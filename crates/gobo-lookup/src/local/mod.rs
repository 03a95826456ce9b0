//! The local worker: compiles of one process, where no daemon answers.
//!
//! One thread drives one child process ([`WorkerProcess`], the same that a daemon's workers are, with the same limits and the
//! same passes, so that its verdicts are a daemon's). Both are started by the first job; the process ends after a minute without
//! work, and with this process, because its socket does.
//!
//! # The queue
//!
//! A compile begins with a small budget, and one that is over it waits behind all that have not been tried, as in a daemon
//! (decision 17): one schema of twenty seconds does not stand before fifty of a tenth. A lane holds the jobs of one pass;
//! lanes are served in strict order, and first come, first served within each. Nobody ages: an expensive job under a steady
//! stream of cheap ones ends by its caller's timeout. The last pass has the limits of the caller, so passes change the cost of
//! an end and not the end. Jobs and their bytes are bounded; what comes on top is refused as unavailable.
//!
//! # Ends, and their counters
//!
//! - *refused*, *over budget*: a verdict, remembered.
//! - `local_died`: the worker died, was killed from without, or could not be started. Another one is started and the job tried
//!   once more, then it is unavailable.
//! - `store_failed`: the file cannot be written or published. Tried once more with a file in the temporary folder; the index
//!   stays in memory. `store_full`: so from the beginning.
//! - `local_failed`: the worker was killed for what the job used of it, and another try would cost as much again: unavailable. Or
//!   the compiler panicked, or wrote a file that is not sound: failed, a bug.
//! - `local_full`: there is no room in the queue: unavailable.

mod attempt;
mod job;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use gobo_types::panic_message;
use gobo_worker::{EndCounters, WorkerConfig, WorkerProcess};

use crate::error::LookupError;
use crate::host::Host;
use crate::stats::Reason;
use attempt::{Attempt, PASSES, attempt};
pub(crate) use job::Job;

/// Most compiles that wait.
const MAX_JOBS: usize = 1024;

/// Most bytes of their constraints.
const MAX_BYTES: usize = 64 << 20;

/// How long a worker process lives without work.
const IDLE: Duration = Duration::from_secs(60);

/// How long closing waits for a compile to see that nobody wants it.
const CLOSING: Duration = Duration::from_secs(3);

/// The local worker of one process.
pub(crate) struct Local(Arc<Shared>);

struct Shared {
    host: Arc<Host>,
    config: Arc<WorkerConfig>,
    state: Mutex<State>,
    /// A job has come, or the end.
    work: Condvar,
    /// The thread has ended.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    /// One for each pass.
    lanes: [VecDeque<Job>; PASSES.len() + 1],
    /// Of the constraints in them.
    bytes: usize,
    has_thread: bool,
    is_closed: bool,
}

impl State {
    fn waiting(&self) -> usize {
        self.lanes.iter().map(VecDeque::len).sum()
    }

    fn push(&mut self, job: Job) {
        self.bytes += job.bytes();
        self.lanes[job.pass.min(PASSES.len())].push_back(job);
    }

    fn pop(&mut self) -> Option<Job> {
        let job = self.lanes.iter_mut().find_map(VecDeque::pop_front)?;
        self.bytes -= job.bytes();
        Some(job)
    }
}

impl Local {
    /// One without a thread or a process yet.
    pub(crate) fn new(host: Arc<Host>, config: WorkerConfig) -> Self {
        let (state, work, ended) = (Mutex::default(), Condvar::new(), Condvar::new());
        Self(Arc::new(Shared { host, config: Arc::new(config), state, work, ended }))
    }

    /// Puts a job into the queue, or ends its flight if there is no room.
    pub(crate) fn submit(&self, job: Job) {
        let shared = &self.0;
        let mut state = shared.lock();
        let has_room = state.waiting() < MAX_JOBS && state.bytes + job.bytes() <= MAX_BYTES;
        if state.is_closed {
            drop(state);
            return job.end_unavailable("the lookup was closed");
        }
        if !has_room {
            drop(state);
            let why = format!("too many compiles wait (limit {MAX_JOBS}, {} MiB)", MAX_BYTES >> 20);
            shared.host.counters.fell_back(Reason::LocalFull, job.lead.key(), &why);
            return job.end_unavailable(&why);
        }
        if !state.has_thread {
            let working = Arc::clone(shared);
            let thread = thread::Builder::new().name("gobo-local".into()).spawn(move || working.work());
            if let Err(error) = thread {
                drop(state);
                let why = format!("cannot start its thread: {error}");
                shared.host.counters.fell_back(Reason::LocalFailed, job.lead.key(), &why);
                return job.end_unavailable(&why);
            }
            state.has_thread = true;
        }
        state.push(job);
        drop(state);
        shared.work.notify_one();
    }

    /// Takes no more jobs and drops those that wait; the flights were cancelled by whoever closes. With `wait`, returns when the
    /// thread has ended, at the latest after some seconds.
    pub(crate) fn close(&self, wait: bool) {
        let mut state = self.0.lock();
        state.is_closed = true;
        let dropped = std::mem::take(&mut state.lanes);
        state.bytes = 0;
        self.0.work.notify_all();
        let begun = Instant::now();
        while wait && state.has_thread && begun.elapsed() < CLOSING {
            let left = CLOSING.saturating_sub(begun.elapsed());
            state = self.0.ended.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(state);
        drop(dropped);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread.
    fn work(&self) {
        let counters = Arc::<EndCounters>::default();
        let mut process = WorkerProcess::new(Arc::clone(&self.config), counters);
        while let Some(job) = self.next(&mut process) {
            self.run(job, &mut process);
        }
        // The process ends before anybody is told.
        drop(process);
        self.lock().has_thread = false;
        self.ended.notify_all();
    }

    /// The next job; `None` when this is closed.
    fn next(&self, process: &mut WorkerProcess) -> Option<Job> {
        let mut state = self.lock();
        let mut is_idle = false;
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(job) = state.pop() {
                return Some(job);
            }
            if is_idle {
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let (woken, timeout) =
                self.work.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
            state = woken;
            if timeout.timed_out() && state.waiting() == 0 {
                drop(state);
                process.renew();
                is_idle = true;
                state = self.lock();
            }
        }
    }

    fn run(&self, mut job: Job, process: &mut WorkerProcess) {
        if job.lead.is_cancelled() {
            return;
        }
        let attempted = catch_unwind(AssertUnwindSafe(|| attempt(&self.host, process, &job)));
        let attempted = attempted.unwrap_or_else(|panic| {
            process.renew();
            Attempt::Failed(format!("the thread of the local worker panicked: {}", panic_message(&*panic)))
        });
        // A compile that was cancelled says that it is unavailable.
        let is_wanted =
            matches!(attempted, Attempt::Made(_) | Attempt::Verdict(_)) || !job.lead.is_cancelled();
        if !is_wanted {
            return;
        }
        let (key, counters) = (*job.lead.key(), &self.host.counters);
        match attempted {
            Attempt::Made(made) => job.lead.end(Ok(made)),
            Attempt::Verdict(verdict) => {
                self.host.verdicts.keep(&key, &verdict);
                job.lead.end(Err(LookupError::Verdict(verdict)));
            }
            Attempt::OverPass => {
                job.pass += 1;
                self.again(job);
            }
            Attempt::Died(why) => {
                counters.fell_back(Reason::LocalDied, &key, &why);
                // What killed one worker may be killing the next one already.
                process.renew();
                job.retries += 1;
                if job.retries > 1 { job.end_unavailable(&why) } else { self.again(job) }
            }
            Attempt::NotKept(why) => {
                counters.fell_back(Reason::StoreFailed, &key, &why);
                job.retries += 1;
                job.in_memory = true;
                if job.retries > 1 { job.end_unavailable(&why) } else { self.again(job) }
            }
            Attempt::Unavailable(why) => {
                counters.fell_back(Reason::LocalFailed, &key, &why);
                job.end_unavailable(&why);
            }
            Attempt::Failed(why) => {
                counters.fell_back(Reason::LocalFailed, &key, &why);
                job.lead.end(Err(LookupError::Failed { key, why }));
            }
        }
    }

    /// Back into the queue: what was let in once is not turned away.
    fn again(&self, job: Job) {
        let mut state = self.lock();
        if state.is_closed {
            drop(state);
            return job.end_unavailable("the lookup was closed");
        }
        state.push(job);
    }
}
