//! The ordinary tokens in trie order: sorted by bytes, with the prefix that each shares with the one before.
//!
//! The shared lengths are the LCP array of the sorted tokens (Manber & Myers, *Suffix Arrays*, 1993): a trie can be built from
//! them without comparing bytes again.

use std::ops::Range;

use gobo_types::TokenId;

use crate::slices::SliceKind;

/// A count as a number of the file.
pub(crate) fn count(n: usize) -> u32 {
    u32::try_from(n).expect("the table's limits keep every count below 2^32")
}

/// A sorted run of tokens: by bytes, then by id.
#[derive(Clone, Copy)]
pub(crate) struct Sorted<'a> {
    /// The bytes of each.
    pub(crate) bytes: &'a [&'a [u8]],
    /// For each, the length of the prefix that it shares with the one before.
    pub(crate) shared: &'a [u16],
    /// The position of their first id in the trie order.
    pub(crate) from: usize,
}

impl Sorted<'_> {
    /// Number of nodes of their trie, without the root, which is not stored. O(tokens).
    pub(crate) fn count_nodes(&self) -> usize {
        // Each token adds a node for each byte that it does not share with the one before.
        let new = |(bytes, shared): (&&[u8], &u16)| bytes.len() - usize::from(*shared);
        self.bytes.iter().zip(self.shared).map(new).sum()
    }
}

/// The ids with bytes for which `keep` is true, by bytes, then by id.
pub(crate) fn sorted_ids(tokens: &[&[u8]], keep: impl Fn(TokenId) -> bool) -> Vec<TokenId> {
    // The first bytes, then the id, in one number: most tokens differ in them, and numbers are sorted fast.
    const FIRST: usize = 12;
    let key = |id: TokenId, bytes: &[u8]| {
        let mut key = [0; 16];
        let length = bytes.len().min(FIRST);
        key[..length].copy_from_slice(&bytes[..length]);
        key[FIRST..].copy_from_slice(&id.to_be_bytes());
        u128::from_be_bytes(key)
    };
    let with_bytes = (0..).zip(tokens).filter(|(id, bytes)| !bytes.is_empty() && keep(*id));
    let mut keys: Vec<u128> = Vec::with_capacity(tokens.len());
    keys.extend(with_bytes.map(|(id, bytes)| key(id, bytes)));
    keys.sort_unstable();
    let mut ids = Vec::with_capacity(keys.len());
    for alike in keys.chunk_by(|one, next| one >> 32 == next >> 32) {
        let from = ids.len();
        ids.extend(alike.iter().map(|key| u32::try_from(key & u128::from(u32::MAX)).unwrap_or_default()));
        if alike.len() > 1 {
            ids[from..].sort_unstable_by_key(|&id| (tokens[id as usize], id));
        }
    }
    ids
}

/// The ordinary ids in trie order, first all of them, then again slice by slice; with the data to build tries from.
pub(crate) struct TrieOrder<'a> {
    pub(crate) ids: Vec<TokenId>,
    /// `[ids]`: the bytes of each.
    pub(crate) bytes: Vec<&'a [u8]>,
    /// `[ids]`: the length of the prefix that each shares with the one before in the same trie.
    shared: Vec<u16>,
}

impl<'a> TrieOrder<'a> {
    /// The order of sorted `ids`, whose bytes are concatenated in `arena`, with room for all of them a second time.
    pub(crate) fn new(mut ids: Vec<TokenId>, tokens: &[&[u8]], mut arena: &'a [u8]) -> Self {
        let mut bytes: Vec<&[u8]> = Vec::with_capacity(2 * ids.len());
        let mut shared = Vec::with_capacity(2 * ids.len());
        let mut before: &[u8] = &[];
        for &id in &ids {
            let (token, rest) = arena.split_at(tokens[id as usize].len());
            bytes.push(token);
            shared.push(same(token, before));
            (before, arena) = (token, rest);
        }
        ids.reserve_exact(ids.len());
        Self { ids, bytes, shared }
    }

    /// A run of the order.
    pub(crate) fn sorted(&self, part: Range<usize>) -> Sorted<'_> {
        Sorted { from: part.start, bytes: &self.bytes[part.clone()], shared: &self.shared[part] }
    }

    /// Appends the tokens again, slice by slice; `kinds` are those of all ids. A subsequence of a sorted order is sorted.
    /// Returns the range of each slice. O(tokens).
    pub(crate) fn split(&mut self, kinds: &[SliceKind]) -> [Range<usize>; SliceKind::COUNT] {
        let all = self.ids.len();
        let kinds: Vec<SliceKind> = self.ids.iter().map(|&id| kinds[id as usize]).collect();
        let mut parts: [Range<usize>; SliceKind::COUNT] = std::array::from_fn(|_| 0..0);
        kinds.iter().for_each(|&kind| parts[kind as usize].end += 1);
        let mut begin = all;
        for part in &mut parts {
            let length = part.end;
            *part = begin..begin;
            begin += length;
        }
        self.ids.resize(begin, 0);
        self.bytes.resize(begin, &[]);
        self.shared.resize(begin, 0);
        let mut last = None;
        for (from, kind) in kinds.into_iter().enumerate() {
            let part = &mut parts[kind as usize];
            let to = part.end;
            self.ids[to] = self.ids[from];
            self.bytes[to] = self.bytes[from];
            self.shared[to] = match last {
                Some(last) if last == kind => self.shared[from],
                _ if to == part.start => 0,
                _ => same(self.bytes[from], self.bytes[to - 1]),
            };
            part.end += 1;
            last = Some(kind);
        }
        parts
    }
}

/// Length of the longest common prefix of two tokens.
fn same(one: &[u8], other: &[u8]) -> u16 {
    let same = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    u16::try_from(same).expect("the table's limits keep tokens below 2^16 bytes")
}
