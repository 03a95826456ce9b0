//! The tables of an index with counted rules: how many characters may be read until a return state is popped, and how many have
//! to be read at least.
//!
//! A counted rule reads the body of a JSON string, or a part of it. Its states do not tell how much of it was read: a matcher keeps a count beside
//! the state, and the return state on top of the stack tells between which bounds it may be popped. The distance of a state is
//! the least number of characters that end the rule from there, so that a text can be brought to an end as long as count and
//! distance together are no more than the upper bound. The head of a text, its characters before the last `@`, may have a bound of its
//! own; the states of the head have a second distance, to the last `@`.

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

/// The distance of a state of a counted rule, to its end or to the last `@`: 12 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct DistanceEntry {
    /// The state.
    pub(crate) state: u32,
    /// The place inside an escape: the word of a [`CharCount`] of no characters.
    pub(crate) place: u32,
    /// The least number of characters that begin before that.
    pub(crate) distance: u32,
}

/// Where the tables lie in a file.
#[derive(Debug)]
pub(crate) struct LengthSpans {
    lengths: Span,
    distances: Span,
    /// Those of heads, if some rule bounds them.
    heads: Option<(Span, Span)>,
    /// Budgets of tokens, if some rule has one.
    budgets: Option<Span>,
}

impl LengthSpans {
    pub(crate) fn open(artifact: &Artifact) -> Result<Self, ArtifactError> {
        let heads = || {
            let distances = artifact.open_span::<DistanceEntry>(kinds::HEAD_DISTANCES)?;
            Ok((artifact.open_span::<u32>(kinds::HEADS)?, distances))
        };
        Ok(Self {
            lengths: artifact.open_span::<LengthEntry>(kinds::LENGTHS)?,
            distances: artifact.open_span::<DistanceEntry>(kinds::DISTANCES)?,
            heads: artifact.has_section(kinds::HEADS).then(heads).transpose()?,
            budgets: (artifact.has_section(kinds::BUDGETS))
                .then(|| artifact.open_span::<u32>(kinds::BUDGETS))
                .transpose()?,
        })
    }

    #[inline]
    pub(crate) fn tables<'a>(&self, artifact: &'a Artifact) -> LengthTables<'a> {
        let heads = self.heads.as_ref();
        LengthTables {
            lengths: artifact.get(&self.lengths),
            distances: Distances(artifact.get(&self.distances)),
            heads: heads.map(|(heads, of)| (artifact.get(heads), Distances(artifact.get(of)))),
            budgets: self.budgets.as_ref().map(|budgets| artifact.get(budgets)),
        }
    }
}

/// The dead state with the greatest distance of all; then states of counted rules, ascending by state and place. Whatever a file
/// says, no look panics.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Distances<'a>(&'a [DistanceEntry]);

impl Distances<'_> {
    /// The greatest distance of any state.
    #[inline]
    pub(crate) fn greatest(&self) -> u32 {
        self.0.first().map_or(0, |of| of.distance)
    }

    /// The distance of a state at the place of the count, if it has one. O(1) for most states, O(log states).
    #[inline]
    pub(crate) fn of(&self, state: u32, count: CharCount) -> Option<u32> {
        let key = (state, count.place().word());
        // The states of a rule have neighbouring numbers.
        let base = self.0.get(1).map_or(0, |of| of.state);
        let near = state.checked_sub(base).and_then(|at| self.0.get(at as usize + 1));
        if let Some(near) = near.filter(|near| (near.state, near.place) == key) {
            return Some(near.distance);
        }
        let found = self.0.binary_search_by_key(&key, |of| (of.state, of.place));
        found.ok().map(|at| self.0[at].distance)
    }

    fn verify(&self, root: &IndexRoot) -> Result<(), &'static str> {
        let Some((greatest, states)) = self.0.split_first() else {
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

/// The tables of an index with counted rules. Whatever a file says, no look panics.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LengthTables<'a> {
    /// `[returns]`.
    lengths: &'a [LengthEntry],
    distances: Distances<'a>,
    /// `[returns]`, the bounds of heads; and the distances of their states to the last `@`.
    heads: Option<(&'a [u32], Distances<'a>)>,
    /// `[returns]`: the tokens that may begin there.
    budgets: Option<&'a [u32]>,
}

