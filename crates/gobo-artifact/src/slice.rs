use gobo_types::TokenId;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::trie::Trie;

/// For up to this many characters a slice of many tokens has a bitmap of its own.
pub const SLICE_LENGTHS: usize = 16;

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
    /// A character with which each of its tokens begins, and behind which each has more. It counts in all lengths.
    pub lead: Option<u32>,
    /// A byte set: every token of the slice holds at least one of these bytes. Where none of them leads on, no token of
    /// the slice does.
    pub needs: &'a [u32; 8],
    /// Exactly the characters that occur in its tokens, behind the lead if there is one, as ascending ranges
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
    /// The character with which each of its tokens begins; 0 for none, since U+0000 is nobody's lead.
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

/// For how many lengths a slice has a bitmap. Few tokens are set one by one in less time than a row takes, and a
/// vocabulary has many slices of few tokens.
fn bitmap_lengths(max_chars: u32, tokens: usize, row_words: usize) -> usize {
    if tokens > row_words { (max_chars as usize).min(SLICE_LENGTHS) } else { 0 }
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
    /// The tables of `tokens`, ids with their bytes. `is_text` says whether they have characters, and `lead` with which
    /// each begins; an error says what is not so. O(bytes and rows).
    pub(crate) fn new<'t>(
        tokens: impl ExactSizeIterator<Item = (TokenId, &'t [u8])> + Clone,
        is_text: bool,
        lead: Option<u32>,
        row_words: usize,
    ) -> Result<Self, String> {
        let mut tables = Self { rows: vec![0; row_words], ..Self::default() };
        let set = |row: &mut [u32], id: TokenId| row[(id >> 5) as usize] |= 1 << (id & 31);
        tokens.clone().for_each(|(id, _)| set(&mut tables.rows, id));
        let lead = match lead.map(char::from_u32) {
            None => String::new(),
            Some(Some(lead)) if is_text => lead.into(),
            Some(_) => return Err("its lead is no character of text".into()),
        };
        if !is_text {
            return Ok(tables);
        }
        let mut occurs = CharSet::default();
        let mut counts = Vec::with_capacity(tokens.len());
        for (id, bytes) in tokens {
            let count = count_behind(bytes, lead.as_bytes(), &mut occurs);
            let count = count.map_err(|what| format!("token {id} {what}"))? + u32::from(!lead.is_empty());
            counts.push([count, id]);
        }
        tables.chars = occurs.ranges();
        tables.max_chars = counts.iter().map(|[count, _]| *count).max().unwrap_or(0);
        // First the tokens of each length apart, then each length with the shorter ones.
        let lengths = bitmap_lengths(tables.max_chars, counts.len(), row_words);
        tables.rows.resize((1 + lengths) * row_words, 0);
        for [count, id] in counts {
            match count as usize {
                length if length <= lengths => set(&mut tables.rows[length * row_words..], id),
                _ => tables.long.push([count, id]),
            }
        }
        for at in 2 * row_words..tables.rows.len() {
            tables.rows[at] |= tables.rows[at - row_words];
        }
        tables.long.sort_unstable();
        Ok(tables)
    }
}

/// Adds the characters of a token behind `lead` to `occurs`. Returns how many they are, or what is wrong with the token.
fn count_behind(token: &[u8], lead: &[u8], occurs: &mut CharSet) -> Result<u32, &'static str> {
    // Byte by byte: there is at most one character, and to call for a comparison costs more than most tokens do.
    if token.len() < lead.len() || token.iter().zip(lead).any(|(one, other)| one != other) {
        return Err("does not begin with the lead");
    }
    let behind = &token[lead.len()..];
    if behind.is_empty() {
        return Err("has nothing behind the lead");
    }
    // Most tokens are ASCII, and to know it costs less than to decode them.
    if behind.is_ascii() {
        behind.iter().for_each(|&byte| occurs.ascii |= 1 << byte);
        return Ok(u32::try_from(behind.len()).expect("offsets are u32"));
    }
    let mut count = 0;
    for char in std::str::from_utf8(behind).map_err(|_| "is not text")?.chars() {
        occurs.insert(char.into());
        count += 1;
    }
    Ok(count)
}

/// A set of characters. Its table goes as far as the last member: most sets have none near the end.
#[derive(Debug, Default)]
struct CharSet {
    /// Those of ASCII, which the table may have too.
    ascii: u128,
    words: Vec<u32>,
}

impl CharSet {
    fn insert(&mut self, char: u32) {
        let at = (char >> 5) as usize;
        if at >= self.words.len() {
            self.words.resize(at + 1, 0);
        }
        self.words[at] |= 1 << (char & 31);
    }

