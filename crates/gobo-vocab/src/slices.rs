//! Slices: sets of tokens that are alike, by the kinds of their characters. `SLICE_SET_EPOCH` rises with every change here.

use std::sync::LazyLock;

use gobo_types::ByteSet;
use regex_syntax::hir::{Class, ClassUnicode, HirKind};

/// The slices, in the order of the file. A token belongs to the first that fits; each doc comment leaves out the ones
/// before. *Letters* are those of Unicode (`L`), which marks (`M`) are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SliceKind {
    /// Not UTF-8 by itself: it begins or ends inside a character. The others are whole characters.
    Split,
    /// With a tab, a line break or another ASCII control character that is whitespace.
    Lines,
    /// With an ASCII control character, which no text in a JSON string holds.
    Control,
    /// With `"` or `\`, or with whitespace beyond ASCII.
    Quoted,
    /// `a` to `z` only.
    Lower,
    /// `a` to `z` and `A` to `Z` only.
    Letters,
    /// One space, then `a` to `z` only.
    SpacedLower,
    /// One space, then `a` to `z` and `A` to `Z` only.
    SpacedLetters,
    /// Letters of one script only; Latin ones may be ASCII.
    Latin,
    Cyrillic,
    Greek,
    Han,
    Hangul,
    /// Hiragana and Katakana.
    Kana,
    Arabic,
    Hebrew,
    Devanagari,
    Thai,
    /// Letters of any scripts only.
    Foreign,
    /// Letters and marks only.
    Marked,
    /// One space, then the slice of the rest of the name. Scripts that separate words have such a slice.
    SpacedLatin,
    SpacedCyrillic,
    SpacedGreek,
    SpacedHangul,
    SpacedArabic,
    SpacedHebrew,
    SpacedDevanagari,
    SpacedForeign,
    SpacedMarked,
    /// `0` to `9` only.
    Digits,
    /// `a` to `z`, `A` to `Z`, `0` to `9` and `_` only.
    Identifier,
    /// One space, then these.
    SpacedIdentifier,
    /// Without a space.
    Other,
    /// One space, then something without a space.
    SpacedOther,
    /// Everything else: a space alone, and all with a space that is not the first character.
    Blank,
}

/// A set of kinds of characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct CharKinds(u32);

impl CharKinds {
    const NONE: Self = Self(0);

    const fn single(number: u32) -> Self {
        Self(1 << number)
    }

    const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    const fn complement(self) -> Self {
        Self(!self.0)
    }

    const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    const fn is_subset_of(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }
}

const LOWER: CharKinds = CharKinds::single(0);
const UPPER: CharKinds = CharKinds::single(1);
const DIGIT: CharKinds = CharKinds::single(2);
const SPACE: CharKinds = CharKinds::single(3);
const CONTROL: CharKinds = CharKinds::single(4);
/// `"`, `\` and whitespace beyond ASCII.
const QUOTED: CharKinds = CharKinds::single(5);
const MARK: CharKinds = CharKinds::single(6);
/// Characters of no other kind.
const REST: CharKinds = CharKinds::single(7);
/// A part of a character beyond ASCII, whose kind is not known yet.
const PART: CharKinds = CharKinds::single(8);
/// Letters beyond ASCII.
const LATIN: CharKinds = CharKinds::single(9);
const CYRILLIC: CharKinds = CharKinds::single(10);
const GREEK: CharKinds = CharKinds::single(11);
const HAN: CharKinds = CharKinds::single(12);
const HANGUL: CharKinds = CharKinds::single(13);
const KANA: CharKinds = CharKinds::single(14);
const ARABIC: CharKinds = CharKinds::single(15);
const HEBREW: CharKinds = CharKinds::single(16);
const DEVANAGARI: CharKinds = CharKinds::single(17);
const THAI: CharKinds = CharKinds::single(18);
const LETTER: CharKinds = CharKinds::single(19);
const UNDERSCORE: CharKinds = CharKinds::single(20);
/// The control characters that are whitespace.
const LINE: CharKinds = CharKinds::single(21);

