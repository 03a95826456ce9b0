//! Texts of an index whose masks let through only what the tokenizer itself would write.
//!
//! Between two tokens a chunk ends, or it goes on; which of the two may be decided only by what follows. So a text has *readings*: states of
//! the index, one for each way to put the marks that is still open. The mask behind a token t is the row behind a border within a chunk, without the tokens that
//! t joins, and the row behind a border of two chunks; of all readings together. The sets of ways that are open at once were counted when the
//! vocabulary was built, and a vocabulary with more than [`MAX_READINGS`] has no tables of its encoder.
//!
//! A chunk that the tokenizer writes as one token, and that has been spelled, cannot end. An index lists the tokens of such spellings behind which a chunk may have to
//! end; one behind which nothing goes on, with the stack at hand, is struck from the mask.
//!
//! - `behind.rs`: where the chunks stand behind the tokens of a prompt.
//! - `bytes.rs`: texts byte by byte, wherever their tokens end.
//! - `frames.rs`: the stacks of rules that call each other.
//! - `healing.rs`: bytes of a prompt that are written anew.

mod behind;
mod bytes;
mod frames;
mod healing;

use gobo_types::TokenId;

pub use self::bytes::ByteReader;
pub(super) use self::frames::Frames;
pub(super) use self::healing::{Healing, MAX_HEALED, is_place};

use crate::layout::{DEAD, Encoder, MAX_READINGS, NO_TOKEN, Row, WORD_ENDS};
use crate::matcher::error::MatcherError;
use crate::read::index::Index;
use crate::read::vocabulary::Vocabulary;

/// A way to read a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reading {
    /// The state at the end of the last token.
    pub(super) state: u32,
    /// The last token, or [`NO_TOKEN`] before the first one.
    last: TokenId,
    /// What has been written of the chunk, as far as it is the beginning of a word: a node of [`crate::layout::Words`].
    word: u32,
    /// Its stack in [`Frames`].
    pub(super) frame: u32,
}

/// All ways to read a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Readings {
    all: [Reading; MAX_READINGS],
    len: usize,
}

/// What readings are read by.
#[derive(Clone, Copy)]
pub(crate) struct Tables<'a> {
    pub(super) index: &'a Index,
    pub(super) vocabulary: &'a Vocabulary,
    pub(super) encoder: Encoder<'a>,
    /// Bytes of a prompt that are written anew before the text.
    pub(super) healing: Option<&'a Healing>,
}

impl<'a> Tables<'a> {
    /// The row behind a border, in a chunk that may be the beginning of `word`. O(1).
    #[inline]
    fn row(&self, state: u32, word: u32) -> Option<Row<'a>> {
        if is_place(state) {
            return self.healing?.row(state, word);
        }
        self.index.row_number(state).and_then(|number| self.index.row(self.vocabulary, number))
    }

    /// Where the bytes of a token lead from a border.
    #[inline]
    fn walk(&self, frames: &mut Frames, at: (u32, u32), bytes: &[u8]) -> (u32, u32) {
        if is_place(at.0) {
            return self.healing.map_or((DEAD, at.1), |healing| healing.walk(self, frames, at, bytes));
        }
        frames.walk(self.index, at, bytes)
    }

    /// Whether any token follows a border.
    fn has_any(&self, frames: &Frames, (state, word, frame): (u32, u32, u32)) -> bool {
        let Some(row) = self.row(state, word) else { return false };
        let mut is_empty = row.is_empty();
        if is_empty && !is_place(state) {
            let rows = frames.rows(self.index, self.vocabulary, (state, frame), |row| {
                is_empty = row.is_empty();
                is_empty
            });
            return !is_empty && rows.is_ok();
        }
        !is_empty
    }

    /// The tokens that follow a border.
    fn ids(&self, frames: &Frames, (state, word, frame): (u32, u32, u32)) -> Vec<TokenId> {
        let words = self.index.row_words();
        let Some(row) = self.row(state, word) else { return Vec::new() };
        let mut ids = row.ids(words);
        if !is_place(state) {
            let more = |row: Row<'_>| {
                ids.extend(row.ids(words));
                true
            };
            // A damaged file has no more of them.
            let _ = frames.rows(self.index, self.vocabulary, (state, frame), more);
        }
        ids
    }

    /// Whether a border has a token, by its row or by what is on the stack.
    fn has(&self, frames: &Frames, (state, word, frame): (u32, u32, u32), id: TokenId) -> bool {
        let Some(row) = self.row(state, word) else { return false };
        let mut found = row.contains(id);
        if !found && !is_place(state) {
            let rows = frames.rows(self.index, self.vocabulary, (state, frame), |row| {
                found = row.contains(id);
                !found
            });
            return found && rows.is_ok();
        }
        found
    }
}

