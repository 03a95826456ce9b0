//! Texts of an index whose masks let through only what the tokenizer itself would write.
//!
//! A text stands in a state of the index, and its chunks stand in one of theirs. Between two tokens a chunk ends, or it goes on; which of the two may be decided only by what
//! follows. So a text has *readings*: pairs of states, one for each way to put the marks that is still open. The mask behind a token t is the row of the border within a chunk, without
//! the tokens that t joins, and the row of the border of two chunks; of all readings together. The sets of ways that are open at once were counted when the
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

use crate::layout::index::borders::NO_BORDER;
use crate::layout::{DEAD, Encoder, MAX_READINGS, NO_CHUNK, NO_TOKEN, Row, WORD_ENDS};
use crate::matcher::error::MatcherError;
use crate::read::index::Index;
use crate::read::vocabulary::Vocabulary;

/// Where a text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Pair {
    /// A state of the index, or a place among bytes of a prompt ([`Healing`]).
    pub(super) state: u32,
    /// A state of chunks.
    pub(super) chunk: u16,
}

impl Pair {
    /// No text stands there.
    const NOWHERE: Self = Self { state: DEAD, chunk: NO_CHUNK };

    #[inline]
    fn is_nowhere(self) -> bool {
        self.state == DEAD || self.chunk == NO_CHUNK
    }
}

/// A way to read a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reading {
    /// Where it stands at the end of the last token.
    pub(super) at: Pair,
    /// The last token, or [`NO_TOKEN`] before the first one.
    last: TokenId,
    /// What has been written of the chunk, as far as it is the beginning of a word: a node of [`crate::layout::Words`].
    word: u32,
    /// Its stack in [`Frames`].
    pub(super) frame: u32,
}

/// A border at which a token may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Border {
    at: Pair,
    /// Its number in the index; none at a place.
    number: u32,
    /// The word of which the chunk may be the beginning.
    word: u32,
    frame: u32,
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
    /// The border where a text stands between two tokens, if any token may begin there. O(log borders).
    #[inline]
    fn border(&self, at: Pair, word: u32, frame: u32) -> Option<Border> {
        if at.chunk == NO_CHUNK {
            return None;
        }
        let number = if is_place(at.state) { NO_BORDER } else { self.index.border(at.state, at.chunk) };
        (number != NO_BORDER || is_place(at.state)).then_some(Border { at, number, word, frame })
    }

    /// The row of a border. O(1).
    #[inline]
    fn row(&self, border: &Border) -> Option<Row<'a>> {
        if is_place(border.at.state) {
            return self.healing?.row(border.at, border.word);
        }
        self.index.border_row(border.number).and_then(|number| self.index.row(self.vocabulary, number))
    }

    /// Where bytes lead in the text, and the stack there.
    fn read(&self, frames: &mut Frames, (at, frame): (Pair, u32), bytes: &[u8]) -> (Pair, u32) {
        let chunk = bytes.iter().fold(at.chunk, |chunk, &byte| self.encoder.chunks.next(chunk, byte));
        let (state, frame) = frames.walk(self.index, (at.state, frame), bytes);
        (Pair { state, chunk }, frame)
    }

    /// Where a token leads from a border, and the stack there.
    #[inline]
    fn walk(&self, frames: &mut Frames, border: &Border, id: TokenId) -> (Pair, u32) {
        let &Border { at, frame, .. } = border;
        let bytes = self.vocabulary.bytes(id);
        if is_place(at.state) {
            return self
                .healing
                .map_or((Pair::NOWHERE, frame), |healing| healing.walk(self, frames, (at, frame), bytes));
        }
        let chunks = &self.encoder.chunks;
        if !chunks.is_between(at.chunk) {
            return self.read(frames, (at, frame), bytes);
        }
        let chunk = chunks.after(at.chunk, chunks.class_of(id));
        let (state, frame) = frames.walk(self.index, (at.state, frame), bytes);
        (Pair { state, chunk }, frame)
    }

    /// Whether the text may end there.
    fn may_end(&self, frames: &Frames, at: Pair, frame: u32) -> bool {
        !is_place(at.state)
            && self.encoder.chunks.may_end(at.chunk)
            && frames.may_end(self.index, at.state, frame)
    }

    /// Whether any token follows a border.
    fn has_any(&self, frames: &Frames, border: &Border) -> bool {
        let Some(row) = self.row(border) else { return false };
        let mut is_empty = row.is_empty();
        if is_empty && !is_place(border.at.state) {
            let rows = frames.rows(self.index, self.vocabulary, border.left(), |row| {
                is_empty = row.is_empty();
                is_empty
            });
            return !is_empty && rows.is_ok();
        }
        !is_empty
    }

    /// The tokens that follow a border.
    fn ids(&self, frames: &Frames, border: &Border) -> Vec<TokenId> {
        let words = self.index.row_words();
        let Some(row) = self.row(border) else { return Vec::new() };
        let mut ids = row.ids(words);
        if !is_place(border.at.state) {
            let more = |row: Row<'_>| {
                ids.extend(row.ids(words));
                true
            };
            // A damaged file has no more of them.
            let _ = frames.rows(self.index, self.vocabulary, border.left(), more);
        }
        ids
    }

    /// Whether a border has a token, by its row or by what is on the stack.
    fn has(&self, frames: &Frames, border: &Border, id: TokenId) -> bool {
        let Some(row) = self.row(border) else { return false };
        let mut found = row.contains(id);
        if !found && !is_place(border.at.state) {
            let rows = frames.rows(self.index, self.vocabulary, border.left(), |row| {
                found = row.contains(id);
                !found
            });
            return found && rows.is_ok();
        }
        found
    }
}

