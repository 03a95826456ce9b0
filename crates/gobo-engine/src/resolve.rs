//! From a request to a verdict: the file, else a remembered verdict, else one shared compile.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use gobo_artifact::Index;
use gobo_store::{CachedVerdict, IndexRecord, StoreError};
use gobo_types::{
    Budget, CompileError, CompileLimits, Constraint, ErrorKind, IndexKey, Limit, OverBudget, Report,
    error_chain, index_key,
};

use crate::compile::Bench;
use crate::engine::Inner;
use crate::error::panic_message;
use crate::known::{Origin, Resolved};
use crate::pass_time::thread_clock;
use crate::pool::{Call, Then};
use crate::schedule::{Ask, Priority, Tenant, Turned};
use crate::single_flight::{Joined, Lead};
use crate::stats::{COMPILE, Counters, QUEUE, RESOLVE, record};
use crate::worker::{self, Failure};
use crate::{EngineError, OpenVocabulary, Ticket};

/// What is asked of [`Engine::submit`](crate::Engine::submit).
#[derive(Debug, Clone)]
pub struct Request {
    /// Over which vocabulary.
    pub vocabulary: Arc<OpenVocabulary>,
    /// What.
    pub constraint: Constraint,
    /// What a compile may use, within what [`EngineConfig::limits`](crate::EngineConfig) gives; `None`: as much as that.
    pub limits: Option<CompileLimits>,
    /// How soon it is wanted.
    pub priority: Priority,
    /// On whose account.
    pub tenant: Tenant,
    /// When the caller gives up: what would begin later is turned away at once.
    pub deadline: Option<Instant>,
}

impl Request {
    /// An interactive request under the default limits, on nobody's account and without a deadline.
    pub fn new(vocabulary: Arc<OpenVocabulary>, constraint: Constraint) -> Self {
        Self {
            vocabulary,
            constraint,
            limits: None,
            priority: Priority::Interactive,
            tenant: Tenant::from(""),
            deadline: None,
        }
    }
}

/// How a resolve ends. Refused and over budget are answers; unavailable and failed say that there is none.
pub type Outcome = Result<Resolved, CompileError>;

/// What the index of a constraint is, or would be: the answer of [`Engine::check`](crate::Engine::check).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The index key.
    pub key: IndexKey,
    /// Length of the file.
    pub bytes: u64,
    /// Number of states.
    pub states: u32,
    /// Number of distinct mask rows.
    pub rows: u32,
    /// What it enforces.
    pub report: Report,
    /// Whether it is in the store already.
    pub is_published: bool,
    /// What the compile took in microseconds; 0 without one.
    pub compile_us: u64,
}

/// What a flight ends with.
#[derive(Debug, Clone)]
pub(crate) enum Done {
    Index(Resolved),
    Checked(Box<Checked>),
}

/// What is wanted of a compile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    Index,
    Report,
}

/// Over-budget verdicts hold under equal limits only, so who asks with others shares no compile.
pub(crate) type FlightKey = (IndexKey, CompileLimits, Purpose);
pub(crate) type FlightEnd = Result<Done, CompileError>;
type FlightLead = Lead<FlightKey, FlightEnd>;

/// What a compile job carries.
struct Job {
    request: Request,
    key: IndexKey,
    limits: CompileLimits,
    purpose: Purpose,
    submitted: Instant,
}

/// Which attempt of a job this is.
#[derive(Debug, Clone, Copy, Default)]
struct Turn {
    /// Passes before this one, each of which it was too dear for.
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
    Dearer,
}

/// What a worker made of a job.
enum Made {
    Index(Resolved),
    Report(worker::Made),
}

