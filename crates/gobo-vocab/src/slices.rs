//! Which slice a token belongs to. A part of `SLICE_SET_EPOCH`: whoever changes what is here bumps it.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};

use crate::build::{ByteSet, insert};

/// The slices, in the order of the file. A token belongs to the first that fits; each doc comment leaves out the ones
/// before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SliceKind {
    /// Not UTF-8 by itself: it begins or ends inside a character. The others are whole characters.
    Split,
    /// With an ASCII control character, which JSON strings and most lines of text do not hold.
    Control,
    /// With `"` or `\`, or with white space beyond ASCII.
    Quoted,
    /// `a` to `z` only.
    Lower,
    /// `a` to `z` and `A` to `Z` only.
    Letters,
    /// One space, then `a` to `z` and `A` to `Z` only, at least one of them.
    Spaced,
    /// Letters and marks of any script only.
    Foreign,
    /// One space, then letters and marks of any script only.
    SpacedForeign,
    /// Everything else.
    Other,
}

impl SliceKind {
    pub(crate) const ALL: [Self; 9] = [
        Self::Split,
        Self::Control,
        Self::Quoted,
        Self::Lower,
        Self::Letters,
        Self::Spaced,
        Self::Foreign,
        Self::SpacedForeign,
        Self::Other,
    ];

    /// The slice of a token.
    pub(crate) fn of(token: &[u8]) -> Self {
        let Ok(text) = std::str::from_utf8(token) else { return Self::Split };
        let is_foreign_space = |char: char| !char.is_ascii() && contains(&SPACES, char);
        if text.bytes().any(|byte| byte.is_ascii_control()) {
            return Self::Control;
        }
        if text.contains(['"', '\\']) || (!text.is_ascii() && text.contains(is_foreign_space)) {
            return Self::Quoted;
        }
        let unspaced = text.strip_prefix(' ');
        let word = unspaced.unwrap_or(text);
        let is_word = if word.is_ascii() {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic())
        } else {
            word.chars().all(|char| contains(&LETTERS_AND_MARKS, char))
        };
        match (unspaced.is_some(), word.is_ascii()) {
            _ if !is_word => Self::Other,
            (true, true) => Self::Spaced,
            (true, false) => Self::SpacedForeign,
            (false, true) if word.bytes().all(|byte| byte.is_ascii_lowercase()) => Self::Lower,
            (false, true) => Self::Letters,
            (false, false) => Self::Foreign,
        }
    }

    /// Of the bytes that occur in its tokens those of which every token has one.
    pub(crate) fn needs(self, occurring: &ByteSet) -> ByteSet {
        let mut needs = ByteSet::default();
        let occurs = |byte: u8| occurring[usize::from(byte >> 5)] >> (byte & 31) & 1 == 1;
        for byte in (0..=u8::MAX).filter(|&byte| occurs(byte)) {
            let is_needed = match self {
                Self::Split | Self::Foreign => !byte.is_ascii(),
                Self::Control => byte.is_ascii_control(),
                // A foreign space is told by the byte that it begins with.
                Self::Quoted => matches!(byte, b'"' | b'\\') || FOREIGN_SPACE_BEGINS.contains(&byte),
                Self::Letters => byte.is_ascii_uppercase(),
                Self::Spaced | Self::SpacedForeign => byte == b' ',
                Self::Lower | Self::Other => true,
            };
            if is_needed {
                insert(&mut needs, byte);
            }
        }
        needs
    }
}

/// Ascending ranges of characters.
type Chars = LazyLock<Vec<(char, char)>>;

static LETTERS_AND_MARKS: Chars = LazyLock::new(|| class(r"[\p{L}\p{M}]"));
static SPACES: Chars = LazyLock::new(|| class(r"\s"));

static FOREIGN_SPACE_BEGINS: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let chars = SPACES.iter().flat_map(|&(first, last)| first..=last).filter(|char| !char.is_ascii());
    chars.map(|char| char.encode_utf8(&mut [0; 4]).as_bytes()[0]).collect()
});

/// The characters of a class, by the Unicode tables of the pinned `regex-syntax`.
fn class(pattern: &str) -> Vec<(char, char)> {
    let hir = regex_syntax::parse(pattern).expect("a class that every version knows");
    match hir.kind() {
        HirKind::Class(Class::Unicode(class)) => {
            class.ranges().iter().map(|range| (range.start(), range.end())).collect()
        }
        other => unreachable!("a class of characters, not {other:?}"),
    }
}

fn contains(chars: &Chars, char: char) -> bool {
    let behind = chars.partition_point(|&(first, _)| first <= char);
    behind > 0 && char <= chars[behind - 1].1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_token_belongs_to_the_first_slice_that_fits() {
        let cases: &[(SliceKind, &[&[u8]])] = &[
            (SliceKind::Split, &[b"\xc3", b"\xa9a", b"a\n\xf0\x9f", b"\xff", b"\xed\xa0\x80"]),
            (SliceKind::Control, &[b"\0", b"\n", b"\r\n\"", b"\tx", b"\x1f", b"\x7f"]),
            (
                SliceKind::Quoted,
                &[b"\"", b"a\\", b"\"a \xc3\xa9", b"\xc2\xa0", b"a\xe3\x80\x80", b"\xc2\x85"],
            ),
            (SliceKind::Lower, &[b"a", b"xyz"]),
            (SliceKind::Letters, &[b"A", b"aB", b"HTTP"]),
            (SliceKind::Spaced, &[b" a", b" Ab"]),
            (
                SliceKind::Foreign,
                &["é".as_bytes(), "caf\u{e9}".as_bytes(), "e\u{301}".as_bytes(), "漢".as_bytes()],
            ),
            (SliceKind::SpacedForeign, &[" é".as_bytes(), " \u{301}".as_bytes(), " naïve".as_bytes()]),
            (SliceKind::Other, &[b" ", b"  a", b"a ", b"1", b"a-b", b" 1", "é ".as_bytes(), "…".as_bytes()]),
        ];
        for (kind, tokens) in cases {
            for token in *tokens {
                assert_eq!(SliceKind::of(token), *kind, "{:?}", token.escape_ascii().to_string());
            }
        }
    }
}
