//! One attempt of a job: a pass of its compile in the worker process, and its file.

use gobo_types::{CompileError, CompileLimits, Limit, error_chain};
use gobo_worker::{Failure, PassTime, WorkerProcess};

use super::job::Job;
use crate::found::Made;
use crate::host::{Host, NotKept};

/// The budgets of steps of the passes before the last one: those of a daemon.
pub(super) const PASSES: [u64; 2] = [8_000_000, 128_000_000];

/// How an attempt ended.
pub(super) enum Attempt {
    /// There is an index.
    Made(Made),
    /// There is none.
    Verdict(CompileError),
    /// Over the small budget of this pass alone.
    OverPass,
    /// The worker died; another one may do better.
    Died(String),
    /// The file could not be written or published.
    NotKept(String),
    /// Another attempt would end the same, and it is no verdict.
    Unavailable(String),
    /// A bug.
    Failed(String),
}

/// Has the worker process do one pass of a job.
pub(super) fn attempt(host: &Host, process: &mut WorkerProcess, job: &Job) -> Attempt {
    let key = job.lead.key();
    // Another process may have published it while this one waited.
    if let Ok(Some(made)) = host.find(key) {
        return Attempt::Made(made);
    }
    let vocabulary = match host.vocabularies.file_of(&job.bound) {
        Ok(path) => path,
        Err(error) => return Attempt::Unavailable(error_chain(&error)),
    };
    let begun = match host.begin(key, job.in_memory) {
        Ok(begun) => begun,
        Err(error) => return Attempt::Unavailable(error_chain(&error)),
    };
    let most_steps = PASSES.get(job.pass).copied().unwrap_or(u64::MAX);
    let limits = CompileLimits { max_steps: host.limits.max_steps.min(most_steps), ..host.limits };
    let order = gobo_worker::Job {
        vocabulary,
        vocabulary_digest: job.bound.vocabulary.digest(),
        constraint: job.constraint.clone(),
        limits,
        last_limits: host.limits,
        processor_time: PassTime::default().of(limits.max_steps),
        file: Some(begun.pending.path().to_owned()),
        is_background: false,
    };
    host.counters.local_compile();
    match process.run(order, job.lead.cancelled()) {
        Ok(made) if made.key != *key => {
            Attempt::Failed(format!("a worker made the index of key {}", made.key))
        }
        Ok(_) => match host.keep(key, begun) {
            Ok(made) => Attempt::Made(made),
            Err(NotKept::Store(why)) => Attempt::NotKept(why),
            Err(NotKept::Unsound(why)) => Attempt::Failed(format!("a worker wrote no sound index: {why}")),
        },
        Err(Failure::Verdict(CompileError::OverBudget(over)))
            if over.limit == Limit::MaxSteps && limits != host.limits =>
        {
            Attempt::OverPass
        }
        Err(Failure::Verdict(CompileError::Unavailable { why, .. })) => Attempt::NotKept(why.to_string()),
        Err(Failure::Verdict(CompileError::Failed(why))) => Attempt::Failed(why.to_string()),
        Err(Failure::Verdict(verdict)) => Attempt::Verdict(verdict),
        Err(Failure::Died(why)) => Attempt::Died(why),
        Err(Failure::OutOfTime) => Attempt::Unavailable(format!(
            "a pass of at most {} steps used more processor time than so many may; this is a bug of gobo",
            limits.max_steps
        )),
        Err(Failure::Killed(why)) => Attempt::Unavailable(why),
    }
}
