//! Lays out the distinct rows of an index: equal rows once, near rows as patches over a base.
//!
//! Each row is stored in the cheapest way whose fill costs at most about 1.25 copies of a dense row: as patches over zeros if it
//! has few words, else as patches over the nearest of the shared rows and of the dense rows added last, else dense. The choice
//! depends on the rows and their order alone. O(row words) for a row, and a few words more for each base that is tried.

use std::collections::HashMap;

use gobo_types::TokenId;
use zerocopy::IntoBytes;

use crate::layout::index::row::{DENSE, NO_BASE, PATCHED, RowEntry};
use crate::layout::vocabulary::shared_rows::{RowSum, SharedRows, hash_of_bytes, hash_of_words, set_words};
use crate::write::file::count;

/// Most patches over zeros, as a share of the words of a row: see [`RowEncoder`].
const WORDS_PER_ZERO_PATCH: usize = 16;

/// Most patches over a dense row, likewise.
const WORDS_PER_BASE_PATCH: usize = 24;

/// The same over zeros in an index with calls, whose masks are unions of several rows anyhow: a subset of C gets by with
/// 571 KiB in the place of 676, and fills in the same time, but for the rarest.
const WORDS_PER_ZERO_PATCH_WITH_CALLS: usize = 8;

/// The same over a dense row: states in the place of an expression differ by some hundred tokens, and there are many.
const WORDS_PER_BASE_PATCH_WITH_CALLS: usize = 16;

/// How many of the dense rows added last may be a base. States come in an order in which neighbours are alike.
const BASES_TRIED: usize = 256;

/// Words compared at once when a base is looked for.
const WORDS_PER_STEP: usize = 64;

/// Words compared at once when patches are looked for, of which there are few.
const WORDS_TOLD_APART: usize = 16;

/// Lays out distinct rows, choosing for each the cheapest kind whose fill costs at most about 1.25 copies of a dense row.
///
/// Measured for rows of 6,251 words (200,018 ids), hot, on one core of a Xeon with AVX-512: a copy takes 212 ns, a clear 116
/// ns. A clear and 390 patches (one for 16 words) take 228 ns, a copy and 256 patches (one for 24 words) 259 ns: 1.08 and
/// 1.22 copies. Patches are 8 bytes for 4 of a dense row, so either limit also makes a row at most an eighth as large.
///
/// Dense rows are numbered through: first the shared ones of the vocabulary, then those of the file.
#[derive(Debug)]
pub struct RowEncoder<'a> {
    row_words: usize,
    pub(crate) shared: SharedRows<'a>,
    /// Most patches over zeros.
    most_zero_patches: usize,
    /// Most patches over a dense row.
    most_patches: usize,
    pub(crate) table: Vec<RowEntry>,
    pub(crate) dense: Vec<u32>,
    /// `[dense rows of the file]`: how many words of each are not zero.
    dense_set: Vec<usize>,
    pub(crate) patches: Vec<[u32; 2]>,
    /// The number of each row by the hash of its words; by the next hash that is free if another row has it.
    known: HashMap<u64, u32>,
}

impl<'a> RowEncoder<'a> {
    /// An encoder for rows beside shared ones.
    pub fn new(shared: SharedRows<'a>) -> Self {
        let row_words = shared.row_words;
        let (table, dense, dense_set, patches, known) = Default::default();
        let (most_zero_patches, most_patches) =
            (row_words / WORDS_PER_ZERO_PATCH, row_words / WORDS_PER_BASE_PATCH);
        Self { row_words, shared, most_zero_patches, most_patches, table, dense, dense_set, patches, known }
    }

    /// An encoder for the rows of an index with calls.
    pub fn with_calls(shared: SharedRows<'a>) -> Self {
        let row_words = shared.row_words;
        Self {
            most_zero_patches: row_words / WORDS_PER_ZERO_PATCH_WITH_CALLS,
            most_patches: row_words / WORDS_PER_BASE_PATCH_WITH_CALLS,
            ..Self::new(shared)
        }
    }

    /// Number of distinct rows so far.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there is no row yet.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Bytes of all sections so far.
    pub fn bytes(&self) -> usize {
        16 * self.table.len() + 4 * self.dense.len() + 8 * self.patches.len()
    }