impl Readings {
    /// Before the first token.
    pub(super) fn at_start(index: &Index, frame: u32) -> Self {
        let beginning = Reading { state: index.start(), last: NO_TOKEN, word: 0, frame };
        Self { all: [beginning; MAX_READINGS], len: 1 }
    }

    pub(super) fn all(&self) -> &[Reading] {
        &self.all[..self.len]
    }

    /// Frames of the deepest stack, without that to which the whole text returns. O(readings).
    pub(super) fn depth(&self, frames: &Frames) -> u32 {
        self.all().iter().map(|of| frames.depth(of.frame).saturating_sub(1)).max().unwrap_or(0)
    }

    /// # Errors
    /// [`MatcherError::StackDepth`] where a stack is past its limit.
    #[inline]
    pub(super) fn check_depth(&self, frames: &Frames) -> Result<(), MatcherError> {
        match (self.depth(frames), frames.max_depth()) {
            (frames, limit) if frames > limit => Err(MatcherError::StackDepth { limit, frames }),
            _ => Ok(()),
        }
    }

    pub(super) fn all_mut(&mut self) -> &mut [Reading] {
        &mut self.all[..self.len]
    }

    /// Whether the text is complete. O(readings).
    #[inline]
    pub(super) fn are_complete(&self, index: &Index, frames: &Frames) -> bool {
        let may_end = |of: &Reading| !is_place(of.state) && frames.may_end(index, of.state, of.frame);
        self.all().iter().any(|reading| reading.can_end() && may_end(reading))
    }

    fn none() -> Self {
        let nowhere = Reading { state: DEAD, last: NO_TOKEN, word: 0, frame: frames::BOTTOM };
        Self { all: [nowhere; MAX_READINGS], len: 0 }
    }

    /// Adds a reading, unless it is there. `false` if there is no room.
    fn add(&mut self, reading: Reading) -> bool {
        if self.all().contains(&reading) {
            return true;
        }
        let Some(slot) = self.all.get_mut(self.len) else { return false };
        *slot = reading;
        self.len += 1;
        true
    }

