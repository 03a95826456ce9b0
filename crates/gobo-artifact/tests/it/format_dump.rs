//! The worked example of `docs/FORMAT.md`, made again and compared.

use std::fmt::Write;

use gobo_artifact::layout::{HEADER_PREFIX_BYTES, SECTION_ENTRY_BYTES, section};
use gobo_artifact::{Index, Vocabulary};
use gobo_types::Constraint;

use crate::example;

const TOKENS: &[(&[u8], bool)] = &[(b"a", false), (b"b", false), (b"ab", false), (b"<eos>", true)];
const PATTERN: &str = "(ab)*";

/// Any change to the compiler's bytes must bump `COMPILER_EPOCH`: otherwise two hosts hold different files under one
/// key. Whoever changes one of these values bumps it too.
const VOCABULARY_DIGEST: &str = "e924e4ef1f94dbce217e03e40b2690b8bb20b8412704fd878dd89b2a80a38f1a";
const VOCABULARY_FILE_DIGEST: &str = "d39939e5fd37b2674dea5615e51320979ee3be7d59065465c27f86845fe7e37e";
const INDEX_KEY: &str = "043438a0e46120e6f85b440dfe68f092dfe915f81a8e9f6d951ab3f01ece2c3a";
const INDEX_FILE_DIGEST: &str = "1aacaa99882cb9ae323ce368ac6013ec92013080b22a85b7ace020736cb7c7e3";

/// Prints a file field by field. Every byte is printed exactly once.
struct Dump<'a> {
    file: &'a [u8],
    at: usize,
    out: String,
}

impl<'a> Dump<'a> {
    fn new(file: &'a [u8]) -> Self {
        Self { file, at: 0, out: String::new() }
    }

    /// The next `length` bytes, sixteen to the line; the note stands beside the first line.
    fn field(&mut self, length: usize, note: impl AsRef<str>) -> &'a [u8] {
        let bytes = &self.file[self.at..self.at + length];
        for (line, chunk) in bytes.chunks(16).enumerate() {
            let hex: Vec<String> = chunk.iter().map(|byte| format!("{byte:02x}")).collect();
            let note = if line == 0 { note.as_ref() } else { "" };
            let row = format!("{:04x}  {:47}  {note}", self.at + 16 * line, hex.join(" "));
            writeln!(self.out, "{}", row.trim_end()).unwrap();
        }
        self.at += length;
        bytes
    }

    /// A little-endian number, and what it means.
    fn number(&mut self, width: usize, note: impl FnOnce(u64) -> String) -> u64 {
        let mut wide = [0; 8];
        wide[..width].copy_from_slice(&self.file[self.at..self.at + width]);
        let number = u64::from_le_bytes(wide);
        self.field(width, note(number));
        number
    }

    fn named(&mut self, width: usize, name: &str) {
        self.number(width, |number| format!("{name}: {number}"));
    }

    fn title(&mut self, title: &str) {
        writeln!(self.out, "\n      -- {title} --").unwrap();
    }

    fn header(&mut self, kind: &str, sections: &[gobo_artifact::layout::Section]) {
        self.out.push_str("      -- header --\n");
        self.field(8, "magic: \\x89 \"gobo\" \\r \\n \\x1a");
        self.named(4, "format version");
        self.number(4, |code| format!("kind: {code}, {kind}"));
        self.named(4, "sections");
        self.number(4, |n| {
            format!("header length: {n} = {HEADER_PREFIX_BYTES} + {} * {SECTION_ENTRY_BYTES}", sections.len())
        });
        self.named(8, "file length");
        self.field(32, "key");
        self.field(32, "reserved, zero");
        self.field(32, "blake3 of the header with zeros in this place");
        for section in sections {
            self.number(4, |kind| format!("section {kind}: {}", section.name()));
            self.number(4, |storage| format!("  storage: {storage}"));
            self.number(8, |offset| format!("  offset: {offset:#06x}"));
            self.number(8, |length| format!("  length: {length}"));
            self.field(8, "  reserved, zero");
            self.field(32, "  blake3 of the section");
        }
    }

    fn section(&mut self, section: &gobo_artifact::layout::Section, body: impl FnOnce(&mut Self)) {
        let begin = usize::try_from(section.offset).unwrap();
        if begin > self.at {
            self.field(begin - self.at, "padding, zero");
        }
        self.title(section.name());
        body(self);
        assert_eq!(self.at as u64, section.offset + section.length, "section {}", section.name());
    }

    fn finish(self) -> String {
        assert_eq!(self.at, self.file.len());
        self.out
    }
}