    /// Adds a row, `[row words]`, and returns its number: that of the row added before that is equal, if there is one.
    /// The bytes written depend on the order in which rows are added, so that order must be a function of the key.
    ///
    /// O(row words), and a few words more for each of the dense rows added last.
    ///
    /// # Panics
    /// If the row has another length.
    pub fn push(&mut self, words: &[u32]) -> usize {
        assert_eq!(words.len(), self.row_words, "a row of another length");
        let set = set_words(words);
        if set > self.most_zero_patches {
            return self.push_words(words, set);
        }
        self.push_patches(&patches_over_zeros(words, set))
    }

    /// Adds the row of these ids, in any order, and returns its number, as [`Self::push`] does. O(ids) where they are few;
    /// they are sorted in place.
    ///
    /// # Panics
    /// If an id lies beyond the row.
    pub fn push_sparse(&mut self, ids: &mut [TokenId]) -> usize {
        ids.sort_unstable();
        let mut patches: Vec<[u32; 2]> = Vec::new();
        for &id in &*ids {
            assert!(((id >> 5) as usize) < self.row_words, "an id beyond the row");
            match patches.last_mut() {
                Some([at, bits]) if *at == id >> 5 => *bits |= 1 << (id & 31),
                _ => patches.push([id >> 5, 1 << (id & 31)]),
            }
        }
        if patches.len() <= self.most_zero_patches {
            return self.push_patches(&patches);
        }
        let mut words = vec![0; self.row_words];
        patches.iter().for_each(|&[at, bits]| words[at as usize] = bits);
        self.push_words(&words, patches.len())
    }

    /// Adds a row of few words: patches over zeros. Only such rows are stored so, and all of them.
    fn push_patches(&mut self, patches: &[[u32; 2]]) -> usize {
        let hash = hash_of_patches(patches);
        let is_equal = |entry: &RowEntry| entry.base == NO_BASE && self.patches_of(entry) == Some(patches);
        match self.find(hash, is_equal) {
            Ok(number) => number,
            Err(free) => {
                let entry = self.patched(NO_BASE, patches);
                self.add(free, entry)
            }
        }
    }

    /// Adds a row of many words, `set` of them not zero: over a base, or dense.
    fn push_words(&mut self, words: &[u32], set: usize) -> usize {
        let hash = hash_of_words(words);
        let free = match self.find(hash, |entry| self.equals(entry, words)) {
            Ok(number) => return number,
            Err(free) => free,
        };
        let dense = |number| RowEntry { kind: DENSE, offset: count(number), len: 0, base: NO_BASE };
        let is_shared =
            |(number, sum): &(usize, &RowSum)| sum.hash == hash && self.shared.row(*number) == words;
        if let Some((number, _)) = self.shared.sums.iter().enumerate().find(is_shared) {
            return self.add(free, dense(number));
        }
        let entry = match self.nearest_base(words, set) {
            Some(number) => {
                let patches = patches_over(self.dense_row(number), words);
                self.patched(count(number), &patches)
            }
            None => {
                self.dense.extend_from_slice(words);
                self.dense_set.push(set);
                dense(self.dense_rows() - 1)
            }
        };
        self.add(free, entry)
    }

    /// Number of dense rows, shared ones and those of the file.
    fn dense_rows(&self) -> usize {
        self.shared.len() + self.dense_set.len()
    }

    /// The words of a dense row.
    fn dense_row(&self, number: usize) -> &[u32] {
        match number.checked_sub(self.shared.len()) {
            None => self.shared.row(number),
            Some(own) => &self.dense[own * self.row_words..][..self.row_words],
        }
    }

    /// The number of the row with that hash that `is_equal` says is equal, or else the key under which to remember it.
    fn find(&self, hash: u64, is_equal: impl Fn(&RowEntry) -> bool) -> Result<usize, u64> {
        let mut key = hash;
        while let Some(&number) = self.known.get(&key) {
            if is_equal(&self.table[number as usize]) {
                return Ok(number as usize);
            }
            key = key.wrapping_add(1);
        }
        Err(key)
    }

    fn add(&mut self, key: u64, entry: RowEntry) -> usize {
        let number = self.table.len();
        self.known.insert(key, count(number));
        self.table.push(entry);
        number
    }