    /// The states from which `id` may be read, the words of which it may be a part then, and the stacks. O(readings × (parts of the last token × log merges + frames)).
    fn before<'s>(
        &'s self,
        tables: &'s Tables<'s>,
        frames: &'s Frames,
        id: TokenId,
    ) -> impl Iterator<Item = (u32, u32, u32)> + 's {
        let has = move |border: &(u32, u32, u32)| tables.has(frames, *border, id);
        self.all().iter().flat_map(move |reading| {
            let [within, marked] = reading.borders(tables);
            let joins = |_: &_| !tables.encoder.merges.joins(reading.last, id);
            let goes_on = |&(border, word, _): &(u32, u32, u32)| {
                let spelled = tables.index.spelled(border, word & !WORD_ENDS);
                !spelled.iter().any(|of| of[2] == id)
                    || !reading.is_stuck_by(tables, frames, (border, word), id)
            };
            let within = Some((within, reading.word, reading.frame)).filter(has).filter(joins);
            let marked = Some((marked, 0, reading.frame)).filter(has);
            [within.filter(goes_on), marked.filter(goes_on)].into_iter().flatten()
        })
    }

    /// Whether the mask has `id`.
    pub(super) fn allow(&self, tables: &Tables<'_>, frames: &Frames, id: TokenId) -> bool {
        self.before(tables, frames, id).next().is_some()
    }

    /// The merge for which `id` may not go on with the chunk, where it could otherwise: the last token, and the parts that would be merged.
    pub(super) fn merge_before(
        &self,
        tables: &Tables<'_>,
        frames: &Frames,
        id: TokenId,
    ) -> Option<(TokenId, TokenId, TokenId)> {
        self.all().iter().find_map(|reading| {
            let [within, _] = reading.borders(tables);
            let has = |_: &_| tables.has(frames, (within, reading.word, reading.frame), id);
            let (left, right) = tables.encoder.merges.parts_joined(reading.last, id).filter(has)?;
            Some((reading.last, left, right))
        })
    }

    /// The readings after `id`.
    ///
    /// # Errors
    /// [`MatcherError::Refused`], [`MatcherError::Corrupt`].
    pub(super) fn after(
        &self,
        tables: &Tables<'_>,
        frames: &mut Frames,
        id: TokenId,
    ) -> Result<Self, MatcherError> {
        let mut before = [(DEAD, 0, 0); 2 * MAX_READINGS];
        let mut len = 0;
        for (slot, border) in before.iter_mut().zip(self.before(tables, frames, id)) {
            *slot = border;
            len += 1;
        }
        let mut next = Self::none();
        for &(state, word, frame) in &before[..len] {
            let (to, frame) = tables.walk(frames, (state, frame), tables.vocabulary.bytes(id));
            let word = tables.encoder.words.next(word, id);
            if to == DEAD || !next.add(Reading { state: to, last: id, word, frame }) {
                return Err(MatcherError::Corrupt { state });
            }
        }
        if next.len == 0 { Err(MatcherError::Refused { id }) } else { Ok(next) }
    }

    /// The readings after some text that did not come as tokens: those of each way to cut it that the tokenizer may still mean. O(bytes ×
    /// readings × tokens that begin alike).
    ///
    /// # Errors
    /// [`MatcherError::RefusedByte`] with the first byte behind which no token leads on; [`MatcherError::Readings`]; [`MatcherError::StackDepth`].
    pub(super) fn after_bytes(
        &self,
        tables: &Tables<'_>,
        frames: &mut Frames,
        bytes: &[u8],
    ) -> Result<Self, MatcherError> {
        let mut at: Vec<Vec<Reading>> = vec![Vec::new(); bytes.len() + 1];
        at[0].extend(self.all());
        let mut furthest = 0;
        for from in 0..bytes.len() {
            for reading in std::mem::take(&mut at[from]) {
                let mut readings = Self::none();
                readings.add(reading);
                readings.check_depth(frames)?;
                for (length, ids) in tables.vocabulary.trie().prefixes(&bytes[from..]) {
                    for next in ids.iter().filter_map(|&id| readings.after(tables, frames, id).ok()) {
                        furthest = furthest.max(from + length);
                        let known = &mut at[from + length];
                        next.all().iter().for_each(|of| {
                            if !known.contains(of) {
                                known.push(*of);
                            }
                        });
                    }
                }
            }
        }
        let mut all = Self::none();
        for &reading in &at[bytes.len()] {
            if !all.add(reading) {
                return Err(MatcherError::Readings { limit: MAX_READINGS });
            }
        }
        if all.len == 0 {
            let offset = furthest.min(bytes.len() - 1);
            return Err(MatcherError::RefusedByte { offset, byte: bytes[offset] });
        }
        Ok(all)
    }

    /// Writes the rows of all readings: `[row words]`. Returns whether they have no token.
    #[inline]
    pub(super) fn fill(
        &self,
        tables: &Tables<'_>,
        frames: &Frames,
        words: &mut [u32],
    ) -> Result<bool, MatcherError> {
        match self.all() {
            [only] => only.fill(tables, frames, words),
            _ => self.fill_all(tables, frames, words),
        }
    }

    /// [`Self::fill`] of several readings.
    #[cold]
    fn fill_all(
        &self,
        tables: &Tables<'_>,
        frames: &Frames,
        words: &mut [u32],
    ) -> Result<bool, MatcherError> {
        let mut other = vec![0; words.len()];
        let mut is_empty = true;
        words.fill(0);
        for reading in self.all() {
            is_empty &= reading.fill(tables, frames, &mut other)?;
            words.iter_mut().zip(&other).for_each(|(word, other)| *word |= other);
        }
        Ok(is_empty)
    }

    /// The only token that may come next, if there is one and the text is not complete.
    pub(super) fn forced(&self, tables: &Tables<'_>, frames: &Frames, words: &mut [u32]) -> Option<TokenId> {
        if self.are_complete(tables.index, frames) || self.fill(tables, frames, words).ok()? {
            return None;
        }
        let mut set = (0..).zip(words.iter()).filter(|(_, word)| **word != 0);
        let (at, word) = set.next()?;
        let is_only = word.is_power_of_two() && set.next().is_none();
        is_only.then(|| at << 5 | word.trailing_zeros())
    }
}

impl Reading {
    /// Writes the mask of one reading: `[row words]`. Returns whether it has no token.
    #[inline]
    fn fill(&self, tables: &Tables<'_>, frames: &Frames, words: &mut [u32]) -> Result<bool, MatcherError> {
        let [within, marked] = self.borders(tables);
        let is_empty = self.fill_within(tables, frames, within, words)?;
        match tables.row(marked, 0) {
            None => Ok(is_empty),
            Some(row) if tables.index.spelled(marked, 0).is_empty() => {
                if !row.unite(words) {
                    return Err(MatcherError::Corrupt { state: marked });
                }
                let has_more = self.unite_stack(tables, frames, marked, words)?;
                Ok(is_empty && row.is_empty() && !has_more)
            }
            Some(row) => {
                let mut begun = vec![0; words.len()];
                if !row.write(&mut begun) {
                    return Err(MatcherError::Corrupt { state: marked });
                }
                self.unite_stack(tables, frames, marked, &mut begun)?;
                self.strike_words(tables, frames, (marked, 0), &mut begun);
                words.iter_mut().zip(&begun).for_each(|(word, begun)| *word |= *begun);
                Ok(is_empty && begun.iter().all(|&word| word == 0))
            }
        }
    }

