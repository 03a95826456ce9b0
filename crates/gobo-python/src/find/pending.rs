//! Requests that may not have ended.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gobo_lookup::{Found, LookupError, Request};
use gobo_types::ErrorKind;
use pyo3::prelude::*;

use super::finder::Finder;
use super::index::PyIndex;
use crate::arguments::Timeout;
use crate::errors::{of_kind, of_lookup};
use crate::stats;

/// How long a wait goes on without a look at signals: a Ctrl-C ends it so soon.
const TICK: Duration = Duration::from_millis(50);

type Outcome = Result<Found, Arc<LookupError>>;

/// Waits for the end of a request without the GIL. Raises `WaitTimeout` after `time`, if there is one, and whatever a signal's
/// handler raises.
pub(crate) fn wait(py: Python<'_>, request: &Request, time: Option<Duration>) -> PyResult<Outcome> {
    let begun = Instant::now();
    loop {
        if let Some(outcome) = request.poll() {
            return Ok(outcome);
        }
        let left = time.map_or(TICK, |time| time.saturating_sub(begun.elapsed()));
        if left.is_zero() {
            let message = format!("index {} was not there in time; ask again, or wait longer", request.key());
            return Err(of_kind(py, ErrorKind::Deadline, message));
        }
        py.detach(|| request.wait(left.min(TICK)));
        py.check_signals()?;
    }
}

/// An index that was asked for. Dropping it gives the request up.
#[pyclass(frozen, module = "gobo_masks", name = "Pending")]
pub(crate) struct PyPending {
    request: Request,
    finder: Arc<Finder>,
    is_schema: bool,
}

impl PyPending {
    pub(crate) fn new(request: Request, finder: &Arc<Finder>, is_schema: bool) -> Self {
        Self { request, finder: Arc::clone(finder), is_schema }
    }

    fn index(&self, py: Python<'_>, outcome: Outcome) -> PyResult<PyIndex> {
        let found = outcome.map_err(|error| of_lookup(py, &error, self.is_schema))?;
        Ok(PyIndex::new(found, &self.finder))
    }
}

#[pymethods]
impl PyPending {
    /// The key of the index, 64 hexadecimal digits.
    #[getter]
    fn key(&self) -> String {
        self.request.key().to_string()
    }

    /// Whether it has ended, well or not. Never blocks.
    fn done(&self) -> bool {
        self.request.is_done()
    }

    /// The index, or None if it is not there yet. Never blocks. Raises the verdict, or why there is neither.
    fn poll(&self, py: Python<'_>) -> PyResult<Option<PyIndex>> {
        let Some(outcome) = self.request.poll() else { return Ok(None) };
        stats::news(py);
        self.index(py, outcome).map(Some)
    }

    /// The index, after waiting for at most `timeout` seconds, without the GIL (as long as the client waits unless given; None for
    /// as long as it takes). Ctrl-C ends the wait. Raises as `Client.get`; after a `WaitTimeout` of this wait alone the
    /// request goes on.
    #[pyo3(signature = (timeout = Timeout::OfClient), text_signature = "($self, timeout=...)")]
    fn result(&self, py: Python<'_>, timeout: Timeout) -> PyResult<PyIndex> {
        // The request itself ends when the client's time is up.
        let outcome = wait(py, &self.request, timeout.or(None))?;
        stats::news(py);
        self.index(py, outcome)
    }

    /// Gives the request up: it ends with `UnavailableError` of kind `cancelled`, unless it has ended.
    fn cancel(&self) {
        self.request.cancel();
    }

    fn __repr__(&self) -> String {
        format!("<gobo_masks.Pending {} done={}>", self.request.key(), self.request.is_done())
    }
}
