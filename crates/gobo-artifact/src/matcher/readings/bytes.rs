//! Texts that are read byte by byte, wherever their tokens end: for people, who ask where a text stops being one. Each text has an encoding, so that chunks do not matter.

use std::sync::Arc;

use gobo_types::ByteSet;

use super::frames::Frames;
use super::{Reading, Readings, Tables, is_place};
use crate::layout::{DEAD, MAX_READINGS};
use crate::matcher::error::MatcherError;
use crate::read::index::Index;

/// A text under a canonical index, behind what a matcher has taken.
#[derive(Debug, Clone)]
pub struct ByteReader {
    index: Arc<Index>,
    frames: Frames,
    /// States and stacks at the end of a byte. Each once.
    at: Vec<(u32, u32)>,
}

impl ByteReader {
    pub(crate) fn new(index: &Arc<Index>, frames: &Frames, readings: &Readings) -> Self {
        let stands = |state: u32| if is_place(state) { index.start() } else { state };
        let mut at: Vec<(u32, u32)> =
            readings.all().iter().map(|of| (stands(of.at.state), of.frame)).collect();
        at.sort_unstable();
        at.dedup();
        Self { index: Arc::clone(index), frames: frames.clone(), at }
    }

    /// The state of the index, the first of several; 0 for none. O(1).
    pub fn state(&self) -> u32 {
        self.at.first().map_or(DEAD, |at| at.0)
    }

    /// Reads a byte; `false`, and nothing changes, if it leads nowhere. O(states at once).
    pub fn step(&mut self, byte: u8) -> bool {
        let Self { index, frames, at } = self;
        let next = at.iter().map(|&at| frames.walk(index, at, &[byte]));
        let next: Vec<(u32, u32)> = next.filter(|next| next.0 != DEAD).collect();
        if next.is_empty() {
            return false;
        }
        self.at = next;
        true
    }

    /// The bytes that lead on. O(256 × states at once).
    pub fn live_bytes(&self) -> ByteSet {
        let mut frames = self.frames.clone();
        let mut leads = |byte: u8| self.at.iter().any(|&at| frames.walk(&self.index, at, &[byte]).0 != DEAD);
        (0..=u8::MAX).filter(|&byte| leads(byte)).collect()
    }
}

impl Readings {
    /// The readings after some text that did not come as tokens: those of each way to cut it that the tokenizer may still mean. O(bytes ×
    /// readings × tokens that begin alike).
    ///
    /// # Errors
    /// [`MatcherError::RefusedByte`] with the first byte behind which no token leads on; [`MatcherError::Readings`]; [`MatcherError::StackDepth`].
    pub(crate) fn after_bytes(
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
}
