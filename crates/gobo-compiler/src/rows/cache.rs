//! Rows that compiles of one process share.
//!
//! A row is found by [`RowKey`], the digest of the very object that it is computed from ([`super::view`]): the cache holds values
//! of a function, and a compile has the same rows with and without it, whatever others have left there. So are the tokens of canonical indices that
//! begin inside of a character, by [`InsideKey`]: they are nearly all rows of a string there ([`crate::canonical`]).

use std::cell::Cell;
use std::collections::VecDeque;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::HashMap;
use gobo_automata::ExitId;
use gobo_types::{DenseId as _, TokenId, VocabularyDigest, checked_u32};

use super::row::{PendingSuffixes, RowKey, RowTokens, SliceSet, StateRow, Suffix};
use crate::joined_bytes::JoinedBytes;

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
/// since is forgotten. Rows of canonical indices have as much room of their own, once there are any.
#[derive(Debug)]
pub struct RowCache {
    /// A row that cost fewer is not kept.
    least_steps: u64,
    rows: Generations<RowKey>,
    inside: Generations<InsideKey>,
    /// Of the vocabularies that were used last, unless a compile has them at hand.
    joined: Mutex<VecDeque<(JoinedKey, JoinedBytes)>>,
}

/// Digests of a vocabulary and of its encoder.
type JoinedKey = (VocabularyDigest, [u8; 32]);

/// Vocabularies whose tables are kept: some megabytes each.
const VOCABULARIES: usize = 2;

/// What the tokens that begin inside of a character are found by: what they lead to, and where chunks stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct InsideKey {
    /// blake3 of the digests of vocabulary and encoder, and of where each token leads.
    pub(crate) kind: [u8; 32],
    /// The state of chunks.
    pub(crate) chunk: u16,
}

/// Tokens that lead the same way to the same state of chunks: the number of the way, the state, and the tokens.
pub(crate) type InsideTokens = Vec<((u32, u16), Vec<TokenId>)>;

const LEAST_STEPS: u64 = 256;

impl RowCache {
    /// A cache of at most `bytes` bytes for rows, and as many for those of canonical indices.
    pub fn new(bytes: usize) -> Self {
        Self {
            least_steps: LEAST_STEPS,
            rows: Generations::new(bytes),
            inside: Generations::new(bytes),
            joined: Mutex::default(),
        }
    }

    /// The same cache, which keeps rows that cost at least `least_steps`. Default 256, some microseconds: a row is looked up in a
    /// tenth of that.
    #[must_use]
    pub fn from_steps(self, least_steps: u64) -> Self {
        Self { least_steps, ..self }
    }

    fn get(&self, key: &RowKey) -> Option<(Cost, StateRow)> {
        self.rows.get(key, read)
    }

    fn put(&self, key: RowKey, cost: Cost, row: &StateRow) {
        if cost.steps >= self.least_steps {
            self.rows.put(key, &written(cost, row));
        }
    }

    fn joined(&self) -> MutexGuard<'_, VecDeque<(JoinedKey, JoinedBytes)>> {
        self.joined.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put_inside(&self, key: InsideKey, cost: Cost, tokens: &InsideTokens) {
        if cost.steps >= self.least_steps {
            self.inside.put(key, &written_inside(cost, tokens));
        }
    }
}

/// Words by key, of which those that were asked for last stay.
#[derive(Debug)]
struct Generations<K> {
    /// Words of a generation.
    most: usize,
    /// The younger one, and the older.
    both: Mutex<[Generation<K>; 2]>,
}

/// Values one after the other: small allocations that outlive a compile would lie scattered among those of the next ones.
#[derive(Debug)]
struct Generation<K> {
    /// Where the words of each value begin and end.
    at: HashMap<K, (usize, usize)>,
    words: Vec<u32>,
}

impl<K> Default for Generation<K> {
    fn default() -> Self {
        Self { at: HashMap::default(), words: Vec::new() }
    }
}

impl<K: Copy + Eq + Hash> Generations<K> {
    /// Words that the place of a value takes.
    const WORDS_PER_KEY: usize = (size_of::<K>() + 2 * size_of::<usize>()) / 4 * 2;

    fn new(bytes: usize) -> Self {
        Self { most: bytes / 8, both: Mutex::default() }
    }

    fn get<T>(&self, key: &K, read: impl FnOnce(&[u32]) -> T) -> Option<T> {
        let mut both = self.both.lock().unwrap_or_else(PoisonError::into_inner);
        let [young, old] = &mut *both;
        if let Some(&(from, to)) = young.at.get(key) {
            return Some(read(&young.words[from..to]));
        }
        let &(from, to) = old.at.get(key)?;
        let value = read(&old.words[from..to]);
        let words = old.words[from..to].to_vec();
        self.add(&mut both, *key, &words);
        Some(value)
    }

    fn put(&self, key: K, words: &[u32]) {
        self.add(&mut self.both.lock().unwrap_or_else(PoisonError::into_inner), key, words);
    }

