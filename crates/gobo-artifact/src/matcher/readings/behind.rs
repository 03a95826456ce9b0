//! Where the chunks stand behind the tokens of a prompt, and where the constraint's text begins there: the index has a state for each state of chunks.

use gobo_types::TokenId;

use super::frames::BOTTOM;
use super::{Frames, Reading, Readings, Tables};
use crate::layout::{DEAD, NO_CHUNK, NO_TOKEN, NO_WORD, WORD_ENDS};

impl Readings {
    /// Where the chunks stand before anything is written: a reading whose state is one of chunks.
    pub(crate) fn of_nothing(tables: &Tables<'_>) -> Self {
        let mut readings = Self::none();
        readings.add(Reading {
            state: tables.encoder.chunks.start().into(),
            last: NO_TOKEN,
            word: 0,
            frame: BOTTOM,
        });
        readings
    }

    /// Where the chunks stand behind tokens that begin one: readings whose states are those of chunks.
    ///
    /// # Errors
    /// The place of the first token that the tokenizer would not have written there.
    pub(crate) fn of_prompt(tables: &Tables<'_>, prompt: &[TokenId]) -> Result<Self, usize> {
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
                        && !next.add(Reading {
                            state: to.into(),
                            last: id,
                            word: words.next(word, id),
                            frame: BOTTOM,
                        })
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
    pub(crate) fn in_text(&self, tables: &Tables<'_>, frame: u32) -> Self {
        let mut beginning = Self::none();
        for reading in self.all() {
            let state = match reading.last {
                NO_TOKEN => tables.index.start(),
                _ => tables.index.start_behind(u16::try_from(reading.state).unwrap_or(NO_CHUNK)),
            };
            if state != DEAD {
                beginning.add(Reading { state, frame, ..*reading });
            }
        }
        beginning
    }
}

impl Reading {
    /// Whether a word that the chunk is the beginning of may be spelled on in the constraint's text, and could not go on there, although it has to. The compiler knows of
    /// words that begin in the text, and of no others. O(spellings × their tokens).
    pub(crate) fn may_be_stuck(&self, tables: &Tables<'_>, frames: &mut Frames) -> bool {
        let Tables { index, vocabulary, encoder, .. } = tables;
        let mut open = vec![*self];
        while let Some(reading) = open.pop() {
            let Self { state, last, word, frame } = reading;
            if matches!(word & !WORD_ENDS, 0 | NO_WORD) {
                continue;
            }
            let [within, _] = index.borders(state);
            let mut follow = vec![0; index.row_words()];
            let is_written = tables.row(within, word).is_some_and(|row| row.write(&mut follow))
                && reading.unite_stack(tables, frames, within, &mut follow).is_ok();
            encoder.merges.strike_once(last, &mut follow);
            if word & WORD_ENDS != 0 && (!is_written || follow.iter().all(|&word| word == 0)) {
                return true;
            }
            for &[_, id, next] in encoder.words.below(word) {
                if is_written && follow.get((id >> 5) as usize).is_some_and(|word| word >> (id & 31) & 1 == 1)
                {
                    let (state, frame) = frames.walk(index, (within, frame), vocabulary.bytes(id));
                    open.push(Self { state, last: id, word: next, frame });
                }
            }
        }
        false
    }
}
