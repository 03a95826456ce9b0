//! Masks of many texts in one matrix: each row is what its matcher writes alone, wherever it lies.

use gobo_artifact::{BatchError, Fill, Matcher, MatcherError, fill_batch, fill_rows};
use gobo_types::{Binding, ErrorKind};

use crate::matcher::{A, AB, EOS, TOKENS, matcher, open};

/// Different indices and bindings: complete and not, ended, without a way on, and a mask that is wider than `STRIDE`.
fn matchers() -> Vec<Matcher> {
    let mut matchers =
        vec![matcher("(ab)*", &[EOS, 69]), matcher("aa", &[A]), matcher("ab?", &[]), matcher("a|b", &[EOS])];
    matchers[2].advance(AB).unwrap();
    matchers[3].advance(A).unwrap();
    matchers[3].advance(EOS).unwrap();
    let (index, vocabulary) = open(TOKENS, "b");
    matchers.push(Matcher::new(index, vocabulary, &Binding::new(vec![], 32 * 6)).unwrap());
    matchers.push(matcher("b", &[EOS]));
    matchers
}

const STRIDE: usize = 5;

/// What each matcher says alone, and its row.
fn alone(matchers: &[Matcher]) -> Vec<(Vec<u32>, Result<Fill, MatcherError>)> {
    let row = |matcher: &Matcher| {
        let mut mask = vec![0; matcher.mask_words()];
        if mask.len() > STRIDE {
            return (
                vec![0; STRIDE],
                Err(MatcherError::BufferLength { given: STRIDE, expected: mask.len() }),
            );
        }
        let said = matcher.fill(&mut mask);
        mask.resize(STRIDE, 0);
        (if said.is_ok() { mask } else { vec![0; STRIDE] }, said)
    };
    matchers.iter().map(row).collect()
}

#[test]
fn a_batch_is_each_matcher_in_a_row_of_its_own() {
    let matchers = matchers();
    for threads in [0, 1, 2, 3, 6, 100] {
        let mut matrix = vec![u32::MAX; STRIDE * matchers.len()];
        let mut fills = vec![Ok(Fill::Masked); matchers.len()];
        fill_batch(&matchers, &mut matrix, STRIDE, threads, &mut fills).unwrap();
        for (row, (mask, said)) in alone(&matchers).iter().enumerate() {
            let words = &matrix[row * STRIDE..(row + 1) * STRIDE];
            assert_eq!((words, &fills[row]), (mask.as_slice(), said), "row {row}");
        }
        assert_eq!(fills[1], Err(MatcherError::OnlyEos));
        assert_eq!(fills[2], Ok(Fill::Ended));
        assert_eq!(fills[3], Ok(Fill::Ended));
        assert_eq!(fills[4], Err(MatcherError::BufferLength { given: 5, expected: 6 }));
    }
}

#[test]
fn rows_that_are_named_are_written_and_no_others() {
    let matchers = matchers();
    let alone = alone(&matchers);
    let orders: [&[usize]; 5] = [
        &[0, 1, 2, 3, 4, 5],
        &[2, 3, 5, 7, 8, 9],
        &[9, 8, 3, 2, 1, 0],
        &[4, 0, 9, 1, 7, 5],
        &[6, 7, 8, 9, 0, 1],
    ];
    for rows in orders {
        for threads in [0, 1, 2, 4, 5, 6, 100] {
            let mut matrix = vec![u32::MAX; STRIDE * 10];
            let mut fills = vec![Ok(Fill::Masked); matchers.len()];
            fill_rows(&matchers, rows, &mut matrix, STRIDE, threads, &mut fills).unwrap();
            for (row, words) in matrix.chunks(STRIDE).enumerate() {
                match rows.iter().position(|&named| named == row) {
                    Some(n) => assert_eq!((words, &fills[n]), (&*alone[n].0, &alone[n].1), "row {row}"),
                    None => assert!(words.iter().all(|&word| word == u32::MAX), "row {row}"),
                }
            }
        }
    }
}

