//! Matrices of masks: a slice of words, and the number of words from one row to the next.

use crate::matcher::Fill;
use crate::matcher::error::MatcherError;

/// Row `number`, which begins within the matrix. The last row may be shorter than a stride, as in a view of a wider matrix.
#[inline]
pub(super) fn row_of(matrix: &mut [u32], row_stride_words: usize, number: usize) -> &mut [u32] {
    let from = number * row_stride_words;
    let to = matrix.len().min(from + row_stride_words);
    &mut matrix[from..to]
}

/// Writes a mask of `mask_words` words to the beginning of a row, and zeros after it; zeros alone if the mask fails.
#[inline]
pub(super) fn write_row(
    row: &mut [u32],
    mask_words: usize,
    fill: impl FnOnce(&mut [u32]) -> Result<Fill, MatcherError>,
) -> Result<Fill, MatcherError> {
    let given = row.len();
    let filled = match row.split_at_mut_checked(mask_words) {
        Some((mask, tail)) => {
            tail.fill(0);
            fill(mask)
        }
        None => Err(MatcherError::BufferLength { given, expected: mask_words }),
    };
    if filled.is_err() {
        row.fill(0);
    }
    filled
}
