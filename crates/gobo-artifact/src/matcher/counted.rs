//! Masks and steps in counted rules: a count of characters beside the state.
//!
//! A counted rule reads the body of a JSON string, or a part of it; the quote after it belongs to its caller, so that it ends where a
//! token has the quote. The rows of its states take no notice of lengths. With n characters read, a token may be taken exactly if its row says
//! so, if the characters that it reads inside the rule and the distance of the state after them leave n below the upper bound, and,
//! where it goes on beyond the rule, if the rule may end at that length. Far from both bounds, by more than the longest token and the
//! greatest distance, that is the row itself, or the row without its pending suffixes where the rule is too short to end: O(1). Within
//! reach of a bound the row is cut down by the number of characters of each token. Most tokens are short enough or too long whatever state
//! they lead to, or have no character but those that lead from the state to itself, which a set of characters for each token tells. The
//! others are walked, as are tokens with a backslash, and tokens that end the rule. O(ids + bytes of the tokens that are walked), and a
//! scratch row is allocated.
//!
//! Before the last `@` of a text the bound of its head is one more bound, with distances of its own. A token may lead from the head to what is
//! after it, so it is looked at after each of its bytes.
//!
//! n and the distance together never fall along a text, so that a configuration whose sum is within the bound can be brought to an end,
//! and one beyond it cannot. The compiler counts a least length only where each state has a text of every length from its distance on.

use gobo_types::{CharCount, LengthRange};

use crate::layout::DEAD;
use crate::layout::index::calls::CallTables;
use crate::layout::index::lengths::LengthTables;
use crate::layout::index::root::IndexClass;
use crate::matcher::error::MatcherError;
use crate::matcher::stacks::{BOTTOM, Configuration, Stacks};
use crate::read::index::Index;
use crate::read::vocabulary::Vocabulary;

/// In the place of a number of characters: they have to be counted ([`Vocabulary::token_chars`]).
const UNKNOWN: u8 = u8::MAX;

/// What the bounds of a length have to do with a mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// Nothing: the mask is that of the rows.
    Free,
    /// The rule is too short for any token to end it.
    Inside,
    /// Some token of the rows may be too long, or may end the rule too early.
    NearBound,
}

/// The counted rules of an index, if it has any.
#[derive(Clone, Copy)]
pub(super) struct Counted<'a> {
    tables: Option<LengthTables<'a>>,
}

impl<'a> Counted<'a> {
    #[inline]
    pub(super) fn new(index: &'a Index) -> Self {
        Self { tables: index.lengths() }
    }

    /// What is counted until a frame is popped, or any frame of a set: it is the same for all. O(1).
    #[inline]
    pub(super) fn lengths(&self, stacks: &Stacks, node: u32) -> Option<LengthRange> {
        let tables = self.tables?;
        if node == BOTTOM { None } else { tables.of_return(stacks.top(node)) }
    }

    /// Whether the text that is read there can still be brought to an end.
    #[inline]
    pub(super) fn fits(&self, lengths: &LengthRange, state: u32, count: CharCount) -> bool {
        self.tables.is_none_or(|tables| tables.fits(lengths, state, count))
    }

    /// Whether the rule may end, as far as its length goes.
    #[inline]
    pub(super) fn may_pop(&self, stacks: &Stacks, at: &Configuration) -> bool {
        self.lengths(stacks, at.frame).is_none_or(|lengths| lengths.has(at.count.chars()))
    }

