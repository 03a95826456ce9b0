//! Letters beside the characters: what token edges read.
//!
//! A token edge reads one whole token of a class of ids, whatever the token's bytes are. To an automaton over characters such a class is one
//! letter more. Its code lies beyond U+10FFFF, where no set of characters reaches and no complement leads. Over bytes the letter is
//! written with bytes that no UTF-8 text has, 0xF5 to 0xFE, as a decimal number: classes are numbered from 0, and all numbers of an
//! automaton have as many digits as the last one needs. So everything that is known of automata over bytes holds for those with token
//! edges, and a vocabulary to which a token for each number is added has their rows.
//!
//! A grammar is read before it meets a vocabulary. Until then an edge names a *token set*, by its number among those that the grammar
//! names; [`Grammar::put_letters`](crate::Grammar::put_letters) puts the letters of classes in its place.

use std::sync::Arc;

use gobo_types::TokenId;

use crate::chars::{CharSet, Expr};

/// The code of the first letter. A gap before it keeps the ranges of characters and of letters apart.
const FIRST_LETTER: u32 = 0x11_0001;

/// The code of the first token set.
const FIRST_SET: u32 = 0x12_0000;

/// The byte of the digit 0; those of the others follow.
const ZERO: u8 = 0xF5;

/// Most digits of a letter.
const MAX_DIGITS: u32 = 3;

/// Most classes of tokens of an automaton: those with numbers of three digits.
///
/// ```
/// assert_eq!(gobo_automata::MAX_TOKEN_CLASSES, 1000);
/// ```
pub const MAX_TOKEN_CLASSES: usize = 10_usize.pow(MAX_DIGITS);

/// The classes of tokens that the edges of an automaton read: disjoint, none without ids but one of budgets, numbered as their letters
/// ([`token_letter`]).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TokenClasses(pub Vec<TokenClass>);

/// A class of tokens that no edge tells apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TokenClass {
    /// Its ids: ranges, both ends included, ascending and not touching.
    pub ids: Vec<(TokenId, TokenId)>,
    /// Whether an edge names its ids, by name, number or range; a complement names none.
    pub is_named: bool,
    /// Whether it has no ids, and its letter is read where a budget of tokens is spent.
    pub is_spent: bool,
}

impl TokenClass {
    /// Whether an id is in it. O(log ranges).
    pub fn has(&self, id: TokenId) -> bool {
        let at = self.ids.partition_point(|range| range.1 < id);
        self.ids.get(at).is_some_and(|range| range.0 <= id)
    }
}

/// The bytes of the letter of class `number` among `classes`.
///
/// ```
/// use gobo_automata::token_letter;
///
/// assert_eq!(token_letter(3, 10), [0xf8]);
/// assert_eq!(token_letter(3, 11), [0xf5, 0xf8]);
/// ```
///
/// # Panics
/// If there are more than [`MAX_TOKEN_CLASSES`].
pub fn token_letter(number: usize, classes: usize) -> Vec<u8> {
    digits(number, width(classes))
}

/// The letters of every width, shortest first: what a vocabulary needs tokens for, so that each can be written, and each byte of one too.
pub fn token_letters() -> impl Iterator<Item = Vec<u8>> {
    (1..=MAX_DIGITS).flat_map(|width| (0..10_usize.pow(width)).map(move |number| digits(number, width)))
}

/// Whether a byte stands in letters alone: no text has it.
pub fn is_letter_byte(byte: u8) -> bool {
    (ZERO..ZERO + 10).contains(&byte)
}

/// How many digits the numbers of so many classes have.
fn width(classes: usize) -> u32 {
    assert!(classes <= MAX_TOKEN_CLASSES, "there are more classes of tokens than numbers");
    (1..MAX_DIGITS).find(|&width| classes <= 10_usize.pow(width)).unwrap_or(MAX_DIGITS)
}

fn digits(number: usize, width: u32) -> Vec<u8> {
    let digit = |place: u32| u8::try_from(number / 10_usize.pow(place) % 10).expect("one digit");
    (0..width).rev().map(|place| ZERO + digit(place)).collect()
}

/// The code of the letter of class `number` among `classes`.
pub(crate) fn letter_code(number: usize, classes: usize) -> u32 {
    let before: usize = (1..width(classes)).map(|width| 10_usize.pow(width)).sum();
    FIRST_LETTER + u32::try_from(before + number).expect("below two thousand")
}

