//! One compile of a job, on this thread or in a worker process, to a published index or a report.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use gobo_artifact::Index;
use gobo_store::StoreError;
use gobo_types::{Budget, CompileError, CompileLimits, ErrorKind, IndexKey, PhaseTime, error_chain};
use gobo_worker::{Failure, WorkerProcess, thread_clock};

use super::job::{Job, Made, store_trouble};
use crate::EngineError;
use crate::handed_out::Source;
use crate::inner::Inner;
use crate::request::{Begun, Purpose, Step};
use crate::stats::{COMPILE, Counters, record};
use crate::workers::CompileExecutor;

/// One pass of a job.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pass {
    /// Passes before it.
    pub(super) number: usize,
    pub(super) limits: CompileLimits,
    pub(super) is_background: bool,
}

impl Pass {
    /// The step of a request that ends with this pass now.
    fn ended<T>(&self, begun: Begun, job: &Job, made: &Result<T, Failure>, phases: &[PhaseTime]) -> Step {
        let ended = match made {
            Ok(_) => "made",
            Err(Failure::Verdict(error)) => match error {
                CompileError::Refused(_) => "refused",
                CompileError::OverBudget(_) => "over_budget",
                CompileError::Unavailable { .. } => "unavailable",
                _ => "failed",
            },
            Err(Failure::OutOfTime) => "out_of_time",
            Err(Failure::Died(_)) => "died",
            Err(Failure::Killed(_)) => "killed",
        };
        let numbers = vec![
            ("number", self.number as u64 + 1),
            ("max_steps", self.limits.max_steps),
            ("is_background", u64::from(self.is_background)),
        ];
        Step { numbers, phases: phases.to_vec(), ..begun.ended("pass", &job.key, ended) }
    }
}

impl Inner {
    /// A pass that was ended for its processor time: no verdict, and not tried again, as it would cost as much again.
    pub(super) fn out_of_time(&self, job: &Job, limits: CompileLimits) -> CompileError {
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
    pub(super) fn compile_here(
        &self,
        job: &Job,
        pass: Pass,
        executor: &CompileExecutor,
        cancelled: &Arc<AtomicBool>,
    ) -> Result<Made, Failure> {
        let CompileExecutor::Thread(compile) = executor else {
            return Err(failed("a thread's executor is a process".into()));
        };
        let limits = pass.limits;
        let clock = thread_clock(self.config.pass_time.of(limits.max_steps));
        let budget = Budget::cancellable(limits, Arc::clone(cancelled)).timed(clock).pass_before(job.limits);
        let (begun, step) = (Instant::now(), Begun::now());
        let compiled = compile(&job.request.vocabulary.vocabulary, &job.request.constraint, &budget);
        record(COMPILE, begun.elapsed());
        let failure =
            |error| if budget.is_out_of_time() { Failure::OutOfTime } else { Failure::Verdict(error) };
        let compiled = compiled.map_err(failure);
        job.tell(|| pass.ended(step, job, &compiled, &budget.phases()));
        let compiled = compiled?;
        check_key(&compiled.key, &job.key)?;
        self.check_vocabulary(job)?;
        match job.purpose {
            Purpose::Index => {
                let compile_us = micros(begun.elapsed());
                let step = Begun::now();
                let published = self.store.publish_index(&job.key, compiled.bytes());
                let published = published
                    .map_err(EngineError::from)
                    .and_then(|digest| self.published(&job.key, digest, Source::Compile, compile_us));
                job.tell(|| step.ended("publish", &job.key, published_or_not(&published)));
                published.map(Made::Index).map_err(|error| Failure::Verdict(store_trouble(&error)))
            }
            Purpose::Report => {
                let failed = |error: gobo_artifact::ArtifactError| failed(error_chain(&error));
                let index = Index::from_bytes(compiled.bytes()).map_err(failed)?;
                Ok(Made::Report(gobo_worker::Made {
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
    pub(super) fn compile_there(
        &self,
        job: &Job,
        pass: Pass,
        process: &mut WorkerProcess,
        cancelled: &AtomicBool,
    ) -> Result<Made, Failure> {
        let trouble = |error: StoreError| Failure::Verdict(store_trouble(&error.into()));
        let pending = match job.purpose {
            Purpose::Index => Some(self.store.begin_index(&job.key).map_err(trouble)?),
            Purpose::Report => None,
        };
        let Pass { limits, is_background, .. } = pass;
        let vocabulary_digest = job.request.vocabulary.digest();
        let order = gobo_worker::Job {
            vocabulary: self.store.vocabulary_path(&vocabulary_digest),
            vocabulary_digest,
            constraint: job.request.constraint.clone(),
            limits,
            last_limits: job.limits,
            processor_time: self.config.pass_time.of(limits.max_steps),
            file: pending.as_ref().map(|pending| pending.path().to_owned()),
            is_background,
        };
        let (begun, step) = (Instant::now(), Begun::now());
        let made = process.run(order, cancelled);
        job.tell(|| pass.ended(step, job, &made, process.phases()));
        record(COMPILE, begun.elapsed());
        let compile_us = micros(begun.elapsed());
        let made = made?;
        check_key(&made.key, &job.key)?;
        self.check_vocabulary(job)?;
        let Some(pending) = pending else { return Ok(Made::Report(made)) };
        let step = Begun::now();
        let digest = pending.publish();
        if digest.is_err() {
            job.tell(|| step.ended("publish", &job.key, "failed"));
        }
        let digest = digest.map_err(|error| match error.kind() {
            // What the worker wrote is not what it said.
            ErrorKind::Corrupt | ErrorKind::Invalid | ErrorKind::Limit => {
                failed(format!("a worker wrote no sound index: {}", error_chain(&error)))
            }
            _ => trouble(error),
        })?;
        let published = self.published(&job.key, digest, Source::Compile, compile_us);
        job.tell(|| step.ended("publish", &job.key, published_or_not(&published)));
        published.map(Made::Index).map_err(|error| Failure::Verdict(store_trouble(&error)))
    }

    /// Nothing is believed that was compiled over a damaged vocabulary.
    fn check_vocabulary(&self, job: &Job) -> Result<(), Failure> {
        if self.vocabularies.is_condemned(&job.request.vocabulary.vocabulary) {
            return Err(Failure::Killed("its vocabulary was found damaged meanwhile; ask again".into()));
        }
        Ok(())
    }
}

/// How a publishing ended, in a word.
pub(super) fn published_or_not<T, E>(published: &Result<T, E>) -> &'static str {
    if published.is_ok() { "published" } else { "failed" }
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