    /// As [`Index::walk_inside`], in a counted rule.
    ///
    /// # Errors
    /// The offset of the byte after which the text cannot be brought to an end.
    pub(super) fn walk_inside(
        &self,
        index: &Index,
        calls: &CallTables<'_>,
        lengths: &LengthRange,
        mut at: Configuration,
        bytes: &[u8],
    ) -> Result<(Configuration, usize), usize> {
        for (offset, &byte) in bytes.iter().enumerate() {
            if index.class() == IndexClass::Ambiguous
                && (index.is_complete(at.state) || !calls.push_transitions(at.state).is_empty())
            {
                return Ok((at, offset));
            }
            match index.next_by_class(at.state, index.byte_class(byte)) {
                DEAD => return Ok((at, offset)),
                state => at = Configuration { state, frame: at.frame, count: at.count.after(byte) },
            }
            if !self.fits(lengths, at.state, at.count) {
                return Err(offset);
            }
        }
        Ok((at, bytes.len()))
    }

    /// What lengths have to do with the mask of a configuration.
    #[inline]
    pub(super) fn reading(&self, vocabulary: &Vocabulary, stacks: &Stacks, at: &Configuration) -> Reading {
        let Some((tables, lengths)) = self.tables.zip(self.lengths(stacks, at.frame)) else {
            return Reading::Free;
        };
        let chars = at.count.chars();
        let after_longest = chars.saturating_add(vocabulary.root().longest_token_chars);
        let is_far_from_end = lengths.allows_up_to(after_longest.saturating_add(tables.greatest()));
        let is_far = is_far_from_end
            && tables
                .head(&lengths, at.state, at.count)
                .is_none_or(|head| after_longest.saturating_add(head.greatest) <= head.most);
        match is_far {
            true if chars >= lengths.min => Reading::Free,
            true if after_longest < lengths.min => Reading::Inside,
            _ => Reading::NearBound,
        }
    }

    /// The rule of a configuration, near a bound of its length; `None` where none is counted.
    pub(super) fn near(
        &self,
        index: &'a Index,
        vocabulary: &'a Vocabulary,
        stacks: &Stacks,
        at: &Configuration,
    ) -> Option<Near<'a>> {
        Some(Near { index, vocabulary, tables: self.tables?, lengths: self.lengths(stacks, at.frame)? })
    }
}

/// A configuration's rule near a bound of its length.
pub(super) struct Near<'a> {
    index: &'a Index,
    vocabulary: &'a Vocabulary,
    tables: LengthTables<'a>,
    lengths: LengthRange,
}

