//! The spelling of strings (RFC 8259, section 7): raw characters, short escapes, `\uXXXX` escapes of UTF-16 units.
//!
//! A set of characters becomes an expression over texts. The canonical spelling of a character is its shortest; any
//! spelling adds escapes of every character, for which ranges of code points become ranges of hexadecimal digits by
//! recursive splitting, as [`gobo_automata`] splits ranges into UTF-8: at most two ends and a middle at each digit.

use std::sync::LazyLock;

use gobo_automata::{CharSet, Expr};
use gobo_types::Spelling;

/// Every string, in every spelling.
pub fn string() -> Expr {
    quoted(any_spelling().repeat(0, None))
}

/// An expression between quotes.
pub fn quoted(expr: Expr) -> Expr {
    Expr::Concat(vec![Expr::text("\""), expr, Expr::text("\"")])
}

/// Any character inside a string, in every spelling.
fn any_spelling() -> Expr {
    let raw = CharSet::new([('\0', '\x1f'), ('"', '"'), ('\\', '\\')]).complement();
    let hex = |count| Expr::chars([('0', '9'), ('a', 'f'), ('A', 'F')]).repeat(count, Some(count));
    let d = || one_of("Dd");
    let escape = Expr::Alternate(vec![
        one_of("\"\\/bfnrt"),
        Expr::Concat(vec![
            Expr::text("u"),
            Expr::Alternate(vec![
                Expr::Concat(vec![
                    Expr::chars([('0', '9'), ('a', 'c'), ('e', 'f'), ('A', 'C'), ('E', 'F')]),
                    hex(3),
                ]),
                Expr::Concat(vec![d(), one_of("01234567"), hex(2)]),
                // U+D800 to U+DBFF, and its partner from U+DC00 to U+DFFF.
                Expr::Concat(vec![
                    d(),
                    one_of("89ABab"),
                    hex(2),
                    Expr::text("\\u"),
                    d(),
                    Expr::chars([('c', 'f'), ('C', 'F')]),
                    hex(2),
                ]),
            ]),
        ]),
    ]);
    Expr::Alternate(vec![Expr::Chars(raw), Expr::Concat(vec![Expr::text("\\"), escape])])
}

/// The canonical text of a string without its quotes: each character in its shortest form.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match short_escape(char) {
            Some(letter) => out.extend(['\\', letter]),
            None if char < ' ' => {
                let digit = |digit| char::from_digit(digit, 16).unwrap_or('0');
                out.push_str("\\u00");
                out.extend([digit(u32::from(char) >> 4), digit(u32::from(char) & 15)]);
            }
            None => out.push(char),
        }
    }
    out
}

/// The letter of the two-character escape of a character, if that is its shortest form.
fn short_escape(char: char) -> Option<char> {
    Some(match char {
        '"' | '\\' => char,
        '\u{8}' => 'b',
        '\u{c}' => 'f',
        '\n' => 'n',
        '\r' => 'r',
        '\t' => 't',
        _ => return None,
    })
}

/// Any character, inside a string.
pub fn any_char(spelling: Spelling) -> Expr {
    static CANONICAL: LazyLock<Expr> =
        LazyLock::new(|| char_in(&CharSet::new([('\0', char::MAX)]), Spelling::Canonical).shared());
    static ANY: LazyLock<Expr> = LazyLock::new(|| any_spelling().shared());
    match spelling {
        Spelling::Canonical => CANONICAL.clone(),
        Spelling::Any => ANY.clone(),
    }
}

/// The characters that have to be escaped.
static ESCAPED: LazyLock<CharSet> =
    LazyLock::new(|| CharSet::new([('\0', '\x1f'), ('"', '"'), ('\\', '\\')]));

