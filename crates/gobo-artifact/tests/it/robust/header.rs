//! One file for each clause of the header check, with its checksum right, and the fault that names the clause.

use gobo_artifact::layout::{ArtifactKind, section};
use gobo_artifact::{Fault, Index, Vocabulary};

use super::parts::{Parts, entry, put_u32, put_u64, sign_header, sign_header_of};
use super::{SMALL, fault};

fn index_fault(file: &[u8]) -> Fault {
    fault(Index::from_bytes(file).unwrap_err())
}

/// The fault of the small index after `change`, signed again.
fn changed(change: impl FnOnce(&mut Vec<u8>)) -> Fault {
    let mut file = SMALL.index.clone();
    change(&mut file);
    sign_header(&mut file);
    index_fault(&file)
}

fn header_fault(what: &str) -> Fault {
    Fault::Header { what: what.into() }
}

fn section_fault(section: &str, what: &str) -> Fault {
    Fault::Section { section: section.into(), what: what.into() }
}

#[test]
fn foreign_files_are_not_artifacts() {
    let noise: Vec<u8> = (0..4096_u32).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    let elf = [b"\x7fELF\x02\x01\x01".as_slice(), &[0; 200]].concat();
    let text_mode = [b"\x89gobo\n\x1a".as_slice(), &SMALL.index[8..]].concat();
    for file in [b"".as_slice(), b"a text\n", &noise, &elf, &text_mode, &[0; 128]] {
        assert_eq!(index_fault(file), Fault::Magic);
        assert_eq!(fault(Vocabulary::from_bytes(file).unwrap_err()), Fault::Magic);
    }
}

#[test]
fn another_version_is_named_even_if_nothing_else_is_understood() {
    let expected = Fault::Version { found: 7, expected: 0 };
    assert_eq!(changed(|file| put_u32(file, 8, 7)), expected);
    let mut unsigned = SMALL.index.clone();
    put_u32(&mut unsigned, 8, 7);
    assert_eq!(index_fault(&unsigned), expected);
    assert_eq!(Index::from_bytes(&unsigned).unwrap_err().kind(), gobo_types::ErrorKind::Version);
}

#[test]
fn lies_about_lengths_are_found() {
    assert_eq!(changed(|file| put_u32(file, 16, 33)), header_fault("33 sections, more than 32"));
    let unsigned = |at: usize, value: u32| {
        let mut file = SMALL.index.clone();
        put_u32(&mut file, at, value);
        index_fault(&file)
    };
    assert_eq!(unsigned(16, u32::MAX), header_fault("4294967295 sections, more than 32"));
    assert_eq!(unsigned(20, 0), header_fault("a header of 0 bytes"));
    assert_eq!(unsigned(20, u32::MAX), header_fault("a header of 4294967295 bytes"));
    assert_eq!(unsigned(16, 9), header_fault("a header of 832 bytes"));
    let found = SMALL.index.len() as u64;
    for expected in [0, found - 1, found + 1, u64::MAX] {
        assert_eq!(changed(|file| put_u64(file, 24, expected)), Fault::Length { found, expected });
    }
    // A file that ends inside its own section table.
    let mut short = SMALL.index[..128].to_vec();
    put_u32(&mut short, 16, 32);
    put_u32(&mut short, 20, 128 + 32 * 64);
    put_u64(&mut short, 24, 128);
    assert_eq!(index_fault(&short), Fault::Length { found: 128, expected: 128 + 32 * 64 });
}

#[test]
fn the_checksum_covers_the_whole_header() {
    for at in [12, 32, 63, 64, 95, 96, 127, entry(0), entry(9) + 63] {
        let mut file = SMALL.index.clone();
        file[at] ^= 0x80;
        assert_eq!(index_fault(&file), Fault::HeaderChecksum, "byte {at}");
    }
}

#[test]
fn swapped_and_unknown_kinds_are_named() {
    assert_eq!(
        index_fault(&SMALL.vocabulary),
        Fault::Kind { found: "a vocabulary".into(), expected: ArtifactKind::Index }
    );
    assert_eq!(
        fault(Vocabulary::from_bytes(&SMALL.index).unwrap_err()),
        Fault::Kind { found: "an index".into(), expected: ArtifactKind::Vocabulary }
    );
    for kind in [0, 3, u32::MAX] {
        let found = format!("kind {kind}");
        let expected = Fault::Kind { found, expected: ArtifactKind::Index };
        assert_eq!(changed(|file| put_u32(file, 12, kind)), expected);
    }
    // The sections of the other kind under this kind's number.
    let parts = Parts { kind: ArtifactKind::Index, ..Parts::of(&SMALL.vocabulary) };
    assert_eq!(index_fault(&parts.file()), section_fault("token offsets", "this program does not know it"));
}

