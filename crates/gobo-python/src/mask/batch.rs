//! The masks of many texts in one call, without the GIL.

use std::sync::{LazyLock, MutexGuard};

use gobo_artifact::{BatchError, Fill, Matcher, MatcherError, fill_rows};
use pyo3::prelude::*;

use super::fault::Fault;
use super::ids;
use super::matcher::{PyMatcher, State};
use super::rows::{Matrix, check_width, rows_mut};
use crate::buffer::View;
use crate::errors::{invalid, of_matcher};
use crate::fork;

/// Rows for which another thread is worth its start: it costs as much as some hundred rows whose words are in a cache. The bench
/// `threads` of `benches/` measures from how many rows on.
const ROWS_PER_THREAD: usize = 256;

/// Most threads of one batch: beyond, memory is what they wait for.
const MAX_THREADS: usize = 8;

/// Cores that this process may use. Asked for once: the answer reads files of the system, as long as dozens of rows take.
static CORES: LazyLock<usize> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get));

/// Writes the masks of many texts: that of `matchers[n]` to row `indices[n]` of a matrix, to row `n` unless given. Returns, for each,
/// what `fill_next_token_bitmask` does: False where the text has ended. Rows that are not named stay as they are.
///
/// One call, without the GIL, on several threads from some hundred rows on. Raises `InvalidError` if a row is named twice or is not
/// there, and nothing is written then; if a mask fails its row is zero, the others are written, and the error is raised.
#[pyfunction]
#[pyo3(signature = (matchers, bitmask, indices = None))]
pub(crate) fn batch_fill_next_token_bitmask(
    matchers: &Bound<'_, PyAny>,
    bitmask: &Bound<'_, PyAny>,
    indices: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<bool>> {
    let py = bitmask.py();
    let matchers: Vec<Bound<'_, PyMatcher>> = matchers
        .try_iter()?
        .map(|matcher| Ok(matcher?.cast_into::<PyMatcher>()?))
        .collect::<PyResult<_>>()?;
    let rows: Vec<usize> = match indices {
        None => (0..matchers.len()).collect(),
        Some(indices) => {
            let row = |row| usize::try_from(row).map_err(|_| invalid(py, format!("row {row} is below 0")));
            ids::read(indices)?.into_iter().map(row).collect::<PyResult<_>>()?
        }
    };
    let matrix = Matrix::of(bitmask)?;
    let texts: Vec<&PyMatcher> = matchers.iter().map(Bound::get).collect();
    let fills = {
        let bitmask = matrix.bitmask();
        let work = || {
            let mut view = bitmask.view();
            let result = fill(&texts, &rows, &mut view);
            // The lock goes before the GIL is waited for.
            drop(view);
            result
        };
        fork::outside(py, work)
    };
    let fills = fills.map_err(|fault| fault.raised(py))?;
    let fill = |fill: Result<Fill, MatcherError>| match fill {
        Ok(fill) => Ok(fill == Fill::Masked),
        Err(error) => Err(of_matcher(py, &error)),
    };
    fills.into_iter().map(fill).collect()
}

fn fill(
    texts: &[&PyMatcher],
    rows: &[usize],
    view: &mut View,
) -> Result<Vec<Result<Fill, MatcherError>>, Fault> {
    let there = view.layout().rows;
    if rows.len() != texts.len() {
        return Err(BatchError::Rows { given: rows.len(), expected: texts.len() }.into());
    }
    texts.iter().try_for_each(|text| check_width(view, text.mask_words()))?;
    if let Some(&from) = rows.iter().find(|row| **row >= there) {
        return Err(Fault::Rows { from, rows: 1, there });
    }
    let mut fills = vec![Ok(Fill::Ended); texts.len()];
    if texts.is_empty() {
        return Ok(fills);
    }
    // One text may stand in several rows, and other calls take several texts too: each lock once, in the order of addresses.
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_unstable_by_key(|at| std::ptr::from_ref(texts[*at]).addr());
    let mut guards: Vec<MutexGuard<'_, State>> = Vec::with_capacity(texts.len());
    let mut guard_of = vec![0; texts.len()];
    let mut before: Option<&PyMatcher> = None;
    for at in order {
        if before.is_none_or(|before| !std::ptr::eq(before, texts[at])) {
            let mut guard = texts[at].state();
            texts[at].has_filled(&mut guard);
            guards.push(guard);
        }
        guard_of[at] = guards.len() - 1;
        before = Some(texts[at]);
    }
    let matchers: Vec<&Matcher> = guard_of.iter().map(|guard| &guards[*guard].matcher).collect();
    let threads = matchers.len().div_ceil(ROWS_PER_THREAD).min(MAX_THREADS).min(*CORES);
    let (words, stride) = (view.layout().columns, view.layout().stride);
    let lent = rows_mut(view, 0, there)?;
    if stride == words || there == 1 {
        fill_rows(&matchers, rows, lent, words, threads, &mut fills)?;
        return Ok(fills);
    }
    // What lies between the rows belongs to others: the masks are written elsewhere, and copied.
    distinct(rows, there)?;
    let mut copy = vec![0; matchers.len() * words];
    let all: Vec<usize> = (0..matchers.len()).collect();
    fill_rows(&matchers, &all, &mut copy, words, threads, &mut fills)?;
    for (row, mask) in rows.iter().zip(copy.chunks(words)) {
        lent[row * stride..row * stride + words].copy_from_slice(mask);
    }
    Ok(fills)
}

/// No row twice.
fn distinct(rows: &[usize], there: usize) -> Result<(), BatchError> {
    let mut named = vec![false; there];
    match rows.iter().find(|row| std::mem::replace(&mut named[**row], true)) {
        Some(&row) => Err(BatchError::Twice { row }),
        None => Ok(()),
    }
}
