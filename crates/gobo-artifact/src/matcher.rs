use std::sync::Arc;

use gobo_types::{Binding, TokenId};

use crate::error::MatcherError;
use crate::index::{DEAD, Index};
use crate::row::Row;
use crate::vocabulary::Vocabulary;

/// How many tokens a matcher can take back unless told otherwise.
pub const DEFAULT_MAX_ROLLBACK: usize = 256;

/// Stands for the state behind an EOS, in [`Matcher::state`] and in the history.
const ENDED: u32 = u32::MAX;

/// What a fill found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// At least one bit of the mask is set.
    Masked,
    /// The text is complete, nothing can follow, and there is no EOS to say so (or it has been taken): the mask is
    /// all zero and not to be sampled from.
    Ended,
}

/// One text being decoded under an index: where it stands, and the masks of what may come next.
///
/// A few words per text; the index and the vocabulary behind it are shared by all texts and threads. No method
/// allocates, except [`Self::new`], [`Clone::clone`] (which is the fork) and [`Self::forced`] into its buffer.
///
/// Text is the concatenation of the bytes of the tokens taken, exactly. An EOS of the binding is allowed exactly
/// where the text is complete, and ends it.
#[derive(Debug, Clone)]
pub struct Matcher {
    index: Arc<Index>,
    vocabulary: Arc<Vocabulary>,
    binding: Arc<Binding>,
    state: u32,
    /// The states before the last tokens: a ring, so that taking a step never moves memory.
    history: Box<[u32]>,
    /// Where the next state goes.
    head: usize,
    remembered: usize,
}

impl Matcher {
    /// A matcher at the empty text that remembers [`DEFAULT_MAX_ROLLBACK`] tokens.
    ///
    /// # Errors
    /// See [`Self::with_rollback`].
    pub fn new(
        index: Arc<Index>,
        vocabulary: Arc<Vocabulary>,
        binding: &Binding,
    ) -> Result<Self, MatcherError> {
        Self::with_rollback(index, vocabulary, binding, DEFAULT_MAX_ROLLBACK)
    }

    /// A matcher at the empty text that remembers `max_rollback` tokens: 4 bytes each.
    ///
    /// # Errors
    /// [`MatcherError::OtherVocabulary`], [`MatcherError::NarrowLogits`], [`MatcherError::EosBeyondLogits`].
    pub fn with_rollback(
        index: Arc<Index>,
        vocabulary: Arc<Vocabulary>,
        binding: &Binding,
        max_rollback: usize,
    ) -> Result<Self, MatcherError> {
        if !index.belongs_to(&vocabulary) {
            return Err(MatcherError::OtherVocabulary {
                expected: index.vocabulary_digest(),
                found: vocabulary.digest(),
            });
        }
        if binding.logits_width < vocabulary.len() {
            return Err(MatcherError::NarrowLogits {
                given: binding.logits_width,
                vocabulary_len: vocabulary.len(),
            });
        }
        if let Some(&id) = binding.eos.iter().find(|&&id| id >= binding.logits_width) {
            return Err(MatcherError::EosBeyondLogits { id, width: binding.logits_width });
        }
        Ok(Self {
            state: index.start(),
            index,
            vocabulary,
            binding: Arc::new(binding.clone()),
            history: vec![DEAD; max_rollback].into_boxed_slice(),
            head: 0,
            remembered: 0,
        })
    }

    /// The index.
    pub fn index(&self) -> &Arc<Index> {
        &self.index
    }

    /// The vocabulary.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// The binding.
    pub fn binding(&self) -> &Binding {
        &self.binding
    }

    /// The automaton's state; `None` once the text has ended.
    pub fn state(&self) -> Option<u32> {
        (self.state != ENDED).then_some(self.state)
    }

    /// Words of a mask: `ceil(logits width / 32)`.
    pub fn mask_words(&self) -> usize {
        self.binding.mask_words()
    }

    /// Whether the text so far satisfies the constraint. O(1).
    pub fn is_complete(&self) -> bool {
        self.state == ENDED || self.index.is_complete(self.state)
    }

    /// Whether an EOS was taken.
    pub fn is_ended(&self) -> bool {
        self.state == ENDED
    }

    fn corrupt(&self) -> MatcherError {
        MatcherError::Corrupt { state: self.state }
    }

