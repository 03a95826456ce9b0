//! Files of someone who means it: every checksum is right and the content is not.

use std::sync::Arc;

use gobo_artifact::layout::{Row, section, vocabulary_digest};
use gobo_artifact::{Fault, Index, Matcher, MatcherError, Vocabulary};
use gobo_compiler::{CompileOptions, compile};
use gobo_types::{Binding, Budget, CompileLimits, Constraint};
use gobo_worker::lower;
use proptest::prelude::*;

use super::parts::{Parts, put_u32};
use super::{
    AMBIGUOUS, BOTH_WAYS, BUDGETED, COUNTED, EDGES, EXITS, NESTED, Pair, SMALL, WIDE, WITH_HEADS, walk,
};

#[expect(clippy::unnecessary_wraps, reason = "compared with what `Parts::fault` returns")]
fn meaning(what: &str) -> Option<Fault> {
    Some(Fault::Meaning { what: what.into() })
}

#[test]
fn the_examples_are_sound_and_hold_every_kind_of_row() {
    for pair in
        [&*SMALL, &*WIDE, &*NESTED, &*AMBIGUOUS, &*COUNTED, &*WITH_HEADS, &*EXITS, &*EDGES, &*BOTH_WAYS]
    {
        assert_eq!(Parts::of(&pair.index).fault(), None);
        assert_eq!(Parts::of(&pair.index).file(), pair.index);
        assert_eq!(Parts::of(&pair.vocabulary).fault(), None);
        assert_eq!(Parts::of(&pair.vocabulary).file(), pair.vocabulary);
    }
    let index = Index::from_bytes(&WIDE.index).unwrap();
    let vocabulary = Vocabulary::from_bytes(&WIDE.vocabulary).unwrap();
    let rows: Vec<Row<'_>> =
        (0..index.rows()).map(|number| index.row(&vocabulary, number).unwrap()).collect();
    assert!(rows.iter().any(|row| matches!(row, Row::Dense(_))));
    assert!(rows.iter().any(|row| matches!(row, Row::Patched { base: None, .. })));
    assert!(rows.iter().any(|row| matches!(row, Row::Patched { base: Some(_), .. })));
    assert!(vocabulary.trie().set_ids.iter().any(|&set| set != 0));
}

/// Lies about one small vocabulary. Its tokens are a, b, ab, a special one, a hole, ab again; its trie is the block
/// a, b and below a the block b.
#[test]
fn a_vocabulary_that_contradicts_itself_is_found() {
    let word = |kind: u32, word: usize, value: u32| {
        Parts::of(&SMALL.vocabulary).with_word(kind, word, value).fault()
    };
    let not_ascending = meaning("token offsets are not ascending from zero");
    assert_eq!(word(section::TOKEN_OFFSETS, 0, 1), not_ascending);
    assert_eq!(word(section::TOKEN_OFFSETS, 1, 5), not_ascending);
    let not_the_end = meaning("the last token offset is not the number of token bytes");
    assert_eq!(word(section::TOKEN_OFFSETS, 6, 10), not_the_end);
    assert_eq!(word(section::TOKEN_OFFSETS, 6, u32::MAX), not_the_end);
    let beyond = meaning("an id beyond the vocabulary is special");
    assert_eq!(word(section::SPECIAL, 0, 1 << 3 | 1 << 6), beyond);

    // Another table under this vocabulary's name would be handed to whoever asks for the name.
    let renamed = meaning("the key is not the digest of the table");
    assert_eq!(word(section::SPECIAL, 0, 0), renamed);
    assert_eq!(word(section::TOKEN_OFFSETS, 1, 0), renamed);
    let mut parts = Parts::of(&SMALL.vocabulary);
    parts.section(section::TOKEN_BYTES)[0] = b'c';
    assert_eq!(parts.fault(), renamed);
    let counts = meaning("the root's counts are not those of the table");
    parts.name_honestly();
    assert_eq!(parts.fault(), counts);
    parts = Parts::of(&SMALL.vocabulary).with_word(section::SPECIAL, 0, 0);
    parts.name_honestly();
    assert_eq!(parts.fault(), counts);
    for (count, value) in [(1, 4), (3, 0), (4, 3), (4, u32::MAX), (5, 1), (6, 1), (8, 1), (11, 2), (16, 1)] {
        assert_eq!(word(section::ROOT, count, value), counts, "word {count}");
    }

    let other_ids = meaning("the trie order is not the ordinary tokens");
    for id in [3, 4, 6, u32::MAX] {
        assert_eq!(word(section::TRIE_ORDER, 0, id), other_ids, "id {id}");
    }
    let unsorted = meaning("the trie order is not sorted by bytes");
    assert_eq!(word(section::TRIE_ORDER, 2, 2), unsorted);
    assert_eq!(word(section::TRIE_ORDER, 0, 1), unsorted);

    assert_eq!(word(section::TRIE_SETS, 0, 0), meaning("byte set 0 does not hold all bytes"));
    let node = |byte: u8, is_last: bool, child: u32| u32::from(byte) | u32::from(is_last) << 8 | child << 9;
    let no_token = |number: u32| meaning(&format!("trie node {number} leads to no token"));
    assert_eq!(word(section::TRIE, 1, 1), no_token(0));
    for first in [0, 4, u32::MAX] {
        assert_eq!(word(section::TRIE, 3, first), no_token(1));
    }
    // Children anywhere else would be walked twice, or for ever, or not at all.
    let elsewhere =
        |number: u32| meaning(&format!("the children of trie node {number} are not the next block"));
    for child in [1, 3, 0x7f_ffff] {
        assert_eq!(word(section::TRIE, 0, node(b'a', false, child)), elsewhere(0));
    }
    assert_eq!(word(section::TRIE, 0, node(b'a', true, 2)), elsewhere(0));
    for child in [1, 2, 4, 6] {
        assert_eq!(word(section::TRIE, 2, node(b'b', true, child)), elsewhere(1));
        assert_eq!(word(section::TRIE, 4, node(b'b', true, child)), elsewhere(2));
    }
    // Node 3 is the next block, and that of a slice.
    assert_eq!(word(section::TRIE, 2, node(b'b', true, 3)), no_token(3));
    let no_range = |number: u32| meaning(&format!("trie node {number} has no range of ids"));
    assert_eq!(word(section::TRIE, 4, node(b'b', true, 3)), no_range(2));
    let other_bytes = |number: u32| meaning(&format!("trie node {number} names tokens with other bytes"));
    assert_eq!(word(section::TRIE, 0, node(b'a', false, 0)), other_bytes(0));
    assert_eq!(word(section::TRIE, 3, 2), other_bytes(1));
    assert_eq!(word(section::TRIE, 4, node(b'c', true, 0)), other_bytes(2));
    assert_eq!(word(section::TRIE, 5, 0), other_bytes(2));
    assert_eq!(word(section::TRIE, 5, 2), other_bytes(0));
    for first in [4, u32::MAX] {
        assert_eq!(word(section::TRIE, 5, first), no_range(0));
    }
    for byte in [b'a', b'A'] {
        assert_eq!(word(section::TRIE, 2, node(byte, true, 0)), meaning("trie node 1 is out of order"));
    }
    assert_eq!(word(section::TRIE, 4, node(b'b', false, 0)), meaning("trie node 3 is out of order"));
    let endless = meaning("slice 0: the last block of the trie does not end");
    assert_eq!(word(section::TRIE, 10, node(b'b', false, 0)), endless);

    assert_eq!(word(section::TRIE_SET_IDS, 0, 1), meaning("trie node 0 names a byte set that is not there"));
    parts = Parts::of(&SMALL.vocabulary);
    parts.section(section::TRIE_SET_IDS)[4] = 1;
    assert_eq!(parts.fault(), meaning("trie node 2 names a byte set that is not there"));
    parts = Parts::of(&SMALL.vocabulary).with_word(section::TRIE_SET_IDS, 0, 1);
    parts.section(section::TRIE_SETS).resize(64, 0);
    assert_eq!(parts.fault(), meaning("the byte set of trie node 0 misses a byte"));
    // A set may hold more than it must: that costs time and no truth.
    parts.section(section::TRIE_SETS)[32..].fill(0xff);
    assert_eq!(parts.fault(), None);
}

