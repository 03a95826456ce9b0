//! Sets of characters, with an algebra of their own.
//!
//! `regex-syntax` has one too, whose complement is wrong at the surrogates: see [`super::translate`].

use std::sync::Arc;

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

/// Sorted, disjoint ranges of characters, both ends included. Copies are cheap.
pub(crate) type Ranges = Arc<[(u32, u32)]>;

/// A set of characters: sorted, disjoint ranges, both ends included, without surrogates.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CharSet(pub(crate) Ranges);

/// Characters are numbers here; these are none.
const SURROGATES: (u32, u32) = (0xD800, 0xDFFF);

impl CharSet {
    /// The characters of the ranges, both ends included, in any order, overlapping or not.
    pub fn new(ranges: impl IntoIterator<Item = (char, char)>) -> Self {
        let mut ranges: Vec<(u32, u32)> = ranges
            .into_iter()
            .map(|(first, last)| (u32::from(first), u32::from(last)))
            .filter(|(first, last)| first <= last)
            .collect();
        ranges.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (first, last) in ranges {
            match merged.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
                _ => merged.push((first, last)),
            }
        }
        Self::without_surrogates(merged)
    }

    /// The characters of codes, and letters of token edges beyond them: ranges, ascending and disjoint, without surrogates.
    pub(crate) fn of_codes(ranges: impl Iterator<Item = (u32, u32)>) -> Self {
        let mut merged: Vec<(u32, u32)> = Vec::new();
        for (first, last) in ranges {
            match merged.last_mut() {
                Some(before) if first == before.1 + 1 => before.1 = last,
                _ => merged.push((first, last)),
            }
        }
        Self(merged.into())
    }

    /// Its character, if it has one.
    ///
    /// ```
    /// use gobo_automata::CharSet;
    ///
    /// assert_eq!(CharSet::new([('(', '(')]).only(), Some('('));
    /// assert_eq!(CharSet::new([('a', 'b')]).only(), None);
    /// ```
    pub fn only(&self) -> Option<char> {
        match *self.0 {
            [(first, last)] if first == last => char::from_u32(first),
            _ => None,
        }
    }

    /// All other characters.
    #[must_use]
    pub fn complement(&self) -> Self {
        let mut ranges = Vec::with_capacity(self.0.len() + 1);
        let mut next = 0;
        for &(first, last) in self.0.iter() {
            if next < first {
                ranges.push((next, first - 1));
            }
            next = last + 1;
        }
        if next <= u32::from(char::MAX) {
            ranges.push((next, u32::from(char::MAX)));
        }
        Self::without_surrogates(ranges)
    }

    fn without_surrogates(ranges: Vec<(u32, u32)>) -> Self {
        let (first_gap, last_gap) = SURROGATES;
        let split =
            |(first, last): (u32, u32)| [(first, last.min(first_gap - 1)), (first.max(last_gap + 1), last)];
        Self(ranges.into_iter().flat_map(split).filter(|(first, last)| first <= last).collect())
    }

    /// The characters of both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let mut ranges = Vec::new();
        let (mut one, mut two) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some(&&a), Some(&&b)) = (one.peek(), two.peek()) {
            if a.0.max(b.0) <= a.1.min(b.1) {
                ranges.push((a.0.max(b.0), a.1.min(b.1)));
            }
            if a.1 < b.1 {
                one.next()
            } else {
                two.next()
            };
        }
        Self(ranges.into())
    }

    /// The characters that are not in another set.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        self.and(&other.complement())
    }

    /// Whether a character is in it. O(log ranges).
    pub fn has(&self, char: char) -> bool {
        let char = u32::from(char);
        let at = self.0.partition_point(|range| range.1 < char);
        self.0.get(at).is_some_and(|range| range.0 <= char)
    }

    /// The code points, first and last of each range, ascending.
    pub fn ranges(&self) -> impl Iterator<Item = (u32, u32)> {
        self.0.iter().copied()
    }

    /// First and last of each range, ascending; see [`Self::ranges`].
    pub fn char_ranges(&self) -> impl Iterator<Item = (char, char)> {
        let char = |code| char::from_u32(code).expect("no surrogates are in it");
        self.0.iter().map(move |&(first, last)| (char(first), char(last)))
    }

    /// The characters of a class of `regex-syntax`.
    pub fn from_class(class: &ClassUnicode) -> Self {
        Self::new(class.ranges().iter().map(|range| (range.start(), range.end())))
    }

    /// The same characters as a class of `regex-syntax`, to build expressions of. Not to be complemented: the library errs
    /// where a range ends at U+D7FF and the next begins at U+E000. Here the two are one range.
    pub fn to_class(&self) -> ClassUnicode {
        let mut ranges: Vec<ClassUnicodeRange> = Vec::with_capacity(self.0.len());
        for (first, last) in self.char_ranges() {
            match ranges.last_mut() {
                Some(before) if before.end() == '\u{d7ff}' && first == '\u{e000}' => {
                    *before = ClassUnicodeRange::new(before.start(), last);
                }
                _ => ranges.push(ClassUnicodeRange::new(first, last)),
            }
        }
        ClassUnicode::new(ranges)
    }

    /// Whether there is no character in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_sorted_merged_and_free_of_surrogates() {
        let set = CharSet::new([('c', 'd'), ('a', 'b'), ('x', 'x'), ('z', 'y'), ('\u{d000}', '\u{f000}')]);
        assert_eq!(*set.0, [(97, 100), (120, 120), (0xD000, 0xD7FF), (0xE000, 0xF000)],);
        assert_eq!(set.complement().complement(), set);
        assert!(CharSet::new([('\0', char::MAX)]).complement().is_empty());
        assert_eq!(CharSet::new([]).complement(), CharSet::new([('\0', char::MAX)]));
    }
}