/// The kinds beyond ASCII. A character belongs to the first whose class has it.
const CLASSES: [(CharKinds, &str); 13] = [
    (LATIN, r"[\p{L}&&\p{Latin}]"),
    (CYRILLIC, r"[\p{L}&&\p{Cyrillic}]"),
    (GREEK, r"[\p{L}&&\p{Greek}]"),
    (HAN, r"[\p{L}&&\p{Han}]"),
    (HANGUL, r"[\p{L}&&\p{Hangul}]"),
    (KANA, r"[\p{L}&&[\p{Hiragana}\p{Katakana}]]"),
    (ARABIC, r"[\p{L}&&\p{Arabic}]"),
    (HEBREW, r"[\p{L}&&\p{Hebrew}]"),
    (DEVANAGARI, r"[\p{L}&&\p{Devanagari}]"),
    (THAI, r"[\p{L}&&\p{Thai}]"),
    (LETTER, r"\p{L}"),
    (MARK, r"\p{M}"),
    (QUOTED, r"\s"),
];

const ASCII_LETTERS: CharKinds = LOWER.union(UPPER);
const LETTERS: CharKinds = ASCII_LETTERS
    .union(LATIN)
    .union(CYRILLIC)
    .union(GREEK)
    .union(HAN)
    .union(HANGUL)
    .union(KANA)
    .union(ARABIC)
    .union(HEBREW)
    .union(DEVANAGARI)
    .union(THAI)
    .union(LETTER);

/// Sets of kinds, with the slices of the words made of them: without a space before the word, and with one. A word belongs to
/// the first that fits.
const WORDS: [(CharKinds, Option<SliceKind>, Option<SliceKind>); 17] = {
    use SliceKind as Kind;
    [
        (LOWER, Some(Kind::Lower), Some(Kind::SpacedLower)),
        (ASCII_LETTERS, Some(Kind::Letters), Some(Kind::SpacedLetters)),
        (ASCII_LETTERS.union(LATIN), Some(Kind::Latin), Some(Kind::SpacedLatin)),
        (CYRILLIC, Some(Kind::Cyrillic), Some(Kind::SpacedCyrillic)),
        (GREEK, Some(Kind::Greek), Some(Kind::SpacedGreek)),
        (HAN, Some(Kind::Han), None),
        (HANGUL, Some(Kind::Hangul), Some(Kind::SpacedHangul)),
        (KANA, Some(Kind::Kana), None),
        (ARABIC, Some(Kind::Arabic), Some(Kind::SpacedArabic)),
        (HEBREW, Some(Kind::Hebrew), Some(Kind::SpacedHebrew)),
        (DEVANAGARI, Some(Kind::Devanagari), Some(Kind::SpacedDevanagari)),
        (THAI, Some(Kind::Thai), None),
        (LETTERS, Some(Kind::Foreign), Some(Kind::SpacedForeign)),
        (LETTERS.union(MARK), Some(Kind::Marked), Some(Kind::SpacedMarked)),
        (DIGIT, Some(Kind::Digits), None),
        (ASCII_LETTERS.union(DIGIT).union(UNDERSCORE), Some(Kind::Identifier), Some(Kind::SpacedIdentifier)),
        (SPACE.complement(), Some(Kind::Other), Some(Kind::SpacedOther)),
    ]
};

impl SliceKind {
    pub(crate) const COUNT: usize = 35;

    pub(crate) const ALL: [Self; Self::COUNT] = [
        Self::Split,
        Self::Lines,
        Self::Control,
        Self::Quoted,
        Self::Lower,
        Self::Letters,
        Self::SpacedLower,
        Self::SpacedLetters,
        Self::Latin,
        Self::Cyrillic,
        Self::Greek,
        Self::Han,
        Self::Hangul,
        Self::Kana,
        Self::Arabic,
        Self::Hebrew,
        Self::Devanagari,
        Self::Thai,
        Self::Foreign,
        Self::Marked,
        Self::SpacedLatin,
        Self::SpacedCyrillic,
        Self::SpacedGreek,
        Self::SpacedHangul,
        Self::SpacedArabic,
        Self::SpacedHebrew,
        Self::SpacedDevanagari,
        Self::SpacedForeign,
        Self::SpacedMarked,
        Self::Digits,
        Self::Identifier,
        Self::SpacedIdentifier,
        Self::Other,
        Self::SpacedOther,
        Self::Blank,
    ];

