//! A compile that somebody waits for, and what it makes.

use std::time::Instant;

use gobo_types::{CompileError, CompileLimits, ErrorKind, IndexKey, error_chain};

use crate::EngineError;
use crate::handed_out::Resolved;
use crate::request::{FlightEnd, FlightKey, Purpose, Request};
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
