//! What a request tells of its way: every step, as it ends.
//!
//! The engine knows no protocol of traces. Who wants one gives a request a [`Trace`], and makes of the steps what the protocol has. A
//! request without one costs a look at an empty field for each step. A hit has no steps: it is answered at once.
//!
//! Steps carry names, times and index keys, which are digests; no text of a constraint.

use std::borrow::Cow;
use std::fmt;
use std::time::{Duration, Instant, SystemTime};

use gobo_types::{IndexKey, PhaseTime};

/// Takes the steps of one request. They come from any thread, also after the request has been answered, and a call must not wait.
pub trait Trace: Send + Sync + fmt::Debug {
    /// The name of the trace, for lines of the log.
    fn id(&self) -> &str;

    /// What a call on behalf of the request carries, so that its steps belong to the same trace: a `traceparent`
    /// (W3C Trace Context, level 1, section 3.2).
    fn parent(&self) -> String;

    /// A step has ended.
    fn step(&self, step: Step);

    /// Something about the whole request is known now.
    fn note(&self, name: &'static str, value: Cow<'static, str>);
}

/// One step of a request.
#[derive(Debug, Clone)]
pub struct Step {
    /// What was done: `join`, `adopt`, `forward`, `bucket`, `queue`, `pass`, `publish` or `upload`.
    pub name: &'static str,
    /// Of which index.
    pub key: IndexKey,
    /// When it began.
    pub begun: SystemTime,
    /// How long it took.
    pub took: Duration,
    /// How it ended, in a word.
    pub ended: &'static str,
    /// Numbers of it, by name.
    pub numbers: Vec<(&'static str, u64)>,
    /// What its time went to.
    pub phases: Vec<PhaseTime>,
}

/// The beginning of a step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Begun(SystemTime, Instant);

impl Begun {
    pub(crate) fn now() -> Self {
        Self(SystemTime::now(), Instant::now())
    }

    /// So long ago.
    pub(crate) fn before(took: Duration) -> Self {
        let Self(time, instant) = Self::now();
        Self(time.checked_sub(took).unwrap_or(time), instant.checked_sub(took).unwrap_or(instant))
    }

    /// The step that ends now.
    pub(crate) fn ended(self, name: &'static str, key: &IndexKey, ended: &'static str) -> Step {
        let Self(begun, instant) = self;
        let took = instant.elapsed();
        Step { name, key: *key, begun, took, ended, numbers: Vec::new(), phases: Vec::new() }
    }
}