/// One character of a set, inside a string.
pub fn char_in(set: &CharSet, spelling: Spelling) -> Expr {
    /// The escapes of sets that include [`ESCAPED`], as nearly all sets of several characters do.
    static ALL_ESCAPES: LazyLock<Expr> = LazyLock::new(|| {
        let escapes = escapes(&ESCAPED, Spelling::Canonical);
        escapes.unwrap_or_else(|| Expr::Alternate(Vec::new())).shared()
    });
    let raw = set.without(&ESCAPED);
    let escapes = if spelling == Spelling::Canonical && set.and(&ESCAPED) == *ESCAPED {
        Some(ALL_ESCAPES.clone())
    } else {
        escapes(set, spelling)
    };
    let raw = (!raw.is_empty()).then_some(Expr::Chars(raw));
    match (raw, escapes) {
        (Some(one), None) | (None, Some(one)) => one,
        (raw, escapes) => Expr::Alternate(raw.into_iter().chain(escapes).collect()),
    }
}

/// One character of a set as an escape, if there are any.
fn escapes(set: &CharSet, spelling: Spelling) -> Option<Expr> {
    let mut letters: Vec<(char, char)> = Vec::new();
    let mut hex: Vec<(u32, u32)> = Vec::new();
    for char in "\"\\\u{8}\u{c}\n\r\t".chars().filter(|char| set.has(*char)) {
        let letter = short_escape(char).unwrap_or(char);
        letters.push((letter, letter));
    }
    match spelling {
        Spelling::Canonical => {
            let control = CharSet::new([('\0', '\x1f')]);
            let others =
                set.and(&control).without(&CharSet::new("\u{8}\u{c}\n\r\t".chars().map(|char| (char, char))));
            hex.extend(others.ranges());
        }
        Spelling::Any => {
            if set.has('/') {
                letters.push(('/', '/'));
            }
            hex.extend(set.ranges());
        }
    }
    let mut escapes = Vec::new();
    if !letters.is_empty() {
        escapes.push(Expr::chars(letters));
    }
    let digits = |from: u32, to: u32| digit_sequences(from, to, 4, spelling);
    let mut units = Vec::new();
    for (from, to) in hex {
        if from < 0x1_0000 {
            units.extend(digits(from, to.min(0xFFFF)));
        }
        if to >= 0x1_0000 {
            let (from, to) = (from.max(0x1_0000) - 0x1_0000, to - 0x1_0000);
            // High surrogates with every low surrogate, and the two ends, with ranges of them.
            for (high, low) in split(from, to, 10) {
                for high in digits(0xD800 + high.0, 0xD800 + high.1) {
                    let low = Expr::Alternate(digits(0xDC00 + low.0, 0xDC00 + low.1));
                    units.push(Expr::Concat(vec![high, Expr::text("\\u"), low]));
                }
            }
        }
    }
    if !units.is_empty() {
        escapes.push(Expr::Concat(vec![Expr::text("u"), Expr::Alternate(units)]));
    }
    (!escapes.is_empty()).then(|| Expr::Concat(vec![Expr::text("\\"), Expr::Alternate(escapes)]))
}

/// The range `from..=to` as pairs of ranges: of the bits above the lowest `bits`, and of the lowest bits that go with them.
fn split(from: u32, to: u32, bits: u32) -> Vec<((u32, u32), (u32, u32))> {
    let mask = (1 << bits) - 1;
    let (first, last) = (from >> bits, to >> bits);
    if first == last {
        return vec![((first, first), (from & mask, to & mask))];
    }
    let mut parts = vec![((first, first), (from & mask, mask))];
    if first + 1 < last {
        parts.push(((first + 1, last - 1), (0, mask)));
    }
    parts.push(((last, last), (0, to & mask)));
    parts
}

/// The numbers `from..=to` in `count` hexadecimal digits: lower case if canonical, else either case.
fn digit_sequences(from: u32, to: u32, count: u32, spelling: Spelling) -> Vec<Expr> {
    let digit = |from: u32, to: u32| {
        let lower = |digit| char::from_digit(digit, 16).unwrap_or('0');
        // The digits, and the letters; either range may be empty.
        let decimal = (lower(from), lower(to.min(9)));
        let letters = (lower(from.max(10)), lower(to));
        let capitals = match spelling {
            Spelling::Any => (letters.0.to_ascii_uppercase(), letters.1.to_ascii_uppercase()),
            Spelling::Canonical => letters,
        };
        Expr::chars([decimal, letters, capitals])
    };
    if count == 1 {
        return vec![digit(from, to)];
    }
    let bits = 4 * (count - 1);
    split(from, to, bits)
        .into_iter()
        .map(|(high, low)| {
            let rest = digit_sequences(low.0, low.1, count - 1, spelling);
            Expr::Concat(vec![digit(high.0, high.1), Expr::Alternate(rest)])
        })
        .collect()
}

