//! Compiles a published index once more, alone in a process that has compiled nothing before, and compares.
//!
//! `verify` shows that a file is what was written; it cannot show that what was written is right. The same inputs give the same
//! bytes, so a second compile can: an index whose bytes depend on what its process had compiled before, or that
//! somebody has replaced, differs from its audit.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gobo_artifact::{Index, Vocabulary};
use gobo_types::{
    ArtifactDigest, Budget, COMPILER_EPOCH, CompileError, CompileLimits, Constraint, Digest, SchemaDocument,
    error_chain,
};
use gobo_worker::{EndCounters, Failure, Job, WorkerConfig, WorkerProcess, compile_alone};

/// What came of an audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Audit {
    /// Compiled alone it has the same bytes.
    Same,
    /// It has other bytes, or none.
    Differs {
        /// In words: what a compile alone gives.
        found: String,
    },
    /// Nobody can tell.
    Undecided {
        /// Why.
        why: String,
    },
}

/// Compiles an index again and compares. Blocks for as long as the compile takes.
///
/// With `processes` the compile runs in a worker process started for it, under its hard limits; without, in this process and
/// without the rows that its compiles share. `vocabulary` is the verified vocabulary file that the index belongs to, `documents` are
/// those that a schema was compiled beside, `limits` bound the compile: [`Audit::Undecided`] if they do not suffice, or once
/// `cancelled` is set, which a worker process sees at once.
pub fn audit(
    processes: Option<&Arc<WorkerConfig>>,
    index: &Index,
    vocabulary: &Path,
    documents: &[SchemaDocument],
    limits: CompileLimits,
    cancelled: &AtomicBool,
) -> Audit {
    let undecided = |why: String| Audit::Undecided { why };
    let epoch = index.root().compiler_epoch;
    if epoch != COMPILER_EPOCH {
        return undecided(format!("compiler epoch {epoch} wrote it, and this is {COMPILER_EPOCH}"));
    }
    let constraint = match index.constraint(documents) {
        Ok(constraint) => constraint,
        Err(error) => return undecided(error_chain(&error)),
    };
    let ended = match processes {
        Some(processes) => in_process(processes, index, vocabulary, constraint, limits, cancelled),
        None => here(index, vocabulary, &constraint, limits),
    };
    match ended {
        Ok(digest) if digest == ArtifactDigest(Digest::of(index.artifact().bytes())) => Audit::Same,
        Ok(digest) => Audit::Differs { found: format!("a file with the digest {digest}") },
        Err(CompileError::Refused(refusal)) => Audit::Differs { found: format!("a refusal: {refusal}") },
        Err(error) => undecided(error_chain(&error)),
    }
}

fn in_process(
    processes: &Arc<WorkerConfig>,
    index: &Index,
    vocabulary: &Path,
    constraint: Constraint,
    limits: CompileLimits,
    cancelled: &AtomicBool,
) -> Result<ArtifactDigest, CompileError> {
    let job = Job {
        vocabulary: vocabulary.to_owned(),
        vocabulary_digest: index.vocabulary_digest(),
        constraint,
        limits,
        last_limits: limits,
        processor_time: processes.processor_time,
        file: None,
        is_background: true,
    };
    // Its own place and its own counters: whatever becomes of the process, the engine's workers are others.
    let mut process = WorkerProcess::new(Arc::clone(processes), Arc::<EndCounters>::default());
    match process.run(job, cancelled) {
        Ok(made) => Ok(made.digest),
        Err(Failure::Verdict(error)) => Err(error),
        Err(Failure::OutOfTime) => {
            let seconds = processes.processor_time.as_secs();
            Err(CompileError::unavailable(format!("it takes more than {seconds} s of processor time")))
        }
        Err(Failure::Died(why) | Failure::Killed(why)) => Err(CompileError::unavailable(why)),
    }
}

fn here(
    index: &Index,
    vocabulary: &Path,
    constraint: &Constraint,
    limits: CompileLimits,
) -> Result<ArtifactDigest, CompileError> {
    let opened =
        Vocabulary::open(vocabulary).map_err(|error| CompileError::unavailable(error_chain(&error)))?;
    if opened.digest() != index.vocabulary_digest() {
        let other = format!("{} is vocabulary {}", vocabulary.display(), opened.digest());
        return Err(CompileError::unavailable(other));
    }
    let compiled = compile_alone(&opened, constraint, 1, &Budget::new(limits))?;
    Ok(compiled.artifact_digest)
}