#[test]
fn the_last_row_of_a_view_may_end_with_its_mask() {
    let matchers = [matcher("(ab)*", &[EOS]), matcher("b", &[EOS])];
    for threads in [1, 2] {
        let mut matrix = vec![7; 2 * STRIDE + 3];
        let mut fills = vec![Ok(Fill::Ended); 2];
        fill_rows(&matchers, &[2, 0], &mut matrix, STRIDE, threads, &mut fills).unwrap();
        assert_eq!(fills, vec![Ok(Fill::Masked); 2]);
        assert_eq!(matrix, [0b10, 0, 0, 0, 0, 7, 7, 7, 7, 7, 0b1101, 0, 0]);
        // A word less, and the mask does not fit.
        matrix.pop();
        fill_rows(&matchers, &[2, 0], &mut matrix, STRIDE, threads, &mut fills).unwrap();
        assert_eq!(fills, [Err(MatcherError::BufferLength { given: 2, expected: 3 }), Ok(Fill::Masked)]);
        assert_eq!(matrix[2 * STRIDE..], [0, 0]);
    }
}

#[test]
fn rows_beyond_the_matrix_and_rows_named_twice_are_refused_untouched() {
    let matchers = [&matcher("(ab)*", &[EOS]), &matcher("ab", &[EOS]), &matcher("b", &[EOS])];
    let refused = |rows: &[usize], places: usize, threads: usize| {
        let mut matrix = vec![7; 4 * 3];
        let mut fills = vec![Ok(Fill::Ended); places];
        let error = fill_rows(&matchers, rows, &mut matrix, 3, threads, &mut fills).unwrap_err();
        assert!(matrix.iter().all(|&word| word == 7) && fills.iter().all(|said| *said == Ok(Fill::Ended)));
        assert_eq!(error.kind(), ErrorKind::Invalid);
        error
    };
    for threads in [1, 3] {
        assert_eq!(refused(&[0, 1, 4], 3, threads), BatchError::Beyond { row: 4, rows: 4 });
        assert_eq!(refused(&[usize::MAX, 1, 2], 3, threads), BatchError::Beyond { row: usize::MAX, rows: 4 });
        assert_eq!(refused(&[1, 1, 2], 3, threads), BatchError::Twice { row: 1 });
        assert_eq!(refused(&[3, 0, 3], 3, threads), BatchError::Twice { row: 3 });
        assert_eq!(refused(&[0, 1], 3, threads), BatchError::Rows { given: 2, expected: 3 });
        assert_eq!(refused(&[0, 1, 2], 4, threads), BatchError::Fills { given: 4, expected: 3 });
    }
    // Of rows without words there is none; and no rows are no error.
    let mut fills = vec![Ok(Fill::Ended); 3];
    let none = fill_rows(&matchers, &[0, 1, 2], &mut [], 0, 1, &mut fills);
    assert_eq!(none, Err(BatchError::Beyond { row: 0, rows: 0 }));
    fill_rows::<Matcher>(&[], &[], &mut [7], 1, 4, &mut []).unwrap();
}

#[test]
fn a_batch_of_another_shape_is_refused_untouched() {
    let matchers = [&matcher("(ab)*", &[EOS]), &matcher("ab", &[EOS])];
    let mut fills = vec![Ok(Fill::Ended); 2];
    for (given, row_stride_words) in [(0, 3), (5, 3), (7, 3), (6, usize::MAX), (6, 2)] {
        let mut matrix = vec![7; given];
        assert_eq!(
            fill_batch(&matchers, &mut matrix, row_stride_words, 1, &mut fills),
            Err(BatchError::Matrix { given, rows: 2, row_stride_words })
        );
        assert!(matrix.iter().all(|&word| word == 7));
    }
    for given in [0, 1] {
        let mut matrix = vec![7; 6];
        let refused = fill_batch(&matchers, &mut matrix, 3, 2, &mut fills[..given]);
        assert_eq!(refused, Err(BatchError::Fills { given, expected: 2 }));
        assert!(matrix.iter().all(|&word| word == 7));
    }
    assert_eq!(fills, [Ok(Fill::Ended), Ok(Fill::Ended)]);
    // No rows, and rows without words.
    fill_batch::<Matcher>(&[], &mut [], 3, 4, &mut []).unwrap();
    fill_batch(&matchers, &mut [], 0, 2, &mut fills).unwrap();
    assert_eq!(fills, vec![Err(MatcherError::BufferLength { given: 0, expected: 3 }); 2]);
}
