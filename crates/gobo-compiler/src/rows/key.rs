//! What a row is computed from, as a key.

use gobo_artifact::Vocabulary;
use gobo_artifact::layout::MAX_SLICES;
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