fn text(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

/// The members of a bit set over `u32` words.
fn members(words: &[u8]) -> String {
    let bits = (0..words.len() * 8).filter(|bit| words[bit / 8] >> (bit % 8) & 1 == 1);
    bits.map(|bit| bit.to_string()).collect::<Vec<_>>().join(", ")
}

fn vocabulary_dump(file: &[u8]) -> String {
    let vocabulary = Vocabulary::from_bytes(file).unwrap();
    let sections = vocabulary.artifact().sections();
    let trie = vocabulary.trie();
    let mut dump = Dump::new(file);
    dump.header("vocabulary", sections);
    for section in sections {
        dump.section(section, |dump| match section.kind {
            section::ROOT => {
                for name in ["vocabulary length", "tokens", "ordinary tokens", "special"] {
                    dump.named(4, name);
                }
                for name in ["longest token in bytes", "longest token in characters"] {
                    dump.named(4, name);
                }
                for name in ["longest token that begins inside a character", "trie nodes"] {
                    dump.named(4, name);
                }
                dump.field(32, "spellable bytes: a = bit 1 of word 3, b = bit 2");
                dump.field(32, "bytes that are a token: a, b");
            }
            section::TOKEN_OFFSETS => {
                for id in 0..vocabulary.len() {
                    dump.number(4, |at| format!("id {id} begins at {at}"));
                }
                dump.named(4, "end");
            }
            section::TOKEN_BYTES => {
                for id in 0..vocabulary.len() {
                    let bytes = vocabulary.bytes(id);
                    dump.field(bytes.len(), format!("id {id}: \"{}\"", text(bytes)));
                }
            }
            section::SPECIAL => {
                let words = &dump.file[dump.at..dump.at + 4];
                dump.field(4, format!("special ids: {}", members(words)));
            }
            section::TRIE => {
                for (number, node) in trie.nodes.iter().enumerate() {
                    let edge = text(&[node.byte()]);
                    let last = if node.is_last() { ", last of its block" } else { "" };
                    let children = node
                        .children()
                        .map_or("no children".into(), |child| format!("children from node {child}"));
                    let first = node.first;
                    dump.field(
                        8,
                        format!("node {number}: edge \"{edge}\"{last}, {children}, first id at {first}"),
                    );
                }
            }
            section::TRIE_ORDER => {
                for position in 0..trie.order.len() {
                    dump.number(4, |id| format!("{position}: id {id}"));
                }
            }
            section::TRIE_SET_IDS => {
                for node in 0..trie.set_ids.len() {
                    dump.number(2, |set| format!("node {node}: set {set}, no bound is kept"));
                }
            }
            section::TRIE_SETS => {
                dump.field(32, "set 0: all bytes");
            }
            section::SLICES => {
                dump.named(4, "slice 0, of lower-case letters: first trie node");
                for name in ["ids: from position", "to", "characters of its longest token"] {
                    dump.named(4, name);
                }
                for name in ["character ranges: from", "to", "first bitmap", "long tokens: from", "to"] {
                    dump.named(4, name);
                }
                dump.named(4, "lead, none");
                dump.field(32, "every token has one of the bytes: a, b");
            }
            section::SLICE_CHARS => {
                dump.field(8, "characters U+0061 to U+0062");
            }
            section::SLICE_ROWS => {
                for name in ["all", "at most 1 character", "at most 2 characters"] {
                    let words = &dump.file[dump.at..dump.at + 4];
                    dump.field(4, format!("{name}: ids {}", members(words)));
                }
            }
            section::SLICE_LONG => dump.out.push_str("      empty\n"),
            section::SHARED_ROWS => {
                for number in 0..section.length / 4 {
                    let words = &dump.file[dump.at..dump.at + 4];
                    dump.field(4, format!("shared row {number}: ids {}", members(words)));
                }
            }
            other => panic!("section {other} is new: show it"),
        });
    }
    dump.finish()
}

fn index_dump(file: &[u8], vocabulary: &Vocabulary) -> String {
    let index = Index::from_bytes(file).unwrap();
    let sections = index.artifact().sections();
    let mut dump = Dump::new(file);
    dump.header("index", sections);
    for section in sections {
        dump.section(section, |dump| match section.kind {
            section::ROOT => index_root(dump),
            section::REPORT => report(dump, usize::try_from(section.length).unwrap()),
            section::CONSTRAINT => {
                dump.field(PATTERN.len(), format!("\"{}\"", index.constraint_text()));
            }
            section::CONSTRAINT_OPTIONS => {
                let options = Constraint::regex(PATTERN).options_json();
                dump.field(options.len(), options);
            }
            section::BYTE_CLASSES => {
                for from in (0..256).step_by(16) {
                    let classes = &dump.file[dump.at..dump.at + 16];
                    let other: Vec<String> = (from..)
                        .zip(classes)
                        .filter(|(_, class)| **class != 0)
                        .map(|(byte, class)| {
                            format!("{} is class {class}", text(&[u8::try_from(byte).unwrap()]))
                        })
                        .collect();
                    dump.field(
                        16,
                        format!("bytes {from:#04x}..: {}", other.join(", ")).trim_end_matches([':', ' ']),
                    );
                }
            }
            section::TRANSITIONS => {
                for state in 0..index.states() {
                    let row: Vec<String> = (0..index.root().classes)
                        .map(|class| {
                            let at = dump.at + 2 * class as usize;
                            u16::from_le_bytes([dump.file[at], dump.file[at + 1]]).to_string()
                        })
                        .collect();
                    let note = format!("state {state}: by class to {}", row.join(", "));
                    dump.field(2 * row.len(), note);
                }
            }
            section::STATES => {
                for state in 0..index.states() {
                    let row = index.row_number(state).map_or("no row".into(), |row| format!("row {row}"));
                    let complete = if index.is_complete(state) { "complete" } else { "not complete" };
                    dump.field(4, format!("state {state}: {row}, {complete}"));
                }
            }
            section::ROW_TABLE => {
                for number in 0..index.rows() {
                    let ids = index.row(vocabulary, number).unwrap().ids(index.row_words());
                    let kind = ["dense", "none", "patched"][dump.file[dump.at] as usize];
                    dump.field(
                        16,
                        format!("row {number}: kind, offset, length, base; {kind}, allows {ids:?}"),
                    );
                }
            }
            section::DENSE_ROWS => {
                for number in 0..section.length / 4 {
                    let words = &dump.file[dump.at..dump.at + 4];
                    let number = number + u64::from(index.root().shared_rows);
                    dump.field(4, format!("dense row {number}: ids {}", members(words)));
                }
            }
            section::TRANSITION_ROWS | section::ROW_PATCHES => {
                assert_eq!(section.length, 0, "show section {}", section.name());
                dump.out.push_str("      empty\n");
            }
            other => panic!("section {other} is new: show it"),
        });
    }
    dump.finish()
}

fn index_root(dump: &mut Dump<'_>) {
    dump.field(32, "vocabulary digest");
    dump.field(32, "constraint digest");
    dump.field(8, "constraint kind: \"regex\", short enough to lie inline");
    dump.named(4, "compiler epoch");
    dump.number(4, |class| format!("class: {class}, regular"));
    for name in
        ["vocabulary length", "states", "start", "byte classes", "rows", "row computations", "shared rows"]
    {
        dump.named(4, name);
    }
    dump.field(32, "blake3 of the shared rows");
}

fn report(dump: &mut Dump<'_>, length: usize) {
    // The archive ends with its root: six vectors, each a distance back to its entries and their number.
    let end = dump.at + length;
    while dump.at < end - 48 {
        let next = (end - 48 - dump.at).min(16);
        let shown = text(&dump.file[dump.at..dump.at + next]).replace("\\x00", ".").replace("\\xff", ".");
        dump.field(next, format!("strings and entries: {shown}"));
    }
    for list in ["enforced", "narrowed", "unspellable", "annotations", "widened", "notes"] {
        let number = u32::from_le_bytes(dump.file[dump.at + 4..dump.at + 8].try_into().unwrap());
        dump.field(8, format!("{list}: distance, {number} entries"));
    }
}

#[test]
fn the_worked_example_in_the_documentation_is_what_is_written() {
    let (vocabulary, index) = example::build(TOKENS, &Constraint::regex(PATTERN));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/FORMAT.md");
    let document = std::fs::read_to_string(path).unwrap();
    let opened = Vocabulary::from_bytes(&vocabulary).unwrap();
    for (name, dump) in [("vocabulary", vocabulary_dump(&vocabulary)), ("index", index_dump(&index, &opened))]
    {
        let block = format!("```text\n{dump}```\n");
        assert!(document.contains(&block), "the dump of the {name} in docs/FORMAT.md should be\n\n{block}");
    }
}

#[test]
fn the_bytes_of_the_example_are_pinned() {
    let (vocabulary, index) = example::build(TOKENS, &Constraint::regex(PATTERN));
    let vocabulary = Vocabulary::from_bytes(&vocabulary).unwrap();
    let index = Index::from_bytes(&index).unwrap();
    let found = [
        vocabulary.digest().to_string(),
        vocabulary.artifact().digest().to_string(),
        index.key().to_string(),
        index.artifact().digest().to_string(),
    ];
    assert_eq!(
        found,
        [VOCABULARY_DIGEST, VOCABULARY_FILE_DIGEST, INDEX_KEY, INDEX_FILE_DIGEST],
        "any change to the compiler's bytes must bump COMPILER_EPOCH"
    );
}
