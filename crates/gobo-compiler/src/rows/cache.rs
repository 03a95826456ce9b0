//! Rows that compiles of one process share.
//!
//! A row is found by [`RowKey`], the digest of the very object that it is computed from ([`super::view`]): the cache holds values
//! of a function, and a compile has the same rows with and without it, whatever others have left there.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use foldhash::HashMap;
use gobo_automata::ExitId;
use gobo_types::{DenseId as _, checked_u32};

use super::row::{PendingSuffixes, RowKey, RowTokens, SliceSet, StateRow, Suffix};

/// What a row cost where it was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) steps: u64,
    pub(crate) bytes: u64,
}

/// Rows of the rules that many constraints have in common, such as a JSON string or an e-mail address: a compile that is
/// given a cache looks them up there, and leaves those that took long to compute. Indices are the same with and without.
///
/// It holds two generations of half the size: where the younger is full it becomes the older, and what nobody has asked for
/// since is forgotten.
#[derive(Debug)]
pub struct RowCache {
    /// Words of a generation.
    most: usize,
    /// A row that cost fewer is not kept.
    least_steps: u64,
    generations: Mutex<[Generation; 2]>,
}

/// Rows one after the other: small allocations that outlive a compile would lie scattered among those of the next ones.
#[derive(Debug, Default)]
struct Generation {
    /// Where the words of each row begin and end.
    at: HashMap<RowKey, (usize, usize)>,
    words: Vec<u32>,
}

const LEAST_STEPS: u64 = 256;

/// Words that the place of a row takes.
const WORDS_PER_KEY: usize = (size_of::<RowKey>() + 2 * size_of::<usize>()) / 4 * 2;

impl RowCache {
    /// A cache of at most `bytes` bytes.
    pub fn new(bytes: usize) -> Self {
        Self { most: bytes / 8, least_steps: LEAST_STEPS, generations: Mutex::default() }
    }

    /// The same cache, which keeps rows that cost at least `least_steps`. Default 256, some microseconds: a row is looked up in a
    /// tenth of that.
    #[must_use]
    pub fn from_steps(self, least_steps: u64) -> Self {
        Self { least_steps, ..self }
    }

    fn get(&self, key: &RowKey) -> Option<(Cost, StateRow)> {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        let [young, old] = &mut *generations;
        if let Some(&(from, to)) = young.at.get(key) {
            return Some(read(&young.words[from..to]));
        }
        let &(from, to) = old.at.get(key)?;
        let row = read(&old.words[from..to]);
        let words = old.words[from..to].to_vec();
        self.add(&mut generations, *key, &words);
        Some(row)
    }

    fn put(&self, key: RowKey, cost: Cost, row: &StateRow) {
        if cost.steps < self.least_steps {
            return;
        }
        let words = written(cost, row);
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        self.add(&mut generations, key, &words);
    }

    fn add(&self, generations: &mut [Generation; 2], key: RowKey, words: &[u32]) {
        let [young, old] = generations;
        if WORDS_PER_KEY + words.len() > self.most || young.at.contains_key(&key) {
            return;
        }
        let taken = young.words.len() + (young.at.len() + 1) * WORDS_PER_KEY;
        if taken + words.len() > self.most {
            *old = std::mem::take(young);
        }
        // All at once, so that it never moves.
        if young.words.capacity() == 0 {
            young.words.reserve_exact(self.most);
        }
        let from = young.words.len();
        young.words.extend_from_slice(words);
        young.at.insert(key, (from, young.words.len()));
    }
}

/// A row as words.
fn written(cost: Cost, StateRow { tokens, pending }: &StateRow) -> Vec<u32> {
    let lists = [&tokens.short, &tokens.ranges];
    let mut words: Vec<u32> = vec![pending.whole.map_or(0, |exit| exit.number() + 1)];
    words.extend([cost.steps, cost.bytes, tokens.whole.0].into_iter().flat_map(halves));
    words.extend(lists.iter().map(|list| checked_u32(list.len())));
    words.extend(lists.into_iter().flatten().flat_map(|&(one, two)| [one, two]));
    words.extend(pending.blocks.iter().flat_map(|of| [of.block, of.end, of.exit.number()]));
    words
}

