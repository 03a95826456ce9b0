use std::sync::Arc;

use gobo_types::{Binding, TokenId};

use crate::configurations::{Configurations, DEFAULT_MAX_STACK_DEPTH, MAX_CONFIGURATIONS, Stuck};
use crate::error::MatcherError;
use crate::index::{DEAD, Index, IndexClass};
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
/// A few words per text; the index and the vocabulary behind it are shared by all texts and threads. Under an index with
/// calls a matcher also holds the stack, shared with those it can go back to. No method allocates once the stack has been
/// as deep as it gets, except [`Self::new`], [`Clone::clone`] (which is the fork, O(depth)), [`Self::forced`] into its
/// buffer, and [`Self::validate`] where there is a stack.
///
/// Text is the concatenation of the bytes of the tokens taken, exactly. An EOS of the binding is allowed exactly
/// where the text is complete, and ends it.
#[derive(Debug, Clone)]
pub struct Matcher {
    index: Arc<Index>,
    vocabulary: Arc<Vocabulary>,
    binding: Arc<Binding>,
    /// Where the text stands in an index without calls; [`ENDED`] behind an EOS in every index.
    state: u32,
    /// Where it stands in an index with calls.
    configurations: Option<Box<Configurations>>,
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
    /// See [`Self::with_limits`].
    pub fn with_rollback(
        index: Arc<Index>,
        vocabulary: Arc<Vocabulary>,
        binding: &Binding,
        max_rollback: usize,
    ) -> Result<Self, MatcherError> {
        Self::with_limits(index, vocabulary, binding, max_rollback, DEFAULT_MAX_STACK_DEPTH)
    }

