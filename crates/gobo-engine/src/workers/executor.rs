//! What one worker thread compiles with.

use std::sync::Arc;

use gobo_worker::{CompileFn, WorkerProcess};

use super::pool::Executor;

/// What one worker compiles with.
pub(crate) enum CompileExecutor {
    /// On its own thread.
    Thread(Arc<CompileFn>),
    /// In a process that it watches.
    Process(WorkerProcess),
}

impl Executor for CompileExecutor {
    fn prepare(&mut self) {
        if let Self::Process(process) = self {
            process.prepare();
        }
    }
}