    /// The slice of a token, in one pass over its bytes; characters beyond ASCII are decoded.
    pub(crate) fn of(token: &[u8]) -> Self {
        let spaced = token.strip_prefix(b" ");
        let word = spaced.unwrap_or(token);
        let ascii = word.iter().map(|&byte| ASCII[usize::from(byte)]);
        let mut kinds = ascii.fold(CharKinds::NONE, CharKinds::union);
        if kinds.intersects(PART) {
            let Ok(text) = std::str::from_utf8(word) else { return Self::Split };
            let beyond = text.chars().filter(|char| !char.is_ascii()).map(|char| BEYOND.of(char));
            kinds = beyond.fold(kinds.without(PART), CharKinds::union);
        }
        if kinds.intersects(LINE) {
            return Self::Lines;
        }
        if kinds.intersects(CONTROL) {
            return Self::Control;
        }
        if kinds.intersects(QUOTED) {
            return Self::Quoted;
        }
        let words = WORDS.iter().filter(|(may, ..)| !word.is_empty() && kinds.is_subset_of(*may));
        let mut slices =
            words.filter_map(|&(_, alone, after_space)| if spaced.is_some() { after_space } else { alone });
        slices.next().unwrap_or(Self::Blank)
    }

    /// The character with which all its tokens begin, and after which each has more.
    pub(crate) fn lead(self) -> Option<u32> {
        WORDS.iter().any(|(.., after_space)| *after_space == Some(self)).then_some(u32::from(' '))
    }

    /// Bytes, among those that occur in its tokens, of which every token has at least one.
    pub(crate) fn needs(self, occurring: &ByteSet) -> ByteSet {
        let mut needs = ByteSet::default();
        for byte in occurring.bytes() {
            let is_needed = match self {
                _ if self.lead().is_some() => byte == b' ',
                Self::Lines => (b'\t'..=b'\r').contains(&byte),
                Self::Control => byte.is_ascii_control(),
                // A space beyond ASCII is recognised by its first byte.
                Self::Quoted => matches!(byte, b'"' | b'\\') || FOREIGN_SPACE_BEGINS[usize::from(byte)],
                Self::Lower | Self::Digits => true,
                Self::Letters => byte.is_ascii_uppercase(),
                Self::Identifier => byte.is_ascii_digit() || byte == b'_',
                Self::Other => !byte.is_ascii_alphabetic(),
                Self::Blank => byte == b' ',
                // Not text, or not all ASCII.
                _ => !byte.is_ascii(),
            };
            if is_needed {
                needs.insert(byte);
            }
        }
        needs
    }
}

/// `[bytes]`: the kind of each as a character of ASCII.
static ASCII: [CharKinds; 256] = {
    let mut kinds = [PART; 256];
    let mut byte = 0_u8;
    while byte.is_ascii() {
        kinds[byte as usize] = match byte {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b' ' => SPACE,
            b'"' | b'\\' => QUOTED,
            b'_' => UNDERSCORE,
            b'\t'..=b'\r' => LINE,
            0..=0x1f | 0x7f => CONTROL,
            _ => REST,
        };
        byte += 1;
    }
    kinds
};

/// The kind of every character.
struct Kinds {
    /// The last character of each range of one kind, ascending up to the last of all characters.
    ends: Vec<char>,
    kinds: Vec<CharKinds>,
}

impl Kinds {
    fn of(&self, char: char) -> CharKinds {
        self.kinds[self.ends.partition_point(|&end| end < char)]
    }
}

static BEYOND: LazyLock<Kinds> = LazyLock::new(|| {
    let mut ranges: Vec<(char, char, CharKinds)> = Vec::new();
    let mut rest = class(r"\p{Any}");
    for (kind, pattern) in CLASSES {
        let mut found = class(pattern);
        found.intersect(&rest);
        rest.difference(&found);
        ranges.extend(found.ranges().iter().map(|range| (range.start(), range.end(), kind)));
    }
    ranges.extend(rest.ranges().iter().map(|range| (range.start(), range.end(), REST)));
    ranges.sort_unstable();
    let (mut ends, mut kinds) = (Vec::new(), Vec::new());
    for (_, end, kind) in ranges {
        if kinds.last() == Some(&kind) {
            ends.pop();
        } else {
            kinds.push(kind);
        }
        ends.push(end);
    }
    Kinds { ends, kinds }
});

/// `[bytes]`: whether whitespace beyond ASCII begins with it.
static FOREIGN_SPACE_BEGINS: LazyLock<[bool; 256]> = LazyLock::new(|| {
    let mut begins = [false; 256];
    let spaces = class(r"\s");
    let chars = spaces.ranges().iter().flat_map(|range| range.start()..=range.end());
    for char in chars.filter(|char| !char.is_ascii()) {
        begins[usize::from(char.encode_utf8(&mut [0; 4]).as_bytes()[0])] = true;
    }
    begins
});