impl Inner {
    pub(crate) fn submit(self: &Arc<Self>, request: Request) -> Ticket<Outcome> {
        let (limits, key) = self.limits_and_key(&request);
        match self.answer_at_once(&key, &limits) {
            Ok(Some(outcome)) => return Ticket::ready(outcome),
            Ok(None) => Counters::count(&self.counters.misses),
            Err(error) => return Ticket::ready(Err(store_trouble(&error))),
        }
        let end = self.fly(request, key, limits, Purpose::Index);
        Ticket::pending(async move {
            match end.await? {
                Done::Index(found) => Ok(found),
                Done::Checked(_) => Err(CompileError::Failed("a resolve ended with a report".into())),
            }
        })
    }

    pub(crate) fn check(self: &Arc<Self>, request: Request) -> Ticket<Result<Checked, CompileError>> {
        let (limits, key) = self.limits_and_key(&request);
        match self.answer_at_once(&key, &limits) {
            Ok(Some(Ok(found))) => return Ticket::ready(self.describe(&found)),
            Ok(Some(Err(verdict))) => return Ticket::ready(Err(verdict)),
            Ok(None) => {}
            Err(error) => return Ticket::ready(Err(store_trouble(&error))),
        }
        let end = self.fly(request, key, limits, Purpose::Report);
        let inner = Arc::clone(self);
        Ticket::pending(async move {
            match end.await? {
                Done::Checked(checked) => Ok(*checked),
                // It was published while this waited.
                Done::Index(found) => inner.describe(&found),
            }
        })
    }

    fn limits_and_key(&self, request: &Request) -> (CompileLimits, IndexKey) {
        let most = &self.config.limits;
        // Those who may use equally much share compiles and verdicts, whatever each has asked for.
        let limits = request.limits.map_or(*most, |asked| asked.within(most));
        (limits, index_key(&request.vocabulary.digest(), &request.constraint.digest()))
    }

    /// Joins the compile of this key, or begins it.
    fn fly(
        self: &Arc<Self>,
        request: Request,
        key: IndexKey,
        limits: CompileLimits,
        purpose: Purpose,
    ) -> impl Future<Output = FlightEnd> + Send + use<> {
        let priority = request.priority;
        let flight = (key, limits, purpose);
        let Joined { waiter, cancelled, lead } =
            self.flights.join(&flight, &request.tenant, priority == Priority::Prewarm);
        match lead {
            Some(lead) => {
                let submitted = Instant::now();
                self.dispatch(lead, Arc::new(Job { request, key, limits, purpose, submitted }));
            }
            // What was begun ahead of demand is in demand now.
            None if priority == Priority::Interactive => self.pool.promote(&cancelled),
            None => {}
        }
        async move {
            let abandoned = || Err(CompileError::unavailable("the engine is closing"));
            waiter.await.unwrap_or_else(abandoned)
        }
    }

    /// A hit, or a verdict that need not be found out again. Runs on the caller's thread: it opens a file in O(1) and
    /// reads the catalog's cache, where standing in line behind compiles would cost more.
    fn answer_at_once(&self, key: &IndexKey, limits: &CompileLimits) -> Result<Option<Outcome>, EngineError> {
        if let Some(found) = self.find_unchanged(key)? {
            Counters::count(&self.counters.hits);
            return Ok(Some(Ok(found)));
        }
        let remembered = self.catalog.get(|catalog| catalog.get_verdict(key, limits, SystemTime::now()))?;
        Ok(remembered.map(|verdict| {
            Counters::count(&self.counters.negative_hits);
            Err(match verdict {
                CachedVerdict::Refused(refusal) => refusal.into(),
                CachedVerdict::OverBudget(over) => over.into(),
            })
        }))
    }

    /// The location of an index that is in the store and on record, unless its file has changed since it was handed out: then
    /// it has to prove itself to its last byte, which is no work for a caller's thread.
    fn find_unchanged(&self, key: &IndexKey) -> Result<Option<Resolved>, EngineError> {
        if self.known.has_changed(key) { Ok(None) } else { self.find_file(key) }
    }