    /// Writes the tokens that go on with the chunk: `[row words]`. Returns whether there is none.
    #[inline]
    fn fill_within(
        &self,
        tables: &Tables<'_>,
        frames: &Frames,
        within: u32,
        words: &mut [u32],
    ) -> Result<bool, MatcherError> {
        let Some(row) = tables.row(within, self.word) else {
            words.fill(0);
            return Ok(true);
        };
        if !row.write(words) {
            return Err(MatcherError::Corrupt { state: within });
        }
        // Of few words nothing has to be looked at but these.
        let only = if let Row::Patched { base: None, patches } = row { Some(patches) } else { None };
        let has_more = self.unite_stack(tables, frames, within, words)?;
        let only = only.filter(|_| !has_more);
        tables.vocabulary.strike(&tables.encoder.merges, self.last, words, only);
        self.strike_words(tables, frames, (within, self.word), words);
        Ok(match only {
            None => words.iter().all(|&word| word == 0),
            Some(patches) => {
                patches.iter().all(|&[at, _]| words.get(at as usize).is_none_or(|&word| word == 0))
            }
        })
    }

    /// Adds the rows that a border leaves to the stack; whether there was a token.
    #[inline]
    fn unite_stack(
        &self,
        tables: &Tables<'_>,
        frames: &Frames,
        border: u32,
        words: &mut [u32],
    ) -> Result<bool, MatcherError> {
        if self.frame == frames::BOTTOM || is_place(border) {
            return Ok(false);
        }
        let (mut has_more, mut fits) = (false, true);
        frames.rows(tables.index, tables.vocabulary, (border, self.frame), |row| {
            has_more |= !row.is_empty();
            fits = row.unite(words);
            fits
        })?;
        if fits { Ok(has_more) } else { Err(MatcherError::Corrupt { state: border }) }
    }

    /// Strikes the tokens behind which nothing goes on, of those that are read at a border and spell on from a node of words. O(log tokens) where there are none; else, for each of
    /// them and of those that spell on behind it, O(depth of the stack + row words).
    #[inline]
    fn strike_words(
        &self,
        tables: &Tables<'_>,
        frames: &Frames,
        (border, word): (u32, u32),
        words: &mut [u32],
    ) {
        for &[_, _, id] in tables.index.spelled(border, word & !WORD_ENDS) {
            let (at, bit) = ((id >> 5) as usize, 1 << (id & 31));
            if words.get(at).is_some_and(|word| word & bit != 0)
                && self.is_stuck_by(tables, frames, (border, word), id)
            {
                words[at] &= !bit;
            }
        }
    }

    /// Whether nothing goes on behind `id`, which is read at a border and spells on from a node of words, and the text cannot end there.
    ///
    /// Where another chunk may begin, something goes on: each text has an encoding from there. So this looks no further than words are long.
    #[cold]
    fn is_stuck_by(
        &self,
        tables: &Tables<'_>,
        frames: &Frames,
        (border, word): (u32, u32),
        id: TokenId,
    ) -> bool {
        let (mut frames, frame) = frames.of_stack(self.frame);
        let (state, frame) = tables.walk(&mut frames, (border, frame), tables.vocabulary.bytes(id));
        let word = tables.encoder.words.next(word, id);
        let after = Self { state, last: id, word, frame };
        let [within, marked] = after.borders(tables);
        if after.can_end() && !is_place(state) && frames.may_end(tables.index, state, frame)
            || tables.has_any(&frames, (marked, 0, frame))
        {
            return false;
        }
        let mut follow = vec![0; tables.index.row_words()];
        after.fill_within(tables, &frames, within, &mut follow).unwrap_or(true)
    }

    /// The states behind the border of two tokens of a chunk, and of two chunks.
    #[inline]
    fn borders(&self, tables: &Tables<'_>) -> [u32; 2] {
        if self.last == NO_TOKEN {
            return [self.state, DEAD];
        }
        let [within, marked] = if is_place(self.state) {
            Healing::borders(tables, self.state)
        } else {
            tables.index.borders(self.state)
        };
        [within, if self.can_end() { marked } else { DEAD }]
    }

    /// Whether the chunk can end: not if the tokenizer writes it as one token, and it has been spelled.
    #[inline]
    fn can_end(&self) -> bool {
        self.word & WORD_ENDS == 0
    }
}