/// The characters of a class, by the Unicode tables of the pinned `regex-syntax`.
fn class(pattern: &str) -> ClassUnicode {
    let hir = regex_syntax::parse(pattern).expect("a class that every version knows");
    match hir.into_kind() {
        HirKind::Class(Class::Unicode(class)) => class,
        other => unreachable!("a class of characters, not {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;
    use regex_automata::meta::Regex;

    use super::*;

    #[test]
    fn each_token_belongs_to_the_first_slice_that_fits() {
        let split: &[&[u8]] = &[b"\xc3", b"\xa9a", b"a\n\xf0\x9f", b"\xff", b"\xed\xa0\x80", b" \xc3"];
        for token in split {
            assert_eq!(SliceKind::of(token), SliceKind::Split, "{:?}", token.escape_ascii().to_string());
        }
        let cases: &[(SliceKind, &[&str])] = &[
            (SliceKind::Lines, &["\n", "\r\n\"", "\tx", " \n", "é\n", "\x0b", "\0\n"]),
            (SliceKind::Control, &["\0", "\x1f", "\x7f", "\x08\"", "\x0e"]),
            (
                SliceKind::Quoted,
                &["\"", "a\\", "\"a é", "\u{a0}", "a\u{3000}", "\u{85}", " \"", "  \"", "é\""],
            ),
            (SliceKind::Lower, &["a", "xyz"]),
            (SliceKind::Letters, &["A", "aB", "HTTP"]),
            (SliceKind::SpacedLower, &[" a", " xyz"]),
            (SliceKind::SpacedLetters, &[" A", " aB"]),
            (SliceKind::Latin, &["é", "café", "ÀB", "ǅ", "ª"]),
            (SliceKind::Cyrillic, &["да", "Ж"]),
            (SliceKind::Greek, &["ω", "Σς"]),
            (SliceKind::Han, &["漢字", "𠀀"]),
            (SliceKind::Hangul, &["한", "ㅏ"]),
            (SliceKind::Kana, &["か", "カ", "かナ"]),
            (SliceKind::Arabic, &["سلام"]),
            (SliceKind::Hebrew, &["שלום"]),
            (SliceKind::Devanagari, &["नमन"]),
            (SliceKind::Thai, &["กขา"]),
            // Other scripts, several of them, and what is of no script: the sound mark of Kana.
            (SliceKind::Foreign, &["ა", "漢か", "aж", "éж", "カー", "\u{2b9}"]),
            (SliceKind::Marked, &["e\u{301}", "\u{301}", "กำลัง\u{e34}", "नि", "a漢\u{301}"]),
            (SliceKind::SpacedLatin, &[" é", " naïve"]),
            (SliceKind::SpacedCyrillic, &[" да"]),
            (SliceKind::SpacedGreek, &[" ω"]),
            (SliceKind::SpacedHangul, &[" 한"]),
            (SliceKind::SpacedArabic, &[" سلام"]),
            (SliceKind::SpacedHebrew, &[" שלום"]),
            (SliceKind::SpacedDevanagari, &[" नमन"]),
            (SliceKind::SpacedForeign, &[" 漢", " か", " ก", " ა", " aж"]),
            (SliceKind::SpacedMarked, &[" \u{301}", " नि"]),
            (SliceKind::Digits, &["0", "42"]),
            (SliceKind::Identifier, &["a1", "_", "__init__", "1_000", "A_"]),
            (SliceKind::SpacedIdentifier, &[" 1", " a1", " _x"]),
            (SliceKind::Other, &["a-b", "…", "٣", "é.", "漢1", "😀", "é_"]),
            (SliceKind::SpacedOther, &[" (", " …", " é.", " ٣", " a."]),
            (SliceKind::Blank, &[" ", "  ", "  a", "a ", " a b", "é ", "  é", "1 "]),
        ];
        for (kind, tokens) in cases {
            for token in *tokens {
                assert_eq!(SliceKind::of(token.as_bytes()), *kind, "{token:?}");
            }
        }
        let shown: Vec<SliceKind> = cases.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(shown, SliceKind::ALL[1..]);
    }

    #[test]
    fn the_number_of_a_kind_is_its_position() {
        for (position, kind) in SliceKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, position);
        }
        assert_eq!(SliceKind::COUNT, gobo_artifact::layout::MAX_SLICES);
    }

    /// The list of `docs/FORMAT.md` as patterns, in order.
    static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
        let script = |class: &str, ascii: &str| format!(r"[\p{{L}}&&[{class}{ascii}]]+");
        let class = |script: &str| format!(r"\p{{{script}}}");
        let latin = script(r"\p{Latin}", "A-Za-z");
        let mut patterns = vec![r"[\s\S]*[\t-\r][\s\S]*".into(), r"[\s\S]*[\x00-\x1f\x7f][\s\S]*".into()];
        patterns.push(r#"[\s\S]*["\\\s&&[^ ]][\s\S]*"#.into());
        patterns.extend(["[a-z]+", "[a-zA-Z]+", " [a-z]+", " [a-zA-Z]+"].map(String::from));
        patterns.push(latin.clone());
        patterns.extend(["Cyrillic", "Greek", "Han", "Hangul"].map(|name| script(&class(name), "")));
        patterns.push(script(r"\p{Hiragana}\p{Katakana}", ""));
        patterns.extend(["Arabic", "Hebrew", "Devanagari", "Thai"].map(|name| script(&class(name), "")));
        patterns.extend([r"\p{L}+", r"[\p{L}\p{M}]+"].map(String::from));
        patterns.push(format!(" {latin}"));
        let spaced = ["Cyrillic", "Greek", "Hangul", "Arabic", "Hebrew", "Devanagari"];
        patterns.extend(spaced.map(|name| format!(" {}", script(&class(name), ""))));
        patterns.extend(
            [r" \p{L}+", r" [\p{L}\p{M}]+", "[0-9]+", "[0-9A-Za-z_]+", " [0-9A-Za-z_]+"].map(String::from),
        );
        patterns.extend(["[^ ]+", " [^ ]+", r"[\s\S]*"].map(String::from));
        patterns.iter().map(|pattern| Regex::new(&format!(r"\A(?:{pattern})\z")).unwrap()).collect()
    });

    proptest! {
        /// Told by tables of characters, a slice is the one whose pattern is the first to match.
        #[test]
        fn slices_are_the_patterns_of_the_documentation(
            token in prop_oneof![
                " {0,2}[a-z]{0,3}[A-Z]{0,2}[0-9_]{0,2}[éю]{0,2} {0,1}",
                " ?(\\p{Latin}{0,3}|\\p{Cyrillic}{1,3}|\\p{Greek}{1,3}|\\p{Hangul}{1,3}|\\p{Kana}{1,3})",
                " ?(\\p{Arabic}{1,3}|\\p{Hebrew}{1,3}|\\p{Devanagari}{1,3}|\\p{Thai}{1,3}|\\p{Han}{1,3})",
                " ?[\\p{L}\\p{M}]{1,3}",
                "[\\s\"\\\\\u{0}-\u{1f}a ]{1,3}",
                "\\PC{1,4}",
            ].prop_filter("a token has bytes", |token| !token.is_empty()),
        ) {
            let number = PATTERNS.iter().position(|pattern| pattern.is_match(&token)).unwrap();
            let kind = SliceKind::of(token.as_bytes());
            prop_assert_eq!(kind, SliceKind::ALL[1 + number], "{:?}", token);
            let rest = token.strip_prefix(' ').filter(|rest| !rest.is_empty());
            prop_assert!(kind.lead().is_none() || rest.is_some());
            // Each token has one of the bytes that its slice needs.
            let mut occurring = ByteSet::default();
            token.bytes().for_each(|byte| occurring.insert(byte));
            prop_assert_ne!(kind.needs(&occurring), ByteSet::default(), "{:?} of {:?}", token, kind);
        }
    }

    #[test]
    fn each_character_has_one_kind() {
        let mut classes: HashMap<CharKinds, ClassUnicode> = HashMap::new();
        for (kind, pattern) in CLASSES {
            classes.insert(kind, class(pattern));
        }
        assert_eq!(BEYOND.ends.last(), Some(&char::MAX));
        assert!(BEYOND.ends.is_sorted_by(|one, next| one < next));
        let first = |char: char| {
            let of = |kind: &CharKinds| {
                classes[kind].ranges().iter().any(|range| (range.start()..=range.end()).contains(&char))
            };
            CLASSES.iter().map(|(kind, _)| *kind).find(|kind| of(kind)).unwrap_or(REST)
        };
        // Around each bound, and not all characters.
        for &end in &BEYOND.ends {
            let around = [end as u32 - 1, end as u32, end as u32 + 1];
            for char in around.into_iter().filter_map(char::from_u32) {
                assert_eq!(BEYOND.of(char), first(char), "{char:?}");
            }
        }
    }
}
