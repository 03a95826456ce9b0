//! The tables of an index whose rules have several exits: at which of them a rule ends, and where each return state goes on after it.
//!
//! A state at which a rule may end has one exit. A return state is a row of states, by exit: the rule above it has ended at one
//! of them, and the caller goes on in the state after that. The rows lie one after the other, each as long as its last exit asks.

use crate::layout::artifact::{Artifact, Span};
use crate::layout::error::ArtifactError;
use crate::layout::index::root::IndexRoot;
use crate::layout::index::states::DEAD;
use crate::layout::section as kinds;

/// Where the tables lie in a file.
#[derive(Debug)]
pub(crate) struct ExitSpans {
    exits: Span,
    row_starts: Span,
    rows: Span,
}

impl ExitSpans {
    pub(crate) fn open(artifact: &Artifact, states: u64) -> Result<Self, ArtifactError> {
        Ok(Self {
            exits: artifact.span::<u32>(kinds::EXITS, states)?,
            row_starts: artifact.open_span::<u32>(kinds::RETURN_ROW_STARTS)?,
            rows: artifact.open_span::<u32>(kinds::RETURN_ROWS)?,
        })
    }

    #[inline]
    pub(crate) fn tables<'a>(&self, artifact: &'a Artifact) -> ExitTables<'a> {
        ExitTables {
            exits: artifact.get(&self.exits),
            row_starts: artifact.get(&self.row_starts),
            rows: artifact.get(&self.rows),
        }
    }
}

/// The elements between two neighbours of a table of starts.
#[inline]
pub(super) fn between<'a, T>(starts: &[u32], of: &'a [T], at: u32) -> &'a [T] {
    let bounds = starts.get(at as usize).zip(starts.get(at as usize + 1));
    bounds.and_then(|(&from, &to)| of.get(from as usize..to as usize)).unwrap_or_default()
}

/// See the [module](self). Whatever a file says, no look panics.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExitTables<'a> {
    exits: &'a [u32],
    row_starts: &'a [u32],
    rows: &'a [u32],
}

impl<'a> ExitTables<'a> {
    /// The exit of a state.
    #[inline]
    pub(crate) fn of_state(&self, state: u32) -> u32 {
        self.exits.get(state as usize).copied().unwrap_or(0)
    }

    /// The states of a return state, by exit.
    #[inline]
    pub(crate) fn row(&self, number: u32) -> &'a [u32] {
        between(self.row_starts, self.rows, number)
    }

    /// States of the longest row. O(return states).
    pub(crate) fn most(&self) -> usize {
        self.row_starts.windows(2).map(|row| row[1].saturating_sub(row[0]) as usize).max().unwrap_or(0)
    }

    /// Checks that every number names something that is there. `first`: `[returns]`, the first state of each. O(tables).
    pub(crate) fn verify(
        &self,
        root: &IndexRoot,
        first: impl ExactSizeIterator<Item = u32>,
    ) -> Result<(), &'static str> {
        let is_ascending = self.row_starts.first() == Some(&0)
            && self.row_starts.is_sorted()
            && self.row_starts.last().is_some_and(|&end| end as usize == self.rows.len());
        if !is_ascending || self.row_starts.len() != first.len() + 1 {
            return Err("the rows of return states do not lie one after the other");
        }
        for (number, first) in (0..).zip(first) {
            let row = self.row(number);
            if row.iter().any(|&state| state >= root.states) || row.last().is_none_or(|&state| state == DEAD)
            {
                return Err("the row of a return state has what is no state, or ends with none");
            }
            if row.iter().find(|&&state| state != DEAD) != Some(&first) {
                return Err("a return state is not the first of its row");
            }
        }
        let most = self.most();
        if self.exits.iter().any(|&exit| exit as usize >= most) {
            return Err("a rule ends at an exit that no return state has");
        }
        if most == 1 {
            return Err("no rule has a second exit");
        }
        Ok(())
    }
}