    fn patched(&mut self, base: u32, patches: &[[u32; 2]]) -> RowEntry {
        let offset = count(self.patches.len());
        self.patches.extend_from_slice(patches);
        RowEntry { kind: PATCHED, offset, len: count(patches.len()), base }
    }

    fn patches_of(&self, entry: &RowEntry) -> Option<&[[u32; 2]]> {
        let from = entry.offset as usize;
        (entry.kind == PATCHED).then(|| &self.patches[from..from + entry.len as usize])
    }

    /// Whether a stored row that is no patches over zeros has these words.
    fn equals(&self, entry: &RowEntry, words: &[u32]) -> bool {
        let Some(patches) = self.patches_of(entry) else {
            return self.dense_row(entry.offset as usize) == words;
        };
        if entry.base == NO_BASE {
            return false;
        }
        let base = self.dense_row(entry.base as usize);
        let mut from = 0;
        for &[at, bits] in patches {
            let at = at as usize;
            if base[from..at] != words[from..at] || words[at] != bits {
                return false;
            }
            from = at + 1;
        }
        base[from..] == words[from..]
    }

    /// The number of the dense row, among the shared ones and the last [`BASES_TRIED`] of the file, that differs in the
    /// fewest words, if in few enough; of equals the first. `set` words are not zero.
    ///
    /// A row that has nothing but zeros where it differs from a shared one is not stored over it, for then no reader that lacks
    /// the shared row can tell that the row allows something.
    fn nearest_base(&self, words: &[u32], set: usize) -> Option<usize> {
        let mut nearest = None;
        let own = self.dense_set.len();
        let of_shared = self.shared.sums.iter().map(|sum| sum.set).enumerate();
        let last = own.saturating_sub(BASES_TRIED);
        let of_own = (self.shared.len() + last..).zip(self.dense_set[last..].iter().copied());
        for (number, base_set) in of_shared.chain(of_own) {
            let most = nearest.map_or(self.most_patches, |(differing, _)| differing - 1);
            if base_set.abs_diff(set) > most {
                continue;
            }
            let base = self.dense_row(number);
            let Some(differing) = differing_words(base, words, most) else { continue };
            if number < self.shared.len() && differs_by_zeros_alone(base, words) {
                continue;
            }
            nearest = Some((differing, number));
        }
        nearest.map(|(_, number)| number)
    }
}

/// Whether each word that differs from the base's is zero.
fn differs_by_zeros_alone(base: &[u32], words: &[u32]) -> bool {
    base.iter().zip(words).all(|(base, word)| base == word || *word == 0)
}

/// The `set` words that are not zero.
fn patches_over_zeros(words: &[u32], set: usize) -> Vec<[u32; 2]> {
    let mut patches = Vec::with_capacity(set);
    for (step, words) in words.chunks(WORDS_TOLD_APART).enumerate() {
        if words.iter().fold(0, |any, word| any | word) == 0 {
            continue;
        }
        for (at, &word) in (step * WORDS_TOLD_APART..).zip(words) {
            if word != 0 {
                patches.push([count(at), word]);
            }
        }
    }
    patches
}

/// The words that differ from the base's.
fn patches_over(base: &[u32], words: &[u32]) -> Vec<[u32; 2]> {
    let mut patches = Vec::new();
    let steps = base.chunks(WORDS_TOLD_APART).zip(words.chunks(WORDS_TOLD_APART));
    for (step, (base, words)) in steps.enumerate().filter(|(_, (base, words))| base != words) {
        let differing =
            (step * WORDS_TOLD_APART..).zip(base.iter().zip(words)).filter(|(_, (old, new))| old != new);
        patches.extend(differing.map(|(at, (_, &new))| [count(at), new]));
    }
    patches
}

/// In how many words two rows differ; `None` if in more than `most`, found soon where it is far more.
fn differing_words(one: &[u32], other: &[u32], most: usize) -> Option<usize> {
    let mut differing = 0;
    for (one, other) in one.chunks(WORDS_PER_STEP).zip(other.chunks(WORDS_PER_STEP)) {
        differing += one.iter().zip(other).filter(|(one, other)| one != other).count();
        if differing > most {
            return None;
        }
    }
    Some(differing)
}