impl Tables<'_> {
    /// Adds the rows that a border leaves to the stack; whether there was a token.
    #[inline]
    fn unite_stack(&self, frames: &Frames, border: &Border, words: &mut [u32]) -> Result<bool, MatcherError> {
        if border.frame == frames::BOTTOM || is_place(border.at.state) {
            return Ok(false);
        }
        let (mut has_more, mut fits) = (false, true);
        frames.rows(self.index, self.vocabulary, border.left(), |row| {
            has_more |= !row.is_empty();
            fits = row.unite(words);
            fits
        })?;
        if fits { Ok(has_more) } else { Err(border.corrupt()) }
    }

    /// Strikes the tokens behind which nothing goes on, of those that are read at a border and spell on from its node of words. O(log tokens) where there are none; else, for each of
    /// them and of those that spell on behind it, O(depth of the stack + row words).
    #[inline]
    fn strike_words(&self, frames: &Frames, border: &Border, words: &mut [u32]) {
        for &[_, _, id] in self.index.spelled(border.number, border.word & !WORD_ENDS) {
            let (at, bit) = ((id >> 5) as usize, 1 << (id & 31));
            if words.get(at).is_some_and(|word| word & bit != 0) && self.is_stuck_by(frames, border, id) {
                words[at] &= !bit;
            }
        }
    }

    /// Whether nothing goes on behind `id`, which is read at a border and spells on from its node of words, and the text cannot end there.
    ///
    /// Where another chunk may begin, something goes on: each text has an encoding from there. So this looks no further than words are long.
    #[cold]
    fn is_stuck_by(&self, frames: &Frames, border: &Border, id: TokenId) -> bool {
        let (mut frames, frame) = frames.of_stack(border.frame);
        let word = self.encoder.words.next(border.word, id);
        let after = Border { frame, ..*border }.reading(self, &mut frames, id, word);
        let [within, marked] = after.borders(self);
        if after.can_end() && self.may_end(&frames, after.at, after.frame)
            || marked.is_some_and(|marked| self.has_any(&frames, &marked))
        {
            return false;
        }
        let mut follow = vec![0; self.index.row_words()];
        after.fill_within(self, &frames, within.as_ref(), &mut follow).unwrap_or(true)
    }
}

