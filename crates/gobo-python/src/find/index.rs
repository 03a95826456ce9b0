//! An index that was found.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use gobo_artifact::DEFAULT_MAX_ROLLBACK;
use gobo_lookup::{Bound as BoundVocabulary, Found};
use gobo_types::{Binding, ErrorKind, IndexKey, ReportEntry, VocabularyDigest};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::finder::{Finder, PyClient};
use super::vocabulary::{PyVocabulary, StoredVocabulary, rebound, stored};
use crate::arguments::{Count, Text};
use crate::errors::{invalid, of, of_kind, of_lookup};
use crate::mask::matcher::PyMatcher;

/// The masks of one constraint over one vocabulary: a mapped file, shared by all who use it. Pickles by key: the process that reads the
/// pickle finds the file in the same store.
#[pyclass(frozen, module = "gobo_masks", name = "Index")]
pub(crate) struct PyIndex {
    pub(crate) found: Arc<Found>,
    pub(crate) finder: Arc<Finder>,
}

impl PyIndex {
    pub(crate) fn new(found: Found, finder: &Arc<Finder>) -> Self {
        Self { found: Arc::new(found), finder: Arc::clone(finder) }
    }
}

fn entries<'py>(py: Python<'py>, list: &[ReportEntry]) -> PyResult<Bound<'py, PyList>> {
    let entry = |entry: &ReportEntry| {
        let dict = PyDict::new(py);
        dict.set_item("pointer", &entry.pointer)?;
        dict.set_item("keyword", &entry.keyword)?;
        dict.set_item("why", &entry.why)?;
        Ok(dict)
    };
    PyList::new(py, list.iter().map(entry).collect::<PyResult<Vec<_>>>()?)
}

#[pymethods]
impl PyIndex {
    /// The key, 64 hexadecimal digits: of the vocabulary, the constraint, and the versions of what made it.
    #[getter]
    fn key(&self) -> String {
        self.found.key.to_string()
    }

    /// How it was come by: `map` (this process had mapped it), `host` (a file of this host, opened now), `compile` (the daemon made
    /// it), `stream` (from another host), or `local` (the local worker made it).
    #[getter]
    fn source(&self) -> &'static str {
        self.found.source.name()
    }

    /// What it enforces of its constraint: lists of entries with `pointer`, `keyword` and `why`, under `enforced`, `narrowed`,
    /// `unspellable`, `annotations`, `widened` and `notes`. Read from the file at each use.
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let report = self.found.index.report().map_err(|error| of(py, error.kind(), &error))?;
        let dict = PyDict::new(py);
        for (name, list) in [
            ("enforced", &report.enforced),
            ("narrowed", &report.narrowed),
            ("unspellable", &report.unspellable),
            ("annotations", &report.annotations),
            ("widened", &report.widened),
            ("notes", &report.notes),
        ] {
            dict.set_item(name, entries(py, list)?)?;
        }
        Ok(dict)
    }

    /// The vocabulary that it was asked for with.
    #[getter]
    fn vocabulary(&self) -> PyVocabulary {
        PyVocabulary::new(self.found.bound.clone(), &self.finder)
    }

    /// The file; None for an index in the memory of this process alone.
    #[getter]
    fn path(&self) -> Option<OsString> {
        self.found.path.clone().map(PathBuf::into_os_string)
    }

    /// Number of states.
    #[getter]
    fn states(&self) -> u32 {
        self.found.index.states()
    }

    /// Number of distinct rows.
    #[getter]
    fn rows(&self) -> u32 {
        self.found.index.rows()
    }

    /// Bytes of the file.
    #[getter]
    fn size(&self) -> usize {
        self.found.index.file_bytes().len()
    }

    /// A matcher at the empty text. `eos` and `width` replace those of the vocabulary; it can take back `max_rollback` tokens.
    #[pyo3(signature = (eos = None, width = None, *, max_rollback = Count(DEFAULT_MAX_ROLLBACK)), text_signature = "($self, eos=None, width=None, *, max_rollback=256)")]
    fn matcher(
        slf: &Bound<'_, Self>,
        eos: Option<&Bound<'_, PyAny>>,
        width: Option<Count>,
        max_rollback: Count,
    ) -> PyResult<PyMatcher> {
        let Self { found, finder } = slf.get();
        let binding = rebound(slf.py(), &found.bound, eos, width)?;
        let (index, vocabulary) = (Arc::clone(&found.index), Arc::clone(&found.bound.vocabulary));
        let lookup = Arc::clone(&finder.lookup);
        PyMatcher::new(slf.as_any(), index, vocabulary, &binding, max_rollback.0, lookup)
    }

    fn __repr__(&self) -> String {
        format!("<gobo_masks.Index {} from {}>", self.found.key, self.found.source.name())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (StoredVocabulary, String))> {
        if self.found.path.is_none() {
            let message =
                "an index in the memory of one process cannot be pickled: its store could not be written";
            return Err(of_kind(py, ErrorKind::Unsupported, message));
        }
        let stored = (stored(&self.found.bound, &self.finder), self.found.key.to_string());
        Ok((py.import("gobo_masks._native")?.getattr("_index")?, stored))
    }
}

/// An index from what its pickle holds, by its key.
#[pyfunction]
#[pyo3(name = "_index")]
#[expect(clippy::needless_pass_by_value, reason = "arguments of Python come by value")]
pub(crate) fn restore(
    py: Python<'_>,
    vocabulary: (PathBuf, Text, Vec<u32>, u32),
    key: Text,
) -> PyResult<PyIndex> {
    let (store, digest, eos, width) = vocabulary;
    let missing =
        |what: String| of_kind(py, ErrorKind::NotFound, format!("{what} is not in {}", store.display()));
    let wrong = |error: gobo_types::ParseDigestError| invalid(py, error.to_string());
    let digest = digest.0.parse::<VocabularyDigest>().map_err(wrong)?;
    let key = key.0.parse::<IndexKey>().map_err(wrong)?;
    let finder = PyClient::of_store(py, store.clone())?;
    let failed = |error| of_lookup(py, &error, false);
    let bound = finder.lookup.vocabulary_by_digest(&digest, Binding::new(eos, width)).map_err(failed)?;
    let bound: BoundVocabulary = bound.ok_or_else(|| missing(format!("vocabulary {digest}")))?;
    let found = finder.lookup.find_key(&bound, &key).map_err(failed)?;
    Ok(PyIndex::new(found.ok_or_else(|| missing(format!("index {key}")))?, &finder))
}
