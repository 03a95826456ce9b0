//! Steps of a matcher: one token or some bytes forward, tokens back, tokens tried without moving, and the bytes that must come next.
//!
//! A step tests the token's bit in the present row, and walks its bytes through the transition table; no token transitions are
//! stored. The states before the last steps are a ring buffer, so that a step moves no memory.

use gobo_types::{Binding, TokenId};

use crate::layout::DEAD;
use crate::matcher::configurations::{Configurations, Stuck};
use crate::matcher::edges::advance_edges;
use crate::matcher::error::MatcherError;
use crate::matcher::places::{ENDED, FIRST_APART, Spelled};
use crate::matcher::readings::{ByteReader, Frames, Readings};
use crate::matcher::{Canonical, Matcher};
use crate::read::index::Index;
use crate::read::vocabulary::Vocabulary;

impl Matcher {
    /// The state after `id`, by the row's bit first.
    #[inline]
    pub(super) fn step(&self, state: u32, id: TokenId) -> Result<u32, MatcherError> {
        if state >= FIRST_APART {
            return self.step_apart(state, id);
        }
        if self.index.has_token_edges() {
            return self.step_edges(state, id);
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

    /// Takes a token. O(its bytes); with calls also O(configurations and nodes popped) for each byte.
    ///
    /// # Errors
    /// [`MatcherError::Refused`] if its bit is not set here, [`MatcherError::Ended`] after an EOS,
    /// [`MatcherError::Corrupt`]; with calls also [`MatcherError::StackDepth`] and [`MatcherError::StackNodes`] where the text
    /// is past a limit already, and so has no mask: a token that a mask shows is taken. The state is unchanged then.
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// use gobo_artifact::MatcherError;
    ///
    /// # let mut matcher = small::matcher();
    /// // Ids 0 `a`, 1 `b`; texts of (ab)*.
    /// matcher.advance(0)?;
    /// assert_eq!(matcher.advance(0), Err(MatcherError::Refused { id: 0 }));
    /// matcher.advance(1)?;
    /// # Ok::<(), MatcherError>(())
    /// ```
    #[inline]
    pub fn advance(&mut self, id: TokenId) -> Result<(), MatcherError> {
        if self.canonical.is_some() {
            return self.advance_canonical(id);
        }
        let next = match &mut self.configurations {
            None => self.step(self.state, id)?,
            Some(all) if self.state >= FIRST_APART => {
                let spelled = self.prefix.step(self.state, id, &self.vocabulary, &self.binding)?;
                spell_all(all, &self.index, spelled, id)?
            }
            Some(all) => advance_all(all, &self.index, &self.vocabulary, &self.binding, id)?,
        };
        self.remember();
        self.state = next;
        Ok(())
    }

    #[inline]
    fn remember(&mut self) {
        if let Some(slot) = self.history.get_mut(self.head) {
            *slot = self.state;
            if let Some(Canonical { now, history, .. }) = self.canonical.as_deref_mut() {
                history[self.head] = *now;
            }
            self.head = if self.head + 1 == self.history.len() { 0 } else { self.head + 1 };
            self.remembered = (self.remembered + 1).min(self.history.len());
        }
    }

    /// Takes text that did not come as tokens, a prefix in a command line for instance: all of it or nothing. It counts
    /// as one token for [`Self::rollback`]. Text that ends where no token can, inside a character for instance, is refused: then
    /// [`MatcherError::RefusedByte`] names its last byte. O(bytes).
    ///
    /// # Errors
    /// [`MatcherError::RefusedByte`] with the first byte that leads nowhere; [`MatcherError::Ended`]; with calls also
    /// [`MatcherError::StackDepth`] and [`MatcherError::StackNodes`] where the text is past a limit, which is looked at before
    /// the first byte and after some thousand.
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// use gobo_artifact::MatcherError;
    ///
    /// # let mut matcher = small::matcher();
    /// // Texts of (ab)*.
    /// matcher.advance_bytes(b"aba")?;
    /// let error = MatcherError::RefusedByte { offset: 1, byte: b'x' };
    /// assert_eq!(matcher.advance_bytes(b"bx"), Err(error));
    /// matcher.rollback(1)?;
    /// assert_eq!(matcher.state(), Some(matcher.index().start()));
    /// # Ok::<(), MatcherError>(())
    /// ```
    pub fn advance_bytes(&mut self, bytes: &[u8]) -> Result<(), MatcherError> {
        if self.state == ENDED {
            return Err(MatcherError::Ended);
        }
        let rest = self.prefix.rest(self.state);
        let spelled = rest.iter().zip(bytes).take_while(|(one, other)| one == other).count();
        if let Some(&byte) = bytes.get(spelled).filter(|_| spelled < rest.len()) {
            return Err(MatcherError::RefusedByte { offset: spelled, byte });
        }
        if spelled < rest.len() {
            // The place of a part of the prefix counts downwards.
            let next = self.state - u32::try_from(spelled).expect("a prefix has 65,536 bytes at most");
            self.configurations.iter_mut().for_each(|all| all.stay());
            self.remember();
            self.state = next;
            return Ok(());
        }
        let was_apart = !rest.is_empty();
        if !self.index.are_text(bytes) {
            let is_text = |byte: &u8| self.index.are_text(&[*byte]);
            let offset = bytes.iter().take_while(|byte| is_text(byte)).count();
            return Err(MatcherError::RefusedByte { offset, byte: bytes[offset] });
        }
        if let Some(canonical) = &self.canonical {
            if bytes.is_empty() {
                self.remember();
                return Ok(());
            }
            let mut frames = canonical.frames.clone();
            let next = canonical.now.after_bytes(&self.tables()?, &mut frames, bytes)?;
            self.remember();
            self.go_to(next, frames);
            return Ok(());
        }
        if let Some(all) = &mut self.configurations {
            if was_apart && spelled == bytes.len() {
                all.stay();
            } else {
                all.advance(&self.index, &bytes[spelled..]).map_err(|stuck| match stuck {
                    Stuck::Refused(offset) => {
                        MatcherError::RefusedByte { offset: spelled + offset, byte: bytes[spelled + offset] }
                    }
                    Stuck::Past(past) => past.into(),
                })?;
            }
            self.remember();
            self.state = if was_apart { DEAD } else { self.state };
            return Ok(());
        }
        let mut state = self.place(self.state);
        for (offset, &byte) in bytes.iter().enumerate().skip(spelled) {
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

    /// How many of `tokens` could be taken one after the other from here. The matcher does not move. The cost is that of as many
    /// steps; with calls also of a copy of the stack.
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// # let matcher = small::matcher();
    /// // Ids 0 `a`, 1 `b`, 2 `ab`; texts of (ab)*.
    /// assert_eq!(matcher.validate(&[2, 0, 1, 1]), 3);
    /// ```
    pub fn validate(&self, tokens: &[TokenId]) -> usize {
        let mut probe = self.probe(false);
        tokens.iter().take_while(|&&id| probe.advance(id).is_ok()).count()
    }

    /// Takes back the last `n` tokens, an EOS among them. O(1); with calls O(n).
    ///
    /// # Errors
    /// [`MatcherError::Rollback`] if fewer are remembered; nothing is taken back then.
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// # let mut matcher = small::matcher();
    /// let before = matcher.state();
    /// matcher.advance(2)?;
    /// matcher.advance(0)?;
    /// matcher.rollback(2)?;
    /// assert_eq!(matcher.state(), before);
    /// # Ok::<(), gobo_artifact::MatcherError>(())
    /// ```
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
            if let Some(Canonical { now, history, .. }) = self.canonical.as_deref_mut() {
                *now = history[self.head];
            }
        }
        Ok(())
    }

    /// Appends to `out` the bytes that must come next: as long as the text is not complete and only one byte can
    /// follow. Which tokens spell them is the caller's choice. It stops before a token edge, which [`Self::forced_token`] tells. At
    /// most one byte for each state of the index; O(256) steps for each.
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// # let mut matcher = small::matcher();
    /// // Texts of (ab)*: only a `b` comes after an `a`.
    /// matcher.advance(0)?;
    /// let mut bytes = Vec::new();
    /// matcher.forced(&mut bytes);
    /// assert_eq!(bytes, b"b");
    /// # Ok::<(), gobo_artifact::MatcherError>(())
    /// ```
    pub fn forced(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.prefix.rest(self.state));
        if let Some(canonical) = self.canonical.as_ref().filter(|_| self.state != ENDED) {
            let mut tokens = Vec::new();
            self.forced_tokens(&mut tokens);
            let spelled: Vec<u8> = tokens.iter().flat_map(|&id| self.vocabulary.bytes(id)).copied().collect();
            let healed =
                canonical.healing.as_ref().map(|healing| healing.rest(canonical.now.all()[0].at.state));
            let healed = healed.filter(|healed| healed.len() > spelled.len());
            out.extend_from_slice(healed.unwrap_or(&spelled));
            return;
        }
        if let Some(all) = self.configurations.as_ref().filter(|_| self.state != ENDED) {
            let mut all = all.probe(0);
            for _ in 0..self.index.states() {
                if all.is_complete(&self.index) {
                    return;
                }
                let mut live = (0..=u8::MAX).filter(|&byte| all.would_take(&self.index, &[byte]));
                let (Some(byte), None) = (live.next(), live.next()) else { return };
                if !self.index.are_text(&[byte]) || all.advance(&self.index, &[byte]).is_err() {
                    return;
                }
                out.push(byte);
            }
            return;
        }
        let mut state = self.place(self.state);
        for _ in 0..self.index.states() {
            if state == ENDED || self.index.is_complete(state) {
                return;
            }
            let mut live = (0..=u8::MAX).filter(|&byte| self.index.walk(state, &[byte]) != DEAD);
            let (Some(byte), None) = (live.next(), live.next()) else { return };
            if !self.index.are_text(&[byte]) {
                return;
            }
            out.push(byte);
            state = self.index.next_state(state, byte);
        }
    }

    /// Appends to `out` the tokens that must come next under a canonical index: as long as the text is not complete and only one token can
    /// follow. Nothing under other indices, where each segmentation is allowed. At most one token for each state of the index; O(row words) for each.
    pub fn forced_tokens(&self, out: &mut Vec<TokenId>) {
        let (Some(canonical), Ok(tables)) = (&self.canonical, self.tables()) else { return };
        if self.state == ENDED {
            return;
        }
        let (mut now, mut words) = (canonical.now, vec![0; self.index.row_words()]);
        let mut frames = canonical.frames.clone();
        for _ in 0..self.index.states() {
            let forced = now.forced(&tables, &frames, &mut words).filter(|&id| !self.binding.is_eos(id));
            let Some(id) = forced else { return };
            let Ok(next) = now.after(&tables, &mut frames, id) else { return };
            out.push(id);
            now = next;
        }
    }

    /// Under a canonical index: the merge for which `id` is refused, if it could come next but for the last token. That token, and the parts of
    /// the two that the tokenizer would have merged.
    pub fn merge_before(&self, id: TokenId) -> Option<(TokenId, TokenId, TokenId)> {
        let canonical = self.canonical.as_ref().filter(|_| self.state != ENDED)?;
        canonical.now.merge_before(&self.tables().ok()?, &canonical.frames, id)
    }

    /// A reader of bytes from where the matcher stands; `None` under an index that is not canonical. O(readings + frames).
    pub fn byte_reader(&self) -> Option<ByteReader> {
        let canonical = self.canonical.as_ref()?;
        Some(ByteReader::new(&self.index, &canonical.frames, &canonical.now))
    }

    /// [`Self::advance`] under a canonical index.
    fn advance_canonical(&mut self, id: TokenId) -> Result<(), MatcherError> {
        let Some(canonical) = &mut self.canonical else { return Ok(()) };
        let (now, mut frames) = (canonical.now, std::mem::take(&mut canonical.frames));
        let after = self.after_canonical(self.state, &now, &mut frames, id);
        if let (Err(_), Some(canonical)) = (&after, &mut self.canonical) {
            canonical.frames = frames;
            return after.map(|_| ());
        }
        let (next, state) = after?;
        self.remember();
        self.state = state;
        self.go_to(next, frames);
        Ok(())
    }

    /// The readings and their stacks from now on.
    #[inline]
    fn go_to(&mut self, next: Readings, frames: Frames) {
        let Some(Canonical { now, frames: all, beginning, history, .. }) = self.canonical.as_deref_mut()
        else {
            return;
        };
        (*now, *all) = (next, frames);
        if all.are_many() {
            let readings = history.iter_mut().chain([now, beginning]);
            all.keep(readings.flat_map(Readings::all_mut).map(|of| &mut of.frame));
        }
    }

    /// The readings after a token, and the place.
    pub(super) fn after_canonical(
        &self,
        state: u32,
        readings: &Readings,
        frames: &mut Frames,
        id: TokenId,
    ) -> Result<(Readings, u32), MatcherError> {
        if state == ENDED {
            return Err(MatcherError::Ended);
        }
        if self.binding.is_eos(id) {
            let is_complete = readings.are_complete(&self.tables()?, frames);
            return if is_complete { Ok((*readings, ENDED)) } else { Err(MatcherError::Refused { id }) };
        }
        readings.check_depth(frames)?;
        Ok((readings.after(&self.tables()?, frames, id)?, state))
    }

    /// Goes back to the empty text, and forgets the tokens before. O(1); with calls O(configurations kept).
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// # let mut matcher = small::matcher();
    /// matcher.advance(0)?;
    /// matcher.reset();
    /// assert_eq!(matcher.state(), Some(matcher.index().start()));
    /// assert!(matcher.rollback(1).is_err());
    /// # Ok::<(), gobo_artifact::MatcherError>(())
    /// ```
    pub fn reset(&mut self) {
        self.state = self.prefix.beginning().unwrap_or(self.index.start());
        self.head = 0;
        self.remembered = 0;
        if let Some(all) = &mut self.configurations {
            all.reset(self.index.start());
        }
        if let Some(canonical) = &mut self.canonical {
            canonical.now = canonical.beginning;
        }
    }
}

/// Takes a token in an index with calls, where the text has neither ended nor a prefix to spell: [`ENDED`] after an EOS, any other number after
/// text.
#[inline]
pub(super) fn advance_all(
    all: &mut Configurations,
    index: &Index,
    vocabulary: &Vocabulary,
    binding: &Binding,
    id: TokenId,
) -> Result<u32, MatcherError> {
    if index.has_token_edges() {
        return advance_edges(all, index, vocabulary, binding, id);
    }
    if binding.is_eos(id) {
        if !all.is_complete(index) {
            return Err(MatcherError::Refused { id });
        }
        all.stay();
        return Ok(ENDED);
    }
    let bytes = vocabulary.bytes(id);
    // Every byte that an index with calls reads is a token by itself, so every text that can be read is one of tokens.
    if bytes.is_empty() || vocabulary.is_special(id) {
        return Err(MatcherError::Refused { id });
    }
    all.advance(index, bytes).map_err(|stuck| match stuck {
        Stuck::Refused(_) => MatcherError::Refused { id },
        Stuck::Past(past) => past.into(),
    })?;
    Ok(DEAD)
}

/// Takes a token that spells a prefix in an index with calls: what stands in the place of a state then, or any number of a state after the
/// prefix.
#[cold]
pub(super) fn spell_all(
    all: &mut Configurations,
    index: &Index,
    spelled: Spelled<'_>,
    id: TokenId,
) -> Result<u32, MatcherError> {
    let (text, next) = match spelled {
        Spelled::Part(next) => ([].as_slice(), next),
        Spelled::All(text) => (text, DEAD),
    };
    if text.is_empty() {
        all.stay();
        return Ok(next);
    }
    if !index.are_text(text) {
        return Err(MatcherError::Refused { id });
    }
    all.advance(index, text).map_err(|stuck| match stuck {
        Stuck::Refused(_) => MatcherError::Refused { id },
        Stuck::Past(past) => past.into(),
    })?;
    Ok(next)
}