impl Readings {
    /// Before the first token, where a chunk begins at `chunk`.
    pub(super) fn at_start(index: &Index, chunk: u16, frame: u32) -> Self {
        let at = Pair { state: index.start(), chunk };
        let beginning = Reading { at, last: NO_TOKEN, word: 0, frame };
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
    pub(super) fn are_complete(&self, tables: &Tables<'_>, frames: &Frames) -> bool {
        self.all().iter().any(|of| of.can_end() && tables.may_end(frames, of.at, of.frame))
    }

    fn none() -> Self {
        let nowhere = Reading { at: Pair::NOWHERE, last: NO_TOKEN, word: 0, frame: frames::BOTTOM };
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

    /// The borders at which `id` may be read. O(readings × (parts of the last token × log merges + frames)).
    fn before<'s>(
        &'s self,
        tables: &'s Tables<'s>,
        frames: &'s Frames,
        id: TokenId,
    ) -> impl Iterator<Item = Border> + 's {
        let has = move |border: &Border| tables.has(frames, border, id);
        self.all().iter().flat_map(move |reading| {
            let [within, marked] = reading.borders(tables);
            let joins = |_: &_| !tables.encoder.merges.joins(reading.last, id);
            let goes_on = |border: &Border| {
                let spelled = tables.index.spelled(border.number, border.word & !WORD_ENDS);
                !spelled.iter().any(|of| of[2] == id) || !tables.is_stuck_by(frames, border, id)
            };
            let (within, marked) = (within.filter(has).filter(joins), marked.filter(has));
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
            let has = |_: &_| within.is_some_and(|within| tables.has(frames, &within, id));
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
        let mut before = [None; 2 * MAX_READINGS];
        for (slot, border) in before.iter_mut().zip(self.before(tables, frames, id)) {
            *slot = Some(border);
        }
        let mut next = Self::none();
        for border in before.iter().map_while(Option::as_ref) {
            let after = border.reading(tables, frames, id, tables.encoder.words.next(border.word, id));
            if after.at.is_nowhere() || !next.add(after) {
                return Err(MatcherError::Corrupt { state: border.at.state });
            }
        }
        if next.len == 0 { Err(MatcherError::Refused { id }) } else { Ok(next) }
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
        if self.are_complete(tables, frames) || self.fill(tables, frames, words).ok()? {
            return None;
        }
        let mut set = (0..).zip(words.iter()).filter(|(_, word)| **word != 0);
        let (at, word) = set.next()?;
        let is_only = word.is_power_of_two() && set.next().is_none();
        is_only.then(|| at << 5 | word.trailing_zeros())
    }
}

impl Border {
    /// The reading behind a token that begins here, `word` being where the words stand then.
    #[inline]
    fn reading(&self, tables: &Tables<'_>, frames: &mut Frames, id: TokenId, word: u32) -> Reading {
        let (at, frame) = tables.walk(frames, self, id);
        Reading { at, last: id, word, frame }
    }

    /// What it leaves to the stack: its number, and the stack.
    #[inline]
    fn left(&self) -> (u32, u32) {
        (self.number, self.frame)
    }

    fn corrupt(&self) -> MatcherError {
        MatcherError::Corrupt { state: self.at.state }
    }
}

impl Reading {
    /// Writes the mask of one reading: `[row words]`. Returns whether it has no token.
    #[inline]
    fn fill(&self, tables: &Tables<'_>, frames: &Frames, words: &mut [u32]) -> Result<bool, MatcherError> {
        let [within, marked] = self.borders(tables);
        let is_empty = self.fill_within(tables, frames, within.as_ref(), words)?;
        let Some(marked) = &marked else { return Ok(is_empty) };
        let Some(row) = tables.row(marked) else { return Ok(is_empty) };
        if tables.index.spelled(marked.number, 0).is_empty() {
            if !row.unite(words) {
                return Err(marked.corrupt());
            }
            let has_more = tables.unite_stack(frames, marked, words)?;
            return Ok(is_empty && row.is_empty() && !has_more);
        }
        let mut begun = vec![0; words.len()];
        if !row.write(&mut begun) {
            return Err(marked.corrupt());
        }
        tables.unite_stack(frames, marked, &mut begun)?;
        tables.strike_words(frames, marked, &mut begun);
        words.iter_mut().zip(&begun).for_each(|(word, begun)| *word |= *begun);
        Ok(is_empty && begun.iter().all(|&word| word == 0))
    }

    /// Writes the tokens that go on with the chunk: `[row words]`. Returns whether there is none.
    #[inline]
    fn fill_within(
        &self,
        tables: &Tables<'_>,
        frames: &Frames,
        within: Option<&Border>,
        words: &mut [u32],
    ) -> Result<bool, MatcherError> {
        let Some((within, row)) = within.and_then(|within| Some((within, tables.row(within)?))) else {
            words.fill(0);
            return Ok(true);
        };
        if !row.write(words) {
            return Err(within.corrupt());
        }
        // Of few words nothing has to be looked at but these.
        let only = if let Row::Patched { base: None, patches } = row { Some(patches) } else { None };
        let has_more = tables.unite_stack(frames, within, words)?;
        let only = only.filter(|_| !has_more);
        tables.vocabulary.strike(&tables.encoder.merges, self.last, words, only);
        tables.strike_words(frames, within, words);
        Ok(match only {
            None => words.iter().all(|&word| word == 0),
            Some(patches) => {
                patches.iter().all(|&[at, _]| words.get(at as usize).is_none_or(|&word| word == 0))
            }
        })
    }

    /// The borders of two tokens of a chunk, and of two chunks.
    #[inline]
    fn borders(&self, tables: &Tables<'_>) -> [Option<Border>; 2] {
        let &Self { at, last, word, frame } = self;
        if last == NO_TOKEN {
            return [tables.border(at, word, frame), None];
        }
        let chunks = &tables.encoder.chunks;
        let behind = |chunk: u16, word: u32| tables.border(Pair { chunk, ..at }, word, frame);
        let within = behind(chunks.within(at.chunk), word);
        [within, if self.can_end() { behind(chunks.marked(at.chunk), 0) } else { None }]
    }

    /// Whether the chunk can end: not if the tokenizer writes it as one token, and it has been spelled.
    #[inline]
    fn can_end(&self) -> bool {
        self.word & WORD_ENDS == 0
    }
}