/// The same of a row that is zero but for these, for rows of few: no row is given to both.
fn hash_of_patches(patches: &[[u32; 2]]) -> u64 {
    hash_of_bytes(patches.as_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::layout::Row;

    proptest! {
        /// Whatever kinds are chosen, every row reads back as the ids that were pushed.
        #[test]
        fn rows_read_back_as_pushed(
            row_words in 1_usize..200,
            shared in 0_usize..4,
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
            let words_of = |row: &[u32]| {
                let mut words = vec![0; row_words];
                row.iter().for_each(|id| words[(id >> 5) as usize] |= 1 << (id & 31));
                words
            };
            let shared: Vec<u32> =
                rows.iter().filter(|row| !row.is_empty()).take(shared).flat_map(|row| words_of(row)).collect();
            let sums = RowSum::of_all(&shared, row_words);
            let shared = SharedRows { words: &shared, sums: &sums, ..SharedRows::none(row_words) };
            let mut encoder = RowEncoder::new(shared);
            let numbers: Vec<usize> = rows.iter().map(|row| encoder.push(&words_of(row))).collect();
            // Equal rows have one number, whichever way they come.
            let distinct: std::collections::BTreeSet<&Vec<u32>> = rows.iter().collect();
            prop_assert_eq!(encoder.len(), distinct.len());
            let mut sparse = RowEncoder::new(shared);
            for (row, &number) in rows.iter().zip(&numbers) {
                prop_assert_eq!(encoder.push(&words_of(row)), number);
                let mut ids: Vec<u32> = row.iter().rev().copied().collect();
                prop_assert_eq!(encoder.push_sparse(&mut ids), number);
                prop_assert_eq!(sparse.push_sparse(&mut ids), number);
            }
            prop_assert_eq!(
                (&encoder.table, &encoder.dense, &encoder.patches),
                (&sparse.table, &sparse.dense, &sparse.patches)
            );
            for (&number, row) in numbers.iter().zip(&rows) {
                let entry = &encoder.table[number];
                let read = match encoder.patches_of(entry) {
                    None => Row::Dense(encoder.dense_row(entry.offset as usize)),
                    Some(patches) => {
                        let base = (entry.base != NO_BASE).then(|| encoder.dense_row(entry.base as usize));
                        Row::Patched { base, patches }
                    }
                };
                prop_assert_eq!(&read.ids(row_words), row);
                prop_assert_eq!(read.is_empty(), row.is_empty());
                for id in 0..width {
                    prop_assert_eq!(read.contains(id), row.binary_search(&id).is_ok());
                }
                if let Row::Patched { base, patches } = read {
                    prop_assert!(base.is_some() || patches.iter().all(|patch| patch[1] != 0));
                    // A reader without the shared rows sees by the patches that the row is not empty.
                    let of_shared = (entry.base as usize) < shared.len();
                    prop_assert!(!of_shared || patches.iter().any(|patch| patch[1] != 0));
                }
            }
        }
    }

    /// Rows of one hash are told apart by their words.
    #[test]
    fn rows_that_share_a_hash_are_kept_apart() {
        let mut encoder = RowEncoder::new(SharedRows::none(1));
        let one = encoder.push(&[1]);
        let key = hash_of_patches(&[[0, 2]]);
        encoder.known.insert(key, count(one));
        let two = encoder.push(&[2]);
        assert_ne!(one, two);
        assert_eq!(encoder.push(&[2]), two);
    }

    #[test]
    fn the_nearest_base_is_the_first_of_equals() {
        let row_words = 10 * WORDS_PER_BASE_PATCH;
        let row = |changed: usize, bits: u32| {
            let mut words = vec![1; row_words];
            words[..changed].fill(bits);
            words
        };
        let mut encoder = RowEncoder::new(SharedRows::none(row_words));
        // Too far from each other for patches, so all are dense.
        for (changed, bits) in [(0, 1), (row_words, 2), (11, 4)] {
            encoder.push(&row(changed, bits));
        }
        assert_eq!(encoder.dense.len(), 3 * row_words);
        for (changed, base) in [(1, 0), (5, 0), (6, 2), (10, 2)] {
            let number = encoder.push(&row(changed, 4));
            assert_eq!(encoder.table[number].base, base, "{changed}");
        }
    }
}
