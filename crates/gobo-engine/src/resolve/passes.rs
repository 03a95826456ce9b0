//! A job on its way through the queue and the workers: passes, retries, and who is told.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use gobo_types::{CompileError, CompileLimits, Limit, panic_message};
use gobo_worker::Failure;

use super::compile::Pass;
use super::ending::Ending;
use super::job::{Job, Made, store_trouble};
use crate::handed_out::{Resolved, Source};
use crate::inner::Inner;
use crate::request::{Begun, Checked, Done, FlightEnd};
use crate::stats::{Counters, QUEUE, RESOLVE, record};
use crate::workers::{Ask, Call, CompileExecutor, Priority, Then, Turned};

/// Which attempt of a job this is.
#[derive(Debug, Clone, Copy, Default)]
struct Turn {
    /// Passes before this one, each of which it was too expensive for.
    pass: usize,
    /// The attempt before this one ended for a transient reason.
    is_retry: bool,
    /// Others go first, where processors are short.
    is_background: bool,
}

/// How one attempt of a job ended.
enum Attempt {
    /// For all who wait.
    End(FlightEnd),
    /// Transient, and trying again may help.
    Again(CompileError),
    /// Over the small budget of this pass alone.
    OverPass,
}

impl Inner {
    /// Puts a flight's job into the queue; where it is turned away, those who wait are told at once.
    pub(super) fn dispatch(self: &Arc<Self>, ending: &Arc<Ending>, job: Arc<Job>) {
        let ask = Ask {
            priority: ending.priority(),
            tenant: Arc::clone(&job.request.tenant),
            bytes: job.request.constraint.text_bytes() as u64,
            is_limited: true,
            deadline: job.request.deadline,
            cancelled: Arc::clone(ending.cancelled()),
            is_shared: Arc::clone(ending.is_shared()),
        };
        let told = Arc::clone(&job);
        let (inner, its_ending) = (Arc::clone(self), Arc::clone(ending));
        let turned = self.pool.submit(ask, move |call| inner.called(call, its_ending, job, Turn::default()));
        if let Err(turned) = turned {
            told.tell(|| Begun::now().ended("queue", &told.key, "turned_away"));
            self.turn_away(ending, turned);
        }
    }

    /// What a job does when its turn comes, or will not come.
    fn called(
        self: Arc<Self>,
        call: Call<'_, CompileExecutor>,
        ending: Arc<Ending>,
        job: Arc<Job>,
        turn: Turn,
    ) -> Then<CompileExecutor> {
        match call {
            Call::Run(executor, waited, is_background) => {
                record(QUEUE, waited);
                job.tell(|| Begun::before(waited).ended("queue", &job.key, "run"));
                self.run(ending, job, Turn { is_background, ..turn }, executor)
            }
            Call::Turned(turned) => {
                job.tell(|| Begun::now().ended("queue", &job.key, "turned_away"));
                self.turn_away(&ending, turned);
                Then::Done
            }
        }
    }

    /// Tells those who wait that there is no worker for them, unless a lookup knows better.
    fn turn_away(self: &Arc<Self>, ending: &Arc<Ending>, turned: Turned) {
        let (inner, its_ending) = (Arc::clone(self), Arc::clone(ending));
        ending.when_looked(Box::new(move || {
            if let Some(lead) = its_ending.take() {
                Counters::count(&inner.counters.unavailable);
                lead.deliver(&Err(inner.turned_away(turned)));
            }
        }));
    }

    fn turned_away(&self, turned: Turned) -> CompileError {
        let counters = &self.counters;
        let (counter, why, retry_after) = match turned {
            Turned::Full | Turned::Displaced => {
                let (jobs, mib) = (self.config.queue_length, self.config.queue_bytes >> 20);
                let most = if turned == Turned::Full { "" } else { ", and most of them were this tenant's" };
                let why =
                    format!("too many compiles wait for a worker (limit {jobs}, {mib} MiB){most}; try again");
                (&counters.shed_queue, why, Some(self.pool.expected_wait(Priority::Interactive)))
            }
            Turned::Quota(what) => {
                let why = format!("this tenant has as many {what} before the workers as it may; try again");
                (&counters.shed_quota, why, Some(self.pool.expected_wait(Priority::Interactive)))
            }
            Turned::Rate(after) => {
                let limit = self.config.tenant.per_second.unwrap_or_default();
                let why = format!("this tenant asks for more than {limit} compiles a second; try again");
                (&counters.shed_quota, why, Some(after))
            }
            Turned::TooLate(wait) => {
                let why =
                    format!("a worker is free in {} ms, after the deadline; try again", wait.as_millis());
                (&counters.shed_deadline, why, Some(wait))
            }
            Turned::Closed => return CompileError::unavailable("the engine is closing"),
        };
        Counters::count(counter);
        CompileError::Unavailable { why: why.into(), retry_after }
    }