    /// A matcher at the empty text that remembers `max_rollback` tokens and whose stack holds at most `max_stack_depth`
    /// frames, 32 bytes each.
    ///
    /// # Errors
    /// [`MatcherError::OtherVocabulary`], [`MatcherError::OtherSharedRows`], [`MatcherError::NarrowLogits`], [`MatcherError::EosBeyondLogits`].
    pub fn with_limits(
        index: Arc<Index>,
        vocabulary: Arc<Vocabulary>,
        binding: &Binding,
        max_rollback: usize,
        max_stack_depth: u32,
    ) -> Result<Self, MatcherError> {
        if !index.belongs_to(&vocabulary) {
            return Err(MatcherError::OtherVocabulary {
                expected: index.vocabulary_digest(),
                found: vocabulary.digest(),
            });
        }
        if !index.shares_rows_of(&vocabulary) {
            return Err(MatcherError::OtherSharedRows);
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
            configurations: (index.class() != IndexClass::Regular)
                .then(|| Box::new(Configurations::new(index.start(), max_rollback, max_stack_depth))),
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

    /// The automaton's state, the first of several under an ambiguous index; `None` once the text has ended.
    pub fn state(&self) -> Option<u32> {
        let state = self.configurations.as_ref().map_or(self.state, |all| all.now()[0].state);
        (self.state != ENDED).then_some(state)
    }

    /// Every way in which the text so far can be read: a state, and the numbers of the return states on its stack, innermost
    /// first (see [`Index::call_root`]). One without a stack under a regular index; none once the text has ended.
    pub fn configurations(&self) -> Vec<(u32, Vec<u32>)> {
        match &self.configurations {
            _ if self.state == ENDED => Vec::new(),
            None => vec![(self.state, Vec::new())],
            Some(all) => {
                all.now().iter().map(|at| (at.state, all.frames().tops(at.frame).collect())).collect()
            }
        }
    }

    /// Frames of the deepest stack; 0 under a regular index.
    pub fn stack_depth(&self) -> u32 {
        self.configurations.as_ref().map_or(0, |all| all.depth())
    }

    /// Frames that are kept for this text and for those it can go back to.
    pub fn kept_frames(&self) -> usize {
        self.configurations.as_ref().map_or(0, |all| all.frames().kept())
    }

    /// Words of a mask: `ceil(logits width / 32)`.
    pub fn mask_words(&self) -> usize {
        self.binding.mask_words()
    }

    /// Whether the text so far satisfies the constraint. O(1).
    pub fn is_complete(&self) -> bool {
        match &self.configurations {
            _ if self.state == ENDED => true,
            None => self.index.is_complete(self.state),
            Some(all) => all.is_complete(&self.index),
        }
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
        self.index.row(&self.vocabulary, self.index.row_number(state)?)
    }

    /// The present row's words where they are stored densely, to be handed on without a copy: `[row words]`, without
    /// EOS bits and padding. `None` for other rows, and for masks that are a union of rows: use [`Self::fill`].
    pub fn mask(&self) -> Option<&[u32]> {
        let mut rows = (None, 0);
        match &self.configurations {
            _ if self.state == ENDED => return None,
            None => rows = (self.row(self.state), 1),
            Some(all) => all
                .rows(&self.index, &self.vocabulary, |row| {
                    rows = (Some(row), rows.1 + 1);
                    rows.1 == 1
                })
                .ok()?,
        }
        match rows {
            (Some(Row::Dense(words)), 1) => Some(words),
            _ => None,
        }
    }

    /// Writes the mask of the next token to `out`: `[mask_words]`, bit `id & 31` of word `id >> 5`. Every bit of an
    /// EOS id is set exactly if the text is complete; all bits from the vocabulary length on are zero otherwise.
    /// About one copy of a row; with calls, a union of a few rows.
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
        let (words, tail) = out.split_at_mut(self.index.row_words());
        let is_empty = match &self.configurations {
            None => {
                let row = self.row(self.state).ok_or_else(|| self.corrupt())?;
                if !row.write(words) {
                    return Err(self.corrupt());
                }
                row.is_empty()
            }
            Some(all) => {
                let (mut is_first, mut fits, mut is_empty) = (true, true, true);
                all.rows(&self.index, &self.vocabulary, |row| {
                    // Rows without a token are many: those of states that only begin other rules, or end them.
                    is_empty &= row.is_empty();
                    fits = if std::mem::take(&mut is_first) { row.write(words) } else { row.unite(words) };
                    fits
                })?;
                if !fits {
                    return Err(self.corrupt());
                }
                is_empty
            }
        };
        tail.fill(0);
        if self.is_complete() {
            for &id in &self.binding.eos {
                out[(id >> 5) as usize] |= 1 << (id & 31);
            }
            let empty = is_empty && self.binding.eos.is_empty();
            return Ok(if empty { Fill::Ended } else { Fill::Masked });
        }
        // Of an index without calls that was verified, a row without tokens is that of a complete state. Through a stack
        // nobody can tell beforehand.
        if is_empty {
            return Err(self.corrupt());
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
        match &self.configurations {
            None => self.step(self.state, id).is_ok(),
            Some(_) if self.state == ENDED => false,
            Some(_) if self.binding.is_eos(id) => self.is_complete(),
            Some(all) => {
                let mut found = false;
                let rows = all.rows(&self.index, &self.vocabulary, |row| {
                    found = row.contains(id);
                    !found
                });
                found && rows.is_ok()
            }
        }
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
    /// [`MatcherError::Corrupt`]; with calls also [`MatcherError::StackDepth`] and [`MatcherError::Configurations`] past the
    /// limits. The state is unchanged then.
    #[inline]
    pub fn advance(&mut self, id: TokenId) -> Result<(), MatcherError> {
        let next = match &mut self.configurations {
            None => self.step(self.state, id)?,
            Some(all) => {
                advance_all(all, self.state == ENDED, &self.index, &self.vocabulary, &self.binding, id)?
            }
        };
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
        if let Some(all) = &mut self.configurations {
            all.advance(&self.index, bytes).map_err(|stuck| match stuck {
                Stuck::Refused(offset) => MatcherError::RefusedByte { offset, byte: bytes[offset] },
                stuck => limit(stuck, all),
            })?;
            self.remember();
            return Ok(());
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
        if let Some(all) = &self.configurations {
            let (mut all, mut is_ended) = (all.probe(), self.state == ENDED);
            let mut takes = |id: TokenId| {
                let next = advance_all(&mut all, is_ended, &self.index, &self.vocabulary, &self.binding, id);
                is_ended |= next == Ok(ENDED);
                next.is_ok()
            };
            return tokens.iter().take_while(|&&id| takes(id)).count();
        }
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
            if let Some(all) = &mut self.configurations {
                all.rollback(n);
            }
        }
        Ok(())
    }

    /// Back to the empty text.
    pub fn reset(&mut self) {
        self.state = self.index.start();
        self.head = 0;
        self.remembered = 0;
        if let Some(all) = &mut self.configurations {
            all.reset(self.index.start());
        }
    }

    /// Appends to `out` the bytes that must come next: as long as the text is not complete and only one byte can
    /// follow. Which tokens spell them is the caller's choice. At most one byte for each state of the index.
    pub fn forced(&self, out: &mut Vec<u8>) {
        if let Some(all) = self.configurations.as_ref().filter(|_| self.state != ENDED) {
            let mut all = all.probe();
            for _ in 0..self.index.states() {
                if all.is_complete(&self.index) {
                    return;
                }
                let mut live = (0..=u8::MAX).filter(|&byte| all.would_take(&self.index, &[byte]));
                let (Some(byte), None) = (live.next(), live.next()) else { return };
                if all.advance(&self.index, &[byte]).is_err() {
                    return;
                }
                out.push(byte);
            }
            return;
        }
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

/// Takes a token in an index with calls: [`ENDED`] behind an EOS, any other number behind text.
#[inline]
fn advance_all(
    all: &mut Configurations,
    is_ended: bool,
    index: &Index,
    vocabulary: &Vocabulary,
    binding: &Binding,
    id: TokenId,
) -> Result<u32, MatcherError> {
    if is_ended {
        return Err(MatcherError::Ended);
    }
    if binding.is_eos(id) {
        if !all.is_complete(index) {
            return Err(MatcherError::Refused { id });
        }
        all.stay();
        return Ok(ENDED);
    }
    let bytes = vocabulary.bytes(id);
    // Every byte that an index with calls reads is a token by itself, so that what can be read can be ended by tokens.
    if bytes.is_empty() || vocabulary.is_special(id) {
        return Err(MatcherError::Refused { id });
    }
    all.advance(index, bytes).map_err(|stuck| match stuck {
        Stuck::Refused(_) => MatcherError::Refused { id },
        stuck => limit(stuck, all),
    })?;
    Ok(DEAD)
}

#[cold]
fn limit(stuck: Stuck, all: &Configurations) -> MatcherError {
    match stuck {
        Stuck::TooDeep => MatcherError::StackDepth { limit: all.max_depth() },
        Stuck::TooMany | Stuck::Refused(_) => MatcherError::Configurations { limit: MAX_CONFIGURATIONS },
    }
}
