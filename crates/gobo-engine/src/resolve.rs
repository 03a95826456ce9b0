//! From a request to a verdict: the file, else a remembered verdict, else one shared compile.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use gobo_store::{CachedVerdict, IndexRecord, StoreError};
use gobo_types::{
    Budget, CompileError, CompileLimits, Constraint, ErrorKind, IndexKey, error_chain, index_key,
};

use crate::engine::Inner;
use crate::error::panic_message;
use crate::known::{Origin, Resolved};
use crate::pool::{Priority, Turned};
use crate::single_flight::{Joined, Lead};
use crate::stats::Counters;
use crate::{EngineError, OpenVocabulary, Ticket};

/// What is asked of [`Engine::submit`](crate::Engine::submit).
#[derive(Debug, Clone)]
pub struct Request {
    /// Over which vocabulary.
    pub vocabulary: Arc<OpenVocabulary>,
    /// What.
    pub constraint: Constraint,
    /// What a compile may use; `None`: the engine's default.
    pub limits: Option<CompileLimits>,
    /// How soon it is wanted.
    pub priority: Priority,
}

/// How a resolve ends. Refused and over budget are answers; unavailable and failed say that there is none.
pub type Outcome = Result<Resolved, CompileError>;

/// Over-budget verdicts hold under equal limits only, so who asks with others shares no compile.
pub(crate) type FlightKey = (IndexKey, CompileLimits);

/// What a compile job carries.
struct Job {
    request: Request,
    key: IndexKey,
    limits: CompileLimits,
}

/// How one attempt of a job ended.
enum Attempt {
    /// For all who wait.
    End(Outcome),
    /// Transient, and trying again may help.
    Again(CompileError),
}

impl Inner {
    pub(crate) fn submit(self: &Arc<Self>, request: Request) -> Ticket<Outcome> {
        let limits = request.limits.unwrap_or(self.config.limits);
        let key = index_key(&request.vocabulary.digest(), &request.constraint.digest());
        match self.answer_at_once(&key, &limits) {
            Ok(Some(outcome)) => {
                Counters::count(&self.counters.hits);
                return Ticket::ready(outcome);
            }
            Ok(None) => Counters::count(&self.counters.misses),
            Err(error) => return Ticket::ready(Err(store_trouble(&error))),
        }
        let priority = request.priority;
        let Joined { waiter, cancelled, lead } =
            self.flights.join(&(key, limits), priority == Priority::Prewarm);
        match lead {
            Some(lead) => self.dispatch(lead, Arc::new(Job { request, key, limits })),
            // What was begun ahead of demand is in demand now.
            None if priority == Priority::Interactive => self.pool.promote(&cancelled),
            None => {}
        }
        Ticket::pending(async move {
            let abandoned = || Err(CompileError::Unavailable("the engine is closing".into()));
            waiter.await.unwrap_or_else(abandoned)
        })
    }

    /// A hit, or a verdict that need not be found out again. Runs on the caller's thread: it opens a file in O(1) and
    /// reads the catalog's cache, where standing in line behind compiles would cost more.
    fn answer_at_once(&self, key: &IndexKey, limits: &CompileLimits) -> Result<Option<Outcome>, EngineError> {
        if let Some(found) = self.find_file(key)? {
            return Ok(Some(Ok(found)));
        }
        let remembered = self.catalog.with(|catalog| catalog.get_verdict(key, limits, SystemTime::now()))?;
        Ok(remembered.map(|verdict| {
            Err(match verdict {
                CachedVerdict::Refused(refusal) => refusal.into(),
                CachedVerdict::OverBudget(over) => over.into(),
            })
        }))
    }

