//! Rows of a matrix: one that is bound, or one that is bound for a single call; and memory for one.

use pyo3::prelude::*;

use super::fault::Fault;
use crate::arguments::Count;
use crate::buffer::{PyBitmask, View};

/// A matrix of masks, as an argument.
pub(crate) enum Matrix<'a> {
    /// Bound before: nothing is checked again.
    Bound(&'a PyBitmask),
    /// Bound for this call.
    Once(Box<PyBitmask>),
}

impl<'a> Matrix<'a> {
    #[inline]
    pub(crate) fn of(object: &'a Bound<'_, PyAny>) -> PyResult<Self> {
        match object.cast::<PyBitmask>() {
            Ok(bitmask) => Ok(Self::Bound(bitmask.get())),
            Err(_) => Ok(Self::Once(Box::new(PyBitmask::bind(object)?))),
        }
    }

    #[inline]
    pub(crate) fn bitmask(&self) -> &PyBitmask {
        match self {
            Self::Bound(bitmask) => bitmask,
            Self::Once(bitmask) => bitmask,
        }
    }
}

/// Refuses rows that are shorter than a mask.
#[inline]
pub(super) fn check_width(view: &View, mask_words: usize) -> Result<(), Fault> {
    let words = view.layout().columns;
    if words < mask_words { Err(Fault::Width { words, mask_words }) } else { Ok(()) }
}

/// Rows to be written, as [`View::rows_mut`] has them.
#[inline]
pub(super) fn rows_mut(view: &mut View, from: usize, rows: usize) -> Result<&mut [u32], Fault> {
    let there = view.layout().rows;
    view.rows_mut(from, rows).ok_or(Fault::Rows { from, rows, there })
}

/// Rows one after another without a gap, for writers that take rows of a stride to be whole.
///
/// Where rows of the matrix lie side by side these are they. Else what lies between them belongs to others: the rows are copied, written, and
/// copied back.
pub(super) fn with_whole_rows<T>(
    view: &mut View,
    from: usize,
    rows: usize,
    write: impl FnOnce(&mut [u32]) -> T,
) -> Result<T, Fault> {
    let (words, stride) = (view.layout().columns, view.layout().stride);
    let lent = rows_mut(view, from, rows)?;
    if rows == 1 || words == stride {
        return Ok(write(lent));
    }
    let mut copy = Vec::with_capacity(rows * words);
    lent.chunks(stride).for_each(|row| copy.extend_from_slice(&row[..words]));
    let result = write(&mut copy);
    lent.chunks_mut(stride)
        .zip(copy.chunks(words))
        .for_each(|(row, written)| row[..words].copy_from_slice(written));
    Ok(result)
}

/// A matrix of masks in memory of its own, with every bit set, as engines have it: every token is allowed. `width` is the number of
/// logits; a row has `ceil(width / 32)` words.
#[pyfunction]
#[pyo3(signature = (rows, width))]
pub(crate) fn allocate_token_bitmask(py: Python<'_>, rows: Count, width: Count) -> PyResult<PyBitmask> {
    PyBitmask::of(py, View::own(py, rows.0, width.0.div_ceil(32))?)
}
