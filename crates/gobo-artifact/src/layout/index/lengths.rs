//! The tables of an index with counted rules: how many characters may be read until a return state is popped, and how many have
//! to be read at least.
//!
//! A counted rule reads the body of a JSON string, or a part of it. Its states do not tell how much of it was read: a matcher keeps a count beside
//! the state, and the return state on top of the stack tells between which bounds it may be popped. The distance of a state is
//! the least number of characters that end the rule from there, so that a text can be brought to an end as long as count and
//! distance together are no more than the upper bound.

use gobo_types::{CharCount, LengthRange};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::layout::artifact::{Artifact, Span};
use crate::layout::error::ArtifactError;
use crate::layout::index::root::IndexRoot;
use crate::layout::index::states::DEAD;
use crate::layout::section as kinds;

/// In the place of an upper bound: there is none.
pub(crate) const UNBOUNDED: u32 = u32::MAX;

/// The bounds of a return state: 8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct LengthEntry {
    /// The least number of characters.
    pub(crate) min: u32,
    /// The greatest, or [`UNBOUNDED`]. Where nothing is counted, from 0 to that.
    pub(crate) max: u32,
}

/// The distance of a state of a counted rule: 12 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct DistanceEntry {
    /// The state.
    pub(crate) state: u32,
    /// The place inside an escape: the word of a [`CharCount`] of no characters.
    pub(crate) place: u32,
    /// The least number of characters that begin before the rule may end.
    pub(crate) distance: u32,
}

/// Where the tables lie in a file.
#[derive(Debug)]
pub(crate) struct LengthSpans {
    lengths: Span,
    distances: Span,
}

impl LengthSpans {
    pub(crate) fn open(artifact: &Artifact) -> Result<Self, ArtifactError> {
        Ok(Self {
            lengths: artifact.open_span::<LengthEntry>(kinds::LENGTHS)?,
            distances: artifact.open_span::<DistanceEntry>(kinds::DISTANCES)?,
        })
    }

    #[inline]
    pub(crate) fn tables<'a>(&self, artifact: &'a Artifact) -> LengthTables<'a> {
        LengthTables { lengths: artifact.get(&self.lengths), distances: artifact.get(&self.distances) }
    }
}

/// The tables of an index with counted rules. Whatever a file says, no look panics.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LengthTables<'a> {
    /// `[returns]`.
    lengths: &'a [LengthEntry],
    /// The dead state with the greatest distance of all; then the states of counted rules, ascending by state and place.
    distances: &'a [DistanceEntry],
}

impl LengthTables<'_> {
    /// What is counted until the return state of that number is popped.
    #[inline]
    pub(crate) fn of_return(&self, number: u32) -> Option<LengthRange> {
        let &LengthEntry { min, max } = self.lengths.get(number as usize)?;
        let max = (max != UNBOUNDED).then_some(max);
        (min > 0 || max.is_some()).then_some(LengthRange { min, max })
    }

    /// The greatest distance of any state.
    #[inline]
    pub(crate) fn greatest(&self) -> u32 {
        self.distances.first().map_or(0, |of| of.distance)
    }

    /// How many characters begin at least before the rule may end. O(1) for most states, O(log states).
    #[inline]
    pub(crate) fn distance(&self, state: u32, count: CharCount) -> u32 {
        let key = (state, count.place().word());
        // The states of a rule have neighbouring numbers.
        let base = self.distances.get(1).map_or(0, |of| of.state);
        let near = state.checked_sub(base).and_then(|at| self.distances.get(at as usize + 1));
        if let Some(near) = near.filter(|near| (near.state, near.place) == key) {
            return near.distance;
        }
        let found = self.distances.binary_search_by_key(&key, |of| (of.state, of.place));
        found.map_or(UNBOUNDED, |at| self.distances[at].distance)
    }

    /// Whether a text with that many characters can come to an end in time.
    #[inline]
    pub(crate) fn fits(&self, lengths: &LengthRange, state: u32, count: CharCount) -> bool {
        let Some(max) = lengths.max else { return true };
        let chars = count.chars();
        chars.saturating_add(self.greatest()) <= max
            || chars.saturating_add(self.distance(state, count)) <= max
    }

    /// Checks that every number names something that is there. O(tables).
    pub(crate) fn verify(&self, root: &IndexRoot, returns: usize) -> Result<(), &'static str> {
        if self.lengths.len() != returns {
            return Err("not every return state has its lengths");
        }
        let is_range = |of: &LengthEntry| {
            of.min <= of.max
                && of.min < CharCount::MAX_CHARS
                && (of.max < CharCount::MAX_CHARS || of.max == UNBOUNDED)
        };
        if !self.lengths.iter().all(is_range) {
            return Err("a return state has lengths that cannot be counted");
        }
        let Some((greatest, states)) = self.distances.split_first() else {
            return Err("no distance is the greatest");
        };
        let key = |of: &DistanceEntry| (of.state, of.place);
        let is_ascending = states.windows(2).all(|two| key(&two[0]) < key(&two[1]));
        let is_known = |of: &DistanceEntry| of.state != DEAD && of.state < root.states && of.place < 16;
        if !is_ascending || !states.iter().all(is_known) {
            return Err("distances are not those of states, one after the other");
        }
        let most = states.iter().map(|of| of.distance).max().unwrap_or(0);
        if key(greatest) != (DEAD, 0) || greatest.distance != most {
            return Err("the greatest distance is another one");
        }
        Ok(())
    }
}
