//! Slices: sets of tokens that are alike, each with a trie of its own and bitmaps by length.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::layout::vocabulary::slice_tables::{SliceTables, bitmap_lengths};
use crate::layout::vocabulary::trie::Trie;

/// Most slices of a file: as many as there are kinds.
pub const MAX_SLICES: usize = 35;

/// Some ordinary tokens that are alike, with a trie of their own: tokens that a compiler can take or leave together.
///
/// The slices of a vocabulary are disjoint, none is empty, and together they are all ordinary tokens.
#[derive(Debug, Clone, Copy)]
pub struct Slice<'a> {
    /// The trie over the tokens of the slice alone.
    pub trie: Trie<'a>,
    /// Characters of its longest token; 0 for a slice of tokens that are not text by themselves.
    pub max_chars: u32,
    /// The character with which each of its tokens begins. Every token has more after it. It counts in all lengths.
    pub lead: Option<u32>,
    /// A byte set: every token of the slice holds at least one of these bytes. Where none of them leads on, no token of
    /// the slice does.
    pub needs: &'a [u32; 8],
    /// Exactly the characters that occur in its tokens, after the lead if there is one, as ascending ranges
    /// `[first, last]` that do not touch; empty for a slice of tokens that are not text.
    pub chars: &'a [[u32; 2]],
    /// `[1 + lengths, row words]`.
    rows: &'a [u32],
    /// (characters, id) of the tokens too long for a bitmap, ascending.
    long: &'a [[u32; 2]],
    /// For how many lengths there is a bitmap.
    lengths: usize,
    row_words: usize,
}

impl<'a> Slice<'a> {
    /// All its tokens, as a row: `[row words]`.
    pub fn all(&self) -> &'a [u32] {
        self.rows.get(..self.row_words).unwrap_or_default()
    }

    /// Its tokens of at most `chars` characters: a row, `[row words]`, and further ids as pairs (characters, id), which
    /// are not in the row. Both are empty for 0 characters, and the row alone where a slice has too few tokens for bitmaps
    /// by length. O(log tokens).
    ///
    /// Only for slices of text: the tokens of others have no length, and all of them are of at most any.
    pub fn at_most(&self, chars: u32) -> (&'a [u32], &'a [[u32; 2]]) {
        if chars >= self.max_chars {
            return (self.all(), &[]);
        }
        let row = (chars as usize).min(self.lengths) * self.row_words;
        let row = if row == 0 { 0..0 } else { row..row + self.row_words };
        let long = self.long.partition_point(|pair| pair[0] <= chars);
        (self.rows.get(row).unwrap_or_default(), &self.long[..long])
    }

    /// Whether its tables are these.
    pub(crate) fn holds(&self, tables: &SliceTables) -> bool {
        let SliceTables { max_chars, chars, rows, long } = tables;
        self.max_chars == *max_chars && self.chars == chars && self.rows == rows && self.long == long
    }
}

/// Where the tables of a slice lie: 72 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct SliceEntry {
    /// Number of the first node of its trie.
    pub(crate) root: u32,
    /// Its ids in the trie order: from, to.
    pub(crate) order: [u32; 2],
    /// Characters of its longest token.
    pub(crate) max_chars: u32,
    /// Its ranges of characters: from, to.
    pub(crate) chars: [u32; 2],
    /// Number of its first bitmap.
    pub(crate) rows: u32,
    /// Its long tokens: from, to.
    pub(crate) long: [u32; 2],
    /// The character with which each of its tokens begins; 0 for none, since no lead is U+0000.
    pub(crate) lead: u32,
    /// Each of its tokens has one of these bytes.
    pub(crate) needs: [u32; 8],
}

impl SliceEntry {
    /// The slice, in tables that hold those of all; `trie` is any trie of the file.
    pub(crate) fn slice<'a>(
        &'a self,
        trie: Trie<'a>,
        chars: &'a [[u32; 2]],
        rows: &'a [u32],
        long: &'a [[u32; 2]],
        row_words: usize,
    ) -> Slice<'a> {
        let begin = (self.rows as usize).saturating_mul(row_words);
        let tokens = self.order[1].saturating_sub(self.order[0]) as usize;
        let lengths = bitmap_lengths(self.max_chars, tokens, row_words);
        let end = begin.saturating_add((1 + lengths) * row_words);
        let between = |[from, to]: [u32; 2]| from as usize..to as usize;
        Slice {
            trie: Trie { root: self.root as usize, from: self.order[0], to: self.order[1], ..trie },
            max_chars: self.max_chars,
            lead: (self.lead != 0).then_some(self.lead),
            needs: &self.needs,
            chars: chars.get(between(self.chars)).unwrap_or_default(),
            rows: rows.get(begin..end).unwrap_or_default(),
            long: long.get(between(self.long)).unwrap_or_default(),
            lengths,
            row_words,
        }
    }
}