    /// The members as ranges `[first, last]`.
    fn ranges(mut self) -> Vec<[u32; 2]> {
        let ascii = self.ascii;
        (0..128).filter(|char| ascii >> char & 1 == 1).for_each(|char| self.insert(char));
        let mut ranges: Vec<[u32; 2]> = Vec::new();
        for (at, &word) in (0..).zip(&self.words).filter(|(_, word)| **word != 0) {
            for member in (0..32).filter(|bit| word >> bit & 1 == 1).map(|bit| at << 5 | bit) {
                match ranges.last_mut() {
                    Some([_, last]) if *last + 1 == member => *last = member,
                    _ => ranges.push([member, member]),
                }
            }
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The tables say of each length and each character what counting says, with a lead and without, for few tokens
        /// and for many.
        #[test]
        fn lengths_and_characters_are_those_of_the_tokens(
            tokens in prop::collection::vec("[a-c\u{e0}-\u{e4}\u{10ffff}]{1,40}", 1..60),
            lead in prop::sample::select(vec!["", " ", "a", "\u{e9}"]),
            stride in prop::sample::select(vec![1, 2, 50]),
        ) {
            let tokens: Vec<String> = tokens.into_iter().map(|token| format!("{lead}{token}")).collect();
            let ids: Vec<TokenId> = (0..).step_by(stride as usize).take(tokens.len()).collect();
            let row_words = (tokens.len() * stride as usize).div_ceil(32);
            let text = |id: TokenId| tokens[(id / stride) as usize].as_str();
            let lead = lead.chars().next().map(u32::from);
            let with_bytes = ids.iter().map(|&id| (id, text(id).as_bytes()));
            let tables = SliceTables::new(with_bytes, true, lead, row_words).unwrap();
            let nodes = Trie { nodes: &[], order: &[], set_ids: &[], sets: &[], root: 0, from: 0, to: 0 };
            let entry = SliceEntry {
                root: 0,
                order: [0, u32::try_from(ids.len()).unwrap()],
                max_chars: tables.max_chars,
                chars: [0, u32::try_from(tables.chars.len()).unwrap()],
                rows: 0,
                long: [0, u32::try_from(tables.long.len()).unwrap()],
                lead: lead.unwrap_or(0),
                needs: [0; 8],
            };
            let slice = entry.slice(nodes, &tables.chars, &tables.rows, &tables.long, row_words);
            prop_assert!(slice.holds(&tables));
            prop_assert_eq!(slice.lead, lead);
            let has_bitmaps = tables.rows.len() > row_words;
            prop_assert_eq!(has_bitmaps, ids.len() > row_words);
            let members = |row: &[u32]| -> BTreeSet<TokenId> {
                ids.iter().copied().filter(|&id| row.get((id >> 5) as usize).is_some_and(|word| word >> (id & 31) & 1 == 1)).collect()
            };
            prop_assert_eq!(members(slice.all()), ids.iter().copied().collect());
            for length in (0..45).chain([u32::MAX]) {
                let (row, long) = slice.at_most(length);
                prop_assert!(row.len() == row_words || (row.is_empty() && (length == 0 || !has_bitmaps)));
                let mut found = members(row);
                for &[chars, id] in long {
                    prop_assert_eq!(chars as usize, text(id).chars().count());
                    prop_assert!(found.insert(id));
                }
                let short = ids.iter().copied().filter(|&id| text(id).chars().count() <= length as usize);
                prop_assert_eq!(found, short.collect());
            }
            let begin = usize::from(lead.is_some());
            let chars: BTreeSet<u32> = tokens.iter().flat_map(|token| token.chars().skip(begin)).map(u32::from).collect();
            prop_assert_eq!(slice.chars.iter().flat_map(|&[first, last]| first..=last).collect::<BTreeSet<_>>(), chars);
            prop_assert!(slice.chars.windows(2).all(|pair| pair[0][1] + 1 < pair[1][0]));
        }
    }

    #[test]
    fn what_is_no_text_has_no_lengths() {
        let tokens: [&[u8]; 2] = [b"\xc3", b"a"];
        let tables = |is_text, lead| {
            SliceTables::new([1, 0].into_iter().map(|id| (id, tokens[id as usize])), is_text, lead, 1)
        };
        assert_eq!(tables(true, None), Err("token 0 is not text".into()));
        assert_eq!(tables(false, None).unwrap(), SliceTables { rows: vec![0b11], ..SliceTables::default() });
        let no_lead = Err("its lead is no character of text".into());
        assert_eq!(tables(false, Some(0x61)), no_lead);
        for lead in [0xd800, 0x11_0000, u32::MAX] {
            assert_eq!(tables(true, Some(lead)), no_lead);
        }
    }

    #[test]
    fn every_token_is_its_lead_and_more() {
        let tokens: [&[u8]; 7] = [b" a", b" \xc3\xa9", b" ", b"a", b" \xa9", b"\xc3\xa9b", b"\xc3\xa9"];
        let first = |ids: &[TokenId], lead: char| {
            SliceTables::new(ids.iter().map(|&id| (id, tokens[id as usize])), true, Some(lead.into()), 1)
                .map(|tables| tables.chars)
        };
        assert_eq!(first(&[0, 1], ' '), Ok(vec![[0x61, 0x61], [0xe9, 0xe9]]));
        assert_eq!(first(&[5], 'é'), Ok(vec![[0x62, 0x62]]));
        assert_eq!(first(&[0, 2], ' '), Err("token 2 has nothing behind the lead".into()));
        assert_eq!(first(&[0, 3], ' '), Err("token 3 does not begin with the lead".into()));
        assert_eq!(first(&[0, 4], ' '), Err("token 4 is not text".into()));
        assert_eq!(first(&[5, 6], 'é'), Err("token 6 has nothing behind the lead".into()));
        // It shares its first byte with the lead.
        assert_eq!(first(&[5], 'è'), Err("token 5 does not begin with the lead".into()));
    }
}