    /// The location of an index that is in the store and on record.
    pub(crate) fn find_file(&self, key: &IndexKey) -> Result<Option<Resolved>, EngineError> {
        if let Some(found) = self.known.get(key) {
            return Ok(Some(found));
        }
        let Some(record) = self.catalog.get(|catalog| catalog.get_index(key))? else { return Ok(None) };
        // A record of an older version does not say enough: the file is read whole, and recorded anew.
        let Some(header) = record.header_digest else { return Ok(None) };
        // A file that is gone, damaged or not the recorded one is a miss.
        if self.store.open_recorded_index(key, &header, false)?.is_none() {
            return Ok(None);
        }
        let found = self.location(key, &record, Origin::Host, 0);
        if self.known.has_changed(key) {
            // Who asks for the index, and not for its file, reads it whole first.
            return Ok(Some(found));
        }
        // One that is being evicted is a miss.
        Ok(self.known.put(&found).then_some(found))
    }

    /// What an index in the store says of itself.
    fn describe(&self, found: &Resolved) -> Result<Checked, CompileError> {
        let gone = || CompileError::unavailable("the index was removed meanwhile");
        let opened = self.store.open_index(&found.key).map_err(|error| store_trouble(&error.into()))?;
        let index = opened.ok_or_else(gone)?;
        Ok(Checked {
            key: found.key,
            bytes: found.bytes,
            states: found.states,
            rows: found.rows,
            report: index.report().map_err(|error| CompileError::unavailable(error_chain(&error)))?,
            is_published: true,
            compile_us: found.compile_us,
        })
    }

    fn location(&self, key: &IndexKey, record: &IndexRecord, origin: Origin, compile_us: u64) -> Resolved {
        Resolved {
            key: *key,
            path: self.store.index_path(key),
            origin,
            artifact_digest: record.artifact_digest,
            bytes: record.bytes,
            vocabulary: record.vocabulary,
            states: record.states,
            rows: record.rows,
            compile_us,
        }
    }

    /// Puts a flight's job into the queue; where it is turned away, those who wait are told at once.
    fn dispatch(self: &Arc<Self>, lead: FlightLead, job: Arc<Job>) {
        let ask = Ask {
            priority: job.request.priority,
            tenant: Arc::clone(&job.request.tenant),
            bytes: job.request.constraint.text_bytes() as u64,
            is_limited: true,
            deadline: job.request.deadline,
            cancelled: Arc::clone(lead.cancelled()),
            is_shared: Arc::clone(lead.is_shared()),
        };
        // The queue takes the job or drops it; the lead has to come back from one that is turned away.
        let lead = Arc::new(Mutex::new(Some(lead)));
        let inner = Arc::clone(self);
        let in_queue = Arc::clone(&lead);
        let turned = self.pool.submit(ask, move |call| match take(&in_queue) {
            Some(lead) => inner.called(call, lead, job, Turn::default()),
            None => Then::Done,
        });
        if let Err(turned) = turned
            && let Some(lead) = take(&lead)
        {
            self.turn_away(lead, turned);
        }
    }

    /// What a job does when its turn comes, or will not come.
    fn called(
        self: Arc<Self>,
        call: Call<'_, Bench>,
        lead: FlightLead,
        job: Arc<Job>,
        turn: Turn,
    ) -> Then<Bench> {
        match call {
            Call::Run(bench, waited, is_background) => {
                record(QUEUE, waited);
                self.run(lead, job, Turn { is_background, ..turn }, bench)
            }
            Call::Turned(turned) => {
                self.turn_away(lead, turned);
                Then::Done
            }
        }
    }

