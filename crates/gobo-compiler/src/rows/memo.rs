//! What walks have found below large blocks of the trie, by the block and the configurations above it: memoisation, so that states which
//! read the same below a block share its walk. The states of an object's keys differ along one path of the trie and nowhere else.

use foldhash::HashMap;
use gobo_types::{Budget, CompileError};

use super::PHASE;
use super::configuration_sets::ConfigurationSetId;
use super::row::PendingSuffixes;
use super::row::{RowTokens, Suffix};

/// Ranges and pending suffixes of what was kept that are copied in the time of one step elsewhere.
const COPIES_PER_STEP: u64 = 8;

/// Bytes of what is kept at which all of it is forgotten where rows are composed: states differ there in what follows their rules, so
/// that nearly all of it is never asked for again.
const MOST_BYTES: u64 = 32 << 20;

/// See the [module](self).
#[derive(Default)]
pub(super) struct Memo {
    /// What was found below blocks.
    pub(super) below: HashMap<(usize, ConfigurationSetId), Found>,
    /// What was found at and below children of roots, by their number.
    pub(super) at: HashMap<(usize, ConfigurationSetId), Found>,
    /// By the root block of each trie.
    pub(super) root_children: HashMap<usize, Vec<RootChild>>,
    ranges: Vec<(u32, u32)>,
    blocks: Vec<Suffix>,
    /// Bytes that are kept.
    held: u64,
    /// Bytes that were kept at most, which were charged.
    charged: u64,
    /// Whether much is forgotten.
    is_bounded: bool,
}

/// A child of a trie's root, the configurations there when it was walked last, and what was found at and below it.
#[derive(Debug, Clone, Copy)]
pub(super) struct RootChild {
    pub(super) number: usize,
    pub(super) at: ConfigurationSetId,
    pub(super) found: Found,
}

/// What is found at or below a place of the trie: where it stands in the tables of all.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Found {
    ranges: (usize, usize),
    blocks: (usize, usize),
}

/// Where a row stood before something was walked.
pub(super) struct Mark {
    ranges: usize,
    /// Where the last range ended.
    end: Option<u32>,
    blocks: usize,
}

impl Mark {
    pub(super) fn new(tokens: &RowTokens, pending: &PendingSuffixes) -> Self {
        let end = tokens.ranges.last().map(|range| range.1);
        Self { ranges: tokens.ranges.len(), end, blocks: pending.blocks.len() }
    }
}

impl Memo {
    /// `is_composed`: rows are composed, so that much of it is of no use.
    pub(super) fn new(is_composed: bool) -> Self {
        Self { is_bounded: is_composed, ..Self::default() }
    }

    /// Keeps what was found since the mark.
    pub(super) fn keep(
        &mut self,
        mark: &Mark,
        tokens: &RowTokens,
        pending: &PendingSuffixes,
        budget: &Budget,
    ) -> Result<Found, CompileError> {
        let (ranges, blocks) = (self.ranges.len(), self.blocks.len());
        // What was found first may have been joined to the range before.
        let joined = mark.end.map(|end| (end, tokens.ranges[mark.ranges - 1].1));
        self.ranges.extend(joined.filter(|(from, to)| from != to));
        self.ranges.extend_from_slice(&tokens.ranges[mark.ranges..]);
        self.blocks.extend_from_slice(&pending.blocks[mark.blocks..]);
        let found = Found { ranges: (ranges, self.ranges.len()), blocks: (blocks, self.blocks.len()) };
        let (ranges, blocks) = (self.ranges.len() - ranges, self.blocks.len() - blocks);
        let kept = ranges * 8 + blocks * size_of::<Suffix>();
        self.held += (kept + size_of::<((usize, ConfigurationSetId), Found)>()) as u64;
        if self.held > self.charged {
            budget.charge_bytes(PHASE, self.held - self.charged)?;
            self.charged = self.held;
        }
        Ok(found)
    }

    /// Forgets all if it is much, and much is of no use. To be called between walks.
    pub(super) fn trim(&mut self) {
        if self.is_bounded && self.held > MOST_BYTES {
            *self = Self { charged: self.charged, ..Self::new(true) };
        }
    }

    /// Adds what was kept, and says in steps what that cost.
    pub(super) fn add(&self, found: Found, tokens: &mut RowTokens, pending: &mut PendingSuffixes) -> u64 {
        let Found { ranges, blocks } = found;
        let (ranges, blocks) = (&self.ranges[ranges.0..ranges.1], &self.blocks[blocks.0..blocks.1]);
        ranges.iter().for_each(|&(from, to)| tokens.add(from, to));
        pending.blocks.extend_from_slice(blocks);
        (ranges.len() + blocks.len()) as u64 / COPIES_PER_STEP
    }
}
