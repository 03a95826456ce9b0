//! Rust's errors as the exceptions of `gobo_masks`, which are classes of Python (`_errors.py`) because they have several bases.

use gobo_artifact::MatcherError;
use gobo_lookup::LookupError;
use gobo_types::{Clipped, CompileError, ErrorKind, error_chain};
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

/// The word of a kind, as Python's callers see it.
fn word(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Invalid => "invalid",
        ErrorKind::Unsupported => "unsupported",
        ErrorKind::Limit => "limit",
        ErrorKind::NotFound => "not_found",
        ErrorKind::Exists => "exists",
        ErrorKind::Version => "version",
        ErrorKind::Corrupt => "corrupt",
        ErrorKind::Busy => "busy",
        ErrorKind::Deadline => "deadline",
        ErrorKind::Cancelled => "cancelled",
        ErrorKind::Denied => "denied",
        _ => "internal",
    }
}

/// An instance of the class, or whatever goes wrong instead.
fn raise<'py>(
    py: Python<'py>,
    class: &str,
    arguments: impl PyCallArgs<'py>,
    fields: Option<&Bound<'py, PyDict>>,
) -> PyErr {
    let class = py.import("gobo_masks._errors").and_then(|module| module.getattr(class));
    match class.and_then(|class| class.call(arguments, fields)) {
        Ok(value) => PyErr::from_value(value),
        Err(error) => error,
    }
}

/// A mistake of the caller.
pub(crate) fn invalid(py: Python<'_>, message: impl Into<String>) -> PyErr {
    raise(py, "InvalidError", (message.into(),), None)
}

/// A mistake of the caller that another exception tells of.
pub(crate) fn invalid_from(py: Python<'_>, message: &str, cause: PyErr) -> PyErr {
    let error = invalid(py, format!("{message}: {}", cause.value(py)));
    error.set_cause(py, Some(cause));
    error
}

/// An error of some kind, with the class that callers expect of it.
pub(crate) fn of_kind(py: Python<'_>, kind: ErrorKind, message: impl Into<String>) -> PyErr {
    let class = match kind {
        ErrorKind::Invalid => "InvalidError",
        ErrorKind::Deadline => "WaitTimeout",
        ErrorKind::Busy | ErrorKind::Cancelled => "UnavailableError",
        _ => "GoboError",
    };
    match [("kind", word(kind))].into_py_dict(py) {
        Ok(fields) => raise(py, class, (message.into(),), Some(&fields)),
        Err(error) => error,
    }
}

/// An error of gobo, with all that its sources say.
pub(crate) fn of(py: Python<'_>, kind: ErrorKind, error: &dyn std::error::Error) -> PyErr {
    of_kind(py, kind, error_chain(error))
}

/// An error of a matcher.
pub(crate) fn of_matcher(py: Python<'_>, error: &MatcherError) -> PyErr {
    of(py, error.kind(), error)
}

/// Why a lookup ends without an index: a verdict, or something transient. `is_schema`: a place is a JSON pointer.
pub(crate) fn of_lookup(py: Python<'_>, error: &LookupError, is_schema: bool) -> PyErr {
    match error {
        LookupError::Verdict(verdict) => of_verdict(py, verdict, is_schema).unwrap_or_else(|error| error),
        error => of(py, error.kind(), error),
    }
}

fn of_verdict(py: Python<'_>, verdict: &CompileError, is_schema: bool) -> PyResult<PyErr> {
    let fields = PyDict::new(py);
    let set = |name: &str, text: &Clipped| fields.set_item(name, text.as_str());
    fields.set_item("kind", word(verdict.kind()))?;
    let class = match verdict {
        CompileError::Refused(refusal) => {
            set("place", &refusal.place)?;
            let is_pointer = refusal.place.is_empty() || refusal.place.starts_with('/');
            fields.set_item("pointer", (is_schema && is_pointer).then(|| refusal.place.as_str()))?;
            set("reason", &refusal.reason)?;
            set("help", &refusal.help)?;
            fields.set_item("span", refusal.span.map(|span| (span.start, span.end)))?;
            "RefusedError"
        }
        CompileError::OverBudget(over) => {
            set("place", &over.place)?;
            set("reason", &over.reason)?;
            set("help", &over.help)?;
            fields.set_item("limit", over.limit.name())?;
            fields.set_item("given", over.given)?;
            fields.set_item("needed", over.needed)?;
            "OverBudgetError"
        }
        CompileError::Unavailable { .. } => "UnavailableError",
        _ => "GoboError",
    };
    Ok(raise(py, class, (verdict.to_string(),), Some(&fields)))
}