/// Lies about slices. Here are four, with one word for each row: 0 holds token 2, which is no text; 1 holds 3, a line end;
/// 2 the letters 0 and 1, so it alone has bitmaps by length; 3 holds 4, which is 20 spaces. Their ids begin at 5 in the order, their tries at node 25.
#[test]
fn slices_that_contradict_themselves_are_found() {
    let spaces = [b' '; 20];
    let tokens: &[(&[u8], bool)] =
        &[(b"a", false), (b"bb", false), (b"\xc3", false), (b"\n", false), (&spaces, false), (b"s", true)];
    let (file, _) = crate::example::build(tokens, &Constraint::regex("a"));
    let vocabulary = Vocabulary::from_bytes(&file).unwrap();
    assert_eq!(vocabulary.slices().map(|slice| slice.max_chars).collect::<Vec<_>>(), [0, 1, 2, 20]);
    let good = || Parts::of(&file);
    let word = |kind: u32, word: usize, value: u32| good().with_word(kind, word, value).fault();
    // Words of an entry: root, ids (2), characters of the longest, ranges (2), bitmap, long tokens (2), lead, bytes (8).
    let entry = |slice: usize, at: usize, value: u32| word(section::SLICES, 18 * slice + at, value);
    let in_slice = |slice: u32, what: &str| meaning(&format!("slice {slice}: {what}"));

    let apart = in_slice(2, "it does not begin where the one before ends");
    for (at, values) in [(0, [26, 28]), (1, [6, 8]), (4, [0, 2]), (6, [1, 3]), (7, [0, u32::MAX])] {
        for value in values {
            assert_eq!(entry(2, at, value), apart, "word {at} = {value}");
        }
    }
    for to in [0, 7, 11, u32::MAX] {
        assert_eq!(entry(2, 2, to), in_slice(2, "it has no ids"), "{to}");
    }
    let unsorted = in_slice(2, "its ids are not sorted by bytes");
    assert_eq!(entry(2, 2, 10), unsorted);
    assert_eq!(word(section::TRIE_ORDER, 7, 1), unsorted);
    assert_eq!(word(section::TRIE_ORDER, 8, 2), in_slice(2, "token 2 is in another slice too"));
    assert_eq!(word(section::TRIE_ORDER, 8, 5), meaning("the trie order is not the ordinary tokens"));
    assert_eq!(entry(2, 2, 8), in_slice(2, "trie node 28 leads to no token"));
    let other_bytes = in_slice(2, "trie node 27 names tokens with other bytes");
    assert_eq!(word(section::TRIE, 2 * 27, u32::from(b'A')), other_bytes);

    let letters = 10 + 3;
    assert_eq!(entry(2, letters, 1 << 1), in_slice(2, "token 1 has none of the bytes that it needs"));
    assert_eq!(entry(2, letters, 0), in_slice(2, "token 0 has none of the bytes that it needs"));
    // More bytes than it must: that costs time and no truth.
    assert_eq!(entry(2, letters, u32::MAX), None);

    assert_eq!(entry(0, 3, 1), in_slice(0, "token 2 is not text"));
    let others = in_slice(2, "its lengths or characters are not those of its tokens");
    for (at, value) in [(3, 0), (3, 1), (3, 3), (3, u32::MAX), (5, 1), (5, 3), (5, u32::MAX), (8, 2)] {
        assert_eq!(entry(2, at, value), others, "word {at} = {value}");
    }
    for (at, value) in [(2, 0x60), (3, 0x61), (3, 0x63)] {
        assert_eq!(word(section::SLICE_CHARS, at, value), others);
    }
    for (row, value) in [(2, 1), (2, 1 << 4 | 3), (3, 3), (3, 0), (4, 1), (4, 1 << 31 | 3)] {
        assert_eq!(word(section::SLICE_ROWS, row, value), others, "row {row} = {value}");
    }
    let others = in_slice(3, "its lengths or characters are not those of its tokens");
    assert_eq!(word(section::SLICE_LONG, 2, 19), others);
    assert_eq!(word(section::SLICE_LONG, 3, 3), others);
    assert_eq!(entry(3, 8, 0), others);

    let rest = |name: &str| meaning(&format!("no slice holds the end of section {name}"));
    for (kind, name) in [
        (section::SLICE_CHARS, "slice characters"),
        (section::SLICE_ROWS, "slice rows"),
        (section::SLICE_LONG, "slice long tokens"),
    ] {
        let mut parts = good();
        parts.section(kind).extend([0; 8]);
        assert_eq!(parts.fault(), rest(name));
    }
    let mut parts = good();
    parts.section(section::SLICES).truncate(3 * 72);
    assert_eq!(parts.fault(), rest("trie"));
    put_u32(parts.section(section::ROOT), 4 * 7, 30);
    parts.section(section::TRIE).truncate(30 * 8);
    parts.section(section::TRIE_SET_IDS).truncate(30 * 2);
    assert_eq!(parts.fault(), rest("trie order"));
}

