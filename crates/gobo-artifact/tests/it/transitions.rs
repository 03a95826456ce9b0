//! Transitions in each of their storages say the same.

use gobo_artifact::Index;
use gobo_artifact::layout::{NO_STEP, SharedRows, section};
use gobo_artifact::write::{IndexParts, RowEncoder, write_index};
use gobo_types::{Constraint, Report, VocabularyDigest, index_key};

/// The index of an automaton over the ids 0 and 1, all of whose states but the dead one are complete. Byte `n` is of
/// class `n`.
fn index(row_of: &[u32], deltas: &[i32], classes: u8) -> Index {
    let vocabulary_digest = VocabularyDigest::from([1; 32]);
    let constraint = Constraint::regex("a");
    let mut byte_classes = [0; 256];
    for class in 1..classes {
        byte_classes[usize::from(class)] = class;
    }
    let mut rows = RowEncoder::new(SharedRows::none(1));
    rows.push(&[3]);
    let states: Vec<(Option<u32>, bool)> =
        (0..row_of.len()).map(|state| if state == 0 { (None, false) } else { (Some(0), true) }).collect();
    let (bytes, _) = write_index(&IndexParts {
        key: index_key(&vocabulary_digest, &constraint.digest()),
        vocabulary_digest,
        vocabulary_len: 2,
        constraint_digest: constraint.digest(),
        constraint_kind: "regex",
        constraint_text: "a",
        constraint_options: "{\"kind\":\"regex\",\"pattern\":\"\"}",
        report: &Report::default(),
        start: 1,
        byte_classes: &byte_classes,
        classes: classes.into(),
        row_of,
        deltas,
        states: &states,
        rows: &rows,
        row_computations: 1,
        calls: None,
        tokens: None,
        canonical: None,
    });
    let index = Index::from_bytes(&bytes).unwrap();
    index.verify().unwrap();
    index
}

fn storage(index: &Index) -> u32 {
    let sections = index.artifact().sections();
    sections.iter().find(|section| section.kind == section::TRANSITIONS).unwrap().storage
}

/// States `1..=last` in a ring: by byte 1 on, by byte 2 back. Three rows and the dead one.
fn ring(last: u32) -> (Vec<u32>, Vec<i32>) {
    let round = i32::try_from(last).unwrap() - 1;
    let deltas = vec![NO_STEP, NO_STEP, NO_STEP, NO_STEP, 1, -1, NO_STEP, 1, round, NO_STEP, -round, -1];
    let row = |state: u32| match state {
        0 => 0,
        1 => 2,
        state if state == last => 3,
        _ => 1,
    };
    ((0..=last).map(row).collect(), deltas)
}

/// The same with a row for each state.
fn unshared(row_of: &[u32], deltas: &[i32], classes: usize) -> (Vec<u32>, Vec<i32>) {
    let rows = row_of.iter().flat_map(|&row| &deltas[row as usize * classes..][..classes]);
    ((0..).take(row_of.len()).collect(), rows.copied().collect())
}

#[test]
fn every_storage_leads_to_the_same_states() {
    for (last, shares, expected) in [
        (9_000, true, section::DENSE_U16),
        (9_000, false, section::DENSE_U16),
        (40_000, true, section::SHARED),
        (40_000, false, section::DENSE_U16),
        (70_000, true, section::SHARED),
        (70_000, false, section::DENSE_U32),
    ] {
        let (row_of, deltas) = ring(last);
        let (row_of, deltas) = if shares { (row_of, deltas) } else { unshared(&row_of, &deltas, 3) };
        let index = index(&row_of, &deltas, 3);
        assert_eq!(storage(&index), expected, "{last} states, shared: {shares}");
        for state in 0..=last {
            let ring = |next: u32| if state == 0 { 0 } else { next };
            assert_eq!(index.next_state(state, 1), ring(if state == last { 1 } else { state + 1 }));
            assert_eq!(index.next_state(state, 2), ring(if state <= 1 { last } else { state - 1 }));
            assert_eq!(index.next_state(state, 0), 0);
        }
        for state in [last + 1, u32::MAX - 1, u32::MAX] {
            assert_eq!(index.next_state(state, 1), 0);
        }
    }
}
