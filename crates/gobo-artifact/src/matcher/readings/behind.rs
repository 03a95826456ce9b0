//! Where the chunks stand behind the tokens of a prompt, and so at the beginning of the constraint's text.

use gobo_types::TokenId;

use super::frames::BOTTOM;
use super::{Frames, Pair, Reading, Readings, Tables};
use crate::layout::{DEAD, NO_CHUNK, NO_TOKEN, NO_WORD, WORD_ENDS};
use crate::read::index::Index;

/// Before the constraint's text: no state of the index.
fn before(chunk: u16) -> Pair {
    Pair { state: DEAD, chunk }
}

impl Readings {
    /// Where the chunks stand before anything is written.
    pub(crate) fn of_nothing(tables: &Tables<'_>) -> Self {
        let mut readings = Self::none();
        let at = before(tables.encoder.chunks.start());
        readings.add(Reading { at, last: NO_TOKEN, word: 0, frame: BOTTOM });
        readings
    }

    /// Where the chunks stand behind tokens that begin one.
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
                let from = reading.at.chunk;
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
                            at: before(to),
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

    /// These readings at the beginning of the constraint's text.
    pub(crate) fn in_text(&self, index: &Index, frame: u32) -> Self {
        let mut beginning = *self;
        for reading in beginning.all_mut() {
            reading.at.state = index.start();
            reading.frame = frame;
        }
        beginning
    }
}

impl Reading {
    /// Whether a word that the chunk is the beginning of may be spelled on in the constraint's text, and could not go on there, although it has to. The compiler knows of
    /// words that begin in the text, and of no others. O(spellings × their tokens).
    pub(crate) fn may_be_stuck(&self, tables: &Tables<'_>, frames: &mut Frames) -> bool {
        let Tables { index, encoder, .. } = tables;
        let mut open = vec![*self];
        while let Some(reading) = open.pop() {
            let Self { last, word, .. } = reading;
            if matches!(word & !WORD_ENDS, 0 | NO_WORD) {
                continue;
            }
            let mut follow = vec![0; index.row_words()];
            let [within, _] = reading.borders(tables);
            let within = within.filter(|within| {
                tables.row(within).is_some_and(|row| row.write(&mut follow))
                    && tables.unite_stack(frames, within, &mut follow).is_ok()
            });
            encoder.merges.strike_once(last, &mut follow);
            if word & WORD_ENDS != 0 && (within.is_none() || follow.iter().all(|&word| word == 0)) {
                return true;
            }
            let Some(within) = &within else { continue };
            for &[_, id, next] in encoder.words.below(word) {
                if follow.get((id >> 5) as usize).is_some_and(|word| word >> (id & 31) & 1 == 1) {
                    open.push(within.reading(tables, frames, id, next));
                }
            }
        }
        false
    }
}