/// The texts of one string.
pub fn string_text(text: &str, spelling: Spelling) -> Expr {
    match spelling {
        Spelling::Canonical => Expr::text(format!("\"{}\"", escape(text))),
        Spelling::Any => {
            let chars = text.chars().map(|char| char_in(&CharSet::new([(char, char)]), spelling));
            let quote = || std::iter::once(Expr::text("\""));
            Expr::Concat(quote().chain(chars).chain(quote()).collect())
        }
    }
}

/// Steps of writing one string. In any spelling every character is an expression of its own.
pub fn string_steps(text: &str, spelling: Spelling) -> u64 {
    let of_byte = match spelling {
        Spelling::Canonical => 1,
        Spelling::Any => 64,
    };
    16 + text.len() as u64 * of_byte
}

fn one_of(chars: &str) -> Expr {
    Expr::chars(chars.chars().map(|char| (char, char)))
}

#[cfg(test)]
mod tests {
    use gobo_automata::Language;
    use gobo_types::{Budget, CompileLimits};
    use proptest::prelude::*;

    use super::*;

    fn language(expr: &Expr) -> Language {
        Language::expr(expr, &Budget::new(CompileLimits::default())).unwrap()
    }

    proptest! {
        /// The oracle: a reader of JSON.
        #[test]
        fn characters_are_written_in_every_way_and_no_other(
            ranges in prop::collection::vec((any::<char>(), any::<char>()), 1..4),
            small in prop::collection::vec(("[\\x00-\\x7f]", "[\\x00-\\x7f]"), 0..3),
            chars in prop::collection::vec(any::<char>(), 8),
        ) {
            let first = |text: &str| text.chars().next().unwrap();
            let ends: Vec<(char, char)> =
                ranges.into_iter().chain(small.iter().map(|(a, b)| (first(a), first(b)))).map(|(a, b)| (a.min(b), a.max(b))).collect();
            let set = CharSet::new(ends.clone());
            let any = language(&char_in(&set, Spelling::Any));
            let canonical = language(&char_in(&set, Spelling::Canonical));
            let chars = chars.into_iter().chain(ends.iter().flat_map(|end| [end.0, end.1])).chain("\"\\/\n\u{1f}\u{7f}é😀".chars());
            for char in chars {
                let mut units = [0; 2];
                let hex = char.encode_utf16(&mut units).iter().fold(String::new(), |hex, unit| hex + &format!("\\u{unit:04x}"));
                let upper = hex.to_uppercase().replace("\\U", "\\u");
                for text in [escape(&char.to_string()), hex, upper, char.to_string(), format!("\\{char}")] {
                    let read = serde_json::from_str::<String>(&format!("\"{text}\"")).ok();
                    let is_it = read.as_deref() == Some(char.to_string().as_str()) && set.has(char);
                    // A text that reads as another character says nothing about this one.
                    if read.as_deref() == Some(char.to_string().as_str()) {
                        prop_assert_eq!(any.accepts(&text), is_it, "{:?}", text);
                        prop_assert_eq!(canonical.accepts(&text), is_it && text == escape(&char.to_string()), "{:?}", text);
                    }
                }
            }
        }
    }

    #[test]
    fn any_character_is_one_of_all() {
        for spelling in [Spelling::Canonical, Spelling::Any] {
            let all = char_in(&CharSet::new([('\0', char::MAX)]), spelling);
            assert_eq!(language(&any_char(spelling)), language(&all));
        }
    }
}
