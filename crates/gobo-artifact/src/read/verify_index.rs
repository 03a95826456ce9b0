//! Checks an index file as a whole: digests, the key, and that every number in the tables names something that is there.
//!
//! Open checks the header and the lengths of sections alone. A file that passes here makes no step of a matcher fail.

use gobo_types::{COMPILER_EPOCH, RestoreError, Tokenization, canonical_index_key, index_key};

use crate::layout::error::ArtifactError;
use crate::layout::index::root::IndexClass;
use crate::layout::index::row::{self, RowEntry};
use crate::layout::index::states::{DEAD, NO_ROW};
use crate::layout::section as kinds;
use crate::read::borders::PromptEnd;
use crate::read::index::Index;

/// What becomes of the last token of a prompt under a constraint.
fn prompt_end(tokenization: Tokenization) -> Option<PromptEnd> {
    match tokenization {
        Tokenization::Any | Tokenization::Canonical => None,
        Tokenization::CanonicalStrict => Some(PromptEnd::Kept),
        Tokenization::CanonicalHeal => Some(PromptEnd::TakenBack),
    }
}

impl Index {
    /// Reads everything: digests of all sections, that the key is that of the inputs, and that every number in the
    /// tables names something that is there. O(file), whatever its bytes.
    ///
    /// # Errors
    /// [`ArtifactError::Format`] naming the first fault.
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// use gobo_artifact::Index;
    ///
    /// # let (_, mut bytes) = small::files(&["a"], &gobo_types::Constraint::regex("a+"));
    /// assert!(Index::from_bytes(&bytes)?.verify().is_ok());
    /// // Open does not read the tables.
    /// *bytes.last_mut().unwrap() ^= 1;
    /// assert!(Index::from_bytes(&bytes)?.verify().is_err());
    /// # Ok::<(), gobo_artifact::ArtifactError>(())
    /// ```
    pub fn verify(&self) -> Result<(), ArtifactError> {
        self.artifact.verify_digests()?;
        self.report()?;
        if std::str::from_utf8(self.artifact.section_bytes(kinds::CONSTRAINT)).is_err() {
            return Err(self.artifact.meaning("the constraint is not UTF-8"));
        }
        // Another epoch's derivation is not known here.
        if self.root.compiler_epoch == COMPILER_EPOCH {
            let (vocabulary, constraint) = (self.vocabulary_digest(), self.constraint_digest());
            let key = match self.encoder_digest() {
                None => index_key(&vocabulary, &constraint),
                Some(encoder) => canonical_index_key(&vocabulary, &encoder, &constraint),
            };
            if key != self.key() {
                return Err(self.artifact.meaning("the key is not that of its vocabulary and constraint"));
            }
            match self.constraint(&[]) {
                // The texts of documents are in no file, so nothing more is known.
                Ok(constraint) if constraint.tokenization.is_any() == self.encoder_digest().is_some() => {
                    return Err(self
                        .artifact
                        .meaning("the borders do not go with the constraint's tokenization"));
                }
                Ok(constraint) if self.prompt_end() != prompt_end(constraint.tokenization) => {
                    return Err(self
                        .artifact
                        .meaning("what becomes of a prompt does not go with the constraint's tokenization"));
                }
                Ok(_) | Err(RestoreError::NoOptions | RestoreError::Documents { .. }) => {}
                Err(error) => return Err(self.artifact.meaning(error.to_string())),
            }
        }
        let classes: &[u8] = self.artifact.get(&self.byte_classes);
        if classes.iter().any(|&class| u32::from(class) >= self.root.classes) {
            return Err(self.artifact.meaning("a byte class is out of range"));
        }
        self.verify_rows()?;
        if let Some(calls) = self.calls() {
            let named = self.call_root()?.map_or(0, |root| root.returns.len());
            if named != calls.return_count() {
                return Err(self.artifact.meaning("not every return state has its names"));
            }
            calls.verify(&self.root).map_err(|what| self.artifact.meaning(what))?;
            let counted = self.lengths().map_or(Ok(()), |all| all.verify(&self.root, named));
            counted.map_err(|what| self.artifact.meaning(what))?;
            // A reading has one stack, and each stack a bottom.
            if self.encoder_digest().is_some()
                && (self.class() != IndexClass::Deterministic
                    || named == 0
                    || self.lengths().is_some()
                    || !calls.are_single())
            {
                return Err(self
                    .artifact
                    .meaning("a canonical index has calls that are read in several ways"));
            }
        }
        let edges = self.tokens().map_or(Ok(()), |tokens| tokens.verify(&self.root));
        edges.map_err(|what| self.artifact.meaning(what))?;
        self.verify_borders()?;
        self.verify_spelled()?;
        self.verify_states()
    }