    /// The location of an index that is in the store and on record.
    pub(crate) fn find_file(&self, key: &IndexKey) -> Result<Option<Resolved>, EngineError> {
        if let Some(found) = self.known.get(key) {
            return Ok(Some(found));
        }
        let Some(record) = self.catalog.with(|catalog| catalog.get_index(key))? else { return Ok(None) };
        // A file that is gone, damaged or not the recorded one is a miss.
        let Some(index) = self.store.open_index(key)? else { return Ok(None) };
        if index.file_bytes().len() as u64 != record.bytes {
            return Ok(None);
        }
        let found = self.location(key, &record, Origin::Host, 0);
        // One that is being evicted is a miss.
        Ok(self.known.put(&found).then_some(found))
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

    /// Puts a flight's job into the queue; where there is no room, those who wait are told at once.
    fn dispatch(self: &Arc<Self>, lead: Lead<FlightKey, Outcome>, job: Arc<Job>) {
        let priority = job.request.priority;
        let cancelled = Arc::clone(lead.cancelled());
        // The queue takes the job or drops it; the lead has to come back from a full one.
        let lead = Arc::new(Mutex::new(Some(lead)));
        let inner = Arc::clone(self);
        let in_queue = Arc::clone(&lead);
        let turned = self.pool.submit(priority, cancelled, move || {
            if let Some(lead) = take(&in_queue) {
                inner.run(lead, &job);
            }
        });
        let why = match turned {
            Ok(()) => return,
            Err(Turned::Full) => {
                format!("too many compiles wait for a worker (limit {}); try again", self.config.queue_length)
            }
            Err(Turned::Closed) => "the engine is closing".to_owned(),
        };
        if let Some(lead) = take(&lead) {
            Counters::count(&self.counters.unavailable);
            lead.deliver(&Err(CompileError::Unavailable(why)));
        }
    }

    /// Runs on a worker.
    fn run(self: &Arc<Self>, lead: Lead<FlightKey, Outcome>, job: &Arc<Job>) {
        // Nobody wants it any more; dropping the lead tells nobody.
        if lead.cancelled().load(Ordering::Relaxed) {
            return;
        }
        let cancelled = Arc::clone(lead.cancelled());
        let attempt = catch_unwind(AssertUnwindSafe(|| self.attempt(job, &cancelled)));
        let attempt = attempt.unwrap_or_else(|panic| {
            let message = panic_message(&*panic);
            tracing::error!(key = %job.key, message, "a compile panicked");
            Attempt::End(Err(CompileError::Failed(format!("a worker panicked: {message}"))))
        });
        match attempt {
            Attempt::End(outcome) => {
                self.count(&outcome);
                lead.deliver(&outcome);
            }
            Attempt::Again(error) => {
                let outcome = Err(error);
                match lead.retry_or(&outcome) {
                    Some(lead) => self.dispatch(lead, Arc::clone(job)),
                    None => self.count(&outcome),
                }
            }
        }
    }

    fn count(&self, outcome: &Outcome) {
        match outcome {
            Ok(Resolved { origin: Origin::Compile, .. }) => Counters::count(&self.counters.compiled),
            Ok(_) => {}
            Err(CompileError::Refused(_) | CompileError::OverBudget(_)) => {
                Counters::count(&self.counters.refused);
            }
            Err(CompileError::Unavailable(_)) => Counters::count(&self.counters.unavailable),
            Err(_) => Counters::count(&self.counters.failed),
        }
    }

    fn attempt(&self, job: &Job, cancelled: &Arc<AtomicBool>) -> Attempt {
        // A flight may have ended between this caller's look and its joining; and a file may be there without a
        // record, published by a process that died or that owns no catalog.
        match self.find_file(&job.key).and_then(|found| match found {
            Some(found) => Ok(Some(found)),
            None => self.adopt(&job.key),
        }) {
            Ok(Some(found)) => return Attempt::End(Ok(found)),
            Ok(None) => {}
            Err(error) => return Attempt::End(Err(store_trouble(&error))),
        }
        let budget = Budget::cancellable(job.limits, Arc::clone(cancelled));
        let begun = Instant::now();
        let compiled = (self.compile)(&job.request.vocabulary.vocabulary, &job.request.constraint, &budget);
        let compile_us = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        match compiled {
            Ok(compiled) if compiled.key != job.key => Attempt::End(Err(CompileError::Failed(format!(
                "the compiler made the index of key {}, not of {}",
                compiled.key, job.key
            )))),
            Ok(_) if self.vocabularies.is_condemned(&job.request.vocabulary.vocabulary) => {
                let why = "its vocabulary was found damaged meanwhile; ask again";
                Attempt::End(Err(CompileError::Unavailable(why.into())))
            }
            Ok(compiled) => Attempt::End(
                self.publish(&job.key, compiled.bytes(), compile_us).map_err(|error| store_trouble(&error)),
            ),
            Err(CompileError::Unavailable(why)) => Attempt::Again(CompileError::Unavailable(why)),
            Err(error) => {
                self.remember(job, &error);
                Attempt::End(Err(error))
            }
        }
    }

    /// Makes a compiled index durable before anybody is told of it.
    fn publish(&self, key: &IndexKey, bytes: &[u8], compile_us: u64) -> Result<Resolved, EngineError> {
        let artifact_digest = self.store.publish_index(key, bytes)?;
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

    /// Takes over a file that is in the store without a record: verified to its last byte first.
    fn adopt(&self, key: &IndexKey) -> Result<Option<Resolved>, EngineError> {
        let Some(index) = self.store.verify_index(key)? else { return Ok(None) };
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

/// What only one of the queue and its caller gets.
pub(crate) fn take<T>(slot: &Mutex<Option<T>>) -> Option<T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// A store that cannot be used now is no verdict about the constraint.
fn store_trouble(error: &EngineError) -> CompileError {
    let text = error_chain(error);
    if error.kind() == ErrorKind::Internal {
        CompileError::Failed(text)
    } else {
        CompileError::Unavailable(text)
    }
}