/// Lies about leads. Slice 0 holds token 2, which is no text; 1 the token `a`; 2 the tokens ` b` and ` bc`, after a space.
#[test]
fn leads_that_are_none_are_found() {
    let tokens: &[(&[u8], bool)] =
        &[(b"a", false), (b" b", false), (b"\xc3", false), (b" bc", false), (b"s", true)];
    let (file, _) = crate::example::build(tokens, &Constraint::regex("a"));
    let vocabulary = Vocabulary::from_bytes(&file).unwrap();
    let space = Some(u32::from(b' '));
    let slices: Vec<_> = vocabulary.slices().map(|slice| (slice.lead, slice.max_chars)).collect();
    assert_eq!(slices, [(None, 0), (None, 1), (space, 3)]);
    assert_eq!(vocabulary.slice(2).unwrap().chars, [[0x62, 0x63]]);
    let lead = |slice: usize, value: u32| {
        let parts = Parts::of(&file).with_word(section::SLICES, 18 * slice + 9, value);
        walk::vocabulary(&Vocabulary::from_bytes(&parts.file()).unwrap());
        parts.fault()
    };
    let in_slice = |slice: u32, what: &str| meaning(&format!("slice {slice}: {what}"));
    let no_character = "its lead is no character of text";
    for value in [1, 0x20, 0xd800, u32::MAX] {
        assert_eq!(lead(0, value), in_slice(0, no_character), "{value:#x}");
    }
    for value in [0xd800, 0xdfff, 0x11_0000, u32::MAX] {
        assert_eq!(lead(2, value), in_slice(2, no_character), "{value:#x}");
    }
    for value in [1, 0x62, 0x10_ffff] {
        assert_eq!(lead(2, value), in_slice(2, "token 1 does not begin with the lead"), "{value:#x}");
    }
    // A token that is nothing but the lead would make a slice of no characters.
    assert_eq!(lead(1, 0x61), in_slice(1, "token 0 has nothing after the lead"));
    assert_eq!(lead(1, 0x62), in_slice(1, "token 0 does not begin with the lead"));
    // Without its lead, a slice has one more character.
    let others = in_slice(2, "its lengths or characters are not those of its tokens");
    assert_eq!(lead(2, 0), others);
    let chars = |at: usize, value: u32| Parts::of(&file).with_word(section::SLICE_CHARS, at, value).fault();
    assert_eq!(chars(2, 0x61), others);
    assert_eq!(chars(3, 0x62), others);
}

/// The index of `(ab)*`, and both of its rows dense and its own: states 0 dead, 1 start and complete, 2 after `a`; two
/// dense rows of one word.
fn with_own_rows() -> Parts {
    let mut parts = Parts::of(&SMALL.index);
    let words = |words: &[u32]| -> Vec<u8> { words.iter().copied().flat_map(u32::to_le_bytes).collect() };
    put_u32(parts.section(section::ROOT), SHARED_ROWS, 0);
    *parts.section(section::ROW_TABLE) = words(&[0, 0, 0, NONE, 0, 1, 0, NONE]);
    *parts.section(section::DENSE_ROWS) = words(&[1 << 0 | 1 << 2 | 1 << 5, 1 << 1]);
    parts
}

