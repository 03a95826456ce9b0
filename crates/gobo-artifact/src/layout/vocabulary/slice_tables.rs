//! The lengths and characters of the tokens of a slice: computed by the writer, and again when a file is verified.

use gobo_types::TokenId;

/// For up to this many characters a slice of many tokens has a bitmap of its own.
pub const SLICE_LENGTHS: usize = 16;

/// For how many lengths a slice has a bitmap. Few tokens are set one by one in less time than a row takes, and a
/// vocabulary has many slices of few tokens.
pub(crate) fn bitmap_lengths(max_chars: u32, tokens: usize, row_words: usize) -> usize {
    if tokens > row_words { (max_chars as usize).min(SLICE_LENGTHS) } else { 0 }
}

/// The lengths and characters of the tokens of a slice, as a file stores them.
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
    /// each begins; an error names a token for which that is wrong. O(bytes and rows).
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
            let count = count_after(bytes, lead.as_bytes(), &mut occurs);
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

/// Adds the characters of a token after `lead` to `occurs`. Returns their number, or the fault of the token.
fn count_after(token: &[u8], lead: &[u8], occurs: &mut CharSet) -> Result<u32, &'static str> {
    // Byte by byte: there is at most one character, and to call for a comparison costs more than most tokens do.
    if token.len() < lead.len() || token.iter().zip(lead).any(|(one, other)| one != other) {
        return Err("does not begin with the lead");
    }
    let after = &token[lead.len()..];
    if after.is_empty() {
        return Err("has nothing after the lead");
    }
    // Most tokens are ASCII, and to know it costs less than to decode them.
    if after.is_ascii() {
        after.iter().for_each(|&byte| occurs.ascii |= 1 << byte);
        return Ok(u32::try_from(after.len()).expect("offsets are u32"));
    }
    let mut count = 0;
    for char in std::str::from_utf8(after).map_err(|_| "is not text")?.chars() {
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
    use crate::layout::vocabulary::slice::SliceEntry;
    use crate::layout::vocabulary::trie::Trie;

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
        assert_eq!(first(&[0, 2], ' '), Err("token 2 has nothing after the lead".into()));
        assert_eq!(first(&[0, 3], ' '), Err("token 3 does not begin with the lead".into()));
        assert_eq!(first(&[0, 4], ' '), Err("token 4 is not text".into()));
        assert_eq!(first(&[5, 6], 'é'), Err("token 6 has nothing after the lead".into()));
        // It shares its first byte with the lead.
        assert_eq!(first(&[5], 'è'), Err("token 5 does not begin with the lead".into()));
    }
}
