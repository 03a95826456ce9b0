use gobo_types::TokenId;
use zerocopy::{FromBytes, Immutable, KnownLayout};

/// One row as it is stored: the allowed ids of all states that share it, without EOS and padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Row<'a> {
    /// All words: `[row words]`.
    Dense(&'a [u32]),
    /// The ids, ascending. The empty row is stored so.
    Ids(&'a [TokenId]),
    /// A dense row, some of whose words are others: pairs (word, bits), ascending by word.
    Patched {
        /// The words of the base: `[row words]`.
        base: &'a [u32],
        /// The words that differ.
        patches: &'a [[u32; 2]],
    },
}

pub(crate) const DENSE: u32 = 0;
pub(crate) const IDS: u32 = 1;
pub(crate) const PATCHED: u32 = 2;

/// An entry of the row table: 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct RowEntry {
    /// [`DENSE`], [`IDS`] or [`PATCHED`].
    pub(crate) kind: u32,
    /// Where it begins: a dense row's number, or the position of its first id or patch.
    pub(crate) offset: u32,
    /// Ids or patches; 0 for a dense row.
    pub(crate) len: u32,
    /// Number of the dense row that a patched one differs from; 0 otherwise.
    pub(crate) base: u32,
}

impl RowEntry {
    fn words(self) -> [u32; 4] {
        [self.kind, self.offset, self.len, self.base]
    }
}

impl Row<'_> {
    /// Whether no id is allowed. O(1): only the empty list of ids is stored for it.
    pub fn is_empty(&self) -> bool {
        matches!(self, Row::Ids([]))
    }

    /// Whether `id` is allowed. O(1), O(log n) for lists and patches.
    #[inline]
    pub fn contains(&self, id: TokenId) -> bool {
        let bit =
            |words: &[u32]| words.get((id >> 5) as usize).is_some_and(|word| word >> (id & 31) & 1 == 1);
        match self {
            Row::Dense(words) => bit(words),
            Row::Ids(ids) => ids.binary_search(&id).is_ok(),
            Row::Patched { base, patches } => {
                match patches.binary_search_by_key(&(id >> 5), |patch| patch[0]) {
                    Ok(at) => patches[at][1] >> (id & 31) & 1 == 1,
                    Err(_) => bit(base),
                }
            }
        }
    }

    /// Writes the row's words to `out`: `[row words]`. Between 0.6 and 2 copies of a dense row. `false` if the row
    /// does not fit, which a verified file never does.
    #[inline]
    pub fn write(&self, out: &mut [u32]) -> bool {
        match self {
            Row::Dense(words) => {
                if words.len() != out.len() {
                    return false;
                }
                out.copy_from_slice(words);
                true
            }
            Row::Ids(ids) => {
                out.fill(0);
                ids.iter().all(|&id| match out.get_mut((id >> 5) as usize) {
                    Some(word) => {
                        *word |= 1 << (id & 31);
                        true
                    }
                    None => false,
                })
            }
            Row::Patched { base, patches } => {
                if base.len() != out.len() {
                    return false;
                }
                out.copy_from_slice(base);
                patches.iter().all(|&[at, bits]| match out.get_mut(at as usize) {
                    Some(word) => {
                        *word = bits;
                        true
                    }
                    None => false,
                })
            }
        }
    }

    /// The allowed ids, ascending.
    pub fn ids(&self, row_words: usize) -> Vec<TokenId> {
        let mut words = vec![0; row_words];
        self.write(&mut words);
        let mut ids = Vec::new();
        for (at, mut word) in (0..).zip(words) {
            while word != 0 {
                ids.push(at << 5 | word.trailing_zeros());
                word &= word - 1;
            }
        }
        ids
    }
}

/// Lays out distinct rows, choosing for each the smallest kind whose fill costs at most about two copies of a dense
/// row: ids cost a clear and a store each, patches a copy and a store each.
#[derive(Debug)]
pub struct RowEncoder {
    row_words: usize,
    pub(crate) table: Vec<RowEntry>,
    pub(crate) dense: Vec<u32>,
    pub(crate) ids: Vec<TokenId>,
    pub(crate) patches: Vec<[u32; 2]>,
    /// The words of the row at hand, kept between rows.
    scratch: Vec<u32>,
}

impl RowEncoder {
    /// An encoder for rows of `row_words` words.
    pub fn new(row_words: usize) -> Self {
        let (table, dense, ids, patches) = Default::default();
        Self { row_words, table, dense, ids, patches, scratch: vec![0; row_words] }
    }

