//! The methods of a client: where indices come from.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use gobo_lookup::{Found, LookupConfig, LookupError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::constraint::PyConstraint;
use super::finder::{PyClient, default_store, local_worker, variable};
use super::index::PyIndex;
use super::pending::{PyPending, wait};
use super::vocabulary::PyVocabulary;
use crate::arguments::{Text, Timeout};
use crate::errors::of_lookup;
use crate::stats;

impl PyClient {
    /// The index, if it is on this host. The constraint's digest is not derived again.
    fn here(
        &self,
        vocabulary: &PyVocabulary,
        constraint: &PyConstraint,
    ) -> Result<Option<Found>, LookupError> {
        let key = vocabulary.bound.vocabulary.key_of(&constraint.digest, constraint.constraint.tokenization);
        self.finder.lookup.find_key(&vocabulary.bound, &key)
    }
}

#[pymethods]
impl PyClient {
    #[new]
    #[pyo3(signature = (store = None, server = None, *, tenant = None, timeout = Timeout::After(Duration::from_secs(10)), local = None), text_signature = "(store=None, server=None, *, tenant=None, timeout=10.0, local=None)")]
    fn new(
        py: Python<'_>,
        store: Option<PathBuf>,
        server: Option<Text>,
        tenant: Option<Text>,
        timeout: Timeout,
        local: Option<bool>,
    ) -> PyResult<Self> {
        let store = store.map_or_else(|| default_store(py), Ok)?;
        let server = match server {
            Some(server) => Some(server.0),
            None => variable("GOBO_SERVER").map(|server| server.to_string_lossy().into_owned()),
        };
        let config = LookupConfig {
            server,
            tenant: tenant.map(|tenant| tenant.0),
            timeout: timeout.or(Some(Duration::from_secs(10))),
            local: local_worker(py, local)?,
            ..LookupConfig::new(store)
        };
        Self::open(py, config)
    }

    /// The folder of the store, absolute.
    #[getter]
    fn store(&self) -> OsString {
        self.finder.lookup.store_root().as_os_str().to_owned()
    }

    /// The address of the daemon.
    #[getter]
    fn server(&self) -> String {
        self.finder.lookup.server().to_owned()
    }

    /// The index, if it is on this host: mapped already, or a file of the store. No call is made; None if it is not there.
    ///
    /// O(1): a look into a table; for a file that is mapped for the first time, opening it.
    fn find(
        &self,
        py: Python<'_>,
        vocabulary: &PyVocabulary,
        constraint: &PyConstraint,
    ) -> PyResult<Option<PyIndex>> {
        let found = self.here(vocabulary, constraint).map_err(|error| of_lookup(py, &error, false))?;
        stats::minute(py);
        Ok(found.map(|found| PyIndex::new(found, &self.finder)))
    }

    /// The index, from wherever it is or is made: it may wait, without the GIL, for at most `timeout` seconds (those of the client
    /// unless given; None for as long as it takes). Ctrl-C ends the wait.
    ///
    /// Raises the verdict (`RefusedError`, `OverBudgetError`), `WaitTimeout`, or `UnavailableError` if nobody could compile it now.
    #[pyo3(signature = (vocabulary, constraint, *, timeout = Timeout::OfClient), text_signature = "($self, vocabulary, constraint, *, timeout=...)")]
    fn get(
        &self,
        py: Python<'_>,
        vocabulary: &PyVocabulary,
        constraint: &PyConstraint,
        timeout: Timeout,
    ) -> PyResult<PyIndex> {
        // What is here needs no copy of the constraint's text. Any trouble with the store is the request's.
        if let Ok(Some(found)) = self.here(vocabulary, constraint) {
            stats::minute(py);
            return Ok(PyIndex::new(found, &self.finder));
        }
        let time = timeout.or(self.finder.timeout);
        let request =
            self.finder.lookup.request_within(&vocabulary.bound, (*constraint.constraint).clone(), time);
        let outcome = wait(py, &request, None)?;
        stats::news(py);
        let found =
            outcome.map_err(|error| of_lookup(py, &error, constraint.constraint.kind() == "schema"))?;
        Ok(PyIndex::new(found, &self.finder))
    }

    /// Asks for the index and returns at once. What is on this host, and a remembered verdict, is done when it returns.
    fn request(&self, py: Python<'_>, vocabulary: &PyVocabulary, constraint: &PyConstraint) -> PyPending {
        let request = self.finder.lookup.request(&vocabulary.bound, (*constraint.constraint).clone());
        stats::news(py);
        PyPending::new(request, &self.finder, constraint.constraint.kind() == "schema")
    }

    /// What this client has done in this process: see `gobo_masks.stats`.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        stats::as_dict(py, &self.finder.lookup.stats())
    }

    fn __repr__(&self) -> String {
        format!("<gobo_masks.Client {}>", self.finder.lookup.store_root().display())
    }
}
