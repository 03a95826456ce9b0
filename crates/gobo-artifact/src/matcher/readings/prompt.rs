//! Texts that go on with the last chunk of a prompt.
//!
//! The tokens of the prompt are read beside the automaton of chunks alone, from the last special token on, behind which a chunk begins. Where they end, the index
//! has a state for each state of chunks in which its texts may begin.

use std::sync::Arc;

use gobo_types::TokenId;

use super::healing::{Healing, MAX_HEALED};
use super::{Reading, Readings, Tables};
use crate::layout::{DEAD, NO_CHUNK, NO_TOKEN, NO_WORD, WORD_ENDS};
use crate::matcher::Matcher;
use crate::matcher::error::MatcherError;
use crate::read::borders::PromptEnd;

impl Matcher {
    /// The same matcher at the beginning of a text behind `prompt`, the tokens since the last special one at least, of which those before it are not looked at.
    /// Under an index of `canonical-strict` no token comes that the tokenizer would not have written behind the prompt. Under one of `canonical-heal` the
    /// last token of the prompt is taken back, unless it is special, and its bytes are written anew ([`Self::taken_back`]). Under others the prompt
    /// excludes nothing.
    ///
    /// O(tokens × their bytes); with a token that is taken back also a walk of the vocabulary below its bytes, which forks share.
    ///
    /// # Errors
    /// [`MatcherError::Prompt`] where the tokenizer would have written the prompt otherwise; [`MatcherError::NothingFollows`] if it would write no text of the constraint
    /// behind it; [`MatcherError::PrefixLength`] for a last token of more than 256 bytes.
    pub fn after_prompt(mut self, prompt: &[TokenId]) -> Result<Self, MatcherError> {
        let Some(end) = self.index.prompt_end() else {
            self.reset();
            return Ok(self);
        };
        let mut since = prompt.iter().rposition(|&id| self.vocabulary.is_special(id)).map_or(0, |at| at + 1);
        let (mut kept, mut bytes) = (prompt, Vec::new());
        if let (PromptEnd::TakenBack, Some((last, before))) = (end, prompt[since..].split_last()) {
            bytes = self.vocabulary.bytes(*last).to_vec();
            kept = &prompt[..since + before.len()];
        }
        let taken_back = prompt.len() - kept.len();
        since = since.min(kept.len());
        let behind = Readings::of_prompt(&self.tables()?, &kept[since..])
            .map_err(|at| MatcherError::Prompt { at: since + at, id: kept[since + at] })?;
        self.begin(&behind, &bytes, taken_back)?;
        Ok(self)
    }

    /// How many tokens of the prompt were taken back, and are not part of the output any more: one at most, and none under an index that does not take them back. O(1).
    pub fn taken_back(&self) -> usize {
        self.canonical.as_ref().map_or(0, |canonical| canonical.taken_back)
    }

    /// Begins anew behind readings whose states are those of chunks, with some bytes to write before the constraint's text.
    ///
    /// # Errors
    /// [`MatcherError::NothingFollows`], [`MatcherError::PrefixLength`].
    pub(in crate::matcher) fn begin(
        &mut self,
        behind: &Readings,
        bytes: &[u8],
        taken_back: usize,
    ) -> Result<(), MatcherError> {
        if bytes.len() > MAX_HEALED {
            return Err(MatcherError::PrefixLength { given: bytes.len(), limit: MAX_HEALED });
        }
        let tables = Tables { healing: None, ..self.tables()? };
        let (healing, beginning) = if bytes.is_empty() {
            (None, behind.in_text(&tables))
        } else {
            let (healing, beginning) = Healing::new(&tables, bytes, behind);
            (Some(Arc::new(healing)), beginning)
        };
        let tables = Tables { healing: healing.as_deref(), ..tables };
        let mut words = vec![0; self.index.row_words()];
        let is_empty = beginning.len == 0 || beginning.fill(&tables, &mut words)?;
        let is_stuck = match &healing {
            Some(healing) => healing.is_stuck,
            None => beginning.all().iter().any(|reading| reading.may_be_stuck(&tables)),
        };
        if is_stuck || is_empty && !beginning.are_complete(&self.index) {
            return Err(MatcherError::NothingFollows);
        }
        if let Some(canonical) = &mut self.canonical {
            canonical.beginning = beginning;
            canonical.healing = healing;
            canonical.taken_back = taken_back;
        }
        self.reset();
        Ok(())
    }
}