impl LengthTables<'_> {
    /// What is counted until the return state of that number is popped.
    #[inline]
    pub(crate) fn of_return(&self, number: u32) -> Option<LengthRange> {
        let &LengthEntry { min, max } = self.lengths.get(number as usize)?;
        let max = (max != UNBOUNDED).then_some(max);
        let head = self.heads.and_then(|(heads, _)| heads.get(number as usize).copied());
        let head = head.filter(|head| *head != UNBOUNDED);
        let tokens = self.budgets.and_then(|budgets| budgets.get(number as usize).copied());
        let tokens = tokens.filter(|tokens| *tokens != UNBOUNDED);
        let is_counted = min > 0 || max.is_some() || head.is_some() || tokens.is_some();
        is_counted.then_some(LengthRange { min, max, head, tokens })
    }

    /// The greatest distance of any state to the end of its rule.
    #[inline]
    pub(crate) fn greatest(&self) -> u32 {
        self.distances.greatest()
    }

    /// How many characters begin at least before the rule may end. O(1) for most states, O(log states).
    #[inline]
    pub(crate) fn distance(&self, state: u32, count: CharCount) -> u32 {
        self.distances.of(state, count).unwrap_or(UNBOUNDED)
    }

    /// The bound of the head in whose state a text is, with the distance of the state and the greatest one; `None` after the head, or
    /// where heads have no bound. O(1) for most states, O(log states).
    #[inline]
    pub(crate) fn head(&self, lengths: &LengthRange, state: u32, count: CharCount) -> Option<Head> {
        let (most, (_, distances)) = lengths.head.zip(self.heads)?;
        Some(Head { most, distance: distances.of(state, count)?, greatest: distances.greatest() })
    }

    /// Whether a text with that many characters can come to an end in time.
    #[inline]
    pub(crate) fn fits(&self, lengths: &LengthRange, state: u32, count: CharCount) -> bool {
        let chars = count.chars();
        let fits = lengths.max.is_none_or(|max| {
            chars.saturating_add(self.greatest()) <= max
                || chars.saturating_add(self.distance(state, count)) <= max
        });
        let in_head = |head: Head| chars.saturating_add(head.distance) <= head.most;
        fits && self.head(lengths, state, count).is_none_or(in_head)
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
        self.distances.verify(root)?;
        let is_budget = |of: &u32| (1..CharCount::MAX_CHARS).contains(of) || *of == UNBOUNDED;
        if self.budgets.is_some_and(|of| of.len() != returns || !of.iter().all(is_budget)) {
            return Err("a return state has a budget of tokens that cannot be counted");
        }
        let counts_both = |(number, tokens): (usize, &u32)| {
            let LengthEntry { min, max } = self.lengths[number];
            let head =
                self.heads.and_then(|(heads, _)| heads.get(number)).is_some_and(|head| *head != UNBOUNDED);
            *tokens != UNBOUNDED && (min > 0 || max != UNBOUNDED || head)
        };
        if self.budgets.is_some_and(|of| of.iter().enumerate().any(counts_both)) {
            return Err("a return state counts both characters and tokens");
        }
        let Some((heads, distances)) = self.heads else { return Ok(()) };
        if heads.len() != returns {
            return Err("not every return state has the length of its heads");
        }
        let is_bound = |head: &u32| *head < CharCount::MAX_CHARS || *head == UNBOUNDED;
        if !heads.iter().all(is_bound) {
            return Err("a return state has a length of heads that cannot be counted");
        }
        distances.verify(root)
    }
}

/// What bounds the head of a text in one of its states.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    /// The most characters of the head.
    pub(crate) most: u32,
    /// The least number of characters that begin before the last `@`.
    pub(crate) distance: u32,
    /// The greatest of these of any state.
    pub(crate) greatest: u32,
}
