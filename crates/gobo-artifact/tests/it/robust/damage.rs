//! Damage by accident: bits that flip, files that are cut off.

use std::sync::Arc;

use gobo_artifact::layout::HEADER_PREFIX_BYTES;
use gobo_artifact::{Fault, Index, Vocabulary};

use super::{AMBIGUOUS, COUNTED, NESTED, Pair, SMALL, WIDE, fault, walk};

/// Calls `each` with every copy of `file` that differs in one bit.
fn every_flip(file: &[u8], mut each: impl FnMut(&[u8], usize)) {
    let mut file = file.to_vec();
    for at in 0..file.len() {
        for bit in 0..8 {
            file[at] ^= 1 << bit;
            each(&file, at);
            file[at] ^= 1 << bit;
        }
    }
}

/// Every byte is under the header's checksum, under a section's digest, or padding that must be zero.
fn flips_of_an_index_are_found(pair: &Pair) {
    let vocabulary = Arc::new(Vocabulary::from_bytes(&pair.vocabulary).unwrap());
    let mut opened = 0;
    every_flip(&pair.index, |file, at| {
        if let Ok(index) = Index::from_bytes(file) {
            opened += 1;
            assert!(index.verify().is_err(), "a flip in byte {at} is not found");
            walk::index(&index, &vocabulary);
            walk::matcher(&Arc::new(index), &vocabulary, false);
        }
    });
    assert!(opened > 0, "content is not read by open, so some damaged files open");
}

#[test]
fn flips_of_a_small_index_are_found() {
    flips_of_an_index_are_found(&SMALL);
}

#[test]
fn flips_of_an_index_with_all_kinds_of_rows_are_found() {
    flips_of_an_index_are_found(&WIDE);
}

#[test]
fn flips_of_an_index_with_calls_are_found() {
    flips_of_an_index_are_found(&NESTED);
    flips_of_an_index_are_found(&AMBIGUOUS);
    flips_of_an_index_are_found(&COUNTED);
}

#[test]
fn flips_of_a_vocabulary_are_found() {
    let index = Arc::new(Index::from_bytes(&SMALL.index).unwrap());
    every_flip(&SMALL.vocabulary, |file, at| {
        if let Ok(vocabulary) = Vocabulary::from_bytes(file) {
            assert!(vocabulary.verify().is_err(), "a flip in byte {at} is not found");
            walk::vocabulary(&vocabulary);
            walk::matcher(&index, &Arc::new(vocabulary), false);
        }
    });
}

#[test]
fn a_file_of_another_length_does_not_open() {
    let open_index = |bytes: &[u8]| Index::from_bytes(bytes).err();
    let open_vocabulary = |bytes: &[u8]| Vocabulary::from_bytes(bytes).err();
    for is_index in [true, false] {
        let file = if is_index { &SMALL.index } else { &SMALL.vocabulary };
        let open =
            |bytes: &[u8]| fault(if is_index { open_index(bytes) } else { open_vocabulary(bytes) }.unwrap());
        let length = file.len() as u64;
        for cut in 1..file.len() {
            let expected = if cut < HEADER_PREFIX_BYTES { HEADER_PREFIX_BYTES as u64 } else { length };
            assert_eq!(open(&file[..cut]), Fault::Length { found: cut as u64, expected });
        }
        let longer = [file.as_slice(), &[0]].concat();
        assert_eq!(open(&longer), Fault::Length { found: length + 1, expected: length });
    }
}