    /// Number of rows so far.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there is no row yet.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Bytes of all sections so far.
    pub fn bytes(&self) -> usize {
        16 * self.table.len() + 4 * (self.dense.len() + self.ids.len()) + 8 * self.patches.len()
    }

    /// Adds a row of distinct ids, in any order, and returns its number. The bytes written depend on the order in
    /// which rows are added, so that order must be a function of the key.
    pub fn push(&mut self, ids: impl ExactSizeIterator<Item = TokenId>) -> usize {
        let count = ids.len();
        let offset = |len: usize| u32::try_from(len).expect("the bytes of a file are budgeted below 4 GiB");
        // A store to a random word costs about as much as copying eight words of a row in order.
        let entry = if count == 0 || count <= self.row_words / 16 {
            let from = self.ids.len();
            self.ids.extend(ids);
            self.ids[from..].sort_unstable();
            RowEntry { kind: IDS, offset: offset(from), len: offset(count), base: 0 }
        } else {
            self.scratch.fill(0);
            for id in ids {
                self.scratch[(id >> 5) as usize] |= 1 << (id & 31);
            }
            match self.nearest_base() {
                Some((base, patches)) => {
                    let from = self.patches.len();
                    self.patches.extend(patches);
                    let len = offset(self.patches.len() - from);
                    RowEntry { kind: PATCHED, offset: offset(from), len, base: offset(base) }
                }
                None => {
                    let number = self.dense.len() / self.row_words;
                    self.dense.extend_from_slice(&self.scratch);
                    RowEntry { kind: DENSE, offset: offset(number), len: 0, base: 0 }
                }
            }
        };
        self.table.push(entry);
        self.table.len() - 1
    }

    /// The dense row that differs from the one at hand in the fewest words, if in few enough.
    fn nearest_base(&self) -> Option<(usize, Vec<[u32; 2]>)> {
        let mut limit = self.row_words / 64;
        let mut nearest = None;
        for (number, base) in self.dense.chunks_exact(self.row_words).enumerate() {
            let differing = base.iter().zip(&self.scratch).enumerate().filter(|(_, (old, new))| old != new);
            let patches: Vec<_> = differing
                .take(limit + 1)
                .map(|(at, (_, &new))| [u32::try_from(at).expect("a row has fewer than 2^32 words"), new])
                .collect();
            if patches.len() <= limit {
                if patches.is_empty() {
                    return Some((number, patches));
                }
                limit = patches.len() - 1;
                nearest = Some((number, patches));
            }
        }
        nearest
    }

    pub(crate) fn table_bytes(&self) -> Vec<u8> {
        self.table.iter().flat_map(|entry| entry.words()).flat_map(u32::to_le_bytes).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::index::row_of;

    proptest! {
        /// Whatever kinds are chosen, every row reads back as the ids that were pushed.
        #[test]
        fn rows_read_back_as_pushed(
            row_words in 1_usize..200,
            rows in prop::collection::vec(prop::collection::btree_set(0_u32..6400, 0..400), 1..12),
            toggles in prop::collection::vec(0_u32..6400, 0..8),
        ) {
            let width = u32::try_from(row_words).unwrap() * 32;
            let mut rows: Vec<Vec<u32>> =
                rows.into_iter().map(|row| row.into_iter().filter(|id| *id < width).collect()).collect();
            // A near copy of each row, so that patches are chosen too.
            for row in rows.clone() {
                let mut near: std::collections::BTreeSet<u32> = row.into_iter().collect();
                for toggle in toggles.iter().filter(|id| **id < width) {
                    if !near.remove(toggle) {
                        near.insert(*toggle);
                    }
                }
                rows.push(near.into_iter().collect());
            }
            let mut encoder = RowEncoder::new(row_words);
            for row in &rows {
                encoder.push(row.iter().rev().copied());
            }
            for (number, row) in rows.iter().enumerate() {
                let read = row_of(&encoder.table, &encoder.dense, &encoder.ids, &encoder.patches, row_words, number);
                let read = read.unwrap();
                prop_assert_eq!(&read.ids(row_words), row);
                prop_assert_eq!(read.is_empty(), row.is_empty());
                for id in 0..width {
                    prop_assert_eq!(read.contains(id), row.binary_search(&id).is_ok());
                }
            }
        }
    }
}