/// No base.
const NONE: u32 = u32::MAX;

/// Where the root of an index has the number of shared rows.
const SHARED_ROWS: usize = 104;

/// Lies about the index of [`with_own_rows`].
#[test]
fn an_index_that_contradicts_itself_is_found() {
    let good = with_own_rows;
    assert_eq!(good().fault(), None);
    let word = |kind: u32, word: usize, value: u32| good().with_word(kind, word, value).fault();
    let byte = |kind: u32, at: usize, value: u8| {
        let mut parts = good();
        parts.section(kind)[at] = value;
        parts.fault()
    };
    let mut parts = good();
    parts.key = [7; 32];
    let other_key = meaning("the key is not that of its vocabulary and constraint");
    assert_eq!(parts.fault(), other_key);
    assert_eq!(word(section::ROOT, 0, 7), other_key);
    assert_eq!(word(section::ROOT, 8, 7), other_key);
    // How another epoch derives its keys is not known here.
    assert_eq!(parts.with_word(section::ROOT, 18, u32::MAX).fault(), None);

    parts = good();
    parts.section(section::REPORT).pop();
    let section = "report".into();
    assert_eq!(parts.fault(), Some(Fault::Section { section, what: "it is not a valid archive".into() }));
    assert_eq!(byte(section::CONSTRAINT, 0, 0xff), meaning("the constraint is not UTF-8"));
    assert_eq!(byte(section::BYTE_CLASSES, 0, 3), meaning("a byte class is out of range"));

    let undead = meaning("the dead state is not dead");
    assert_eq!(byte(section::TRANSITIONS, 0, 1), undead);
    assert_eq!(word(section::STATES, 0, 0), undead);
    assert_eq!(byte(section::TRANSITIONS, 6, 3), meaning("state 1 leads to no state"));
    assert_eq!(word(section::STATES, 1, 2 << 1), meaning("state 1 has no row 2"));
    assert_eq!(word(section::STATES, 1, u32::MAX), meaning("the start has no row"));

    let unknown = meaning("row 0: it is of an unknown kind");
    for kind in [1, 3, u32::MAX] {
        assert_eq!(word(section::ROW_TABLE, 0, kind), unknown);
    }
    let out = meaning("row 0: it points outside its section");
    for offset in [2, u32::MAX] {
        assert_eq!(word(section::ROW_TABLE, 1, offset), out);
    }
    let apart = |row: u32| meaning(&format!("row {row}: it does not begin where the one before ends"));
    assert_eq!(word(section::ROW_TABLE, 1, 1), apart(0));
    let has_patches = meaning("row 0: it is dense and has patches");
    assert_eq!(word(section::ROW_TABLE, 2, 1), has_patches);
    assert_eq!(word(section::ROW_TABLE, 3, 1), has_patches);
    assert_eq!(word(section::ROW_TABLE, 5, 0), apart(1));
    let nothing = meaning("row 0: it is dense and allows nothing");
    assert_eq!(word(section::DENSE_ROWS, 0, 0), nothing);
    let beyond = meaning("row 0: it sets a bit beyond the vocabulary");
    assert_eq!(word(section::DENSE_ROWS, 0, 1 << 6), beyond);
}

#[test]
fn lengths_that_contradict_themselves_are_found() {
    let good = || Parts::of(&COUNTED.index);
    let word = |kind: u32, word: usize, value: u32| good().with_word(kind, word, value).fault();
    assert_eq!(good().fault(), None);
    let lengths = meaning("a return state has lengths that cannot be counted");
    let mut parts = good();
    let entries: Vec<u32> = parts
        .section(section::LENGTHS)
        .as_chunks::<4>()
        .0
        .iter()
        .map(|word| u32::from_le_bytes(*word))
        .collect();
    assert!(entries.chunks(2).any(|of| of == [2100, 3000]), "{entries:?}");
    let counted = entries.iter().position(|max| *max == 3000).unwrap();
    for value in [1 << 28, u32::MAX - 1] {
        assert_eq!(word(section::LENGTHS, counted, value), lengths);
    }
    assert_eq!(word(section::LENGTHS, counted - 1, 3001), lengths);
    parts.section(section::LENGTHS).truncate(entries.len() * 4 - 8);
    assert_eq!(parts.fault(), meaning("not every return state has its lengths"));
    let greatest = meaning("the greatest distance is another one");
    for at in 0..3 {
        assert_eq!(word(section::DISTANCES, at, 7), greatest);
    }
    let states = meaning("distances are not those of states, one after the other");
    for (at, value) in [(3, 0), (3, u32::MAX), (4, 16)] {
        assert_eq!(word(section::DISTANCES, at, value), states);
    }
    let mut parts = good();
    parts.section(section::DISTANCES).clear();
    assert_eq!(parts.fault(), meaning("no distance is the greatest"));
    for kind in [section::LENGTHS, section::DISTANCES] {
        let mut parts = good();
        parts.sections.retain(|(of, ..)| *of != kind);
        assert!(parts.fault().is_some(), "without section {kind}");
    }
}

