//! What is asked of an engine, the claim on its answer, who is told of its steps, and how it ends.

mod ticket;
mod trace;

use std::sync::Arc;
use std::time::Instant;

use gobo_types::{CompileError, CompileLimits, Constraint, IndexKey, Report};

use crate::OpenVocabulary;
use crate::handed_out::Resolved;
use crate::workers::{Priority, Tenant};
pub use ticket::Ticket;
pub(crate) use trace::Begun;
pub use trace::{Step, Trace};

/// What is asked of [`Engine::submit`](crate::Engine::submit).
#[derive(Debug, Clone)]
pub struct Request {
    /// Over which vocabulary.
    pub vocabulary: Arc<OpenVocabulary>,
    /// What.
    pub constraint: Constraint,
    /// What a compile may use, within what [`EngineConfig::limits`](crate::EngineConfig) gives; `None`: as much as that.
    pub limits: Option<CompileLimits>,
    /// How soon it is wanted.
    pub priority: Priority,
    /// On whose account.
    pub tenant: Tenant,
    /// When the caller gives up: what would begin later is turned away at once.
    pub deadline: Option<Instant>,
    /// Another daemon has sent it here: it is not sent on.
    pub is_forwarded: bool,
    /// Who is told of the steps; `None`: nobody.
    pub trace: Option<Arc<dyn Trace>>,
}

impl Request {
    /// An interactive request under the default limits, on nobody's account and without a deadline.
    pub fn new(vocabulary: Arc<OpenVocabulary>, constraint: Constraint) -> Self {
        Self {
            vocabulary,
            constraint,
            limits: None,
            priority: Priority::Interactive,
            tenant: Tenant::from(""),
            deadline: None,
            is_forwarded: false,
            trace: None,
        }
    }
}

/// How a resolve ends. Refused and over budget are answers; unavailable and failed say that there is none.
pub type Outcome = Result<Resolved, CompileError>;

/// What the index of a constraint is, or would be: the answer of [`Engine::check`](crate::Engine::check).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The index key.
    pub key: IndexKey,
    /// Length of the file.
    pub bytes: u64,
    /// Number of states.
    pub states: u32,
    /// Number of distinct mask rows.
    pub rows: u32,
    /// What it enforces.
    pub report: Report,
    /// Whether it is in the store already.
    pub is_published: bool,
    /// What the compile took in microseconds; 0 without one.
    pub compile_us: u64,
}

/// What a flight ends with.
#[derive(Debug, Clone)]
pub(crate) enum Done {
    Index(Resolved),
    Checked(Box<Checked>),
}

/// What is wanted of a compile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    Index,
    Report,
}

/// Over-budget verdicts hold under equal limits only, so who asks with others shares no compile. The last: whether the pool is asked
/// first; a flight that asks it shares nothing with one that the pool has sent here, for which it may wait.
pub(crate) type FlightKey = (IndexKey, CompileLimits, Purpose, bool);
pub(crate) type FlightEnd = Result<Done, CompileError>;
