//! Classes of characters (ECMA-262, section 22.2.2.9).

use gobo_automata::CharSet;
use regex_syntax::hir::{Class, HirKind};

/// What `.` does not match.
const LINE_TERMINATORS: [(char, char); 3] = [('\n', '\n'), ('\r', '\r'), ('\u{2028}', '\u{2029}')];

/// `\d`.
const DIGITS: [(char, char); 1] = [('0', '9')];

/// `\w`.
const WORD: [(char, char); 4] = [('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')];

/// `\s`: white space and line terminators of the language.
const SPACE: [(char, char); 10] = [
    ('\t', '\r'),
    (' ', ' '),
    ('\u{a0}', '\u{a0}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{2000}', '\u{200a}'),
    ('\u{2028}', '\u{2029}'),
    ('\u{202f}', '\u{202f}'),
    ('\u{205f}', '\u{205f}'),
    ('\u{3000}', '\u{3000}'),
    ('\u{feff}', '\u{feff}'),
];

fn class(ranges: &[(char, char)]) -> CharSet {
    CharSet::new(ranges.iter().copied())
}

/// Every character.
pub(super) fn any() -> CharSet {
    class(&[('\0', char::MAX)])
}

/// The characters that `.` matches.
pub(super) fn dot() -> CharSet {
    class(&LINE_TERMINATORS).complement()
}

/// The characters of words, whose ends `\b` matches.
pub(super) fn word() -> CharSet {
    class(&WORD)
}

/// The class of an escape, if the letter has one.
pub(super) fn escaped(letter: char) -> Option<CharSet> {
    Some(match letter {
        'd' => class(&DIGITS),
        'D' => class(&DIGITS).complement(),
        'w' => word(),
        'W' => word().complement(),
        's' => class(&SPACE),
        'S' => class(&SPACE).complement(),
        _ => return None,
    })
}

/// The characters of a Unicode property, as `Lu` or `Script=Greek`; `None` if the tables do not have the name.
pub(super) fn property(name: &str) -> Option<CharSet> {
    // Other characters are syntax of the parser that is used here.
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'=')) {
        return None;
    }
    match regex_syntax::parse(&format!(r"\p{{{name}}}")).ok()?.into_kind() {
        HirKind::Class(Class::Unicode(class)) => Some(CharSet::from_class(&class)),
        // A class of one character is written as that character.
        HirKind::Literal(literal) => {
            let char = std::str::from_utf8(&literal.0).ok()?.chars().next()?;
            Some(class(&[(char, char)]))
        }
        _ => None,
    }
}