    #[inline]
    fn row(&self, state: u32) -> Option<Row<'_>> {
        self.index.row(self.index.row_number(state)?)
    }

    /// The present row's words where they are stored densely, to be handed on without a copy: `[row words]`, without
    /// EOS bits and padding. `None` for other rows: use [`Self::fill`].
    pub fn mask(&self) -> Option<&[u32]> {
        match self.row(self.state)? {
            Row::Dense(words) => Some(words),
            Row::Patched { .. } => None,
        }
    }

    /// Writes the mask of the next token to `out`: `[mask_words]`, bit `id & 31` of word `id >> 5`. Every bit of an
    /// EOS id is set exactly if the text is complete; all bits from the vocabulary length on are zero otherwise.
    /// About one copy of a row.
    ///
    /// # Errors
    /// [`MatcherError::BufferLength`]; [`MatcherError::OnlyEos`] where the binding's EOS is an ordinary token without
    /// which nothing can be written; [`MatcherError::Corrupt`].
    pub fn fill(&self, out: &mut [u32]) -> Result<Fill, MatcherError> {
        if out.len() != self.mask_words() {
            return Err(MatcherError::BufferLength { given: out.len(), expected: self.mask_words() });
        }
        if self.state == ENDED {
            out.fill(0);
            return Ok(Fill::Ended);
        }
        let row = self.row(self.state).ok_or_else(|| self.corrupt())?;
        let (words, tail) = out.split_at_mut(self.index.row_words());
        if !row.write(words) {
            return Err(self.corrupt());
        }
        tail.fill(0);
        if self.index.is_complete(self.state) {
            for &id in &self.binding.eos {
                out[(id >> 5) as usize] |= 1 << (id & 31);
            }
            let empty = row.is_empty() && self.binding.eos.is_empty();
            return Ok(if empty { Fill::Ended } else { Fill::Masked });
        }
        let mut cleared = false;
        for &id in &self.binding.eos {
            let word = &mut out[(id >> 5) as usize];
            cleared |= *word >> (id & 31) & 1 == 1;
            *word &= !(1 << (id & 31));
        }
        // An EOS that is an ordinary token elsewhere is never text; a row that held nothing else has nothing left.
        if cleared && out.iter().all(|&word| word == 0) {
            return Err(MatcherError::OnlyEos);
        }
        Ok(Fill::Masked)
    }

    /// Whether `id` may come next. Agrees with the bit that [`Self::fill`] writes.
    pub fn allows(&self, id: TokenId) -> bool {
        self.step(self.state, id).is_ok()
    }

    /// The state after `id`, by the row's bit first.
    #[inline]
    fn step(&self, state: u32, id: TokenId) -> Result<u32, MatcherError> {
        if state == ENDED {
            return Err(MatcherError::Ended);
        }
        if self.binding.is_eos(id) {
            return if self.index.is_complete(state) { Ok(ENDED) } else { Err(MatcherError::Refused { id }) };
        }
        let row = self.row(state).ok_or(MatcherError::Corrupt { state })?;
        if !row.contains(id) {
            return Err(MatcherError::Refused { id });
        }
        match self.index.walk(state, self.vocabulary.bytes(id)) {
            DEAD => Err(MatcherError::Corrupt { state }),
            next => Ok(next),
        }
    }

    /// Takes a token.
    ///
    /// # Errors
    /// [`MatcherError::Refused`] if its bit is not set here, [`MatcherError::Ended`] behind an EOS,
    /// [`MatcherError::Corrupt`]. The state is unchanged then.
    #[inline]
    pub fn advance(&mut self, id: TokenId) -> Result<(), MatcherError> {
        let next = self.step(self.state, id)?;
        self.remember();
        self.state = next;
        Ok(())
    }

    #[inline]
    fn remember(&mut self) {
        if let Some(slot) = self.history.get_mut(self.head) {
            *slot = self.state;
            self.head = if self.head + 1 == self.history.len() { 0 } else { self.head + 1 };
            self.remembered = (self.remembered + 1).min(self.history.len());
        }
    }

    /// Takes text that did not come as tokens, a prefix in a command line for instance: all of it or nothing. It counts
    /// as one token for [`Self::rollback`]. It may end where no token can, inside a character for instance; then
    /// [`MatcherError::RefusedByte`] names the last byte.
    ///
    /// # Errors
    /// [`MatcherError::RefusedByte`] with the first byte that leads nowhere; [`MatcherError::Ended`].
    pub fn advance_bytes(&mut self, bytes: &[u8]) -> Result<(), MatcherError> {
        if self.state == ENDED {
            return Err(MatcherError::Ended);
        }
        let mut state = self.state;
        for (offset, &byte) in bytes.iter().enumerate() {
            state = self.index.next_state(state, byte);
            let last_without_row = offset + 1 == bytes.len() && self.index.row_number(state).is_none();
            if state == DEAD || last_without_row {
                return Err(MatcherError::RefusedByte { offset, byte });
            }
        }
        self.remember();
        self.state = state;
        Ok(())
    }

    /// How many of `tokens` could be taken one after the other from here. The matcher does not move.
    pub fn validate(&self, tokens: &[TokenId]) -> usize {
        let mut state = self.state;
        tokens
            .iter()
            .take_while(|&&id| match self.step(state, id) {
                Ok(next) => {
                    state = next;
                    true
                }
                Err(_) => false,
            })
            .count()
    }

    /// Takes back the last `n` tokens, an EOS among them.
    ///
    /// # Errors
    /// [`MatcherError::Rollback`] if fewer are remembered; nothing is taken back then.
    pub fn rollback(&mut self, n: usize) -> Result<(), MatcherError> {
        if n > self.remembered {
            return Err(MatcherError::Rollback { given: n, available: self.remembered });
        }
        if n > 0 {
            self.head = (self.head + self.history.len() - n) % self.history.len();
            self.remembered -= n;
            self.state = self.history[self.head];
        }
        Ok(())
    }

    /// Back to the empty text.
    pub fn reset(&mut self) {
        self.state = self.index.start();
        self.head = 0;
        self.remembered = 0;
    }

    /// Appends to `out` the bytes that must come next: as long as the text is not complete and only one byte can
    /// follow. Which tokens spell them is the caller's choice. At most one byte for each state of the index.
    pub fn forced(&self, out: &mut Vec<u8>) {
        let mut state = self.state;
        for _ in 0..self.index.states() {
            if state == ENDED || self.index.is_complete(state) {
                return;
            }
            let mut live = (0..=u8::MAX).filter(|&byte| self.index.next_state(state, byte) != DEAD);
            let (Some(byte), None) = (live.next(), live.next()) else { return };
            out.push(byte);
            state = self.index.next_state(state, byte);
        }
    }
}
