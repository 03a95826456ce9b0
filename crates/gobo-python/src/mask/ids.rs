//! Token ids as Python gives them: a sequence of integers, or an array of int32 or int64.

use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyString, PyTuple};

use crate::arguments::Id;
use crate::buffer::View;
use crate::errors::invalid;
use crate::layout::Element;

/// The ids in order. O(ids).
pub(crate) fn read(given: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    if let Ok(list) = given.cast::<PyList>() {
        return list.iter().map(|id| Ok(id.extract::<Id>()?.0)).collect();
    }
    if let Ok(tuple) = given.cast::<PyTuple>() {
        return tuple.iter().map(|id| Ok(id.extract::<Id>()?.0)).collect();
    }
    let is_text = given.is_instance_of::<PyString>()
        || given.is_instance_of::<PyBytes>()
        || given.is_instance_of::<PyByteArray>();
    if is_text {
        return Err(invalid(given.py(), "token ids are integers, not a text"));
    }
    if given.hasattr("__dlpack__")? {
        return of_array(given);
    }
    given.try_iter()?.map(|id| Ok(id?.extract::<Id>()?.0)).collect()
}

fn of_array(given: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    let view = View::bind(given)?;
    if view.layout().rows > 1 {
        return Err(invalid(
            given.py(),
            format!("token ids have one dimension, not {} rows", view.layout().rows),
        ));
    }
    if view.layout().rows * view.layout().columns == 0 {
        return Ok(Vec::new());
    }
    let ids = match view.element() {
        Element::Int64 => view.row::<u64>(0).map(|row| row.iter().map(|id| id.cast_signed()).collect()),
        Element::Int32 => {
            view.row::<u32>(0).map(|row| row.iter().map(|id| id.cast_signed().into()).collect())
        }
        _ => None,
    };
    ids.ok_or_else(|| invalid(given.py(), format!("token ids are int32 or int64, not {:?}", view.element())))
}

/// As ids of tokens, up to the first -1, which ends a chain. Every other negative number, and what has more than 32 bits, is an error.
pub(crate) fn chain(given: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
    let ids = read(given)?;
    let until = ids.iter().take_while(|id| **id != -1);
    let token =
        |id: &i64| u32::try_from(*id).map_err(|_| invalid(given.py(), format!("{id} is no token id")));
    until.map(token).collect()
}