    fn add(&self, [young, old]: &mut [Generation<K>; 2], key: K, words: &[u32]) {
        if Self::WORDS_PER_KEY + words.len() > self.most || young.at.contains_key(&key) {
            return;
        }
        let taken = young.words.len() + (young.at.len() + 1) * Self::WORDS_PER_KEY;
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

/// Tokens inside of a character as words.
fn written_inside(cost: Cost, tokens: &InsideTokens) -> Vec<u32> {
    let mut words: Vec<u32> = [cost.steps, cost.bytes].into_iter().flat_map(halves).collect();
    for ((way, at), ids) in tokens {
        words.extend([*way, u32::from(*at), checked_u32(ids.len())]);
        words.extend_from_slice(ids);
    }
    words
}

/// What [`written_inside`] wrote.
fn read_inside(words: &[u32]) -> (Cost, InsideTokens) {
    let (halves, mut words) = words.split_at(4);
    let [steps, bytes] = [0, 2].map(|at| u64::from(halves[at]) << 32 | u64::from(halves[at + 1]));
    let mut tokens = InsideTokens::new();
    while let [way, at, len, rest @ ..] = words {
        let (ids, rest) = rest.split_at(*len as usize);
        tokens.push(((*way, u16::try_from(*at).expect("it was one")), ids.to_vec()));
        words = rest;
    }
    (Cost { steps, bytes }, tokens)
}

/// The upper and the lower half.
fn halves(word: u64) -> [u32; 2] {
    [word >> 32, word & u64::from(u32::MAX)].map(|half| u32::try_from(half).expect("32 bits of it"))
}

/// The cache as one compile uses it.
pub(crate) struct SharedRows<'a> {
    cache: &'a RowCache,
    found: Cell<u32>,
}

impl<'a> SharedRows<'a> {
    pub(crate) fn new(cache: &'a RowCache) -> Self {
        Self { cache, found: Cell::new(0) }
    }

    /// How many rows were found.
    pub(crate) fn found(&self) -> u32 {
        self.found.get()
    }

    fn has_found<T>(&self, of: Option<T>) -> Option<T> {
        of.inspect(|_| self.found.set(self.found.get().saturating_add(1)))
    }

    /// A row that is known, and what it cost.
    pub(crate) fn get(&self, key: &RowKey) -> Option<(Cost, StateRow)> {
        self.has_found(self.cache.get(key))
    }

    /// Leaves a row for others, if it cost enough.
    pub(crate) fn put(&self, key: RowKey, cost: Cost, row: &StateRow) {
        self.cache.put(key, cost, row);
    }

    /// Tokens that begin inside of a character, if they are known, and what they cost.
    pub(crate) fn get_inside(&self, key: &InsideKey) -> Option<(Cost, InsideTokens)> {
        self.has_found(self.cache.inside.get(key, read_inside))
    }

    /// What is known of the tokens that tokens of a vocabulary join: for this compile alone, until it is put back.
    pub(crate) fn take_joined(&self, key: &JoinedKey) -> Option<JoinedBytes> {
        let mut joined = self.cache.joined();
        let at = joined.iter().position(|of| of.0 == *key)?;
        joined.remove(at).map(|of| of.1)
    }

    /// Leaves it for others.
    pub(crate) fn put_joined(&self, key: JoinedKey, bytes: JoinedBytes) {
        let mut joined = self.cache.joined();
        joined.retain(|of| of.0 != key);
        joined.push_back((key, bytes));
        if joined.len() > VOCABULARIES {
            joined.pop_front();
        }
    }

    /// Leaves such tokens for others, if they cost enough.
    pub(crate) fn put_inside(&self, key: InsideKey, cost: Cost, tokens: &InsideTokens) {
        self.cache.put_inside(key, cost, tokens);
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
    fn tokens_inside_of_a_character_come_back_as_they_were() {
        let (cache, key) = (RowCache::new(1 << 20), |kind, chunk| InsideKey { kind: [kind; 32], chunk });
        let shared = SharedRows::new(&cache);
        let tokens = |number: u32| -> InsideTokens {
            vec![((number, 7), vec![number, 9]), ((3, u16::MAX), Vec::new()), ((0, 1), vec![5])]
        };
        for number in 0..9 {
            shared.put_inside(key(1, number), COST, &tokens(number.into()));
        }
        shared.put_inside(key(2, 0), Cost { steps: 255, bytes: 0 }, &tokens(1));
        for number in 0..9 {
            assert_eq!(shared.get_inside(&key(1, number)), Some((COST, tokens(number.into()))));
        }
        assert_eq!([shared.get_inside(&key(1, 9)), shared.get_inside(&key(2, 0))], [None, None]);
        assert_eq!(shared.found(), 9);
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
            let held: usize = cache.rows.both.lock().unwrap().iter().map(|of| of.words.len() * 4).sum();
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
