//! The rows of which a mask is the union.
//!
//! Of each configuration the row of its state; and, down its stacks, the rows of the pairs of pending suffixes and return states, as
//! long as suffixes are left (`docs/recursion.md`). A stack alone is walked as a chain while one suffix set is left. Over a graph, and where a
//! set goes on as several, each pair of a suffix set and a set of stacks is looked at once for a mask: what it adds does not depend on
//! the way to it, and a list that goes on as another has gone on is left there. O(configurations + pairs of suffix sets and nodes).
//! Configurations near a bound of a length are left to a walk of the vocabulary each (`counted.rs`).

use super::met::{Met, ROW, with_met};
use super::{BOTTOM, Configuration, Configurations};
use crate::layout::index::calls::{CallTables, NO_SUFFIXES, PairEntry};
use crate::layout::{DEAD, Row};
use crate::matcher::counted::{Counted, Reading};
use crate::matcher::error::MatcherError;
use crate::read::index::Index;
use crate::read::vocabulary::Vocabulary;

/// Rows and stacks of a mask of few configurations that are remembered, so that they are not written and walked twice.
const REMEMBERED: usize = 16;

/// Where rows are, and who is told of them.
struct Rows<'a, F> {
    index: &'a Index,
    vocabulary: &'a Vocabulary,
    counted: Counted<'a>,
    found: F,
}

impl<'a, F: FnMut(Row<'a>) -> bool> Rows<'a, F> {
    /// Tells of the row of that number; whether to go on.
    #[inline]
    fn give(&mut self, number: u32, state: u32) -> Result<bool, MatcherError> {
        let row = self.index.row(self.vocabulary, number).ok_or(MatcherError::Corrupt { state })?;
        Ok((self.found)(row))
    }
}

/// The set of the pending suffixes that may be read from a configuration on; `None` where a bound is near.
#[inline]
fn suffixes(reading: Reading, calls: &CallTables<'_>, at: &Configuration) -> Option<u32> {
    match reading {
        Reading::Free => Some(calls.suffix_set(at.state)),
        Reading::Inside => Some(NO_SUFFIXES),
        Reading::NearBound => None,
    }
}

impl Configurations {
    /// Calls `found` with each row whose union is the mask, until it says no: the rows of configurations that no bound of a length
    /// concerns. Few rows come twice.
    ///
    /// # Errors
    /// [`MatcherError::Corrupt`], and what a text past a limit has in the place of a mask.
    #[inline]
    pub(crate) fn rows<'a>(
        &self,
        index: &'a Index,
        vocabulary: &'a Vocabulary,
        found: impl FnMut(Row<'a>) -> bool,
    ) -> Result<(), MatcherError> {
        self.check()?;
        // Only a damaged file leaves a text without configurations.
        let first = self.now.first().ok_or(MatcherError::Corrupt { state: DEAD })?;
        let calls = index.calls().ok_or(MatcherError::Corrupt { state: first.state })?;
        let rows = Rows { index, vocabulary, counted: Counted::new(index), found };
        if Self::are_few(&self.stacks, &self.now) {
            return self.rows_of_few(calls, rows);
        }
        with_met(|met| self.rows_of_graph(calls, rows, met))
    }

