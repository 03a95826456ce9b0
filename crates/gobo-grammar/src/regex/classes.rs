//! Sets of characters as Python's `re` knows them, in `str` patterns.

use gobo_automata::CharSet;
use regex_syntax::hir::{Class, HirKind};

/// Sets that a backslash and a letter stand for, of ASCII alone.
const ASCII_DIGITS: [(char, char); 1] = [('0', '9')];
const ASCII_WORD: [(char, char); 4] = [('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')];
const ASCII_SPACE: [(char, char); 2] = [('\t', '\r'), (' ', ' ')];

/// `str.isspace`: bidirectional types `WS`, `B` and `S`, and category `Zs`.
const SPACE: [(char, char); 11] = [
    ('\t', '\r'),
    ('\u{1c}', ' '),
    ('\u{85}', '\u{85}'),
    ('\u{a0}', '\u{a0}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{2000}', '\u{200a}'),
    ('\u{2028}', '\u{2028}'),
    ('\u{2029}', '\u{2029}'),
    ('\u{202f}', '\u{202f}'),
    ('\u{205f}', '\u{205f}'),
    ('\u{3000}', '\u{3000}'),
];

/// Characters that Python takes for cases of one letter, beyond simple case folding.
const DOTS: [char; 4] = ['I', 'i', '\u{130}', '\u{131}'];

fn set(ranges: &[(char, char)]) -> CharSet {
    CharSet::new(ranges.iter().copied())
}

/// Every character.
pub(super) fn any() -> CharSet {
    set(&[('\0', char::MAX)])
}

/// One character.
pub(super) fn one(char: char) -> CharSet {
    set(&[(char, char)])
}

/// `.` without the flag `s`.
pub(super) fn dot() -> CharSet {
    one('\n').complement()
}

/// `\w`: letters, what has a numeric value, and the underscore; no marks.
pub(super) fn word(is_ascii: bool) -> CharSet {
    if is_ascii { set(&ASCII_WORD) } else { table(r"[\p{L}\p{N}_]") }
}

/// `\w` of Rust's regular expressions, which Unicode's Annex C calls a word character: marks and connecting punctuation are some.
pub(super) fn rust_word(is_ascii: bool) -> CharSet {
    if is_ascii { set(&ASCII_WORD) } else { table(r"\w") }
}

/// The set of an escape, if the letter has one.
pub(super) fn escaped(letter: char, is_ascii: bool) -> Option<CharSet> {
    let positive = match letter.to_ascii_lowercase() {
        'd' if is_ascii => set(&ASCII_DIGITS),
        'd' => table(r"\p{Nd}"),
        's' if is_ascii => set(&ASCII_SPACE),
        's' => set(&SPACE),
        'w' => word(is_ascii),
        _ => return None,
    };
    Some(if letter.is_ascii_uppercase() { positive.complement() } else { positive })
}

/// A set of the Unicode tables.
fn table(class: &str) -> CharSet {
    let hir = regex_syntax::parse(class).expect("the class is one of this file");
    match hir.into_kind() {
        HirKind::Class(Class::Unicode(class)) => CharSet::from_class(&class),
        _ => unreachable!("the classes of this file have many characters"),
    }
}

/// A set and the other cases of its characters; of ASCII alone those of ASCII.
pub(crate) fn with_cases(set: &CharSet, is_ascii: bool) -> CharSet {
    if is_ascii {
        let letters = ('A'..='Z').chain('a'..='z').filter(|&letter| set.has(letter));
        let others = letters.map(|letter| {
            let other = if letter.is_ascii_uppercase() {
                letter.to_ascii_lowercase()
            } else {
                letter.to_ascii_uppercase()
            };
            (other, other)
        });
        return CharSet::new(set.char_ranges().chain(others));
    }
    let mut class = set.to_class();
    class.case_fold_simple();
    let folded = CharSet::from_class(&class);
    if DOTS.into_iter().any(|dot| folded.has(dot)) {
        return CharSet::new(folded.char_ranges().chain(DOTS.map(|dot| (dot, dot))));
    }
    folded
}
