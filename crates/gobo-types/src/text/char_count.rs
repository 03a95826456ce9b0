//! The characters of a JSON string's value, counted along the bytes of its text.
//!
//! A character of the value may be one of the text (`é`), or several (`\n`, `\u00e9`, and `\ud83d\ude00`, which is one character by
//! two escapes of UTF-16 units: RFC 8259, section 7). It is counted at its first byte. Only the place inside an escape is kept
//! beside the number, so that a count is one word, and a byte costs a comparison or two. Texts are those of sound strings, without
//! their quotes: of others nothing is promised but that some number comes out.

/// How many characters have begun, and the place inside an escape.
///
/// ```
/// use gobo_types::CharCount;
///
/// let chars = |text: &str| text.bytes().fold(CharCount::default(), CharCount::after).chars();
/// assert_eq!(chars("aé"), 2);
/// assert_eq!(chars(r"\n\u00e9\ud83d\ude00"), 3);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CharCount(u32);

/// Bits of the place.
const PLACE_BITS: u32 = 4;

/// Between two characters, or inside one of several bytes.
const BETWEEN: u32 = 0;
/// After a backslash.
const ESCAPE: u32 = 1;
/// After `\u`: the first digit of a unit, which may be the first of a pair.
const UNIT: u32 = 2;
/// After a first digit `d`.
const UNIT_D: u32 = 3;
/// Three, two, and one digit of a unit to come that ends the character.
const THREE: u32 = 4;
const TWO: u32 = 5;
const ONE: u32 = 6;
/// Two digits and one digit of the first unit of a pair to come.
const PAIR_TWO: u32 = 7;
const PAIR_ONE: u32 = 8;
/// The backslash, the `u` and the first digit of the second unit of a pair to come.
const PAIR_ESCAPE: u32 = 9;
const PAIR_U: u32 = 10;
const PAIR_UNIT: u32 = 11;

impl CharCount {
    /// The greatest number that is told from greater ones.
    pub const MAX_CHARS: u32 = u32::MAX >> PLACE_BITS;

    /// The count of a number of characters, between two of them. At most [`Self::MAX_CHARS`].
    pub const fn of(chars: u32) -> Self {
        let chars = if chars > Self::MAX_CHARS { Self::MAX_CHARS } else { chars };
        Self(chars << PLACE_BITS)
    }

    /// Characters that have begun.
    #[inline]
    pub fn chars(self) -> u32 {
        self.0 >> PLACE_BITS
    }

    /// The place alone, as the count of no characters.
    #[inline]
    #[must_use]
    pub fn place(self) -> Self {
        Self(self.0 & ((1 << PLACE_BITS) - 1))
    }

    /// The count with no more characters than `chars`, at the same place.
    #[must_use]
    pub fn at_most(self, chars: u32) -> Self {
        if self.chars() > chars { Self(Self::of(chars).0 | self.place().0) } else { self }
    }

    /// The word that stands for it in a file: the number of characters times 16, and the place.
    #[inline]
    pub fn word(self) -> u32 {
        self.0
    }

    /// The count after one byte more. O(1).
    #[inline]
    #[must_use]
    pub fn after(self, byte: u8) -> Self {
        let place = self.0 & ((1 << PLACE_BITS) - 1);
        if place == BETWEEN {
            let begins = !(0x80..0xC0).contains(&byte) && self.chars() < Self::MAX_CHARS;
            return Self(self.0 + (u32::from(begins) << PLACE_BITS) + u32::from(byte == b'\\'));
        }
        let next = match place {
            ESCAPE if byte == b'u' => UNIT,
            UNIT if byte | 0x20 == b'd' => UNIT_D,
            UNIT | PAIR_UNIT => THREE,
            UNIT_D if matches!(byte, b'8' | b'9' | b'a' | b'b' | b'A' | b'B') => PAIR_TWO,
            UNIT_D | THREE => TWO,
            TWO => ONE,
            PAIR_TWO => PAIR_ONE,
            PAIR_ONE => PAIR_ESCAPE,
            PAIR_ESCAPE => PAIR_U,
            PAIR_U => PAIR_UNIT,
            _ => BETWEEN,
        };
        Self(self.0 - place + next)
    }
}

