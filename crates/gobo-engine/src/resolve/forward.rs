//! To the pool: daemons that compile for many hosts are asked before the bucket and the workers of this one.
//!
//! The pool's single-flight is that of the fleet, because a balancer that hashes the key sends all who ask for one constraint to one
//! daemon. A host that cannot reach it, or is told to go elsewhere, does what it does without one. What has no room says so to the caller: a host
//! that then compiled by itself would hide from everybody that the pool is too small.
//!
//! *A forwarded call is never forwarded again*, so whatever circle the addresses make, each call ends after one step. A flight that
//! forwards and one that does not are two flights: a daemon that is its own upstream would otherwise wait for itself.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use gobo_remote::{CallEnd, Permit};
use gobo_types::{CompileError, CompileLimits, Limit, error_chain};

use super::beyond::is_of_object;
use super::ending::Ending;
use super::job::Job;
use crate::handed_out::Source;
use crate::inner::{Inner, contained};
use crate::request::{Begun, Done, FlightEnd, Purpose};
use crate::stats::{Counters, RESOLVE, record};
use crate::upstream::{FORWARD, Forward, Forwarded, UpstreamTier};

impl Inner {
    /// Has the work of a flight done whose index is not on this host.
    pub(super) fn search(self: &Arc<Self>, ending: &Arc<Ending>, job: Arc<Job>) {
        let Some((tier, permit)) = self.upstream_for(&job) else { return self.ask_bucket(ending, job) };
        let call = Forward {
            key: job.key,
            vocabulary: Arc::clone(&job.request.vocabulary),
            constraint: job.request.constraint.clone(),
            limits: job.limits,
            priority: ending.priority(),
            tenant: Arc::clone(&job.request.tenant),
            deadline: job.request.deadline,
            is_check: job.purpose == Purpose::Report,
            store: self.store.clone(),
            cancelled: Arc::clone(ending.cancelled()),
            trace_parent: job.request.trace.as_ref().map(|trace| trace.parent()),
        };
        let back = Return {
            inner: Arc::clone(self),
            place: Some(Place::new(&tier)),
            tier: Arc::clone(&tier),
            ending: Arc::clone(ending),
            job,
            permit: Some(permit),
            begun: Instant::now(),
            step: Begun::now(),
        };
        tier.upstream.forward(call, Box::new(move |forwarded| back.end(forwarded)));
    }

    /// The upstream, if this flight forwards, it is not left alone now, and not too many calls are under way.
    fn upstream_for(&self, job: &Job) -> Option<(Arc<UpstreamTier>, Permit)> {
        let tier = self.upstream.as_ref().filter(|_| job.forwards)?;
        let has_room = tier.counters.under_way.load(Ordering::Relaxed) < self.config.queue_length as u64;
        let permit = has_room.then(|| tier.breaker.admit(Instant::now())).flatten();
        if permit.is_none() {
            Counters::count(&tier.counters.skipped);
        }
        Some((Arc::clone(tier), permit?))
    }
}

/// One of the calls under way, until it is dropped.
struct Place(Arc<UpstreamTier>);

impl Place {
    fn new(tier: &Arc<UpstreamTier>) -> Self {
        tier.counters.under_way.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(tier))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.counters.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Where a forwarded call ends, however it ends: dropped, it was given up.
struct Return {
    inner: Arc<Inner>,
    tier: Arc<UpstreamTier>,
    ending: Arc<Ending>,
    job: Arc<Job>,
    /// Given back before anybody is told.
    place: Option<Place>,
    /// `None` once it has been told.
    permit: Option<Permit>,
    begun: Instant,
    step: Begun,
}

fn given(limits: &CompileLimits, limit: Limit) -> u64 {
    match limit {
        Limit::MaxStates => limits.max_states,
        Limit::MaxSteps => limits.max_steps,
        Limit::MaxBytes => limits.max_bytes,
    }
}

/// What a flight does after a forwarded call.
enum Next {
    End(FlightEnd),
    /// As without an upstream.
    Alone,
}

impl Return {
    fn end(mut self, forwarded: Forwarded) {
        let job = Arc::clone(&self.job);
        let _logging = job.log_as_request();
        record(FORWARD, self.begun.elapsed());
        self.tell(match &forwarded {
            Forwarded::Index { .. } => "index",
            Forwarded::Report(_) => "report",
            Forwarded::Verdict(_) => "verdict",
            Forwarded::Busy(_) => "busy",
            Forwarded::Late => "late",
            Forwarded::Down(_) => "down",
            Forwarded::Failed(_) => "failed",
            Forwarded::OtherVersion(_) => "other_version",
        });
        let (end, next) = self.read(forwarded);
        // Untold, it says nothing of the pool.
        if let (Some(permit), Some(end)) = (self.permit.take(), end) {
            permit.tell(end);
        }
        drop(self.place.take());
        self.go_on(next);
    }

