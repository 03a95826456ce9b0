//! Arguments that are read with errors of gobo's own: texts, token ids, numbers of rows, durations.

use std::time::Duration;

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyEllipsis, PyString};

use crate::errors::{invalid, invalid_from};

/// A text that UTF-8 can spell: no lone surrogates.
pub(crate) struct Text(pub(crate) String);

impl FromPyObject<'_, '_> for Text {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        utf8(&*object.cast::<PyString>()?).map(|text| Self(text.to_owned()))
    }
}

/// The UTF-8 of a text, as the object keeps it.
pub(crate) fn utf8<'a>(text: &'a Bound<'_, PyString>) -> PyResult<&'a str> {
    let read = text.to_str();
    read.map_err(|error| invalid_from(text.py(), "the text cannot be written as UTF-8", error))
}

/// An integer of 64 bits.
#[inline]
fn integer(object: Borrowed<'_, '_, PyAny>, what: &str) -> PyResult<i64> {
    object.extract::<i64>().map_err(|error| {
        if error.is_instance_of::<PyOverflowError>(object.py()) {
            invalid(object.py(), format!("{what} has more than 64 bits"))
        } else {
            error
        }
    })
}

/// A token id, as it is given; -1 is one for those who end chains so.
#[derive(Clone, Copy)]
pub(crate) struct Id(pub(crate) i64);

impl FromPyObject<'_, '_> for Id {
    type Error = PyErr;

    #[inline]
    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        integer(object, "a token id").map(Self)
    }
}

/// A number of things, or the number of one: never negative.
#[derive(Clone, Copy)]
pub(crate) struct Count(pub(crate) usize);

impl FromPyObject<'_, '_> for Count {
    type Error = PyErr;

    #[inline]
    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let given = integer(object, "a number")?;
        let count = usize::try_from(given).map(Self);
        count.map_err(|_| invalid(object.py(), format!("{given} is below 0")))
    }
}

/// How long to wait.
#[derive(Clone, Copy)]
pub(crate) enum Timeout {
    /// As long as the client waits.
    OfClient,
    /// Until it is done, or Ctrl-C.
    Never,
    /// So long.
    After(Duration),
}

impl Timeout {
    /// The time for which to wait, `None` for any.
    pub(crate) fn or(self, of_client: Option<Duration>) -> Option<Duration> {
        match self {
            Self::OfClient => of_client,
            Self::Never => None,
            Self::After(time) => Some(time),
        }
    }
}

impl FromPyObject<'_, '_> for Timeout {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if object.is_none() {
            return Ok(Self::Never);
        }
        if object.is(PyEllipsis::get(object.py())) {
            return Ok(Self::OfClient);
        }
        let seconds = object.extract::<f64>()?;
        let wrong = || invalid(object.py(), format!("{seconds} is no number of seconds to wait"));
        if seconds == f64::INFINITY {
            return Ok(Self::Never);
        }
        Duration::try_from_secs_f64(seconds).map(Self::After).map_err(|_| wrong())
    }
}

/// A word among those that the type knows.
pub(crate) fn word<T>(py: Python<'_>, option: &str, text: &Text) -> PyResult<T>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    text.0.parse().map_err(|error: T::Err| invalid(py, format!("{option}: {error}")))
}
