//! The masks of many texts in one matrix, on several threads.

use std::borrow::Borrow;

use crate::matcher::error::{BatchError, MatcherError};
use crate::matcher::{Fill, Matcher};

/// Fills the masks of many texts in one matrix: row `n`, the words from `n * row_stride_words` on, is the mask of
/// `matchers[n]`, and `fills[n]` is what [`Matcher::fill`] says of it. Words of a row after its mask are zero, and so are
/// all words of a row that failed: rows do not depend on each other.
///
/// With `threads` of 1 or less the caller fills all rows and nothing is allocated. With more, others are started and ended
/// within the call, each with its share of the rows: that takes some ten microseconds for each, and is worth it for
/// hundreds of rows.
///
/// # Errors
/// [`BatchError::Matrix`] and [`BatchError::Fills`] for a matrix or a list of another size; nothing is written then. What
/// is wrong with a row is said in its place in `fills`; [`MatcherError::BufferLength`] if its mask is longer than a row.
///
/// ```
/// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
/// use gobo_artifact::{Fill, fill_batch};
///
/// # let (mut one, mut two) = (small::matcher(), small::matcher());
/// one.advance(0)?;
/// let matchers = [one, two];
/// let stride = matchers[0].mask_words();
/// let mut matrix = vec![0; matchers.len() * stride];
/// let mut fills = vec![Ok(Fill::Ended); matchers.len()];
/// fill_batch(&matchers, &mut matrix, stride, 1, &mut fills)?;
/// assert_eq!(matrix, [0b0010, 0b1101]);
/// assert_eq!(fills, [Ok(Fill::Masked), Ok(Fill::Masked)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fill_batch<M: Borrow<Matcher> + Sync>(
    matchers: &[M],
    matrix: &mut [u32],
    row_stride_words: usize,
    threads: usize,
    fills: &mut [Result<Fill, MatcherError>],
) -> Result<(), BatchError> {
    let rows = matchers.len();
    if rows.checked_mul(row_stride_words) != Some(matrix.len()) {
        return Err(BatchError::Matrix { given: matrix.len(), rows, row_stride_words });
    }
    if fills.len() != rows {
        return Err(BatchError::Fills { given: fills.len(), expected: rows });
    }
    let share = rows.div_ceil(threads.max(1));
    if share == rows {
        fill_rows(matchers, matrix, row_stride_words, fills);
        return Ok(());
    }
    std::thread::scope(|scope| {
        let (mut matchers, mut matrix, mut fills) = (matchers, matrix, fills);
        while matchers.len() > share {
            let (some, more_matchers) = matchers.split_at(share);
            let (words, more_words) = matrix.split_at_mut(share * row_stride_words);
            let (said, more_fills) = fills.split_at_mut(share);
            scope.spawn(move || fill_rows(some, words, row_stride_words, said));
            (matchers, matrix, fills) = (more_matchers, more_words, more_fills);
        }
        // The last share is the caller's.
        fill_rows(matchers, matrix, row_stride_words, fills);
    });
    Ok(())
}

fn fill_rows<M: Borrow<Matcher>>(
    matchers: &[M],
    mut matrix: &mut [u32],
    row_stride_words: usize,
    fills: &mut [Result<Fill, MatcherError>],
) {
    for (matcher, fill) in matchers.iter().zip(fills) {
        let (row, rest) = matrix.split_at_mut(row_stride_words);
        matrix = rest;
        *fill = fill_row(matcher.borrow(), row);
        if fill.is_err() {
            row.fill(0);
        }
    }
}

fn fill_row(matcher: &Matcher, row: &mut [u32]) -> Result<Fill, MatcherError> {
    let (given, expected) = (row.len(), matcher.mask_words());
    let (mask, tail) =
        row.split_at_mut_checked(expected).ok_or(MatcherError::BufferLength { given, expected })?;
    tail.fill(0);
    matcher.fill(mask)
}
