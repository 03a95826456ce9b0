//! From a request to a verdict: the file, else a remembered verdict, else one shared compile.
//!
//! `files` finds and records the files of indices, `adopt` takes over those of other processes, `passes` takes a `job` through the
//! queue and the workers, `compile` is one pass of it. `forward` asks the pool, `beyond` the bucket that hosts share; an `ending` is what it and the compile race for.

mod adopt;
mod beyond;
mod compile;
mod ending;
mod files;
mod forward;
mod job;
mod passes;

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use gobo_store::CachedVerdict;
use gobo_types::{CompileError, CompileLimits, IndexKey};

use crate::handed_out::Source;
use crate::inner::Inner;
use crate::request::{Begun, Checked, Done, FlightEnd, Outcome, Purpose, Request};
use crate::single_flight::Joined;
use crate::stats::Counters;
use crate::workers::Priority;
use crate::{EngineError, Ticket};
pub(crate) use beyond::is_of_object;
use ending::Ending;
use job::{Job, store_trouble};

impl Inner {
    pub(crate) fn submit(self: &Arc<Self>, request: Request) -> Ticket<Outcome> {
        let (limits, key) = self.limits_and_key(&request);
        match self.answer_at_once(&key, &limits) {
            Ok(Some(outcome)) => return Ticket::ready(outcome),
            Ok(None) => Counters::count(&self.counters.misses),
            Err(error) => return Ticket::ready(Err(store_trouble(&error))),
        }
        let end = self.fly(request, key, limits, Purpose::Index);
        let inner = Arc::clone(self);
        Ticket::pending(async move {
            match end.await? {
                Done::Index(found) => {
                    match found.source {
                        Source::Remote => Counters::count(&inner.counters.fetched),
                        Source::Upstream => Counters::count(&inner.counters.forwarded),
                        Source::Host | Source::Compile => {}
                    }
                    Ok(found)
                }
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
        (limits, request.vocabulary.vocabulary.index_key(&request.constraint))
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
        let trace = request.trace.clone();
        let forwards = self.upstream.is_some() && !request.is_forwarded;
        let flight = (key, limits, purpose, forwards);
        let Joined { waiter, cancelled, lead } =
            self.flights.join(&flight, &request.tenant, priority == Priority::Prewarm);
        let leads = lead.is_some();
        match lead {
            Some(lead) => {
                let submitted = Instant::now();
                self.begin(
                    &Ending::new(lead),
                    &Arc::new(Job { request, key, limits, purpose, forwards, submitted }),
                );
            }
            // What was begun ahead of demand is in demand now.
            None if priority == Priority::Interactive => self.pool.promote(&cancelled),
            None => {}
        }
        // Who began it is told of its steps; who joins is told that it waited.
        let joined = trace.filter(|_| !leads).map(|trace| (trace, Begun::now()));
        async move {
            let abandoned = || Err(CompileError::unavailable("the engine is closing"));
            let end = waiter.await.unwrap_or_else(abandoned);
            if let Some((trace, begun)) = joined {
                trace.step(begun.ended("join", &key, if end.is_ok() { "done" } else { "no_index" }));
            }
            end
        }
    }

    /// A hit, or a verdict that need not be found out again. Runs on the caller's thread: it opens a file in O(1) and
    /// reads the catalog's cache, where a place in the queue after compiles would cost more.
    fn answer_at_once(&self, key: &IndexKey, limits: &CompileLimits) -> Result<Option<Outcome>, EngineError> {
        if let Some(found) = self.find_unchanged(key)? {
            Counters::count(&self.counters.hits);
            return Ok(Some(Ok(found)));
        }
        // Whatever a compile ended with, a file that is there is looked at first.
        if self.is_there(key) { Ok(None) } else { Ok(self.recall(key, limits)?.map(Err)) }
    }

    /// A verdict that a compile under these limits ended with before, and that need not be found out again.
    pub(crate) fn recall(
        &self,
        key: &IndexKey,
        limits: &CompileLimits,
    ) -> Result<Option<CompileError>, EngineError> {
        let remembered = self.catalog.get(|catalog| catalog.get_verdict(key, limits, SystemTime::now()))?;
        Ok(remembered.map(|verdict| {
            Counters::count(&self.counters.negative_hits);
            match verdict {
                CachedVerdict::Refused(refusal) => refusal.into(),
                CachedVerdict::OverBudget(over) => over.into(),
            }
        }))
    }
}
