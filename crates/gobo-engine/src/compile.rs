use std::sync::Arc;

use gobo_artifact::Vocabulary;
use gobo_compiler::{CompileOptions, Compiled};
use gobo_types::{Budget, CompileError, Constraint};

use crate::pool::Workbench;
use crate::worker::Process;

/// How an engine makes an index: [`compile_constraint`] on one thread, or what a test or another host of compiles puts
/// in its place. A panic in it is contained.
pub type CompileFn =
    dyn Fn(&Vocabulary, &Constraint, &Budget) -> Result<Compiled, CompileError> + Send + Sync;

/// Lowers and compiles in this process: no store, no cache. The same bytes for any number of threads.
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
    let lowered = gobo_lower::lower(constraint, budget)?;
    gobo_compiler::compile(vocabulary, constraint, &lowered, &CompileOptions { threads }, budget)
}

/// What one worker compiles with.
pub(crate) enum Bench {
    /// On its own thread.
    Thread(Arc<CompileFn>),
    /// In a process that it watches.
    Process(Process),
}

impl Workbench for Bench {
    fn prepare(&mut self) {
        if let Self::Process(process) = self {
            process.prepare();
        }
    }
}
