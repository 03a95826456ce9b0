//! A place that moves while its matcher stays: what tries tokens, chains and trees of drafts without a step of the matcher.
//!
//! A probe begins where its matcher stands. Under an index without calls it is a state; else it is a copy of the configurations
//! and of the frames of their stacks, taken once, however many tokens are tried. Going back to an earlier place costs O(1) for each
//! token: a probe that is told to remember keeps the places before all of its steps, beside the matcher's own memory, which
//! neither grows nor forgets by it.

use gobo_types::TokenId;

use crate::matcher::advance::{advance_all, spell_all};
use crate::matcher::configurations::Configurations;
use crate::matcher::error::MatcherError;
use crate::matcher::places::{ENDED, FIRST_APART};
use crate::matcher::readings::{Frames, Readings};
use crate::matcher::{At, Fill, Matcher};

/// A place of a text, beginning at that of a matcher.
pub(super) struct Probe<'m> {
    matcher: &'m Matcher,
    /// As in the matcher.
    state: u32,
    configurations: Option<Configurations>,
    readings: Option<Readings>,
    frames: Frames,
    /// The states before all steps, if they are remembered.
    past: Option<Vec<(u32, Option<Readings>)>>,
}

impl Matcher {
    /// A probe here, which remembers its steps or not.
    pub(super) fn probe(&self, remembers: bool) -> Probe<'_> {
        let remembered = if remembers { usize::MAX } else { 0 };
        Probe {
            matcher: self,
            state: self.state,
            configurations: self.configurations.as_ref().map(|all| all.probe(remembered)),
            readings: self.canonical.as_ref().map(|canonical| canonical.now),
            frames: self.canonical.as_ref().map(|canonical| canonical.frames.clone()).unwrap_or_default(),
            past: remembers.then(Vec::new),
        }
    }
}

impl Probe<'_> {
    /// Takes a token, as [`Matcher::advance`] does.
    #[inline]
    pub(super) fn advance(&mut self, id: TokenId) -> Result<(), MatcherError> {
        let Matcher { index, vocabulary, binding, prefix, .. } = self.matcher;
        let before = self.readings;
        let next = match &mut self.configurations {
            None if before.is_some() => {
                let readings = before.as_ref().ok_or(MatcherError::Ended)?;
                let (after, state) =
                    self.matcher.after_canonical(self.state, readings, &mut self.frames, id)?;
                self.readings = Some(after);
                state
            }
            None => self.matcher.step(self.state, id)?,
            Some(all) if self.state >= FIRST_APART => {
                spell_all(all, index, prefix.step(self.state, id, vocabulary, binding)?, id)?
            }
            Some(all) => advance_all(all, index, vocabulary, binding, id)?,
        };
        if let Some(past) = &mut self.past {
            past.push((self.state, before));
        }
        self.state = next;
        Ok(())
    }

    /// Takes back all but the first `taken` tokens; nothing if no more were taken.
    pub(super) fn back_to(&mut self, taken: usize) {
        let Some(past) = &mut self.past else { return };
        let Some(&(state, readings)) = past.get(taken) else { return };
        let steps = past.len() - taken;
        past.truncate(taken);
        self.state = state;
        self.readings = readings;
        if let Some(all) = &mut self.configurations {
            all.rollback(steps);
        }
    }

    /// The mask here, as of [`Matcher::fill`]: `[mask_words]`.
    #[inline]
    pub(super) fn fill(&self, out: &mut [u32]) -> Result<Fill, MatcherError> {
        self.matcher.fill_at(self.at(), out)
    }

    fn at(&self) -> At<'_> {
        let readings = self.readings.as_ref().map(|readings| (readings, &self.frames));
        At { state: self.state, configurations: self.configurations.as_ref(), readings }
    }

    /// Whether the text has ended: after an EOS, and where the binding has none and nothing can follow. There is no mask then.
    pub(super) fn has_ended(&self) -> bool {
        let Matcher { index, vocabulary, binding, .. } = self.matcher;
        if self.state == ENDED || !binding.eos.is_empty() {
            return self.state == ENDED;
        }
        let mut is_empty = true;
        match &self.configurations {
            None if self.readings.is_some() => {
                let mut words = vec![0; index.row_words()];
                let tables = self.matcher.tables().ok();
                let readings = self.readings.as_ref().zip(tables);
                is_empty = readings.is_some_and(|(all, tables)| {
                    all.fill(&tables, &self.frames, &mut words).unwrap_or(false)
                });
            }
            None => is_empty = self.matcher.row(self.state).is_some_and(|row| row.is_empty()),
            Some(all) => {
                let rows = all.rows(index, vocabulary, |row| {
                    is_empty = row.is_empty();
                    is_empty
                });
                is_empty &= rows.is_ok() && !all.is_near_bound(index, vocabulary);
            }
        }
        is_empty && self.matcher.is_complete_at(self.at())
    }
}