    /// Runs on a worker's thread.
    fn run(
        self: Arc<Self>,
        ending: Arc<Ending>,
        job: Arc<Job>,
        turn: Turn,
        executor: &mut CompileExecutor,
    ) -> Then<CompileExecutor> {
        let _logging = job.log_as_request();
        // Nobody wants it any more, so nobody is told.
        if ending.cancelled().load(Ordering::Relaxed) {
            ending.looked(false);
            return Then::Done;
        }
        let attempt = catch_unwind(AssertUnwindSafe(|| self.attempt(&ending, &job, turn, executor)));
        let attempt = attempt.unwrap_or_else(|panic| {
            let message = panic_message(&*panic);
            tracing::error!(key = %job.key, message, "a compile panicked");
            Attempt::End(Err(CompileError::Failed(format!("a worker panicked: {message}").into())))
        });
        let turn = match attempt {
            Attempt::End(end) => {
                let replaces = ending.replaces();
                // A lookup that is still under way has lost.
                let lead = ending.take();
                ending.looked(false);
                let Some(lead) = lead else { return Then::Done };
                self.count(&end, &job);
                self.offer(&job, &end, replaces);
                return Then::Tell(Box::new(move || lead.deliver(&end)));
            }
            Attempt::Again(error) => {
                let Some(lead) = ending.take() else { return Then::Done };
                let end = Err(error);
                let Some(lead) = lead.retry_or(&end) else {
                    self.count(&end, &job);
                    ending.looked(false);
                    return Then::Done;
                };
                ending.put_back(lead);
                Turn { is_retry: true, ..turn }
            }
            Attempt::OverPass => {
                Counters::count(&self.counters.later_passes);
                Turn { pass: turn.pass + 1, is_retry: false, ..turn }
            }
        };
        if !ending.is_looked_for() {
            return Then::Again(Box::new(move |call| self.called(call, ending, job, turn)));
        }
        // What is dear begins when the lookup is over.
        Then::Wait(Box::new(move |paused| {
            let its_ending = Arc::clone(&ending);
            let go_on = move || {
                let priority = its_ending.priority();
                paused.go_on(priority, Box::new(move |call| self.called(call, its_ending, job, turn)));
            };
            ending.when_looked(Box::new(go_on));
        }))
    }

    fn count(&self, end: &FlightEnd, job: &Job) {
        record(RESOLVE, job.submitted.elapsed());
        match end {
            Ok(Done::Index(Resolved {
                source: Source::Host | Source::Remote | Source::Upstream, ..
            })) => {}
            Ok(_) => Counters::count(&self.counters.compiled),
            Err(CompileError::Refused(_) | CompileError::OverBudget(_)) => {
                Counters::count(&self.counters.refused);
            }
            Err(CompileError::Unavailable { .. }) => Counters::count(&self.counters.unavailable),
            Err(_) => Counters::count(&self.counters.failed),
        }
    }

    fn attempt(&self, ending: &Ending, job: &Job, turn: Turn, executor: &mut CompileExecutor) -> Attempt {
        // A flight may have ended between this caller's look and its joining; and another process may have published the file
        // while this waited.
        match self.find_or_adopt(&job.key) {
            Ok(Some(found)) => {
                let found = Resolved { source: ending.source_of_file(), ..found };
                return Attempt::End(Ok(Done::Index(found)));
            }
            Ok(None) => {}
            Err(error) => return Attempt::End(Err(store_trouble(&error))),
        }
        let most_steps = self.config.passes.get(turn.pass).copied().unwrap_or(u64::MAX);
        let limits = CompileLimits { max_steps: job.limits.max_steps.min(most_steps), ..job.limits };
        let pass = Pass { number: turn.pass, limits, is_background: turn.is_background };
        let begun = Instant::now();
        let made = match executor {
            CompileExecutor::Thread(_) => self.compile_here(job, pass, executor, ending.cancelled()),
            CompileExecutor::Process(process) => {
                if turn.is_retry {
                    // What killed one worker may have killed all (the kernel, an operator), and one that is dying cannot be
                    // told from one that lives until it has been given a job.
                    process.renew();
                }
                self.compile_there(job, pass, process, ending.cancelled())
            }
        };
        match made {
            Ok(made) => {
                let compile_us = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
                Attempt::End(Ok(match made {
                    Made::Index(found) => Done::Index(found),
                    Made::Report(made) => Done::Checked(Box::new(Checked {
                        key: made.key,
                        bytes: made.bytes,
                        states: made.states,
                        rows: made.rows,
                        report: made.report.unwrap_or_default(),
                        is_published: false,
                        compile_us,
                    })),
                }))
            }
            Err(Failure::Verdict(CompileError::OverBudget(over)))
                if over.limit == Limit::MaxSteps && limits != job.limits =>
            {
                Attempt::OverPass
            }
            Err(Failure::Verdict(error @ CompileError::Unavailable { .. })) => Attempt::Again(error),
            Err(Failure::Verdict(error)) => {
                self.remember(job, &error);
                Attempt::End(Err(error))
            }
            Err(Failure::OutOfTime) => Attempt::End(Err(self.out_of_time(job, limits))),
            Err(Failure::Died(why)) => Attempt::Again(CompileError::unavailable(why)),
            Err(Failure::Killed(why)) => Attempt::End(Err(CompileError::unavailable(why))),
        }
    }
}
