//! The masks of many texts in one matrix, on several threads.

use std::borrow::Borrow;
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::matcher::error::{BatchError, MatcherError};
use crate::matcher::matrix::{row_of, write_row};
use crate::matcher::{Fill, Matcher};

/// Fills the masks of many texts in one matrix: row `n`, the words from `n * row_stride_words` on, is the mask of
/// `matchers[n]`, and `fills[n]` is what [`Matcher::fill`] says of it. Words of a row after its mask are zero, and so are
/// all words of a row that failed: rows do not depend on each other.
///
/// With `threads` of 1 or less the caller fills all rows and nothing is allocated. With more, others are started and ended
/// within the call, each with its share of the rows: that takes some ten microseconds for each, and is worth it for
/// hundreds of rows. Where the system gives fewer threads, those that there are do all shares.
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
    fill_all(matchers, |n| n, matrix, row_stride_words, threads, fills);
    Ok(())
}

/// As [`fill_batch`], at any rows: the mask of `matchers[n]` goes to row `rows[n]`, in whatever order. Rows that are not named
/// are left as they are. The last row of the matrix may be shorter than a stride, as in a view of a wider matrix.
///
/// Nothing is allocated with `threads` of 1 or less where the rows ascend; else a byte for each row of the matrix.
///
/// # Errors
/// [`BatchError::Rows`] and [`BatchError::Fills`] for lists of another length than that of the matchers, [`BatchError::Beyond`]
/// for a row that the matrix does not have, [`BatchError::Twice`] for one that is named again; nothing is written then. What is wrong
/// with one mask is said in its place in `fills`, as by [`fill_batch`].
///
/// ```
/// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
/// use gobo_artifact::{BatchError, Fill, fill_rows};
///
/// # let (mut one, mut two) = (small::matcher(), small::matcher());
/// one.advance(0)?;
/// let matchers = [one, two];
/// let mut matrix = [7; 4];
/// let mut fills = vec![Ok(Fill::Ended); 2];
/// fill_rows(&matchers, &[3, 1], &mut matrix, 1, 1, &mut fills)?;
/// assert_eq!(matrix, [7, 0b1101, 7, 0b0010]);
/// let error = fill_rows(&matchers, &[1, 4], &mut matrix, 1, 1, &mut fills);
/// assert_eq!(error, Err(BatchError::Beyond { row: 4, rows: 4 }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fill_rows<M: Borrow<Matcher> + Sync>(
    matchers: &[M],
    rows: &[usize],
    matrix: &mut [u32],
    row_stride_words: usize,
    threads: usize,
    fills: &mut [Result<Fill, MatcherError>],
) -> Result<(), BatchError> {
    let expected = matchers.len();
    if rows.len() != expected {
        return Err(BatchError::Rows { given: rows.len(), expected });
    }
    if fills.len() != expected {
        return Err(BatchError::Fills { given: fills.len(), expected });
    }
    // A stride of no words makes no rows.
    let there = if row_stride_words == 0 { 0 } else { matrix.len().div_ceil(row_stride_words) };
    check_rows(rows, there)?;
    fill_all(matchers, |n| rows[n], matrix, row_stride_words, threads, fills);
    Ok(())
}

/// Whether each of `rows` is one of the first `there` rows, and none is named twice.
fn check_rows(rows: &[usize], there: usize) -> Result<(), BatchError> {
    if let Some(&row) = rows.iter().find(|row| **row >= there) {
        return Err(BatchError::Beyond { row, rows: there });
    }
    if rows.is_sorted_by(|one, next| one < next) {
        return Ok(());
    }
    let mut named = vec![false; there];
    match rows.iter().find(|row| std::mem::replace(&mut named[**row], true)) {
        Some(&row) => Err(BatchError::Twice { row }),
        None => Ok(()),
    }
}

/// Fills row `row_of_matcher(n)` with the mask of `matchers[n]`: rows that the matrix has, each once.
fn fill_all<M: Borrow<Matcher> + Sync>(
    matchers: &[M],
    row_of_matcher: impl Fn(usize) -> usize,
    matrix: &mut [u32],
    row_stride_words: usize,
    threads: usize,
    fills: &mut [Result<Fill, MatcherError>],
) {
    let share = matchers.len().div_ceil(threads.max(1));
    if share == matchers.len() {
        for (n, (matcher, fill)) in matchers.iter().zip(fills).enumerate() {
            *fill = fill_row(matcher.borrow(), row_of(matrix, row_stride_words, row_of_matcher(n)));
        }
        return;
    }
    // Each thread takes its rows out of all rows of the matrix.
    let mut all: Vec<Option<&mut [u32]>> = matrix.chunks_mut(row_stride_words.max(1)).map(Some).collect();
    // Of rows without words there is none.
    let take = |n| all.get_mut(row_of_matcher(n)).and_then(Option::take).unwrap_or_default();
    let mut rows: Vec<&mut [u32]> = (0..matchers.len()).map(take).collect();
    let shares = matchers.chunks(share).zip(rows.chunks_mut(share)).zip(fills.chunks_mut(share));
    let others = shares.len() - 1;
    let shares = Mutex::new(shares);
    let work = || {
        let next = || shares.lock().unwrap_or_else(PoisonError::into_inner).next();
        while let Some(((matchers, rows), fills)) = next() {
            for ((matcher, row), fill) in matchers.iter().zip(rows).zip(fills) {
                *fill = fill_row(matcher.borrow(), row);
            }
        }
    };
    thread::scope(|scope| {
        // Where the system gives no thread, those that there are do its share.
        let _ = (0..others).try_for_each(|_| thread::Builder::new().spawn_scoped(scope, work).map(drop));
        work();
    });
}

fn fill_row(matcher: &Matcher, row: &mut [u32]) -> Result<Fill, MatcherError> {
    write_row(row, matcher.mask_words(), |mask| matcher.fill(mask))
}