/// What [`written`] wrote.
fn read(words: &[u32]) -> (Cost, StateRow) {
    let (ends, words) = words.split_at(1);
    let (halves, words) = words.split_at(6);
    let (lists, words) = words.split_at(2);
    let [steps, bytes, whole] = [0, 2, 4].map(|at| u64::from(halves[at]) << 32 | u64::from(halves[at + 1]));
    let (pairs, suffixes) = words.split_at(2 * (lists[0] + lists[1]) as usize);
    let mut pairs = pairs.as_chunks::<2>().0.iter().map(|&[one, two]| (one, two));
    let suffix = |&[block, end, exit]: &[u32; 3]| Suffix { block, end, exit: ExitId::from_number(exit) };
    let pending = PendingSuffixes {
        whole: ends[0].checked_sub(1).map(ExitId::from_number),
        blocks: suffixes.as_chunks::<3>().0.iter().map(suffix).collect(),
    };
    let tokens = RowTokens {
        whole: SliceSet(whole),
        short: pairs.by_ref().take(lists[0] as usize).collect(),
        ranges: pairs.by_ref().take(lists[1] as usize).collect(),
    };
    (Cost { steps, bytes }, StateRow { tokens, pending })
}

/// The upper and the lower half.
fn halves(word: u64) -> [u32; 2] {
    [word >> 32, word & u64::from(u32::MAX)].map(|half| u32::try_from(half).expect("32 bits of it"))
}

/// The cache as one compile uses it.
pub(crate) struct SharedRows<'a> {
    cache: &'a RowCache,
    has_helped: Cell<bool>,
}

impl<'a> SharedRows<'a> {
    pub(crate) fn new(cache: &'a RowCache) -> Self {
        Self { cache, has_helped: Cell::new(false) }
    }

    /// Whether some row was found.
    pub(crate) fn has_helped(&self) -> bool {
        self.has_helped.get()
    }

    /// A row that is known, and what it cost.
    pub(crate) fn get(&self, key: &RowKey) -> Option<(Cost, StateRow)> {
        self.cache.get(key).inspect(|_| self.has_helped.set(true))
    }

    /// Leaves a row for others, if it cost enough.
    pub(crate) fn put(&self, key: RowKey, cost: Cost, row: &StateRow) {
        self.cache.put(key, cost, row);
    }
}

#[cfg(test)]
mod tests {
    use gobo_types::VocabularyDigest;

    use super::*;

    fn key(state: u8) -> RowKey {
        RowKey { vocabulary: VocabularyDigest::from([7; 32]), slices: SliceSet(9), future: [state; 32] }
    }

    fn row(ranges: u32) -> StateRow {
        let tokens = RowTokens {
            whole: SliceSet(1 << 63 | 5),
            short: vec![(3, 4)],
            ranges: (0..ranges).map(|at| (at * 10, at * 10 + 3)).collect(),
        };
        let suffix = |block, exit| Suffix { block, end: block + 1, exit: ExitId::from_number(exit) };
        let whole = (ranges % 2 == 1).then(|| ExitId::from_number(ranges % 3));
        StateRow { tokens, pending: PendingSuffixes { whole, blocks: vec![suffix(8, 0), suffix(11, 2)] } }
    }

    const COST: Cost = Cost { steps: (1 << 40) + 300, bytes: 17 };

    #[test]
    fn a_row_comes_back_as_it_was() {
        let cache = RowCache::new(1 << 20);
        for at in 0..40 {
            assert_eq!(cache.get(&key(at)), None);
            cache.put(key(at), COST, &row(u32::from(at)));
        }
        for at in 0..40 {
            assert_eq!(cache.get(&key(at)), Some((COST, row(u32::from(at)))));
        }
        let vocabulary = RowKey { vocabulary: VocabularyDigest::from([8; 32]), ..key(1) };
        let slices = RowKey { slices: SliceSet(8), ..key(1) };
        assert_eq!([cache.get(&vocabulary), cache.get(&slices)], [None, None], "each part of a key counts");
    }

    #[test]
    fn cheap_rows_are_not_kept() {
        let cache = RowCache::new(1 << 20);
        cache.put(key(1), Cost { steps: 255, bytes: 0 }, &row(1));
        assert_eq!(cache.get(&key(1)), None);
        let all = RowCache::new(1 << 20).from_steps(0);
        all.put(key(1), Cost { steps: 0, bytes: 0 }, &row(1));
        assert!(all.get(&key(1)).is_some());
    }

    #[test]
    fn what_is_asked_for_stays_and_the_size_is_kept() {
        let bytes = 64 << 10;
        let cache = RowCache::new(bytes);
        for at in 0..=255 {
            cache.put(key(at), COST, &row(100));
            assert!(cache.get(&key(0)).is_some(), "{at}");
            let held: usize = cache.generations.lock().unwrap().iter().map(|of| of.words.len() * 4).sum();
            assert!(held <= bytes, "{held} bytes");
        }
        assert!(cache.get(&key(1)).is_none() && cache.get(&key(255)).is_some());
        // One that no generation has room for is not kept, and takes nothing else away.
        for _ in 0..3 {
            cache.put(key(9), COST, &row(1 << 16));
        }
        assert!(cache.get(&key(9)).is_none() && cache.get(&key(255)).is_some());
    }
}
