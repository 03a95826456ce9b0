//! The shared rows of a vocabulary file, as an encoder of rows sees them: each with a hash and a count, which tell rows apart
//! before their words are compared.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;
use gobo_types::Digest;
use zerocopy::IntoBytes;

/// A hash and a count of a row: most rows that are not equal, or not near, differ in them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowSum {
    pub(crate) hash: u64,
    /// Words that are not zero.
    pub(crate) set: usize,
}

impl RowSum {
    fn of(words: &[u32]) -> Self {
        Self { hash: hash_of_words(words), set: set_words(words) }
    }

    /// Of rows one after the other.
    pub(crate) fn of_all(words: &[u32], row_words: usize) -> Box<[Self]> {
        words.chunks_exact(row_words).map(Self::of).collect()
    }
}

/// The shared rows of a vocabulary file: bases that need no place in an index.
#[derive(Debug, Clone, Copy)]
pub struct SharedRows<'a> {
    pub(crate) row_words: usize,
    /// `[shared rows, row words]`.
    pub(crate) words: &'a [u32],
    /// `[shared rows]`.
    pub(crate) sums: &'a [RowSum],
    /// blake3 of the words.
    pub(crate) digest: Digest,
}

impl<'a> SharedRows<'a> {
    /// No shared rows, of so many words each.
    pub fn none(row_words: usize) -> Self {
        Self { row_words, words: &[], sums: &[], digest: Digest::of(&[]) }
    }

    /// Number of shared rows.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks whether there are none")]
    pub fn len(&self) -> usize {
        self.sums.len()
    }

    pub(crate) fn row(&self, number: usize) -> &'a [u32] {
        &self.words[number * self.row_words..][..self.row_words]
    }
}

/// Words that are not zero.
pub(crate) fn set_words(words: &[u32]) -> usize {
    words.iter().filter(|&&word| word != 0).count()
}

/// A hash of the words of a row, for rows of many words. Rows of one hash are compared.
pub(crate) fn hash_of_words(words: &[u32]) -> u64 {
    hash_of_bytes(words.as_bytes())
}

/// The same in every process, so that a search takes the same steps.
pub(crate) fn hash_of_bytes(bytes: &[u8]) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write(bytes);
    hasher.finish()
}
