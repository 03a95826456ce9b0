//! The rows of which a mask is the union: of each configuration the row of its state, and down its stack the rows of the pairs that
//! pending suffixes meet, as long as suffixes are left (`docs/recursion.md`).

use super::Configurations;
use crate::layout::Row;
use crate::layout::index::calls::NO_SUFFIXES;
use crate::matcher::counted::{Counted, Reading};
use crate::matcher::error::MatcherError;
use crate::matcher::stack::{BOTTOM, Configuration};
use crate::read::index::Index;
use crate::read::vocabulary::Vocabulary;

/// Rows and stacks of a mask that are remembered, so that they are not written and walked twice.
const REMEMBERED: usize = 16;

impl Configurations {
    /// Calls `found` with each row whose union is the mask, until it says no: the rows of configurations that no bound of a length
    /// concerns. Few rows come twice.
    ///
    /// # Errors
    /// [`MatcherError::Corrupt`].
    #[inline]
    pub(crate) fn rows<'a>(
        &self,
        index: &'a Index,
        vocabulary: &'a Vocabulary,
        mut found: impl FnMut(Row<'a>) -> bool,
    ) -> Result<(), MatcherError> {
        let corrupt = |state: u32| MatcherError::Corrupt { state };
        let calls = index.calls().ok_or_else(|| corrupt(self.now[0].state))?;
        let mut seen = [(0, 0); REMEMBERED];
        let mut count = 0;
        let mut written = [0; REMEMBERED];
        let mut rows = 0;
        let mut is_new = |row: u32| {
            let is_new = !written[..rows].contains(&row);
            if is_new && rows < REMEMBERED {
                written[rows] = row;
                rows += 1;
            }
            is_new
        };
        let counted = Counted::new(index);
        for at in &self.now {
            let reading = counted.reading(vocabulary, &self.frames, at);
            if reading == Reading::NearBound {
                continue;
            }
            let number = index.row_number(at.state).ok_or_else(|| corrupt(at.state))?;
            if is_new(number) && !found(index.row(vocabulary, number).ok_or_else(|| corrupt(at.state))?) {
                return Ok(());
            }
            let (mut suffix_set, mut frame) = (calls.suffix_set(at.state), at.frame);
            if reading == Reading::Inside {
                suffix_set = NO_SUFFIXES;
            }
            while suffix_set != NO_SUFFIXES && frame != BOTTOM {
                if seen[..count].contains(&(suffix_set, frame)) {
                    break;
                }
                if count < REMEMBERED {
                    seen[count] = (suffix_set, frame);
                    count += 1;
                }
                let pairs = calls.pairs(suffix_set, self.frames.top(frame));
                let Some((pair, others)) = pairs.split_first() else { break };
                if !others.is_empty() {
                    let go_on = self.frames.for_each_pair(&calls, suffix_set, frame, |pair| {
                        let row = index.row(vocabulary, pair.row).ok_or_else(|| corrupt(at.state))?;
                        Ok(!is_new(pair.row) || found(row))
                    })?;
                    if !go_on {
                        return Ok(());
                    }
                    break;
                }
                if is_new(pair.row)
                    && !found(index.row(vocabulary, pair.row).ok_or_else(|| corrupt(at.state))?)
                {
                    return Ok(());
                }
                // The same suffix set at the same return state is the same row again.
                let is_again = pair.suffix_set == suffix_set;
                frame = if is_again { self.frames.below_run(frame) } else { self.frames.below(frame) };
                suffix_set = pair.suffix_set;
            }
        }
        Ok(())
    }

    /// Whether the mask is more than the union of rows: some configuration is near a bound of a length. O(configurations).
    #[inline]
    pub(crate) fn is_near_bound(&self, index: &Index, vocabulary: &Vocabulary) -> bool {
        let counted = Counted::new(index);
        self.now.iter().any(|at| counted.reading(vocabulary, &self.frames, at) == Reading::NearBound)
    }

    /// Sets the bits of the tokens that may come next at the configurations that [`Self::rows`] leaves out: `[row words]`.
    ///
    /// # Errors
    /// [`MatcherError::Corrupt`].
    #[cold]
    pub(crate) fn unite_near(
        &self,
        index: &Index,
        vocabulary: &Vocabulary,
        out: &mut [u32],
    ) -> Result<(), MatcherError> {
        let counted = Counted::new(index);
        let unite = |at: &Configuration| match counted.reading(vocabulary, &self.frames, at) {
            Reading::NearBound => counted.unite_near(index, vocabulary, &self.frames, at, out),
            _ => Ok(()),
        };
        self.now.iter().try_for_each(unite)
    }
}