    #[inline]
    fn rows_of_few<'a>(
        &self,
        calls: CallTables<'a>,
        mut rows: Rows<'a, impl FnMut(Row<'a>) -> bool>,
    ) -> Result<(), MatcherError> {
        let mut seen = [(0, 0); REMEMBERED];
        let mut count = 0;
        let mut written = [0; REMEMBERED];
        let mut given = 0;
        let mut is_new = |row: u32| {
            let is_new = !written[..given].contains(&row);
            if is_new && given < REMEMBERED {
                written[given] = row;
                given += 1;
            }
            is_new
        };
        for at in &self.now {
            let reading = rows.counted.reading(rows.vocabulary, &self.stacks, at);
            let Some(mut suffix_set) = suffixes(reading, &calls, at) else { continue };
            let number = rows.index.row_number(at.state).ok_or(MatcherError::Corrupt { state: at.state })?;
            if is_new(number) && !rows.give(number, at.state)? {
                return Ok(());
            }
            let mut frame = at.frame;
            while suffix_set != NO_SUFFIXES && frame != BOTTOM {
                if seen[..count].contains(&(suffix_set, frame)) {
                    break;
                }
                if count < REMEMBERED {
                    seen[count] = (suffix_set, frame);
                    count += 1;
                }
                let pair = match calls.pairs(suffix_set, self.stacks.top(frame)) {
                    [] => break,
                    [pair] => pair,
                    _ => {
                        let from = (suffix_set, frame);
                        if !with_met(|met| self.rows_below(calls, &mut rows, at.state, from, met))? {
                            return Ok(());
                        }
                        break;
                    }
                };
                if is_new(pair.row) && !rows.give(pair.row, at.state)? {
                    return Ok(());
                }
                // The same suffix set at the same return state is the same row again.
                let is_again = pair.suffix_set == suffix_set;
                frame = if is_again { self.stacks.below_run(frame) } else { self.stacks.below(frame) };
                suffix_set = pair.suffix_set;
            }
        }
        Ok(())
    }

    fn rows_of_graph<'a>(
        &self,
        calls: CallTables<'a>,
        mut rows: Rows<'a, impl FnMut(Row<'a>) -> bool>,
        met: &mut Met,
    ) -> Result<(), MatcherError> {
        for at in &self.now {
            let reading = rows.counted.reading(rows.vocabulary, &self.stacks, at);
            let Some(suffix_set) = suffixes(reading, &calls, at) else { continue };
            let number = rows.index.row_number(at.state).ok_or(MatcherError::Corrupt { state: at.state })?;
            if met.is_new(ROW, number) && !rows.give(number, at.state)? {
                return Ok(());
            }
            if !self.rows_below(calls, &mut rows, at.state, (suffix_set, at.frame), met)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The rows of pending suffixes down the stacks of a node; whether to go on.
    fn rows_below<'a>(
        &self,
        calls: CallTables<'a>,
        rows: &mut Rows<'a, impl FnMut(Row<'a>) -> bool>,
        state: u32,
        from: (u32, u32),
        met: &mut Met,
    ) -> Result<bool, MatcherError> {
        met.ahead.clear();
        met.go_to(from);
        // What came first goes on first, so that mostly the same suffix set is at the same return state as before.
        let mut before = None;
        let mut pairs: &[PairEntry] = &[];
        let mut number = 0;
        while let Some(&(suffix_set, mut set)) = met.ahead.get(number) {
            number += 1;
            loop {
                let (frame, others) =
                    self.stacks.parts(set).map_or((set, None), |(first, others)| (first, Some(others)));
                let place = Some((suffix_set, self.stacks.top(frame)));
                if before != place {
                    before = place;
                    pairs = calls.pairs(suffix_set, self.stacks.top(frame));
                    for pair in pairs {
                        if met.is_new(ROW, pair.row) && !rows.give(pair.row, state)? {
                            return Ok(false);
                        }
                    }
                }
                for pair in pairs {
                    // A set that stays pending stays so all along the run, and so does what it leaves at each of its frames.
                    let is_again = pair.suffix_set == suffix_set;
                    let below =
                        if is_again { self.stacks.below_run(frame) } else { self.stacks.below(frame) };
                    met.go_to((pair.suffix_set, below));
                }
                match others {
                    Some(others) if met.is_new(suffix_set, others) => set = others,
                    _ => break,
                }
            }
        }
        Ok(true)
    }

    /// Whether the mask is more than the union of rows: some configuration is near a bound of a length. O(configurations).
    #[inline]
    pub(crate) fn is_near_bound(&self, index: &Index, vocabulary: &Vocabulary) -> bool {
        let counted = Counted::new(index);
        self.now.iter().any(|at| counted.reading(vocabulary, &self.stacks, at) == Reading::NearBound)
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
        let mut words = vec![0; out.len()];
        for at in &self.now {
            if counted.reading(vocabulary, &self.stacks, at) != Reading::NearBound {
                continue;
            }
            let corrupt = || MatcherError::Corrupt { state: at.state };
            let near = counted.near(index, vocabulary, &self.stacks, at).ok_or_else(corrupt)?;
            near.unite_inside(at, &mut words, out)?;
            words.fill(0);
            let mut fits = true;
            let found = |row: Row<'_>| {
                fits = row.unite(&mut words);
                fits
            };
            let calls = index.calls().ok_or_else(corrupt)?;
            let mut rows = Rows { index, vocabulary, counted, found };
            let from = (calls.suffix_set(at.state), at.frame);
            with_met(|met| self.rows_below(calls, &mut rows, at.state, from, met))?;
            if !fits {
                return Err(corrupt());
            }
            near.unite_ending(at, &words, out);
        }
        Ok(())
    }
}