#[test]
fn heads_that_contradict_themselves_are_found() {
    let good = || Parts::of(&WITH_HEADS.index);
    let word = |kind: u32, word: usize, value: u32| good().with_word(kind, word, value).fault();
    assert_eq!(good().fault(), None);
    let mut parts = good();
    let heads = parts.section(section::HEADS).clone();
    let bounded = heads.as_chunks::<4>().0.iter().position(|head| u32::from_le_bytes(*head) == 64).unwrap();
    let cannot = meaning("a return state has a length of heads that cannot be counted");
    for value in [1 << 28, u32::MAX - 1] {
        assert_eq!(word(section::HEADS, bounded, value), cannot);
    }
    parts.section(section::HEADS).truncate(heads.len() - 4);
    assert_eq!(parts.fault(), meaning("not every return state has the length of its heads"));
    assert_eq!(word(section::HEAD_DISTANCES, 2, 7), meaning("the greatest distance is another one"));
    let states = meaning("distances are not those of states, one after the other");
    for (at, value) in [(3, 0), (3, u32::MAX), (4, 16)] {
        assert_eq!(word(section::HEAD_DISTANCES, at, value), states);
    }
    for kind in [section::HEADS, section::HEAD_DISTANCES] {
        let mut parts = good();
        parts.sections.retain(|(of, ..)| *of != kind);
        assert!(parts.fault().is_some(), "without section {kind}");
    }
}

/// The same index, its transitions stored as rows that states share: one for the dead state, one for each other.
#[test]
fn calls_that_contradict_themselves_are_found() {
    let good = || Parts::of(&NESTED.index);
    let word = |kind: u32, word: usize, value: u32| good().with_word(kind, word, value).fault();
    assert_eq!(good().fault(), None);
    for class in [0, 3] {
        let fault = good().with_word(section::ROOT, 19, class).fault();
        assert!(fault.is_some(), "class {class} with calls");
    }
    let order = meaning("push transitions do not lie one after the other");
    assert_eq!(word(section::PUSH_TRANSITION_STARTS, 0, 1), order);
    assert_eq!(word(section::PUSH_TRANSITION_STARTS, 1, u32::MAX), order);
    let push = meaning("a push transition leads to no state, or pushes what is not there");
    for value in [0, u32::MAX] {
        assert_eq!(word(section::PUSH_TRANSITIONS, 0, value), push);
    }
    assert_eq!(word(section::PUSH_TRANSITIONS, 1, 1), push);
    assert_eq!(word(section::PUSHED, 0, u32::MAX), meaning("what is pushed is no return state"));
    for value in [0, u32::MAX] {
        assert_eq!(word(section::RETURNS, 0, value), meaning("a return state is no state"));
    }
    let class = meaning("classes of return states are not numbered as they are met");
    for value in [1, u32::MAX] {
        assert_eq!(word(section::RETURNS, 1, value), class);
    }
    let no_set = meaning("a state has a suffix set that is not there");
    assert_eq!(word(section::SUFFIX_SETS, 1, u32::MAX - 1), no_set);
    assert_eq!(word(section::SUFFIX_SETS, 0, 1), meaning("the empty suffix set goes on"));
    let mut parts = good();
    let last = parts.section(section::PAIR_STARTS).len() / 4 - 1;
    assert_eq!(word(section::PAIR_STARTS, last, 0), meaning("pairs do not lie one after the other"));
    let pair = meaning("a pair names what is not there, or is out of order");
    for at in 0..3 {
        assert_eq!(word(section::PAIRS, at, u32::MAX), pair);
    }
    let mut parts = good();
    let returns = parts.section(section::RETURNS).as_chunks::<4>().0;
    let classes = returns.iter().skip(1).step_by(2).map(|class| u32::from_le_bytes(*class));
    // One more than there are.
    assert_eq!(word(section::PAIRS, 0, classes.max().unwrap() + 1), pair);
    let mut parts = good();
    parts.section(section::CALLS).clear();
    assert!(matches!(parts.fault(), Some(Fault::Section { section, .. }) if section == "calls"));
}

#[test]
fn shared_transitions_that_contradict_themselves_are_found() {
    const DEAD: i32 = i32::MIN;
    let good = [DEAD, DEAD, DEAD, DEAD, 1, DEAD, DEAD, DEAD, -1];
    let rewritten = |row_of: &[u32], deltas: &[i32]| {
        let mut parts = Parts::of(&SMALL.index);
        let (_, storage, _) =
            parts.sections.iter_mut().find(|(kind, ..)| *kind == section::TRANSITIONS).unwrap();
        *storage = section::SHARED;
        *parts.section(section::TRANSITIONS) = deltas.iter().flat_map(|delta| delta.to_le_bytes()).collect();
        *parts.section(section::TRANSITION_ROWS) = row_of.iter().flat_map(|row| row.to_le_bytes()).collect();
        // Whatever it says, no step leads out of the table.
        if let Ok(index) = Index::from_bytes(&parts.file()) {
            walk::index(&index, &Vocabulary::from_bytes(&SMALL.vocabulary).unwrap());
            for (state, byte) in (0..5).flat_map(|state| [(state, b'a'), (state, b'b')]) {
                assert!(index.next_state(state, byte) < index.states());
            }
        }
        parts
    };
    let fault = |row_of: &[u32], deltas: &[i32]| rewritten(row_of, deltas).fault();
    let sound = rewritten(&[0, 1, 2], &good);
    assert_eq!(sound.fault(), None);
    let (shared, dense) =
        (Index::from_bytes(&sound.file()).unwrap(), Index::from_bytes(&SMALL.index).unwrap());
    for (state, byte) in (0..4).flat_map(|state| (0..=u8::MAX).map(move |byte| (state, byte))) {
        assert_eq!(shared.next_state(state, byte), dense.next_state(state, byte));
    }
    walk::matcher(&Arc::new(shared), &Arc::new(Vocabulary::from_bytes(&SMALL.vocabulary).unwrap()), true);

    let with = |at: usize, delta: i32| {
        let mut deltas = good;
        deltas[at] = delta;
        fault(&[0, 1, 2], &deltas)
    };
    let undead = meaning("the dead state is not dead");
    assert_eq!(with(0, 1), undead);
    assert_eq!(with(2, 0), undead);
    assert_eq!(fault(&[1, 1, 2], &good), undead);
    // To the dead state, below it, after the last, and out of all numbers.
    for delta in [-1, -2, 2, i32::MAX, i32::MIN + 1] {
        assert_eq!(with(3, delta), meaning("state 1 leads to no state"), "{delta}");
    }
    assert_eq!(with(8, -2), meaning("state 2 leads to no state"));
    assert_eq!(fault(&[0, 1, 1], &good[..6]), meaning("state 2 leads to no state"));
    for row in [3, u32::MAX] {
        assert_eq!(fault(&[0, row, 2], &good), meaning("state 1 has no transitions"));
    }
    assert_eq!(fault(&[0, 1, 0], &good), meaning("no state has row 2 of the transitions"));
    let size =
        |section: &str, what: &str| Some(Fault::Section { section: section.into(), what: what.into() });
    assert_eq!(fault(&[0, 1], &good), size("transition rows", "it has 8 bytes instead of 3 times 4"));
    assert_eq!(fault(&[0, 1, 2], &good[..8]), size("transitions", "it has 32 bytes instead of 6 times 4"));
}

