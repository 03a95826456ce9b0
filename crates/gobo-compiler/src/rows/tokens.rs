//! The tokens of a row while it is computed.

use super::key::SliceSet;

/// The tokens of a row. Equal ones are equal rows; one row may be written in two ways.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct RowTokens {
    /// Slices taken whole, without a walk.
    pub(crate) whole: SliceSet,
    /// Numbers of the slices of which only short tokens are taken, with the most characters that they may have.
    pub(crate) short: Vec<(u32, u32)>,
    /// Ranges of the trie order, ascending and not touching.
    pub(crate) ranges: Vec<(u32, u32)>,
}

impl RowTokens {
    pub(crate) fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.short.is_empty() && self.ranges.is_empty()
    }

    /// Whether all tokens from `from` to `to` of the trie order are in the ranges.
    pub(crate) fn has(&self, from: u32, to: u32) -> bool {
        let after = self.ranges.partition_point(|range| range.0 <= from);
        self.ranges[..after].last().is_some_and(|range| to <= range.1)
    }

    /// Puts the ranges in order.
    pub(crate) fn settle(&mut self) {
        if self.ranges.is_sorted() {
            return;
        }
        self.ranges.sort_unstable();
        for (from, to) in std::mem::take(&mut self.ranges) {
            match self.ranges.last_mut() {
                Some(last) if last.1 >= from => last.1 = last.1.max(to),
                _ => self.ranges.push((from, to)),
            }
        }
    }

    pub(crate) fn add(&mut self, from: u32, to: u32) {
        match self.ranges.last_mut() {
            Some(last) if last.1 == from => last.1 = to,
            _ => self.ranges.push((from, to)),
        }
    }
}