    fn verify_states(&self) -> Result<(), ArtifactError> {
        let transitions = self.transitions.verify(&self.artifact, self.root.states, self.root.classes);
        transitions.map_err(|what| self.artifact.meaning(what))?;
        if self.state_word(DEAD) != NO_ROW << 1 {
            return Err(self.artifact.meaning("the dead state is not dead"));
        }
        for state in 0..self.root.states {
            match self.row_number(state) {
                Some(number) if number >= self.root.rows => {
                    return Err(self.artifact.meaning(format!("state {state} has no row {number}")));
                }
                // Called rules may begin where the state's own row is empty.
                Some(number)
                    if self.is_empty_row(number) && !self.is_complete(state) && self.calls.is_none() =>
                {
                    let what = format!("state {state} allows nothing and is not complete");
                    return Err(self.artifact.meaning(what));
                }
                None if state == self.start() && self.borders.is_none() => {
                    return Err(self.artifact.meaning("the start has no row"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The rows lie one after the other, as they are written: nothing is read twice, and nothing lies between them. Only
    /// no patches over zeros allow nothing, so that [`Row::is_empty`] needs no look at the words. Shared rows are not at
    /// hand; none of them is empty, and a row that differs from one keeps a word that is not zero among its patches.
    fn verify_rows(&self) -> Result<(), ArtifactError> {
        let (mut dense, mut patches_end) = (0_u32, 0_usize);
        // `[dense rows so far]`: how many words of each are not zero.
        let mut set_words: Vec<usize> = Vec::new();
        let tail_is_zero = |word: u32| match self.root.vocabulary_len % 32 {
            0 => true,
            used => word >> used == 0,
        };
        let shared = self.root.shared_rows;
        for number in 0..self.root.rows {
            let fault = |what: &str| Err(self.artifact.meaning(format!("row {number}: {what}")));
            match self.row_entry(number) {
                Some(&RowEntry { kind: row::DENSE, offset, len, base }) => {
                    if len != 0 || base != row::NO_BASE {
                        return fault("it is dense and has patches");
                    }
                    if offset < shared {
                        continue;
                    }
                    let Some(words) = self.dense_row(offset - shared) else {
                        return fault("it points outside its section");
                    };
                    if offset - shared != dense {
                        return fault("it does not begin where the one before ends");
                    }
                    let set = words.iter().filter(|&&word| word != 0).count();
                    if set == 0 {
                        return fault("it is dense and allows nothing");
                    }
                    if !words.last().is_none_or(|&word| tail_is_zero(word)) {
                        return fault("it sets a bit beyond the vocabulary");
                    }
                    dense += 1;
                    set_words.push(set);
                }
                Some(entry @ RowEntry { kind: row::PATCHED, .. }) => {
                    let Some(patches) = self.patches_of(entry) else {
                        return fault("it points outside its section");
                    };
                    if entry.offset as usize != patches_end {
                        return fault("it does not begin where the one before ends");
                    }
                    let ascending = patches.windows(2).all(|pair| pair[0][0] < pair[1][0]);
                    let fits = |&[at, bits]: &[u32; 2]| {
                        (at as usize) < self.row_words
                            && (at as usize + 1 < self.row_words || tail_is_zero(bits))
                    };
                    if !ascending || !patches.iter().all(fits) {
                        return fault("its patches are not ascending words of a row");
                    }
                    patches_end += patches.len();
                    let nonzero = patches.iter().filter(|patch| patch[1] != 0).count();
                    let of_own = entry.base.checked_sub(shared).filter(|_| entry.base != row::NO_BASE);
                    let Some(base) = of_own else {
                        if entry.base == row::NO_BASE && nonzero != patches.len() {
                            return fault("it patches zeros with zeros");
                        }
                        if entry.base != row::NO_BASE && nonzero == 0 {
                            return fault("it patches a shared row with nothing but zeros");
                        }
                        continue;
                    };
                    let words = set_words.get(base as usize).copied().zip(self.dense_row(base));
                    let Some((set, base)) = words else {
                        return fault("its base does not come before it");
                    };
                    let replaced = patches.iter().filter(|patch| base[patch[0] as usize] != 0).count();
                    if set + nonzero == replaced {
                        return fault("it is patched and allows nothing");
                    }
                }
                _ => return fault("it is of an unknown kind"),
            }
        }
        let ends =
            [(kinds::DENSE_ROWS, dense as usize * self.row_words * 4), (kinds::ROW_PATCHES, patches_end * 8)];
        match ends.iter().find(|&&(kind, end)| self.artifact.section(kind).length != end as u64) {
            Some(&(kind, _)) => {
                let name = self.artifact.section(kind).name();
                Err(self.artifact.meaning(format!("no row holds the end of section {name}")))
            }
            None => Ok(()),
        }
    }

    /// Whether the row of that number, which verified, allows nothing.
    pub(super) fn is_empty_row(&self, number: u32) -> bool {
        self.row_entry(number)
            .is_none_or(|entry| entry.kind == row::PATCHED && entry.base == row::NO_BASE && entry.len == 0)
    }
}