/// The same index, its second row stored as patches.
#[test]
fn patches_that_contradict_themselves_are_found() {
    let rewritten = |entry: [u32; 4], patches: &[[u32; 2]], dense: usize| {
        let mut parts = with_own_rows();
        for (at, value) in (4..).zip(entry) {
            put_u32(parts.section(section::ROW_TABLE), 4 * at, value);
        }
        *parts.section(section::ROW_PATCHES) =
            patches.as_flattened().iter().flat_map(|word| word.to_le_bytes()).collect();
        parts.section(section::DENSE_ROWS).truncate(4 * dense);
        parts.fault()
    };
    let apart = meaning("row 1: it does not begin where the one before ends");
    let out = meaning("row 1: it points outside its section");
    let not_words = meaning("row 1: its patches are not ascending words of a row");
    let rest = |name: &str| meaning(&format!("no row holds the end of section {name}"));
    for base in [0, NONE] {
        let patched =
            |patches: &[[u32; 2]]| rewritten([2, 0, u32::try_from(patches.len()).unwrap(), base], patches, 1);
        assert_eq!(patched(&[[0, 2]]), None);
        for patches in [&[[0, 2], [0, 4]][..], &[[1, 1]], &[[0, 1 << 6]], &[[u32::MAX, 1]]] {
            assert_eq!(patched(patches), not_words, "{patches:?}");
        }
        assert_eq!(rewritten([2, 1, 1, base], &[[0, 2], [0, 2]], 1), apart);
        assert_eq!(rewritten([2, 0, 2, base], &[[0, 2]], 1), out);
        assert_eq!(rewritten([2, u32::MAX, u32::MAX, base], &[[0, 2]], 1), out);
        assert_eq!(rewritten([2, 0, 1, base], &[[0, 2], [0, 2]], 1), rest("row patches"));
        assert_eq!(rewritten([2, 0, 1, base], &[[0, 2]], 2), rest("dense rows"));
    }
    assert_eq!(rewritten([2, 0, 0, 0], &[], 1), None);
    assert_eq!(rewritten([2, 0, 1, 0], &[[0, 0]], 1), meaning("row 1: it is patched and allows nothing"));
    assert_eq!(rewritten([2, 0, 1, NONE], &[[0, 0]], 1), meaning("row 1: it patches zeros with zeros"));
    assert_eq!(rewritten([2, 0, 0, NONE], &[], 1), meaning("state 2 allows nothing and is not complete"));
    assert_eq!(rewritten([2, 0, 1, 1], &[[0, 2]], 2), meaning("row 1: its base does not come before it"));
    let no_base = meaning("row 1: its base does not come before it");
    assert_eq!(rewritten([2, 0, 1, NONE - 1], &[[0, 2]], 1), no_base);
}

