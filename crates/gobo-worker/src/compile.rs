//! Compiles on this thread.

use std::sync::LazyLock;

use gobo_artifact::Vocabulary;
use gobo_compiler::{CompileOptions, Compiled, RowCache};
use gobo_types::{Budget, CompileError, Constraint, Phase};

use crate::diagnose::diagnose;
use crate::lettered::compile_lowered;
use crate::lower::lower_over;

/// A way to make an index: [`compile_constraint`] on one thread, or what a test puts in its place. Whoever calls it contains its
/// panics.
pub type CompileFn =
    dyn Fn(&Vocabulary, &Constraint, &Budget) -> Result<Compiled, CompileError> + Send + Sync;

/// Bytes of rows that the compiles of one process keep for each other. Twice as many make prewarming no faster.
const ROW_CACHE_BYTES: usize = 32 << 20;

/// Lowers and compiles in this process: no store. The same bytes for any number of threads, and whatever was compiled before:
/// rows of common rules are kept for the compiles that follow.
///
/// # Errors
/// Every end without an index: [`CompileError::Refused`] for what is wrong with the constraint, alone or over this
/// vocabulary, [`CompileError::OverBudget`] where `budget` runs out, [`CompileError::Unavailable`] once it is
/// cancelled, [`CompileError::Failed`] for bugs.
pub fn compile_constraint(
    vocabulary: &Vocabulary,
    constraint: &Constraint,
    threads: usize,
    budget: &Budget,
) -> Result<Compiled, CompileError> {
    static ROWS: LazyLock<RowCache> = LazyLock::new(|| RowCache::new(ROW_CACHE_BYTES));
    compile_with(
        vocabulary,
        constraint,
        &CompileOptions { threads, cache: Some(&ROWS), lettered: None },
        budget,
    )
}

/// As [`compile_constraint`], neither taking rows that other compiles have kept nor keeping any.
///
/// # Errors
/// As for [`compile_constraint`].
pub fn compile_alone(
    vocabulary: &Vocabulary,
    constraint: &Constraint,
    threads: usize,
    budget: &Budget,
) -> Result<Compiled, CompileError> {
    compile_with(vocabulary, constraint, &CompileOptions { threads, cache: None, lettered: None }, budget)
}

fn compile_with(
    vocabulary: &Vocabulary,
    constraint: &Constraint,
    options: &CompileOptions<'_>,
    budget: &Budget,
) -> Result<Compiled, CompileError> {
    let diagnosed = |lowering, error| {
        budget.begin_phase(Phase::Diagnose);
        diagnose(constraint, Some(vocabulary), lowering, budget, error)
    };
    budget.begin_phase(Phase::Lower);
    let lowered = lower_over(vocabulary, constraint, budget).map_err(|error| diagnosed(None, error))?;
    // Steps of rows depend on the threads that count them at the end: a diagnosis is given what lowering took.
    let lowering = budget.steps();
    compile_lowered(vocabulary, constraint, &lowered, options, budget)
        .map_err(|error| diagnosed(Some(lowering), error))
}
