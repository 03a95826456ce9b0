use gobo_types::TokenId;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::trie::Trie;

/// For up to this many characters a slice has a bitmap of its own.
pub const SLICE_LENGTHS: usize = 16;

/// Most slices of a file: a few times what is written.
pub const MAX_SLICES: usize = 32;

/// Some ordinary tokens that are alike, with a trie of their own: tokens that a compiler can take or leave together.
///
/// The slices of a vocabulary are disjoint, none is empty, and together they are all ordinary tokens.
#[derive(Debug, Clone, Copy)]
pub struct Slice<'a> {
    /// The trie over the tokens of the slice alone.
    pub trie: Trie<'a>,
    /// Characters of its longest token; 0 for a slice of tokens that are not text by themselves.
    pub max_chars: u32,
    /// A byte set: every token of the slice holds at least one of these bytes. Where none of them leads on, no token of
    /// the slice does.
    pub needs: &'a [u32; 8],
    /// Exactly the characters that occur in its tokens, as ascending ranges `[first, last]` that do not touch; empty for
    /// a slice of tokens that are not text.
    pub chars: &'a [[u32; 2]],
    /// `[1 + lengths, row words]`.
    rows: &'a [u32],
    /// (characters, id) of the tokens of more than [`SLICE_LENGTHS`] characters, ascending.
    long: &'a [[u32; 2]],
    row_words: usize,
}

impl<'a> Slice<'a> {
    /// All its tokens, as a row: `[row words]`.
    pub fn all(&self) -> &'a [u32] {
        self.rows.get(..self.row_words).unwrap_or_default()
    }

    /// Its tokens of at most `chars` characters: a row, `[row words]`, and further ids as pairs (characters, id), which
    /// are not in the row. Both are empty for 0 characters. O(log tokens); O(1) up to [`SLICE_LENGTHS`].
    ///
    /// Only for slices of text: the tokens of others have no length, and all of them are of at most any.
    pub fn at_most(&self, chars: u32) -> (&'a [u32], &'a [[u32; 2]]) {
        if chars >= self.max_chars {
            return (self.all(), &[]);
        }
        let row = (chars as usize).min(SLICE_LENGTHS) * self.row_words;
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

/// Where the tables of a slice lie: 68 bytes.
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
        let end = begin.saturating_add(bitmaps(self.max_chars) * row_words);
        let between = |[from, to]: [u32; 2]| from as usize..to as usize;
        Slice {
            trie: Trie { root: self.root as usize, from: self.order[0], to: self.order[1], ..trie },
            max_chars: self.max_chars,
            needs: &self.needs,
            chars: chars.get(between(self.chars)).unwrap_or_default(),
            rows: rows.get(begin..end).unwrap_or_default(),
            long: long.get(between(self.long)).unwrap_or_default(),
            row_words,
        }
    }
}

/// How many bitmaps a slice has whose longest token has `max_chars` characters: one of all tokens, and one for each
/// length.
fn bitmaps(max_chars: u32) -> usize {
    1 + (max_chars as usize).min(SLICE_LENGTHS)
}

/// What a file says of the lengths and characters of a slice: all that follows from its tokens.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SliceTables {
    pub(crate) max_chars: u32,
    pub(crate) chars: Vec<[u32; 2]>,
    /// `[1 + lengths, row words]`.
    pub(crate) rows: Vec<u32>,
    pub(crate) long: Vec<[u32; 2]>,
}

impl SliceTables {
    /// The tables of the tokens `ids`. `is_text` says whether they have characters; then an error names the first that is
    /// not UTF-8. O(bytes and rows).
    pub(crate) fn new<'t>(
        ids: &[TokenId],
        bytes: impl Fn(TokenId) -> &'t [u8],
        is_text: bool,
        row_words: usize,
    ) -> Result<Self, TokenId> {
        let mut tables = Self::default();
        // First the tokens of each length apart, length 0 for all.
        let mut rows = vec![0; bitmaps(u32::MAX) * row_words];
        let mut set = |length: usize, id: TokenId| {
            rows[length * row_words + (id >> 5) as usize] |= 1 << (id & 31);
        };
        let mut occurs = vec![0_u32; if is_text { CHAR_WORDS } else { 0 }];
        for &id in ids {
            set(0, id);
            if !is_text {
                continue;
            }
            let mut count = 0;
            for char in std::str::from_utf8(bytes(id)).map_err(|_| id)?.chars().map(u32::from) {
                count += 1;
                occurs[(char >> 5) as usize] |= 1 << (char & 31);
            }
            tables.max_chars = tables.max_chars.max(count);
            match count as usize {
                length @ 1..=SLICE_LENGTHS => set(length, id),
                _ => tables.long.push([count, id]),
            }
        }
        rows.truncate(bitmaps(tables.max_chars) * row_words);
        // Then each length with the shorter ones.
        for at in 2 * row_words..rows.len() {
            rows[at] |= rows[at - row_words];
        }
        tables.rows = rows;
        tables.long.sort_unstable();
        tables.chars = ranges(&occurs);
        Ok(tables)
    }
}

