//! A row while it is computed: its tokens, and the pending suffixes beside them, the rests of tokens that end the rule before their own
//! end; and what a row is computed from, as a key.

use gobo_artifact::Vocabulary;
use gobo_artifact::layout::{MAX_SLICES, Trie};
use gobo_automata::ExitId;
use gobo_types::{ByteSet, VocabularyDigest};

/// Slices of a vocabulary: bit `n` stands for the one with number `n`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct SliceSet(pub(crate) u64);

const _: () = assert!(MAX_SLICES <= u64::BITS as usize, "a bit for each slice");

impl SliceSet {
    /// The slices some token of which may be read where only the bytes of `live` lead on.
    pub(crate) fn live(vocabulary: &Vocabulary, live: &ByteSet) -> Self {
        let mut set = Self::default();
        for (number, slice) in vocabulary.slices().enumerate() {
            if !live.is_disjoint(&ByteSet::from_words(*slice.needs)) {
                set.insert(number);
            }
        }
        set
    }

    pub(crate) fn insert(&mut self, slice: usize) {
        self.0 |= 1 << slice;
    }

    pub(crate) fn has(self, slice: usize) -> bool {
        self.0 >> slice & 1 == 1
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// What a row of a called rule is computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RowKey {
    pub(crate) vocabulary: VocabularyDigest,
    pub(crate) slices: SliceSet,
    /// Digest of the future of the state up to the end of its rule.
    pub(crate) future: [u8; 32],
}

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
    #[expect(
        clippy::stable_sort_primitive,
        reason = "they are runs, each in order, which only this sort merges"
    )]
    pub(crate) fn settle(&mut self) {
        if self.ranges.is_sorted() {
            return;
        }
        self.ranges.sort();
        for (from, to) in std::mem::take(&mut self.ranges) {
            match self.ranges.last_mut() {
                Some(last) if last.1 >= from => last.1 = last.1.max(to),
                _ => self.ranges.push((from, to)),
            }
        }
    }

    /// Adds the tokens of another row; [`Self::settle`] puts them in order.
    pub(crate) fn unite(&mut self, other: &Self) {
        self.whole.0 |= other.whole.0;
        for &(slice, chars) in &other.short {
            match self.short.iter_mut().find(|short| short.0 == slice) {
                Some(short) => short.1 = short.1.max(chars),
                None => self.short.push((slice, chars)),
            }
        }
        self.ranges.extend_from_slice(&other.ranges);
    }

    pub(crate) fn add(&mut self, from: u32, to: u32) {
        match self.ranges.last_mut() {
            Some(last) if last.1 == from => last.1 = to,
            _ => self.ranges.push((from, to)),
        }
    }
}

/// The rests of tokens that begin alike, and have ended a rule there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Suffix {
    /// The block of the trie with what is left of them.
    pub(crate) block: u32,
    /// The end of its ids.
    pub(crate) end: u32,
    /// The exit at which the rule has ended.
    pub(crate) exit: ExitId,
}

/// Token prefixes that end a rule with bytes left.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct PendingSuffixes {
    /// The exit of the empty prefix, if that is among them: the rule could end there before the token. There is one at most, because
    /// a state has one exit.
    pub(crate) whole: Option<ExitId>,
    /// The blocks of tokens that go on, ascending.
    pub(crate) blocks: Vec<Suffix>,
}

impl PendingSuffixes {
    /// Leaves out the blocks whose tokens are all in the row, and puts the others in order: the set does not depend on how it was found.
    pub(crate) fn settle(&mut self, tokens: &RowTokens, trie: &Trie<'_>) {
        self.blocks.retain(|&Suffix { block, end, .. }| !tokens.has(trie.nodes[block as usize].first, end));
        self.blocks.sort_unstable();
        self.blocks.dedup();
    }
}

/// The row of a state, and the suffixes that are pending where its rule ends.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct StateRow {
    pub(crate) tokens: RowTokens,
    pub(crate) pending: PendingSuffixes,
}