/// Lies about rows of `(ab)*` that are shared rows of its vocabulary, or differ from one. What a shared row holds is not at
/// hand.
#[test]
fn shared_rows_that_are_none_are_found() {
    let rewritten = |shared: u32, entry: [u32; 4], patches: &[[u32; 2]]| {
        let mut parts = with_own_rows();
        put_u32(parts.section(section::ROOT), SHARED_ROWS, shared);
        // The own dense row is numbered after the shared ones.
        put_u32(parts.section(section::ROW_TABLE), 4, shared);
        for (at, value) in (4..).zip(entry) {
            put_u32(parts.section(section::ROW_TABLE), 4 * at, value);
        }
        *parts.section(section::ROW_PATCHES) =
            patches.as_flattened().iter().flat_map(|word| word.to_le_bytes()).collect();
        parts.section(section::DENSE_ROWS).truncate(4);
        let file = parts.file();
        // With its vocabulary, which has other shared rows, it says so and reads nothing.
        let (index, vocabulary) =
            (Index::from_bytes(&file).unwrap(), Vocabulary::from_bytes(&SMALL.vocabulary).unwrap());
        walk::index(&index, &vocabulary);
        parts.fault()
    };
    assert_eq!(rewritten(3, [0, 2, 0, NONE], &[]), None);
    assert_eq!(rewritten(3, [2, 0, 1, 2], &[[0, 2]]), None);
    assert_eq!(rewritten(3, [2, 0, 1, 3], &[[0, 2]]), None);
    assert_eq!(rewritten(3, [0, 4, 0, NONE], &[]), meaning("row 1: it points outside its section"));
    assert_eq!(rewritten(3, [2, 0, 1, 4], &[[0, 2]]), meaning("row 1: its base does not come before it"));
    let nothing = meaning("row 1: it patches a shared row with nothing but zeros");
    assert_eq!(rewritten(3, [2, 0, 1, 2], &[[0, 0]]), nothing);
    assert_eq!(rewritten(3, [2, 0, 0, 2], &[]), nothing);

    // Under the digest of other shared rows no matcher is made.
    let mut parts = Parts::of(&SMALL.index);
    parts.section(section::ROOT)[SHARED_ROWS + 4] ^= 1;
    let index = Arc::new(Index::from_bytes(&parts.file()).unwrap());
    index.verify().unwrap();
    let vocabulary = Arc::new(Vocabulary::from_bytes(&SMALL.vocabulary).unwrap());
    let binding = Binding::new(vec![], vocabulary.len());
    assert_eq!(Matcher::new(index, vocabulary, &binding).err(), Some(MatcherError::OtherSharedRows));

    let word = |word: usize, value: u32| {
        Parts::of(&SMALL.vocabulary).with_word(section::SHARED_ROWS, word, value).fault()
    };
    assert_eq!(word(0, 0), meaning("shared row 0 is empty"));
    // A special id, a hole, none.
    for id in [3, 4, 6, 31] {
        assert_eq!(word(1, 1 << id), meaning("shared row 1 has an id that is no ordinary token"));
    }
}