#[test]
fn reserved_bytes_are_zero() {
    for at in [64, 80, 95] {
        assert_eq!(changed(|file| file[at] = 1), header_fault("reserved bytes that are not zero"));
    }
    for at in [24, 31] {
        let expected = header_fault("reserved bytes of a section that are not zero");
        assert_eq!(changed(|file| file[entry(9) + at] = 1), expected);
    }
}

#[test]
fn the_table_is_exactly_the_sections_of_the_kind_in_order() {
    let kind_at = |position: usize, kind: u32| changed(|file| put_u32(file, entry(position), kind));
    assert_eq!(kind_at(3, 99), section_fault("number 99", "this program does not know it"));
    assert_eq!(kind_at(3, section::TRIE), section_fault("trie", "this program does not know it"));
    // Twice there: the second stands where another is due.
    assert_eq!(kind_at(1, section::ROOT), section_fault("root", "it is out of order"));
    assert_eq!(kind_at(0, section::REPORT), section_fault("report", "it is out of order"));

    let good = Parts::of(&SMALL.index);
    let mut parts = good.clone();
    parts.sections.swap(2, 3);
    assert_eq!(index_fault(&parts.file()), section_fault("constraint options", "it is out of order"));
    parts = good.clone();
    parts.sections.pop();
    assert_eq!(index_fault(&parts.file()), section_fault("row patches", "it is missing"));
    parts.sections.clear();
    assert_eq!(index_fault(&parts.file()), section_fault("root", "it is missing"));
    parts = good.clone();
    parts.sections.push((section::ROW_PATCHES, section::PLAIN, vec![]));
    assert_eq!(index_fault(&parts.file()), section_fault("row patches", "it is out of order"));
    parts.sections.last_mut().unwrap().0 = 37;
    assert_eq!(index_fault(&parts.file()), section_fault("number 37", "this program does not know it"));
}

#[test]
fn unknown_storage_is_refused() {
    for (position, storage, name) in [
        (0, 1, "root"),
        (5, section::PLAIN, "transitions"),
        (5, 4, "transitions"),
        (10, u32::MAX, "row patches"),
    ] {
        assert_eq!(
            changed(|file| put_u32(file, entry(position) + 4, storage)),
            section_fault(name, "this program does not know its storage")
        );
    }
}

#[test]
fn sections_lie_one_after_the_other_to_the_end_of_the_file() {
    let file = &SMALL.index;
    let misplaced = |name| section_fault(name, "it does not begin where the one before ends");
    let offset = |position: usize| {
        let at = entry(position) + 8;
        u64::from_le_bytes(file[at..at + 8].try_into().unwrap())
    };
    let length = file.len() as u64;
    // Unaligned, over the header, over the section before, with a gap, past the end, past 2^64.
    for wrong in
        [offset(4) + 1, 0, offset(3), offset(4) + 64, length.next_multiple_of(64), u64::MAX, u64::MAX - 63]
    {
        assert_eq!(changed(|file| put_u64(file, entry(4) + 8, wrong)), misplaced("byte classes"), "{wrong}");
    }
    let long = |position: usize, length: u64| changed(|file| put_u64(file, entry(position) + 16, length));
    assert_eq!(long(4, u64::MAX), section_fault("byte classes", "it is too long"));
    // The end fits into 64 bits and its alignment does not.
    assert_eq!(long(4, u64::MAX - offset(4)), misplaced("transitions"));
    assert_eq!(long(4, 256 + 64), misplaced("transitions"));
    assert_eq!(long(10, 8), Fault::Length { found: length, expected: offset(10) + 8 });
    assert_eq!(long(10, u64::MAX - offset(10)), Fault::Length { found: length, expected: u64::MAX });
    // Bytes after the last section.
    let mut longer = file.clone();
    longer.push(0);
    put_u64(&mut longer, 24, length + 1);
    sign_header_of(&mut longer, 128 + 11 * 64);
    assert_eq!(index_fault(&longer), Fault::Length { found: length + 1, expected: length });
}

/// Bytes between sections belong to nobody, and could carry anything.
#[test]
fn padding_is_zero() {
    let mut file = SMALL.index.clone();
    let at = entry(11) + 140;
    file[at] = 1;
    let index = Index::from_bytes(&file).unwrap();
    let what = "padding before section report is not zero".into();
    assert_eq!(fault(index.verify().unwrap_err()), Fault::Meaning { what });
}

