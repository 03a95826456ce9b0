//! Logits under masks, on the CPU.

use pyo3::prelude::*;

use super::ids;
use super::rows::{Matrix, out_of_range};
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
    let mut logits = View::bind(logits)?;
    let matrix = Matrix::of(bitmask)?;
    let masks = matrix.bitmask().view();
    if !logits.is_writable() {
        return Err(invalid(py, "the logits may only be read"));
    }
    let rows: Vec<i64> = match indices {
        Some(indices) => ids::read(indices)?,
        None if logits.layout().rows == masks.layout().rows => (0..).take(logits.layout().rows).collect(),
        None => {
            let message = format!(
                "there are {} rows of logits and {} of masks",
                logits.layout().rows,
                masks.layout().rows
            );
            return Err(invalid(py, message));
        }
    };
    let there = logits.layout().rows.min(masks.layout().rows);
    let row = |row: i64| usize::try_from(row).map_err(|_| invalid(py, format!("row {row} is below 0")));
    let rows = rows.into_iter().map(row).collect::<PyResult<Vec<usize>>>()?;
    if let Some(&row) = rows.iter().find(|row| **row >= there) {
        let view = if row < masks.layout().rows { &logits } else { &masks };
        return Err(out_of_range(py, view, row, 1));
    }
    for row in rows {
        let Some(mask) = masks.row::<u32>(row) else { continue };
        match logits.element() {
            Element::Float16 => shut_out::<u16>(&mut logits, row, mask, 0xfc00),
            Element::BFloat16 => shut_out::<u16>(&mut logits, row, mask, 0xff80),
            Element::Float32 => shut_out::<u32>(&mut logits, row, mask, f32::NEG_INFINITY.to_bits()),
            Element::Float64 => shut_out::<u64>(&mut logits, row, mask, f64::NEG_INFINITY.to_bits()),
            other => return Err(invalid(py, format!("logits are floats, not {other:?}"))),
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