impl Near<'_> {
    /// Sets the bits of the tokens that may come next and do not end the rule: `[row words]`. `words` are room for a row.
    ///
    /// # Errors
    /// [`MatcherError::Corrupt`].
    pub(super) fn unite_inside(
        &self,
        at: &Configuration,
        words: &mut [u32],
        out: &mut [u32],
    ) -> Result<(), MatcherError> {
        let number = self.index.row_number(at.state);
        let row = number.and_then(|number| self.index.row(self.vocabulary, number));
        if !row.is_some_and(|row| row.write(words)) {
            return Err(MatcherError::Corrupt { state: at.state });
        }
        self.cut(at, words);
        out.iter_mut().zip(words).for_each(|(out, word)| *out |= *word);
        Ok(())
    }

    /// Sets the bits of those of `tokens`, which end the rule whatever they do after it, that may end it at their length: `[row words]`.
    pub(super) fn unite_ending(&self, at: &Configuration, tokens: &[u32], out: &mut [u32]) {
        for (first, (out, &word)) in (0..).step_by(32).zip(out.iter_mut().zip(tokens)) {
            let mut word = word;
            while word != 0 {
                let bit = word.trailing_zeros();
                word &= word - 1;
                if self.may_end(at, self.vocabulary.bytes(first + bit)) {
                    *out |= 1 << bit;
                }
            }
        }
    }

    /// Clears the bits of tokens that read too many characters of the rule: `[row words]`.
    fn cut(&self, at: &Configuration, words: &mut [u32]) {
        let head = self.tables.head(&self.lengths, at.state, at.count);
        if self.lengths.max.is_none() && head.is_none() {
            return;
        }
        let left_of = |most: u32| most.saturating_sub(at.count.chars());
        let left = left_of(self.lengths.max.unwrap_or(u32::MAX - 1));
        let left_of_head = head.map_or(u32::MAX - 1, |head| left_of(head.most));
        let capped = |chars: u32| u8::try_from(chars).unwrap_or(UNKNOWN);
        // Tokens with fewer characters fit wherever they lead.
        let few = (left + 1).saturating_sub(self.tables.greatest());
        let few = few.min((left_of_head + 1).saturating_sub(head.map_or(0, |head| head.greatest)));
        // Those with more do not, where they begin between two characters; inside an escape the first ones may count for nothing.
        let is_between = at.count.place() == CharCount::default();
        let most = if is_between { left } else { u32::MAX };
        // Those whose characters all lead back to the state have its distance behind them.
        let looping = if is_between { self.looping(at.state) } else { 0 };
        let most_looping = (left.saturating_sub(self.tables.distance(at.state, at.count)))
            .min(left_of_head.saturating_sub(head.map_or(0, |head| head.distance)))
            .min(u32::from(UNKNOWN) - 1);
        let (few, most, most_looping) = (capped(few), capped(most), capped(most_looping));
        let tokens = self.vocabulary.token_chars().chunks(32).zip(self.vocabulary.token_ascii().chunks(32));
        for (first, (word, (chars, ascii))) in (0..).step_by(32).zip(words.iter_mut().zip(tokens)) {
            if *word == 0 {
                continue;
            }
            let (mut short, mut long) = (0, 0);
            for (bit, &chars) in (0..32_u32).zip(chars) {
                short |= u32::from(chars < few) << bit;
                long |= u32::from(chars > most && chars != UNKNOWN) << bit;
            }
            let mut open = *word & !(short | long);
            *word &= !long;
            while open != 0 {
                let bit = open.trailing_zeros();
                open &= open - 1;
                let (chars, ascii) = (chars[bit as usize], ascii[bit as usize]);
                let fits = if ascii & !looping == 0 && chars != UNKNOWN {
                    chars <= most_looping
                } else {
                    self.may_stay(at, self.vocabulary.bytes(first + bit))
                };
                if !fits {
                    *word &= !(1 << bit);
                }
            }
        }
    }

    /// The characters of ASCII that lead from a state to itself, a bit for each. NUL is left out, whose bit stands for more
    /// ([`Vocabulary::token_ascii`]), and so is the backslash, which begins an escape.
    fn looping(&self, state: u32) -> u128 {
        let leads_back = |byte: &u8| self.index.next_by_class(state, self.index.byte_class(*byte)) == state;
        (1..128).filter(|byte| *byte != b'\\').filter(leads_back).fold(0, |set, byte| set | 1 << byte)
    }

    /// Whether the rule can be brought to an end behind a token that ends inside it. Count and distance together never fall, so that the last
    /// state tells it, unless the head ends before it.
    fn may_stay(&self, at: &Configuration, bytes: &[u8]) -> bool {
        let (mut state, mut count) = (at.state, at.count);
        for &byte in bytes {
            let next = self.index.next_by_class(state, self.index.byte_class(byte));
            if byte == LengthRange::AFTER_HEAD && !self.tables.fits(&self.lengths, state, count) {
                return false;
            }
            (state, count) = (next, count.after(byte));
        }
        state != DEAD && self.tables.fits(&self.lengths, state, count)
    }

    /// Whether the rule may end, as far as its length goes, where the text of a token ends it.
    fn may_end(&self, at: &Configuration, bytes: &[u8]) -> bool {
        let (mut state, mut count) = (at.state, at.count);
        for &byte in bytes {
            if byte == LengthRange::AFTER_HEAD && !self.tables.fits(&self.lengths, state, count) {
                return false;
            }
            match self.index.next_by_class(state, self.index.byte_class(byte)) {
                DEAD => return self.index.is_complete(state) && self.lengths.has(count.chars()),
                next => (state, count) = (next, count.after(byte)),
            }
        }
        false
    }
}