    fn turn_away(&self, lead: FlightLead, turned: Turned) {
        Counters::count(&self.counters.unavailable);
        lead.deliver(&Err(self.turned_away(turned)));
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
    fn run(self: Arc<Self>, lead: FlightLead, job: Arc<Job>, turn: Turn, bench: &mut Bench) -> Then<Bench> {
        // Nobody wants it any more; dropping the lead tells nobody.
        if lead.cancelled().load(Ordering::Relaxed) {
            return Then::Done;
        }
        let cancelled = Arc::clone(lead.cancelled());
        let attempt = catch_unwind(AssertUnwindSafe(|| self.attempt(&job, turn, bench, &cancelled)));
        let attempt = attempt.unwrap_or_else(|panic| {
            let message = panic_message(&*panic);
            tracing::error!(key = %job.key, message, "a compile panicked");
            Attempt::End(Err(CompileError::Failed(format!("a worker panicked: {message}").into())))
        });
        let (lead, turn) = match attempt {
            Attempt::End(end) => {
                self.count(&end, &job);
                return Then::Tell(Box::new(move || lead.deliver(&end)));
            }
            Attempt::Again(error) => {
                let end = Err(error);
                match lead.retry_or(&end) {
                    Some(lead) => (lead, Turn { is_retry: true, ..turn }),
                    None => {
                        self.count(&end, &job);
                        return Then::Done;
                    }
                }
            }
            Attempt::Dearer => {
                Counters::count(&self.counters.later_passes);
                (lead, Turn { pass: turn.pass + 1, is_retry: false, ..turn })
            }
        };
        Then::Again(Box::new(move |call| self.called(call, lead, job, turn)))
    }

    fn count(&self, end: &FlightEnd, job: &Job) {
        record(RESOLVE, job.submitted.elapsed());
        match end {
            Ok(Done::Index(Resolved { origin: Origin::Host, .. })) => {}
            Ok(_) => Counters::count(&self.counters.compiled),
            Err(CompileError::Refused(_) | CompileError::OverBudget(_)) => {
                Counters::count(&self.counters.refused);
            }
            Err(CompileError::Unavailable { .. }) => Counters::count(&self.counters.unavailable),
            Err(_) => Counters::count(&self.counters.failed),
        }
    }

    fn attempt(&self, job: &Job, turn: Turn, bench: &mut Bench, cancelled: &Arc<AtomicBool>) -> Attempt {
        // A flight may have ended between this caller's look and its joining; and a file may be there without a
        // record, published by a process that died or that owns no catalog.
        match self.find_unchanged(&job.key).and_then(|found| match found {
            Some(found) => Ok(Some(found)),
            None => self.adopt(&job.key),
        }) {
            Ok(Some(found)) => return Attempt::End(Ok(Done::Index(found))),
            Ok(None) => {}
            Err(error) => return Attempt::End(Err(store_trouble(&error))),
        }
        let most_steps = self.config.passes.get(turn.pass).copied().unwrap_or(u64::MAX);
        let limits = CompileLimits { max_steps: job.limits.max_steps.min(most_steps), ..job.limits };
        let begun = Instant::now();
        let made = match bench {
            Bench::Thread(_) => self.compile_here(job, limits, bench, cancelled),
            Bench::Process(process) => {
                if turn.is_retry {
                    // What killed one worker may have killed all (the kernel, an operator), and one that is dying cannot be
                    // told from one that lives until it has been given a job.
                    process.renew();
                }
                self.compile_there(job, limits, turn.is_background, process, cancelled)
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
            Err(Failure::Verdict(CompileError::OverBudget(OverBudget {
                limit: Limit::MaxSteps, ..
            }))) if limits != job.limits => Attempt::Dearer,
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

    /// A pass that was ended for its processor time: no verdict, and not tried again, as it would cost as much again.
    fn out_of_time(&self, job: &Job, limits: CompileLimits) -> CompileError {
        Counters::count(&self.counters.out_of_proportion);
        let (steps, seconds) = (limits.max_steps, self.config.pass_time.of(limits.max_steps).as_secs_f64());
        tracing::error!(
            key = %job.key,
            constraint = %job.request.constraint.digest(),
            steps,
            seconds,
            "a pass used more processor time than its steps allow: a loop of the compiler charges too little, which is a bug"
        );
        let why = format!(
            "a pass of at most {steps} steps used more than {seconds} s of processor time, the limit for so many; \
             this is a bug of gobo: report the constraint, or make it smaller"
        );
        CompileError::unavailable(why)
    }

    /// Compiles on this thread.
    fn compile_here(
        &self,
        job: &Job,
        limits: CompileLimits,
        bench: &Bench,
        cancelled: &Arc<AtomicBool>,
    ) -> Result<Made, Failure> {
        let Bench::Thread(compile) = bench else {
            return Err(failed("a thread's bench is a process".into()));
        };
        let clock = thread_clock(self.config.pass_time.of(limits.max_steps));
        let budget = Budget::cancellable(limits, Arc::clone(cancelled)).timed(clock);
        let begun = Instant::now();
        let compiled = compile(&job.request.vocabulary.vocabulary, &job.request.constraint, &budget);
        record(COMPILE, begun.elapsed());
        let failure =
            |error| if budget.is_out_of_time() { Failure::OutOfTime } else { Failure::Verdict(error) };
        let compiled = compiled.map_err(failure)?;
        check_key(&compiled.key, &job.key)?;
        self.check_vocabulary(job)?;
        match job.purpose {
            Purpose::Index => {
                let compile_us = micros(begun.elapsed());
                let digest = self.store.publish_index(&job.key, compiled.bytes());
                digest
                    .map_err(EngineError::from)
                    .and_then(|digest| self.published(&job.key, digest, compile_us))
                    .map(Made::Index)
                    .map_err(|error| Failure::Verdict(store_trouble(&error)))
            }
            Purpose::Report => {
                let failed = |error: gobo_artifact::ArtifactError| failed(error_chain(&error));
                let index = Index::from_bytes(compiled.bytes()).map_err(failed)?;
                Ok(Made::Report(worker::Made {
                    key: compiled.key,
                    digest: compiled.artifact_digest,
                    bytes: compiled.bytes().len() as u64,
                    states: index.states(),
                    rows: index.rows(),
                    report: Some(index.report().map_err(failed)?),
                }))
            }
        }
    }

    /// Compiles in a worker process: it writes the temporary file, and what it wrote is verified and published here.
    fn compile_there(
        &self,
        job: &Job,
        limits: CompileLimits,
        is_background: bool,
        process: &mut worker::Process,
        cancelled: &AtomicBool,
    ) -> Result<Made, Failure> {
        let trouble = |error: StoreError| Failure::Verdict(store_trouble(&error.into()));
        let pending = match job.purpose {
            Purpose::Index => Some(self.store.begin_index(&job.key).map_err(trouble)?),
            Purpose::Report => None,
        };
        let vocabulary_digest = job.request.vocabulary.digest();
        let order = worker::Job {
            vocabulary: self.store.vocabulary_path(&vocabulary_digest),
            vocabulary_digest,
            constraint: job.request.constraint.clone(),
            limits,
            processor_time: self.config.pass_time.of(limits.max_steps),
            file: pending.as_ref().map(|pending| pending.path().to_owned()),
            is_background,
        };
        let begun = Instant::now();
        let made = process.run(order, cancelled);
        record(COMPILE, begun.elapsed());
        let compile_us = micros(begun.elapsed());
        let made = made?;
        check_key(&made.key, &job.key)?;
        self.check_vocabulary(job)?;
        let Some(pending) = pending else { return Ok(Made::Report(made)) };
        let digest = pending.publish().map_err(|error| match error.kind() {
            // What the worker wrote is not what it said.
            ErrorKind::Corrupt | ErrorKind::Invalid | ErrorKind::Limit => {
                failed(format!("a worker wrote no sound index: {}", error_chain(&error)))
            }
            _ => trouble(error),
        })?;
        let published = self.published(&job.key, digest, compile_us);
        published.map(Made::Index).map_err(|error| Failure::Verdict(store_trouble(&error)))
    }

    /// Nothing is believed that was compiled over a damaged vocabulary.
    fn check_vocabulary(&self, job: &Job) -> Result<(), Failure> {
        if self.vocabularies.is_condemned(&job.request.vocabulary.vocabulary) {
            return Err(Failure::Killed("its vocabulary was found damaged meanwhile; ask again".into()));
        }
        Ok(())
    }

    /// Puts a published index on record, durably, before anybody is told of it.
    fn published(
        &self,
        key: &IndexKey,
        artifact_digest: gobo_types::ArtifactDigest,
        compile_us: u64,
    ) -> Result<Resolved, EngineError> {
        let Some(index) = self.store.open_index(key)? else {
            // Asking again compiles it again.
            let what = "it was removed or damaged since it was published";
            let source = std::io::Error::new(std::io::ErrorKind::ResourceBusy, what);
            let path = self.store.index_path(key);
            return Err(StoreError::Io { action: "open", path, source }.into());
        };
        let record = IndexRecord::of(&index, artifact_digest, SystemTime::now());
        self.record(key, &record);
        let location = self.location(key, &record, Origin::Compile, compile_us);
        // The next to ask finds a file, not a compile.
        self.known.put(&Resolved { origin: Origin::Host, ..location.clone() });
        Ok(location)
    }

    /// Takes over a file that is in the store without a record, or has changed since it was handed out: verified to its last
    /// byte first, and it has to be the one on record if there is a record.
    fn adopt(&self, key: &IndexKey) -> Result<Option<Resolved>, EngineError> {
        let record = self.catalog.get(|catalog| catalog.get_index(key))?;
        let opened = match record.and_then(|record| record.header_digest) {
            Some(header) => self.store.open_recorded_index(key, &header, true)?,
            None => self.store.verify_index(key)?,
        };
        let Some(index) = opened else {
            self.known.remove(key);
            return Ok(None);
        };
        let digest = gobo_types::ArtifactDigest(gobo_types::Digest::of(index.file_bytes()));
        let record = IndexRecord::of(&index, digest, SystemTime::now());
        self.record(key, &record);
        let location = self.location(key, &record, Origin::Host, 0);
        Ok(self.known.put(&location).then_some(location))
    }

    /// The file is what counts: a catalog that refuses the record costs a verification later, not this answer.
    fn record(&self, key: &IndexKey, record: &IndexRecord) {
        if let Err(error) = self.catalog.with(|catalog| catalog.put_index(key, record)) {
            tracing::warn!(%key, error = error_chain(&error), "cannot record a published index");
        }
    }

    fn remember(&self, job: &Job, error: &CompileError) {
        let now = SystemTime::now();
        let remembered = self.catalog.with(|catalog| match error {
            CompileError::Refused(refusal) => {
                catalog.put_refusal(&job.key, refusal, now + self.config.refusal_ttl)
            }
            CompileError::OverBudget(over) => {
                catalog.put_over_budget(&job.key, over, &job.limits, now + self.config.over_budget_ttl)
            }
            _ => Ok(()),
        });
        if let Err(error) = remembered {
            tracing::warn!(key = %job.key, error = error_chain(&error), "cannot remember a verdict");
        }
    }
}

fn failed(why: String) -> Failure {
    Failure::Verdict(CompileError::Failed(why.into()))
}

fn check_key(made: &IndexKey, wanted: &IndexKey) -> Result<(), Failure> {
    if made == wanted {
        return Ok(());
    }
    Err(failed(format!("the compiler made the index of key {made}, not of {wanted}")))
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// What only one of the queue and its caller gets.
pub(crate) fn take<T>(slot: &Mutex<Option<T>>) -> Option<T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// A store that cannot be used now is no verdict about the constraint.
fn store_trouble(error: &EngineError) -> CompileError {
    let text = error_chain(error);
    if error.kind() == ErrorKind::Internal {
        CompileError::Failed(text.into())
    } else {
        CompileError::unavailable(text)
    }
}