impl Readings {
    /// Where the chunks stand before anything is written: a reading whose state is one of chunks.
    pub(in crate::matcher) fn of_nothing(tables: &Tables<'_>) -> Self {
        let mut readings = Self::none();
        readings.add(Reading { state: tables.encoder.chunks.start().into(), last: NO_TOKEN, word: 0 });
        readings
    }

    /// Where the chunks stand behind tokens that begin one: readings whose states are those of chunks.
    ///
    /// # Errors
    /// The place of the first token that the tokenizer would not have written there.
    fn of_prompt(tables: &Tables<'_>, prompt: &[TokenId]) -> Result<Self, usize> {
        let (chunks, merges, words) = (&tables.encoder.chunks, &tables.encoder.merges, &tables.encoder.words);
        let mut readings = Self::of_nothing(tables);
        for (at, &id) in prompt.iter().enumerate() {
            let (class, is_whole) = (chunks.class_of(id), merges.is_whole(id));
            let mut next = Self::none();
            for reading in readings.all() {
                let from = u16::try_from(reading.state).unwrap_or(NO_CHUNK);
                let (within, marked) = match reading.last {
                    NO_TOKEN => (from, NO_CHUNK),
                    last if merges.joins(last, id) => (NO_CHUNK, chunks.marked(from)),
                    _ => (chunks.within(from), chunks.marked(from)),
                };
                let marked = if reading.can_end() { marked } else { NO_CHUNK };
                for (from, word) in [(within, reading.word), (marked, 0)] {
                    let is_between = chunks.is_between(from);
                    let to = match from {
                        NO_CHUNK => NO_CHUNK,
                        _ if is_whole && !chunks.begins(from) => NO_CHUNK,
                        _ if is_between && class != 0 => chunks.after(from, class),
                        _ if !is_between && merges.is_proper(id) => {
                            tables.vocabulary.bytes(id).iter().fold(from, |at, &byte| chunks.next(at, byte))
                        }
                        _ => NO_CHUNK,
                    };
                    if to != NO_CHUNK
                        && !next.add(Reading { state: to.into(), last: id, word: words.next(word, id) })
                    {
                        return Err(at);
                    }
                }
            }
            if next.len == 0 {
                return Err(at);
            }
            readings = next;
        }
        Ok(readings)
    }

    /// These readings, whose states are those of chunks, at the beginning of the constraint's text.
    fn in_text(&self, tables: &Tables<'_>) -> Self {
        let mut beginning = Self::none();
        for reading in self.all() {
            let state = match reading.last {
                NO_TOKEN => tables.index.start(),
                _ => tables.index.start_behind(u16::try_from(reading.state).unwrap_or(NO_CHUNK)),
            };
            if state != DEAD {
                beginning.add(Reading { state, ..*reading });
            }
        }
        beginning
    }
}

impl Reading {
    /// Whether a word that the chunk is the beginning of may be spelled on in the constraint's text, and could not go on there, although it has to. The compiler knows of
    /// words that begin in the text, and of no others. O(spellings × their tokens).
    pub(super) fn may_be_stuck(&self, tables: &Tables<'_>) -> bool {
        let Tables { index, vocabulary, encoder, .. } = tables;
        let mut open = vec![*self];
        while let Some(Self { state, last, word }) = open.pop() {
            if matches!(word & !WORD_ENDS, 0 | NO_WORD) {
                continue;
            }
            let [within, _] = index.borders(state);
            let mut follow = vec![0; index.row_words()];
            let is_written = tables.row(within, word).is_some_and(|row| row.write(&mut follow));
            encoder.merges.strike_once(last, &mut follow);
            if word & WORD_ENDS != 0 && (!is_written || follow.iter().all(|&word| word == 0)) {
                return true;
            }
            for &[_, id, next] in encoder.words.below(word) {
                if is_written && follow.get((id >> 5) as usize).is_some_and(|word| word >> (id & 31) & 1 == 1)
                {
                    let state = index.walk(within, vocabulary.bytes(id));
                    open.push(Self { state, last: id, word: next });
                }
            }
        }
        false
    }
}