    fn tell(&self, ended: &'static str) {
        self.job.tell(|| self.step.ended("forward", &self.job.key, ended));
    }

    /// What the call says of the pool, if anything, and what the flight does next.
    fn read(&self, forwarded: Forwarded) -> (Option<CallEnd>, Next) {
        let (counters, key) = (&self.tier.counters, &self.job.key);
        match forwarded {
            Forwarded::Index { file, digest } => {
                match contained(|| self.inner.publish_found(&self.job, file, digest, Source::Upstream)) {
                    Ok(Some(found)) => {
                        Counters::count(&counters.indices);
                        return (Some(CallEnd::Answered), Next::End(Ok(Done::Index(found))));
                    }
                    // This host's trouble, a full disk say, says nothing of the pool.
                    Err(error) if !is_of_object(&error) => {
                        tracing::warn!(%key, error = error_chain(&error), "an index of the pool cannot be kept");
                    }
                    unsound => {
                        let why = unsound.err().map(|error| error_chain(&error));
                        let why = why.unwrap_or_else(|| "it is that of another constraint".into());
                        Counters::count(&counters.failed);
                        tracing::warn!(%key, why, "an index of the pool is not used");
                    }
                }
                (Some(CallEnd::Answered), Next::Alone)
            }
            Forwarded::Report(checked) => {
                Counters::count(&counters.reports);
                (Some(CallEnd::Answered), Next::End(Ok(Done::Checked(checked))))
            }
            // A pool takes the lesser of its limits and those that are asked for; this host may have more.
            Forwarded::Verdict(CompileError::OverBudget(over))
                if over.given < given(&self.job.limits, over.limit) =>
            {
                Counters::count(&counters.failed);
                tracing::warn!(%key, limit = over.limit.name(), given = over.given, "the pool has lower limits than this host");
                (Some(CallEnd::Answered), Next::Alone)
            }
            Forwarded::Verdict(verdict) => {
                Counters::count(&counters.verdicts);
                self.inner.remember(&self.job, &verdict);
                (Some(CallEnd::Answered), Next::End(Err(verdict)))
            }
            Forwarded::Busy(busy) => {
                Counters::count(&counters.busy);
                Counters::count(&self.inner.counters.unavailable);
                (Some(CallEnd::Answered), Next::End(Err(busy)))
            }
            Forwarded::Late => {
                Counters::count(&counters.late);
                // Others may wait for it who have more time. Whether the pool hangs or compiles is not known.
                (None, Next::Alone)
            }
            Forwarded::Down(why) => {
                Counters::count(&counters.down);
                tracing::warn!(upstream = self.tier.upstream.address(), why, "the pool does not answer");
                (Some(CallEnd::Failed), Next::Alone)
            }
            Forwarded::Failed(why) => {
                Counters::count(&counters.failed);
                tracing::warn!(%key, upstream = self.tier.upstream.address(), why, "the pool has no answer");
                (Some(CallEnd::Answered), Next::Alone)
            }
            Forwarded::OtherVersion(why) => {
                Counters::count(&counters.other_version);
                tracing::error!(
                    upstream = self.tier.upstream.address(),
                    why,
                    "the pool is of another version"
                );
                (Some(CallEnd::Denied), Next::Alone)
            }
        }
    }

    fn go_on(&self, next: Next) {
        match next {
            Next::End(end) => {
                if let Some(lead) = self.ending.take() {
                    record(RESOLVE, self.job.submitted.elapsed());
                    lead.deliver(&end);
                }
            }
            // Where nobody wants it any more, the queue says so.
            Next::Alone => self.inner.ask_bucket(&self.ending, Arc::clone(&self.job)),
        }
    }
}

impl Drop for Return {
    fn drop(&mut self) {
        drop(self.place.take());
        // Given up: by whoever cancelled it, or because the program ends.
        if self.permit.take().is_some() {
            Counters::count(&self.tier.counters.given_up);
            self.tell("given_up");
            if !self.ending.cancelled().load(Ordering::Relaxed) {
                self.go_on(Next::Alone);
            } else if let Some(lead) = self.ending.take() {
                lead.deliver(&Err(CompileError::unavailable("the engine is closing")));
            }
        }
    }
}
