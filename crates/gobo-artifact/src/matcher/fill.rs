//! The mask of the next token: the row of the present state, or, under an index with calls, the union of the rows of all
//! configurations.

use gobo_types::TokenId;

use crate::layout::Row;
use crate::matcher::error::MatcherError;
use crate::matcher::places::{ENDED, FIRST_APART, Spelled};
use crate::matcher::readings::{Frames, Readings};
use crate::matcher::{At, Matcher};

/// Whether a mask may be sampled from.
///
/// ```
/// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
/// use gobo_artifact::Fill;
///
/// # let mut matcher = small::matcher();
/// let mut mask = vec![0; matcher.mask_words()];
/// assert_eq!(matcher.fill(&mut mask)?, Fill::Masked);
/// matcher.advance(3)?; // the EOS
/// assert_eq!(matcher.fill(&mut mask)?, Fill::Ended);
/// assert_eq!(mask, [0]);
/// # Ok::<(), gobo_artifact::MatcherError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// At least one bit of the mask is set.
    Masked,
    /// The text is complete, nothing can follow, and there is no EOS to say so (or it has been taken): the mask is
    /// all zero and not to be sampled from.
    Ended,
}

impl Matcher {
    /// The present row's words where they are stored densely, to be handed on without a copy: `[row words]`, without
    /// EOS bits and padding. `None` for other rows, for masks that are a union of rows, and under an index with token edges: use
    /// [`Self::fill`].
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// # let matcher = small::matcher();
    /// // A small row is stored as patches, so it has to be written.
    /// let mut mask = vec![0; matcher.mask_words()];
    /// match matcher.mask() {
    ///     Some(row) => mask.copy_from_slice(row),
    ///     None => drop(matcher.fill(&mut mask)?),
    /// }
    /// # Ok::<(), gobo_artifact::MatcherError>(())
    /// ```
    pub fn mask(&self) -> Option<&[u32]> {
        let mut rows = (None, 0);
        match &self.configurations {
            _ if self.state >= FIRST_APART || self.index.has_token_edges() || self.canonical.is_some() => {
                return None;
            }
            None => rows = (self.row(self.state), 1),
            Some(all) if all.is_near_bound(&self.index, &self.vocabulary) => return None,
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
    /// EOS id is set exactly if the text is complete, or a token edge that names it leads on; all bits from the vocabulary length on are zero otherwise.
    /// About one copy of a row; with calls, a union of a few rows. Within reach of a bound of a length that is counted, a look at
    /// each id, a walk over the bytes of each token whose end decides, and memory for a row.
    ///
    /// # Errors
    /// [`MatcherError::BufferLength`]; [`MatcherError::OnlyEos`] where the binding's EOS is an ordinary token without
    /// which nothing can be written; [`MatcherError::StackDepth`] and [`MatcherError::StackNodes`] where the text is past a limit,
    /// while [`Self::advance`] takes every token that a mask has shown; [`MatcherError::Corrupt`].
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// use gobo_artifact::MatcherError;
    ///
    /// # let matcher = small::matcher();
    /// // Ids 0 `a`, 1 `b`, 2 `ab`, 3 the EOS; texts of (ab)*.
    /// let mut mask = vec![0; matcher.mask_words()];
    /// matcher.fill(&mut mask)?;
    /// let allowed = |id: u32| mask[(id >> 5) as usize] >> (id & 31) & 1 == 1;
    /// assert_eq!([0, 1, 2, 3].map(allowed), [true, false, true, true]);
    /// let error = MatcherError::BufferLength { given: 2, expected: 1 };
    /// assert_eq!(matcher.fill(&mut [0, 0]), Err(error));
    /// # Ok::<(), MatcherError>(())
    /// ```
    pub fn fill(&self, out: &mut [u32]) -> Result<Fill, MatcherError> {
        if out.len() != self.mask_words() {
            return Err(MatcherError::BufferLength { given: out.len(), expected: self.mask_words() });
        }
        self.fill_at(self.at(), out)
    }

    /// The mask of the text that stands there: `[mask_words]`.
    #[inline]
    pub(super) fn fill_at(&self, at: At<'_>, out: &mut [u32]) -> Result<Fill, MatcherError> {
        let At { state, configurations, readings } = at;
        if state == ENDED {
            out.fill(0);
            return Ok(Fill::Ended);
        }
        if state >= FIRST_APART {
            return self.fill_prefix(state, configurations, out).map(|()| Fill::Masked);
        }
        let corrupt = || MatcherError::Corrupt { state };
        let (words, tail) = out.split_at_mut(self.index.row_words());
        let mut is_empty = match configurations {
            None if readings.is_some() => readings.map_or(Ok(true), |at| self.fill_canonical(at, words))?,
            None => {
                let row = self.row(state).ok_or_else(corrupt)?;
                if !row.write(words) {
                    return Err(corrupt());
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
                    return Err(corrupt());
                }
                if all.is_near_bound(&self.index, &self.vocabulary) {
                    if is_first {
                        words.fill(0);
                    }
                    all.unite_near(&self.index, &self.vocabulary, words)?;
                    is_empty = words.iter().all(|&word| word == 0);
                }
                is_empty
            }
        };
        tail.fill(0);
        if let Some(all) = configurations.filter(|all| all.is_overdue(&self.index)) {
            is_empty = !self.keep_taken(all, out);
        }
        if self.is_complete_at(at) {
            for &id in &self.binding.eos {
                out[(id >> 5) as usize] |= 1 << (id & 31);
            }
            let empty = is_empty && self.binding.eos.is_empty();
            return Ok(if empty { Fill::Ended } else { Fill::Masked });
        }
        // Of an index without calls that was verified, a row without tokens is that of a complete state. Through a stack
        // this cannot be told beforehand.
        if is_empty {
            return Err(corrupt());
        }
        let mut cleared = false;
        for &id in &self.binding.eos {
            let word = &mut out[(id >> 5) as usize];
            if self.index.has_token_edges() && self.edge_takes(state, configurations, id) {
                *word |= 1 << (id & 31);
                continue;
            }
            cleared |= *word >> (id & 31) & 1 == 1;
            *word &= !(1 << (id & 31));
        }
        // An EOS that is an ordinary token elsewhere is never text; a row that held nothing else has nothing left.
        if cleared && out.iter().all(|&word| word == 0) {
            return Err(MatcherError::OnlyEos);
        }
        Ok(Fill::Masked)
    }

    /// Whether `id` may come next: the bit that [`Self::fill`] writes; no token may where it writes no mask. O(log patches) for each row of
    /// the mask; within reach of a bound of a length that is counted O(bytes), and a copy of the stack.
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// # let matcher = small::matcher();
    /// // Ids 0 `a`, 1 `b`; texts of (ab)*.
    /// assert!(matcher.allows(0) && !matcher.allows(1));
    /// ```
    pub fn allows(&self, id: TokenId) -> bool {
        if let Some(canonical) = &self.canonical {
            return match self.tables() {
                Ok(_) if self.state == ENDED => false,
                Ok(_) if self.binding.is_eos(id) => self.is_complete(),
                Ok(tables) => canonical.now.allow(&tables, &canonical.frames, id),
                Err(_) => false,
            };
        }
        match &self.configurations {
            None => self.step(self.state, id).is_ok(),
            Some(all) if self.state >= FIRST_APART => {
                match self.prefix.step(self.state, id, &self.vocabulary, &self.binding) {
                    Ok(Spelled::Part(_)) => true,
                    Ok(Spelled::All(text)) if !self.index.are_text(text) => false,
                    Ok(Spelled::All(text)) => {
                        text.is_empty() || all.check().is_ok() && all.probe(0).would_take(&self.index, text)
                    }
                    Err(_) => false,
                }
            }
            Some(all) if self.binding.is_eos(id) => {
                self.is_complete()
                    || self.index.has_token_edges() && self.edge_takes(self.state, Some(all), id)
            }
            Some(all) if all.is_near_bound(&self.index, &self.vocabulary) => {
                if self.index.has_token_edges() {
                    return all.check().is_ok() && self.takes(all, id);
                }
                let bytes = self.vocabulary.bytes(id);
                let is_text = !bytes.is_empty() && !self.vocabulary.is_special(id);
                is_text && all.check().is_ok() && all.probe(0).would_take(&self.index, bytes)
            }
            Some(all) => {
                let mut found = false;
                let rows = all.rows(&self.index, &self.vocabulary, |row| {
                    found = row.contains(id);
                    !found
                });
                found && rows.is_ok() && (!all.is_overdue(&self.index) || self.takes(all, id))
            }
        }
    }

    /// Writes the mask of the readings of a canonical index: `[row words]`. Whether it is empty.
    fn fill_canonical(
        &self,
        (readings, frames): (&Readings, &Frames),
        words: &mut [u32],
    ) -> Result<bool, MatcherError> {
        readings.check_depth(frames)?;
        readings.fill(&self.tables()?, frames, words)
    }
}