/// Words of a bit set over all characters.
const CHAR_WORDS: usize = (char::MAX as usize + 1) / 32;

/// The members of a bit set as ranges `[first, last]`.
fn ranges(set: &[u32]) -> Vec<[u32; 2]> {
    let mut ranges: Vec<[u32; 2]> = Vec::new();
    for (at, &word) in (0..).zip(set).filter(|(_, word)| **word != 0) {
        for member in (0..32).filter(|bit| word >> bit & 1 == 1).map(|bit| at << 5 | bit) {
            match ranges.last_mut() {
                Some([_, last]) if *last + 1 == member => *last = member,
                _ => ranges.push([member, member]),
            }
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The tables say of each length and each character what counting says.
        #[test]
        fn lengths_and_characters_are_those_of_the_tokens(
            tokens in prop::collection::vec("[a-c\u{e0}-\u{e4}\u{10ffff}]{1,40}", 1..60),
            stride in 1_u32..4,
        ) {
            let ids: Vec<TokenId> = (0..).step_by(stride as usize).take(tokens.len()).collect();
            let row_words = (tokens.len() * stride as usize).div_ceil(32);
            let text = |id: TokenId| tokens[(id / stride) as usize].as_str();
            let tables = SliceTables::new(&ids, |id| text(id).as_bytes(), true, row_words).unwrap();
            let nodes = Trie { nodes: &[], order: &[], set_ids: &[], sets: &[], root: 0, from: 0, to: 0 };
            let entry = SliceEntry {
                root: 0,
                order: [0; 2],
                max_chars: tables.max_chars,
                chars: [0, u32::try_from(tables.chars.len()).unwrap()],
                rows: 0,
                long: [0, u32::try_from(tables.long.len()).unwrap()],
                needs: [0; 8],
            };
            let slice = entry.slice(nodes, &tables.chars, &tables.rows, &tables.long, row_words);
            let members = |row: &[u32]| -> BTreeSet<TokenId> {
                ids.iter().copied().filter(|&id| row.get((id >> 5) as usize).is_some_and(|word| word >> (id & 31) & 1 == 1)).collect()
            };
            prop_assert_eq!(members(slice.all()), ids.iter().copied().collect());
            for length in (0..45).chain([u32::MAX]) {
                let (row, long) = slice.at_most(length);
                prop_assert!(row.len() == row_words || (length == 0 && row.is_empty()));
                let mut found = members(row);
                for &[chars, id] in long {
                    prop_assert_eq!(chars as usize, text(id).chars().count());
                    prop_assert!(found.insert(id));
                }
                let short = ids.iter().copied().filter(|&id| text(id).chars().count() <= length as usize);
                prop_assert_eq!(found, short.collect());
            }
            let chars: BTreeSet<u32> = tokens.iter().flat_map(|token| token.chars()).map(u32::from).collect();
            prop_assert_eq!(slice.chars.iter().flat_map(|&[first, last]| first..=last).collect::<BTreeSet<_>>(), chars);
            prop_assert!(slice.chars.windows(2).all(|pair| pair[0][1] + 1 < pair[1][0]));
        }
    }

    #[test]
    fn what_is_no_text_has_no_lengths() {
        let tokens: [&[u8]; 2] = [b"\xc3", b"a"];
        let bytes = |id: TokenId| tokens[id as usize];
        assert_eq!(SliceTables::new(&[1, 0], bytes, true, 1), Err(0));
        let tables = SliceTables::new(&[1, 0], bytes, false, 1).unwrap();
        assert_eq!(tables, SliceTables { rows: vec![0b11], ..SliceTables::default() });
    }
}