/// `verify` is linear: rows cannot share what they name, nor nodes be deep at a price.
#[test]
fn verifying_hostile_files_ends_soon() {
    let mut parts = Parts::of(&SMALL.index);
    let many = 1 << 16;
    put_u32(parts.section(section::ROOT), 4 * 24, many);
    let entry: Vec<u8> = [2, 0, many, u32::MAX].iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
    *parts.section(section::ROW_TABLE) = entry.repeat(many as usize);
    *parts.section(section::ROW_PATCHES) = vec![0; 8 * many as usize];
    assert!(parts.fault().is_some());

    // One token of 2^16 bytes; a set at every node.
    let deep = 1 << 16;
    let token = vec![b'a'; deep as usize];
    let mut parts = Parts::of(&SMALL.vocabulary);
    let words = |words: Vec<u32>| -> Vec<u8> { words.into_iter().flat_map(u32::to_le_bytes).collect() };
    let mut root = vec![1, 1, 1, 0, deep, deep, 0, 2 * deep];
    root.extend([0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    *parts.section(section::ROOT) = words(root);
    *parts.section(section::TOKEN_OFFSETS) = words(vec![0, deep]);
    parts.section(section::TOKEN_BYTES).clone_from(&token);
    *parts.section(section::SPECIAL) = words(vec![0]);
    let nodes = (1..=2 * deep).map(|next| {
        let child = if next % deep == 0 { 0 } else { next };
        [u32::from(b'a') | 1 << 8 | child << 9, u32::from(next > deep)]
    });
    *parts.section(section::TRIE) = words(nodes.flatten().collect());
    *parts.section(section::TRIE_ORDER) = words(vec![0, 0]);
    *parts.section(section::TRIE_SET_IDS) = [1, 0].repeat(2 * deep as usize);
    *parts.section(section::TRIE_SETS) = vec![0xff; 64];
    *parts.section(section::SLICES) = words(vec![deep, 1, 2, deep, 0, 1, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0]);
    *parts.section(section::SLICE_CHARS) = words(vec![0x61, 0x61]);
    *parts.section(section::SLICE_ROWS) = words(vec![1]);
    *parts.section(section::SLICE_LONG) = words(vec![deep, 0]);
    *parts.section(section::SHARED_ROWS) = words(vec![1]);
    parts.key = *vocabulary_digest([(token.as_slice(), false)].into_iter()).as_bytes();
    assert_eq!(parts.fault(), None);
}

#[test]
fn a_vocabulary_without_ordinary_tokens_is_none() {
    let mut parts = Parts::of(&SMALL.vocabulary);
    let words = |words: &[u32]| -> Vec<u8> { words.iter().copied().flat_map(u32::to_le_bytes).collect() };
    let mut root = [0; 24];
    (root[0], root[1], root[3]) = (1, 1, 1);
    *parts.section(section::ROOT) = words(&root);
    *parts.section(section::TOKEN_OFFSETS) = words(&[0, 1]);
    *parts.section(section::TOKEN_BYTES) = b"s".to_vec();
    *parts.section(section::SPECIAL) = words(&[1]);
    for kind in [section::TRIE, section::TRIE_ORDER, section::TRIE_SET_IDS] {
        parts.section(kind).clear();
    }
    parts.name_honestly();
    assert_eq!(parts.fault(), meaning("there is no ordinary token"));
}

/// A set that is not kept changes nothing but the time.
#[test]
fn a_sound_vocabulary_in_another_form_compiles_to_the_same_rows() {
    let mut parts = Parts::of(&WIDE.vocabulary);
    parts.section(section::TRIE_SET_IDS).fill(0);
    assert_eq!(parts.fault(), None);
    let constraint = Constraint::regex("[a-z]+0?");
    let compiled = compiled(&Vocabulary::from_bytes(&parts.file()).unwrap(), &constraint);
    assert_eq!(compiled.as_deref(), Some(WIDE.index.as_slice()));
}

fn compiled(vocabulary: &Vocabulary, constraint: &Constraint) -> Option<Vec<u8>> {
    let budget = Budget::new(CompileLimits { max_steps: 10_000_000, ..CompileLimits::default() });
    let lowered = lower(constraint, &budget).unwrap();
    let result = compile(vocabulary, constraint, &lowered, &CompileOptions::default(), &budget);
    result.ok().map(|compiled| compiled.bytes().to_vec())
}

/// All that may be done with a vocabulary that opens; if it verifies, it compiles or is refused, and what it compiles
/// to is sound.
fn use_vocabulary(file: &[u8], index: &Arc<Index>) {
    let Ok(vocabulary) = Vocabulary::from_bytes(file) else { return };
    walk::vocabulary(&vocabulary);
    let sound = vocabulary.verify().is_ok();
    let vocabulary = Arc::new(vocabulary);
    walk::matcher(index, &vocabulary, sound);
    if !sound {
        return;
    }
    for constraint in
        [Constraint::regex("(ab)*"), Constraint::regex("[a-z]*"), Constraint::choice(["a", "ab"])]
    {
        let Some(bytes) = compiled(&vocabulary, &constraint) else { continue };
        let index = Index::from_bytes(&bytes).unwrap();
        index.verify().unwrap();
        walk::matcher(&Arc::new(index), &vocabulary, true);
    }
}

fn use_index(file: &[u8], vocabulary: &Arc<Vocabulary>) {
    let Ok(index) = Index::from_bytes(file) else { return };
    walk::index(&index, vocabulary);
    let sound = index.verify().is_ok();
    walk::matcher(&Arc::new(index), vocabulary, sound);
}

/// One change to one section.
#[derive(Debug, Clone)]
enum Change {
    Byte(u8),
    Word(u32),
    /// Another word of the same section.
    Copy(prop::sample::Index),
    Resize(isize),
}

fn change() -> impl Strategy<Value = (prop::sample::Index, prop::sample::Index, Change)> {
    let word = prop_oneof![0_u32..8, Just(u32::MAX), Just(u32::MAX >> 1), Just(u32::MAX - 1), any::<u32>()];
    let change = prop_oneof![
        2 => any::<u8>().prop_map(Change::Byte),
        4 => word.prop_map(Change::Word),
        2 => any::<prop::sample::Index>().prop_map(Change::Copy),
        1 => (-16_isize..17).prop_map(Change::Resize),
    ];
    (any::<prop::sample::Index>(), any::<prop::sample::Index>(), change)
}

fn apply(parts: &mut Parts, changes: Vec<(prop::sample::Index, prop::sample::Index, Change)>) {
    for (section, at, change) in changes {
        let section = section.index(parts.sections.len());
        let bytes = &mut parts.sections[section].2;
        let word = |at: prop::sample::Index| (bytes.len() >= 4).then(|| at.index(bytes.len() / 4) * 4);
        match change {
            Change::Byte(value) if !bytes.is_empty() => {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            Change::Word(value) => {
                if let Some(at) = word(at) {
                    put_u32(bytes, at, value);
                }
            }
            Change::Copy(from) => {
                if let Some((at, from)) = word(at).zip(word(from)) {
                    bytes.copy_within(from..from + 4, at);
                }
            }
            Change::Resize(by) => bytes.resize(bytes.len().saturating_add_signed(by), 0),
            Change::Byte(_) => {}
        }
    }
}

fn pair() -> impl Strategy<Value = &'static Pair> {
    prop_oneof![
        2 => Just(&*SMALL),
        1 => Just(&*WIDE),
        2 => Just(&*NESTED),
        2 => Just(&*AMBIGUOUS),
        2 => Just(&*COUNTED),
        2 => Just(&*WITH_HEADS),
        2 => Just(&*EXITS),
        2 => Just(&*EDGES),
        2 => Just(&*BOTH_WAYS),
        2 => Just(&*BUDGETED),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn an_index_changed_at_will_panics_nowhere(
        pair in pair(),
        changes in prop::collection::vec(change(), 1..6),
    ) {
        let mut parts = Parts::of(&pair.index);
        apply(&mut parts, changes);
        use_index(&parts.file(), &Arc::new(Vocabulary::from_bytes(&pair.vocabulary).unwrap()));
    }

    #[test]
    fn a_vocabulary_changed_at_will_panics_nowhere(
        pair in pair(),
        changes in prop::collection::vec(change(), 1..6),
        honest in any::<bool>(),
    ) {
        let mut parts = Parts::of(&pair.vocabulary);
        apply(&mut parts, changes);
        if honest {
            parts.name_honestly();
        }
        use_vocabulary(&parts.file(), &Arc::new(Index::from_bytes(&pair.index).unwrap()));
    }

    #[test]
    fn any_bytes_after_the_magic_panic_nowhere(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let file = [gobo_artifact::layout::MAGIC.as_slice(), &bytes].concat();
        prop_assert!(Index::from_bytes(&file).is_err());
        prop_assert!(Vocabulary::from_bytes(&file).is_err());
        prop_assert!(Index::from_bytes(&bytes).is_err());
    }
}
