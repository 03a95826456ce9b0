//! Logits under masks, on the CPU.

use pyo3::prelude::*;

use super::fault::Fault;
use super::ids;
use super::rows::Matrix;
use crate::buffer::View;
use crate::errors::invalid;
use crate::layout::{Bits, Element};

/// Puts minus infinity where the bit of a mask is 0: row `n` of `logits` is under row `n` of the matrix. Both have as many rows, or
/// `indices` names the rows. Logits are float16, bfloat16, float32 or float64 in the CPU's memory; those beyond the words of the mask
/// are not allowed.
#[pyfunction]
#[pyo3(signature = (logits, bitmask, *, indices = None))]
pub(crate) fn apply_token_bitmask_inplace(
    logits: &Bound<'_, PyAny>,
    bitmask: &Bound<'_, PyAny>,
    indices: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let py = logits.py();
    let row = |row: i64| usize::try_from(row).map_err(|_| invalid(py, format!("row {row} is below 0")));
    let rows = indices.map(|indices| ids::read(indices)?.into_iter().map(row).collect::<PyResult<Vec<_>>>());
    let (rows, mut logits, matrix) = (rows.transpose()?, View::bind(logits)?, Matrix::of(bitmask)?);
    if !logits.is_writable() {
        return Err(invalid(py, "the logits may only be read"));
    }
    if matches!(logits.element(), Element::Int32 | Element::Int64) {
        return Err(invalid(py, format!("logits are floats, not {:?}", logits.element())));
    }
    let applied = apply(&mut logits, &matrix.bitmask().view(), rows);
    applied.map_err(|fault| fault.raised(py))
}

fn apply(logits: &mut View, masks: &View, rows: Option<Vec<usize>>) -> Result<(), Fault> {
    let (of_logits, of_masks) = (logits.layout().rows, masks.layout().rows);
    let rows = match rows {
        Some(rows) => rows,
        None if of_logits == of_masks => (0..of_logits).collect(),
        None => return Err(Fault::Counts { logits: of_logits, masks: of_masks }),
    };
    let there = of_logits.min(of_masks);
    if let Some(&from) = rows.iter().find(|row| **row >= there) {
        let there = if from < of_masks { of_logits } else { of_masks };
        return Err(Fault::Rows { from, rows: 1, there });
    }
    for row in rows {
        let Some(mask) = masks.row::<u32>(row) else { continue };
        match logits.element() {
            Element::Float16 => shut_out::<u16>(logits, row, mask, 0xfc00),
            Element::BFloat16 => shut_out::<u16>(logits, row, mask, 0xff80),
            Element::Float32 => shut_out::<u32>(logits, row, mask, f32::NEG_INFINITY.to_bits()),
            Element::Float64 => shut_out::<u64>(logits, row, mask, f64::NEG_INFINITY.to_bits()),
            Element::Int32 | Element::Int64 => {}
        }
    }
    Ok(())
}

fn shut_out<T: Bits>(logits: &mut View, row: usize, mask: &[u32], minus_infinity: T) {
    let Some(row) = logits.rows_mut::<T>(row, 1) else { return };
    let words = mask.iter().copied().chain(std::iter::repeat(0));
    for (logits, word) in row.chunks_mut(32).zip(words) {
        if word == u32::MAX {
            continue;
        }
        for (bit, logit) in logits.iter_mut().enumerate() {
            if word >> bit & 1 == 0 {
                *logit = minus_infinity;
            }
        }
    }
}