#[test]
fn sections_have_the_size_that_the_root_says() {
    let resized = |kind: u32, length: usize| {
        let mut parts = Parts::of(&SMALL.index);
        parts.section(kind).resize(length, 0);
        index_fault(&parts.file())
    };
    let size = |name: &str, has: u32, count: u32, each: u32| {
        section_fault(name, &format!("it has {has} bytes instead of {count} times {each}"))
    };
    assert_eq!(resized(section::BYTE_CLASSES, 255), size("byte classes", 255, 256, 1));
    assert_eq!(resized(section::TRANSITIONS, 16), size("transitions", 16, 9, 2));
    assert_eq!(resized(section::TRANSITION_ROWS, 12), size("transition rows", 12, 0, 4));
    assert_eq!(resized(section::STATES, 11), size("states", 11, 3, 4));
    assert_eq!(resized(section::ROW_TABLE, 33), size("row table", 33, 2, 16));
    assert_eq!(resized(section::DENSE_ROWS, 9), size("dense rows", 9, 2, 4));
    assert_eq!(resized(section::ROW_PATCHES, 12), size("row patches", 12, 1, 8));
    assert_eq!(resized(section::ROOT, 139), section_fault("root", "it is not a valid archive"));
    assert_eq!(resized(section::ROOT, 0), section_fault("root", "it is not a valid archive"));
    assert_eq!(resized(section::ROOT, 4097), section_fault("root", "it has 4097 bytes, more than 4096"));

    let resized = |kind: u32, length: usize| {
        let mut parts = Parts::of(&SMALL.vocabulary);
        parts.section(kind).resize(length, 0);
        fault(Vocabulary::from_bytes(&parts.file()).unwrap_err())
    };
    assert_eq!(resized(section::TOKEN_OFFSETS, 24), size("token offsets", 24, 7, 4));
    assert_eq!(resized(section::SPECIAL, 8), size("special", 8, 1, 4));
    assert_eq!(resized(section::TRIE, 32), size("trie", 32, 6, 8));
    assert_eq!(resized(section::TRIE_ORDER, 28), size("trie order", 28, 8, 4));
    assert_eq!(resized(section::TRIE_SET_IDS, 8), size("trie set ids", 8, 6, 2));
    assert_eq!(resized(section::TRIE_SETS, 33), size("trie sets", 33, 1, 32));
    assert_eq!(resized(section::SLICES, 71), size("slices", 71, 0, 72));
    let many = section_fault("slices", "it has 36 slices, more than 35");
    assert_eq!(resized(section::SLICES, 36 * 72), many);
    assert_eq!(resized(section::SLICE_CHARS, 4), size("slice characters", 4, 0, 8));
    assert_eq!(resized(section::SLICE_ROWS, 5), size("slice rows", 5, 1, 4));
    assert_eq!(resized(section::SLICE_LONG, 9), size("slice long tokens", 9, 1, 8));
    assert_eq!(resized(section::SHARED_ROWS, 5), size("shared rows", 5, 1, 4));
    let many = section_fault("shared rows", "it has 65 words, not up to 64 times 1");
    assert_eq!(resized(section::SHARED_ROWS, 65 * 4), many);
    assert_eq!(resized(section::ROOT, 91), section_fault("root", "it is not a valid archive"));
}

#[test]
fn the_root_of_an_index_is_checked_at_open() {
    // Words of the archived root, by the table in the documentation.
    let (class, states, start, classes) = (19, 21, 22, 23);
    let root = |word: usize, value: u32| {
        index_fault(&Parts::of(&SMALL.index).with_word(section::ROOT, word, value).file())
    };
    assert_eq!(root(class, 3), header_fault("class 3, which is unknown"));
    let class_without_calls = Fault::Meaning { what: "the class does not go with the sections".into() };
    assert_eq!(root(class, 1), class_without_calls);
    let counts = Fault::Meaning { what: "the root's counts of states and classes".into() };
    for (word, value) in
        [(classes, 0), (classes, 257), (start, 0), (start, 3), (start, u32::MAX), (states, 0), (states, 1)]
    {
        assert_eq!(root(word, value), counts, "word {word} = {value}");
    }
    // Products of counts do not overflow.
    let huge = root(states, u32::MAX);
    assert!(matches!(huge, Fault::Section { section, .. } if section == "transitions"));
}
