//! Beyond this host: the bucket that it shares with others is asked before the workers, or beside them.
//!
//! Half of all schemas compile in three milliseconds, and a bucket answers in tens of them. So a lookup and the first pass of a compile
//! begin together where a worker is idle, and whichever is first ends the flight; a later pass, which is a dear one, waits until the
//! lookup has said no or spent its budget. Where all workers are busy the lookup goes first, as it does for what is compiled ahead of
//! demand. What a compile ends with is written to the bucket behind the answer.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use gobo_artifact::Index;
use gobo_remote::{Answer, Content, Put};
use gobo_store::PendingIndex;
use gobo_types::{ArtifactDigest, CompileError, ErrorKind, error_chain};

use super::compile::published_or_not;
use super::ending::Ending;
use super::job::Job;
use crate::EngineError;
use crate::config::LookupOrder;
use crate::handed_out::{Resolved, Source};
use crate::inner::{Inner, contained};
use crate::request::{Begun, Done, FlightEnd};
use crate::stats::{Counters, RESOLVE, record};
use crate::workers::Priority;

impl Inner {
    /// Asks the bucket for the index of a flight, before the workers or beside them.
    pub(super) fn ask_bucket(self: &Arc<Self>, ending: &Arc<Ending>, job: Arc<Job>) {
        let (Some(remote), Some(tier)) = (&self.remote, &self.config.remote) else {
            return self.dispatch(ending, job);
        };
        let is_race = tier.order == LookupOrder::Race
            && ending.priority() == Priority::Interactive
            && self.pool.has_idle_worker();
        let landing = Landing {
            inner: Arc::clone(self),
            ending: Arc::clone(ending),
            job: Arc::clone(&job),
            begun: Begun::now(),
            is_first: !is_race,
            has_landed: false,
        };
        ending.look(|| remote.lookup(job.key, move |answer| landing.land(answer)));
        if is_race {
            self.dispatch(ending, job);
        }
    }

    /// Publishes an index that another host has made. `None`: it is that of another constraint.
    pub(super) fn publish_found(
        &self,
        job: &Job,
        file: PendingIndex,
        digest: ArtifactDigest,
        source: Source,
    ) -> Result<Option<Resolved>, EngineError> {
        // Publishing compares its key; what it says it was compiled from is another matter.
        let index = Index::open(file.path())?;
        if index.vocabulary_digest() != job.request.vocabulary.digest()
            || index.constraint_digest() != job.request.constraint.digest()
        {
            return Ok(None);
        }
        drop(index);
        let begun = Begun::now();
        let published = file.publish();
        job.tell(|| begun.ended("publish", &job.key, published_or_not(&published)));
        let published = published?;
        if published != digest {
            tracing::warn!(key = %job.key, "this host has another index of the key already; it stays");
        }
        self.published(&job.key, published, source, 0).map(Some)
    }

    /// Leaves what a compile ended with to the other hosts.
    pub(super) fn offer(&self, job: &Job, end: &FlightEnd, replaces: bool) {
        let Some(remote) = &self.remote else { return };
        let content = match end {
            Ok(Done::Index(Resolved { source: Source::Compile, .. })) => Content::Index,
            Err(CompileError::Refused(refusal)) => Content::Refused(refusal.clone()),
            Err(CompileError::OverBudget(over)) => Content::OverBudget(over.clone(), job.limits),
            _ => return,
        };
        let put = Put { key: job.key, content, replaces };
        let Some(trace) = job.request.trace.clone() else {
            remote.put(put);
            return;
        };
        let key = job.key;
        remote.put_and_tell(put, move |took, ended| {
            trace.step(Begun::before(took).ended("upload", &key, ended));
        });
    }
}

/// Whether an index that was fetched could not be published because of what it is.
pub(crate) fn is_of_object(error: &EngineError) -> bool {
    matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Invalid | ErrorKind::Limit | ErrorKind::Version)
}

/// Where a lookup ends, however it ends: dropped, it has found nothing out.
struct Landing {
    inner: Arc<Inner>,
    ending: Arc<Ending>,
    job: Arc<Job>,
    begun: Begun,
    /// The compile has not begun.
    is_first: bool,
    has_landed: bool,
}

impl Landing {
    fn land(mut self, answer: Answer) {
        self.has_landed = true;
        let job = Arc::clone(&self.job);
        let _logging = job.log_as_request();
        self.tell(match &answer {
            Answer::Index { .. } => "index",
            Answer::Refused(_) | Answer::OverBudget(..) => "verdict",
            Answer::Rejected(_) => "rejected",
            Answer::Absent => "absent",
            Answer::Unknown => "unknown",
        });
        let (inner, job) = (&self.inner, &self.job);
        let end = match answer {
            Answer::Index { file, digest } => {
                self.ending.fetched();
                match contained(|| inner.publish_found(job, file, digest, Source::Remote)) {
                    Ok(Some(found)) => Ok(Done::Index(found)),
                    // This host's trouble, a full disk say, says nothing of the object.
                    Err(error) if !is_of_object(&error) => {
                        tracing::warn!(key = %job.key, error = error_chain(&error), "an index of the bucket cannot be kept");
                        return self.go_on(false);
                    }
                    unsound => {
                        let why = unsound.err().map(|error| error_chain(&error));
                        let why = why.unwrap_or_else(|| "it is that of another constraint".into());
                        tracing::warn!(key = %job.key, why, "an index of the bucket is not used");
                        inner.remote.iter().for_each(|remote| remote.was_unsound());
                        return self.go_on(true);
                    }
                }
            }
            Answer::Refused(refusal) => Err(CompileError::Refused(refusal)),
            Answer::OverBudget(over, limits) if limits == job.limits => Err(CompileError::OverBudget(over)),
            // A verdict under other limits gives way to what this compile ends with.
            Answer::OverBudget(..) | Answer::Rejected(_) => return self.go_on(true),
            Answer::Absent | Answer::Unknown => return self.go_on(false),
        };
        if let Err(verdict) = &end {
            inner.remember(job, verdict);
        }
        if let Some(lead) = self.ending.take() {
            if end.is_err() {
                Counters::count(&inner.counters.fetched_verdicts);
            }
            record(RESOLVE, job.submitted.elapsed());
            // For the compile beside it, which nobody else knows any more.
            self.ending.cancelled().store(true, Ordering::Relaxed);
            lead.deliver(&end);
        }
        self.ending.looked(false);
    }

    fn tell(&self, ended: &'static str) {
        self.job.tell(|| self.begun.ended("bucket", &self.job.key, ended));
    }

    fn go_on(&self, replaces: bool) {
        self.ending.looked(replaces);
        if self.is_first {
            self.inner.dispatch(&self.ending, Arc::clone(&self.job));
        }
    }
}

impl Drop for Landing {
    fn drop(&mut self) {
        if !self.has_landed {
            self.tell("given_up");
            self.go_on(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use gobo_store::StoreError;

    use super::*;

    #[test]
    fn a_full_disk_is_no_fault_of_the_object() {
        let path = || "/s/v0/index/ab/x.gobo".into();
        let full =
            StoreError::NoRoom { action: "write", path: path(), source: io::ErrorKind::StorageFull.into() };
        assert!(!is_of_object(&full.into()) && !is_of_object(&EngineError::Closed));
        let bytes = Index::from_bytes(b"no index").map(drop).unwrap_err();
        assert!(is_of_object(&bytes.into()));
    }
}
