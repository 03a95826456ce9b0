//! A compile that somebody waits for, and what it makes.

use std::time::Instant;

use gobo_types::{CompileError, CompileLimits, ErrorKind, IndexKey, error_chain};
use tracing::span::EnteredSpan;

use crate::EngineError;
use crate::handed_out::Resolved;
use crate::request::{FlightEnd, FlightKey, Purpose, Request, Step};
use crate::single_flight::Lead;

/// The duty to end the flight of a job.
pub(super) type FlightLead = Lead<FlightKey, FlightEnd>;

/// What a compile job carries.
pub(super) struct Job {
    pub(super) request: Request,
    pub(super) key: IndexKey,
    pub(super) limits: CompileLimits,
    pub(super) purpose: Purpose,
    /// The pool is asked before this host.
    pub(super) forwards: bool,
    pub(super) submitted: Instant,
}

impl Job {
    /// Tells of a step of the request, if anybody is told.
    pub(super) fn tell(&self, step: impl FnOnce() -> Step) {
        if let Some(trace) = &self.request.trace {
            trace.step(step());
        }
    }

    /// Has the lines of the log carry the trace of the request until it is dropped. Of the highest level, so that lines of any level do.
    pub(super) fn log_as_request(&self) -> Option<EnteredSpan> {
        let trace = self.request.trace.as_ref()?;
        Some(tracing::error_span!("job", trace_id = trace.id()).entered())
    }
}

/// What a worker made of a job.
pub(super) enum Made {
    Index(Resolved),
    Report(gobo_worker::Made),
}

/// A store that cannot be used now is no verdict about the constraint.
pub(super) fn store_trouble(error: &EngineError) -> CompileError {
    let text = error_chain(error);
    if error.kind() == ErrorKind::Internal {
        CompileError::Failed(text.into())
    } else {
        CompileError::unavailable(text)
    }
}