/// Bounds of a length in characters, both ends included; or of the tokens that begin there.
///
/// ```
/// let range = gobo_types::LengthRange { min: 1, ..gobo_types::LengthRange::up_to(3) };
/// assert!(range.has(3) && !range.has(0) && !range.has(4));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LengthRange {
    /// The least.
    pub min: u32,
    /// The greatest, if there is a limit: below [`CharCount::MAX_CHARS`].
    pub max: Option<u32>,
    /// The greatest number of characters before the last `@`, the *head* of a text, if there is a limit: below
    /// [`CharCount::MAX_CHARS`].
    pub head: Option<u32>,
    /// Tokens are counted, and not characters: how many may begin there before the text has to end as soon as it can.
    pub tokens: Option<u32>,
}

impl LengthRange {
    /// The character after the head of a text.
    pub const AFTER_HEAD: u8 = b'@';

    /// All lengths up to one.
    pub const fn up_to(max: u32) -> Self {
        Self { min: 0, max: Some(max), head: None, tokens: None }
    }

    /// Texts of any length, in which at most so many tokens begin.
    pub const fn of_tokens(tokens: u32) -> Self {
        Self { min: 0, max: None, head: None, tokens: Some(tokens) }
    }

    /// Whether a length lies between the bounds.
    #[inline]
    pub fn has(&self, length: u32) -> bool {
        self.min <= length && self.allows_up_to(length)
    }

    /// Whether the greatest length is no less.
    #[inline]
    pub fn allows_up_to(&self, length: u32) -> bool {
        self.max.is_none_or(|max| length <= max)
    }

    /// Whether the greatest length of a head is no less.
    #[inline]
    pub fn allows_head_up_to(&self, length: u32) -> bool {
        self.head.is_none_or(|head| length <= head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A character as texts of JSON strings: raw or by its short escape, and by its units in either case.
    fn spellings(char: char) -> [String; 3] {
        let short = match char {
            '"' | '\\' => format!("\\{char}"),
            '\n' => "\\n".to_owned(),
            other => other.to_string(),
        };
        let mut units = [0; 2];
        let units = char.encode_utf16(&mut units);
        let lower = units.iter().fold(String::new(), |text, unit| text + &format!("\\u{unit:04x}"));
        let upper = units.iter().fold(String::new(), |text, unit| text + &format!("\\u{unit:04X}"));
        [short, lower, upper]
    }

    /// Characters at the ends of what is told apart.
    const CHARS: [char; 15] = [
        'a',
        'd',
        'u',
        '"',
        '\\',
        '\n',
        '8',
        'é',
        '\u{d0d0}',
        '\u{d7ff}',
        '\u{e000}',
        '\u{ffff}',
        '\u{10000}',
        '\u{103ff}',
        '\u{10ffff}',
    ];

    /// Each three characters in every spelling: one has begun from its first byte on, and before the next no more.
    #[test]
    fn characters_are_counted_in_every_spelling() {
        for number in 0..CHARS.len().pow(3) * 27 {
            let mut count = CharCount::default();
            let mut rest = number;
            for at in 1..=3 {
                let char = CHARS[rest % CHARS.len()];
                rest /= CHARS.len();
                let text = &spellings(char)[rest % 3];
                rest /= 3;
                for byte in text.bytes() {
                    count = count.after(byte);
                    assert_eq!(count.chars(), at, "{text}");
                }
                assert_eq!(count, CharCount::of(at), "{text}");
            }
        }
    }

    #[test]
    fn a_count_that_is_full_stays() {
        let full = CharCount::of(u32::MAX);
        assert_eq!(full.chars(), CharCount::MAX_CHARS);
        assert_eq!(full.after(b'a'), full);
        assert_eq!(full.after(b'\\').after(b'n'), full);
        assert_eq!(CharCount::of(9).after(b'\\').at_most(4), CharCount::of(3).after(b'\\'));
    }
}
