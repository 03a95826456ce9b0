//! Sets of characters as bit sets over all code points: 136 KiB each, and nothing to know of ranges or surrogates.
//!
//! Set operations are those of words, so each takes O(code points / 64). Tables of Unicode (general categories, scripts,
//! simple case folding) come from `regex-syntax`; how they combine is worked out here.

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

/// Code points, the surrogates among them.
const CODE_POINTS: u32 = 0x11_0000;

const SURROGATES: std::ops::RangeInclusive<u32> = 0xD800..=0xDFFF;

/// A set of characters, with a bit for each code point. A surrogate is never in it.
///
/// Sets of ranges are where others have erred at the surrogates; here nothing is to be known of ranges.
#[derive(Clone, PartialEq, Eq)]
pub struct Characters(Vec<u64>);

impl fmt::Debug for Characters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.runs()).finish()
    }
}

impl Characters {
    /// The characters that satisfy `has`.
    fn that(has: impl Fn(u32) -> bool) -> Self {
        let mut words = vec![0; CODE_POINTS as usize / 64];
        for code in (0..CODE_POINTS).filter(|code| !SURROGATES.contains(code) && has(*code)) {
            words[code as usize / 64] |= 1 << (code % 64);
        }
        Self(words)
    }

    /// The characters among ranges of code points, both ends included.
    pub fn of(ranges: &[(u32, u32)]) -> Self {
        let mut set = Self(vec![0; CODE_POINTS as usize / 64]);
        for &(first, last) in ranges {
            (first..=last.min(CODE_POINTS - 1)).filter_map(char::from_u32).for_each(|char| set.add(char));
        }
        set
    }

    /// The characters that a table of Unicode's has, as `regex-syntax` brings it: `\w`, `\p{Greek}`. The pattern has to
    /// be one class that nothing is complemented in.
    ///
    /// # Errors
    /// What the library says of an unknown name.
    pub fn table(pattern: &str) -> Result<Self, String> {
        let hir = regex_syntax::parse(pattern).map_err(|error| error.to_string())?;
        Ok(match hir.into_kind() {
            HirKind::Class(Class::Unicode(class)) => Self::of(&ranges(&class)),
            HirKind::Literal(literal) => {
                let text = std::str::from_utf8(&literal.0).map_err(|error| error.to_string())?;
                Self::of(&text.chars().map(|char| (char.into(), char.into())).collect::<Vec<_>>())
            }
            _ => Self::of(&[]),
        })
    }

    fn add(&mut self, char: char) {
        self.0[char as usize / 64] |= 1 << (u32::from(char) % 64);
    }

    fn with(&self, other: &Self, word: impl Fn(u64, u64) -> u64) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(one, two)| word(*one, *two)).collect())
    }

    /// All other characters.
    #[must_use]
    pub fn complement(&self) -> Self {
        static ALL: LazyLock<Characters> = LazyLock::new(|| Characters::that(|_| true));
        self.with(&ALL, |one, all| all & !one)
    }

    /// The characters of both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        self.with(other, |one, two| one & two)
    }

    /// The characters of either.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        self.with(other, |one, two| one | two)
    }

    /// The characters that are not in the other.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        self.with(other, |one, two| one & !two)
    }

    /// The characters that are in one of the two.
    #[must_use]
    pub fn either(&self, other: &Self) -> Self {
        self.with(other, |one, two| one ^ two)
    }

    /// The set and all other cases of its characters, those of Unicode or of ASCII alone.
    #[must_use]
    pub fn with_cases(&self, unicode: bool) -> Self {
        let mut set = self.clone();
        for char in self.iter() {
            if !unicode {
                set.add(char.to_ascii_lowercase());
                set.add(char.to_ascii_uppercase());
            } else if let Some(cases) = CASES.get(&char) {
                cases.iter().for_each(|&case| set.add(case));
            }
        }
        set
    }

    /// Whether a character is in it.
    pub fn has(&self, char: char) -> bool {
        self.0[char as usize / 64] >> (u32::from(char) % 64) & 1 == 1
    }

    /// The characters, ascending.
    pub fn iter(&self) -> impl Iterator<Item = char> {
        let words = (0_u32..).zip(&self.0).filter(|(_, word)| **word != 0);
        words
            .flat_map(|(at, word)| {
                (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * 64 + bit)
            })
            .filter_map(char::from_u32)
    }

    /// First and last of each run of characters, none across the surrogates.
    pub fn runs(&self) -> Vec<(char, char)> {
        let mut runs: Vec<(char, char)> = Vec::new();
        for char in self.iter() {
            match runs.last_mut() {
                Some(run) if u32::from(run.1) + 1 == u32::from(char) => run.1 = char,
                _ => runs.push((char, char)),
            }
        }
        runs
    }
}

fn ranges(class: &ClassUnicode) -> Vec<(u32, u32)> {
    class.ranges().iter().map(|range| (range.start().into(), range.end().into())).collect()
}

/// The other cases of each character that has any, by the table of the library.
static CASES: LazyLock<HashMap<char, Vec<char>>> = LazyLock::new(|| {
    let mut cases = HashMap::new();
    for char in '\0'..=char::MAX {
        let mut class = ClassUnicode::new([ClassUnicodeRange::new(char, char)]);
        class.case_fold_simple();
        let others: Vec<char> = class.ranges().iter().flat_map(|range| range.start()..=range.end()).collect();
        if others.len() > 1 {
            cases.insert(char, others);
        }
    }
    cases
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_what_they_say_at_the_surrogates() {
        let all = Characters::of(&[(0, 0xD7FF), (0xE000, 0x10_FFFF)]);
        assert_eq!(all, Characters::of(&[(0, u32::MAX)]));
        assert_eq!(all.complement().runs(), []);
        assert_eq!(all.runs(), [('\0', '\u{d7ff}'), ('\u{e000}', char::MAX)]);
        let two = Characters::of(&[(0xD7FF, 0xE000)]);
        assert_eq!(two.runs(), [('\u{d7ff}', '\u{d7ff}'), ('\u{e000}', '\u{e000}')]);
        assert_eq!(two.complement().runs(), [('\0', '\u{d7fe}'), ('\u{e001}', char::MAX)]);
        assert_eq!(two.complement().or(&two), all);
        assert_eq!(all.without(&two), all.either(&two));
        assert_eq!(
            Characters::of(&[(0x61, 0x6B)]).and(&Characters::of(&[(0x6B, 0x7A)])).runs(),
            [('k', 'k')]
        );
    }

    #[test]
    fn cases_and_tables() {
        let k = Characters::of(&[(0x6B, 0x6B)]);
        assert_eq!(k.with_cases(true).runs(), [('K', 'K'), ('k', 'k'), ('\u{212a}', '\u{212a}')]);
        assert_eq!(k.with_cases(false).runs(), [('K', 'K'), ('k', 'k')]);
        assert!(Characters::table(r"\p{Greek}").unwrap().has('ψ'));
        assert!(Characters::table(r"\p{Zl}").unwrap().has('\u{2028}'));
        assert!(Characters::table(r"\p{Nonsense}").is_err());
    }
}