/// The bytes of the letter with this code; `None` if it is a character's.
pub(crate) fn letter_bytes(code: u32) -> Option<Vec<u8>> {
    let mut number = code.checked_sub(FIRST_LETTER)? as usize;
    assert!(code < FIRST_SET, "a token set was not resolved");
    // Letters of one digit come first, then those of two, and of three.
    let mut width = 1;
    while number >= 10_usize.pow(width) {
        number -= 10_usize.pow(width);
        width += 1;
    }
    Some(digits(number, width))
}

impl Expr {
    /// One token of the set of that number: see [`CharSet::token_set`].
    pub fn token_set(number: usize) -> Self {
        Self::Chars(CharSet::token_set(number))
    }
}

impl CharSet {
    /// What stands for the token set of that number until letters are put in its place: see
    /// [`Grammar::put_letters`](crate::Grammar::put_letters).
    ///
    /// # Panics
    /// If the number is not below 60,000.
    pub fn token_set(number: usize) -> Self {
        let code = u32::try_from(number).ok().filter(|number| *number < 60_000);
        let code = FIRST_SET + code.expect("readers bound the number of token sets");
        Self(Arc::new([(code, code)]))
    }

    /// Whether a code stands for a token set.
    pub(crate) fn is_token_set(code: u32) -> bool {
        code >= FIRST_SET
    }

    /// The same characters, with letters in the place of token sets: `classes_of` has the classes of each set, of `classes` in all;
    /// `None` without any set.
    pub(crate) fn with_letters(&self, classes_of: &[Vec<usize>], classes: usize) -> Option<Self> {
        let (sets, chars) = self.split_token_sets()?;
        let mut ranges = chars.0.to_vec();
        let mut found: Vec<usize> =
            sets.into_iter().flat_map(|set| classes_of[set].iter().copied()).collect();
        found.sort_unstable();
        found.dedup();
        let code = |class: usize| letter_code(class, classes);
        ranges.extend(found.into_iter().map(|class| (code(class), code(class))));
        Some(Self(ranges.into()))
    }

    /// The same characters and token sets, whose numbers are higher by `sets`; `None` where nothing is another.
    pub(crate) fn with_later_token_sets(&self, sets: usize) -> Option<Self> {
        let (numbers, chars) = self.split_token_sets().filter(|_| sets > 0)?;
        let mut ranges = chars.0.to_vec();
        let code = |number: usize| FIRST_SET + u32::try_from(number + sets).expect("few sets");
        ranges.extend(numbers.into_iter().map(|number| (code(number), code(number))));
        Some(Self(ranges.into()))
    }

    /// The token sets in it, and the characters beside them.
    pub(crate) fn split_token_sets(&self) -> Option<(Vec<usize>, Self)> {
        let is_set = |range: &&(u32, u32)| range.0 >= FIRST_SET;
        self.0.last().filter(is_set)?;
        let (sets, chars): (Vec<(u32, u32)>, Vec<_>) = self.0.iter().partition(|range| is_set(range));
        let sets = sets.into_iter().flat_map(|(first, last)| first..=last);
        Some((sets.map(|code| (code - FIRST_SET) as usize).collect(), Self(chars.into())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_all_widths_are_different_and_no_text() {
        let all: Vec<Vec<u8>> = token_letters().collect();
        assert_eq!(all.len(), 1110);
        assert!(all.is_sorted_by_key(Vec::len));
        assert!(all.iter().flatten().all(|&byte| is_letter_byte(byte)));
        for (code, letter) in (FIRST_LETTER..).zip(&all) {
            assert_eq!(letter_bytes(code).as_ref(), Some(letter));
        }
        assert_eq!(letter_bytes(u32::from(char::MAX)), None);
        assert!(
            (0..=u32::from(char::MAX))
                .filter_map(char::from_u32)
                .all(|char| { !char.encode_utf8(&mut [0; 4]).bytes().any(is_letter_byte) })
        );
        for (number, classes) in [(0, 1), (9, 10), (10, 11), (99, 100), (100, 101), (999, 1000)] {
            assert!(all.contains(&token_letter(number, classes)), "{number} of {classes}");
        }
    }
}
