use std::ops::Range;

use gobo_artifact::file::AlignedBytes;
use gobo_artifact::layout::{VocabularyRoot, begins_inside, count_chars};
use gobo_artifact::write::{SliceParts, VocabularyParts, write_vocabulary};
use gobo_types::{TokenId, VocabularyDigest, beside};

use crate::shared_rows::shared_rows;
use crate::slices::SliceKind;
use crate::table::{TokenTable, VocabError};
use crate::trie::{Added, Tries};

pub(crate) type ByteSet = [u32; 8];

pub(crate) fn insert(set: &mut ByteSet, byte: u8) {
    set[usize::from(byte >> 5)] |= 1 << (byte & 31);
}

pub(crate) fn contains(set: &ByteSet, byte: u8) -> bool {
    set[usize::from(byte >> 5)] >> (byte & 31) & 1 == 1
}

pub(crate) fn count(n: usize) -> u32 {
    u32::try_from(n).expect("the table's limits keep every count below 2^32")
}

/// Some tokens by bytes, then by id.
#[derive(Clone, Copy)]
pub(crate) struct Sorted<'a> {
    /// The bytes of each.
    pub(crate) bytes: &'a [&'a [u8]],
    /// With how many bytes each begins as the one before does.
    pub(crate) shared: &'a [u16],
    /// Where their ids begin in the trie order.
    pub(crate) from: usize,
}

impl Sorted<'_> {
    /// How many nodes their trie has, of which the root, which is not stored, is none. O(tokens).
    pub(crate) fn count_nodes(&self) -> usize {
        // Each token adds a node for each byte that it does not share with the one before.
        let new = |(bytes, shared): (&&[u8], &u16)| bytes.len() - usize::from(*shared);
        self.bytes.iter().zip(self.shared).map(new).sum()
    }
}

impl TokenTable {
    /// The bytes of the vocabulary file. They depend on the table alone. O(bytes × log ids).
    ///
    /// # Errors
    /// [`VocabError::Empty`] if no id spells anything, [`VocabError::TrieTooLarge`] past the trie's limit.
    pub fn build(&self) -> Result<AlignedBytes, VocabError> {
        let tokens: Vec<&[u8]> = self.tokens().iter().map(|token| token.bytes.as_slice()).collect();
        let (order, mut about) = beside(
            tokens.len(),
            || sorted_ids(&tokens, |id| !self.tokens()[id as usize].special),
            || self.about(),
        );
        if order.is_empty() {
            return Err(VocabError::Empty);
        }
        let ordinary = order.len();
        // Side by side in memory, as they are visited from here on.
        let arena = order.iter().map(|&id| tokens[id as usize]).collect::<Vec<_>>().concat();
        let mut order = Order::new(order, &tokens, &arena);
        let parts = SliceKind::ALL.into_iter().zip(order.split(&about.kinds));
        let parts: Vec<_> = parts.filter(|(_, part)| !part.is_empty()).collect();
        let sorted: Vec<Sorted<'_>> = parts.iter().map(|(_, part)| order.sorted(part.clone())).collect();
        let tries = Tries::new(order.sorted(0..ordinary), &sorted)?;
        let slice = |((kind, part), added): ((SliceKind, Range<usize>), &Added)| SliceParts {
            root: added.root,
            order: part,
            needs: kind.needs(&added.bytes),
            is_text: kind != SliceKind::Split,
            lead: kind.lead(),
        };
        let slices = parts.into_iter().zip(&tries.slices).map(slice).collect();
        about.root.trie_nodes = count(tries.nodes.len());
        about.root.spellable = tries.all.bytes;
        let shared_rows = shared_rows(&tries.nodes, &order.ids[..ordinary], about.special.len());
        Ok(write_vocabulary(&VocabularyParts {
            digest: about.digest,
            root: about.root,
            tokens: &tokens,
            special: about.special,
            trie: tries.nodes,
            trie_order: order.ids,
            trie_bytes: &order.bytes,
            trie_set_ids: tries.set_ids,
            trie_sets: tries.sets,
            slices,
            shared_rows,
        }))
    }

    /// What there is to say of the table without bringing its tokens in order. O(bytes).
    fn about(&self) -> About {
        let tokens = self.tokens();
        let mut root = VocabularyRoot {
            len: count(tokens.len()),
            tokens: 0,
            ordinary: 0,
            special: 0,
            longest_token_bytes: 0,
            longest_token_chars: 0,
            longest_inner_chars: 0,
            trie_nodes: 0,
            spellable: ByteSet::default(),
            single: ByteSet::default(),
        };
        let mut special = vec![0_u32; tokens.len().div_ceil(32)];
        let mut kinds = Vec::with_capacity(tokens.len());
        for (id, token) in tokens.iter().enumerate() {
            let bytes = token.bytes.as_slice();
            kinds.push(SliceKind::of(bytes));
            root.tokens += u32::from(!bytes.is_empty());
            if token.special {
                root.special += 1;
                special[id >> 5] |= 1 << (id & 31);
                continue;
            }
            root.ordinary += u32::from(!bytes.is_empty());
            let length = count(bytes.len());
            root.longest_token_bytes = root.longest_token_bytes.max(length);
            // No token has more characters than bytes, so few need counting.
            if length > root.longest_token_chars {
                root.longest_token_chars = root.longest_token_chars.max(count_chars(bytes));
            }
            if begins_inside(bytes) {
                root.longest_inner_chars = root.longest_inner_chars.max(count_chars(bytes));
            }
            if let [byte] = bytes {
                insert(&mut root.single, *byte);
            }
        }
        About { digest: self.digest(), root, special, kinds }
    }
}

/// What there is to say of a table without its tries.
struct About {
    digest: VocabularyDigest,
    /// Its tries are still to be counted in.
    root: VocabularyRoot,
    /// The special ids, as a row.
    special: Vec<u32>,
    /// `[ids]`: the slice of each, which means nothing where there is no ordinary token.
    kinds: Vec<SliceKind>,
}

/// The ids with bytes that `keep` keeps, by bytes, then by id.
fn sorted_ids(tokens: &[&[u8]], keep: impl Fn(TokenId) -> bool) -> Vec<TokenId> {
    // The first bytes, then the id, in one number: most tokens are told apart by them, and numbers are sorted fast.
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

/// The trie order, with what it takes to build tries of it.
struct Order<'a> {
    ids: Vec<TokenId>,
    /// `[ids]`: the bytes of each.
    bytes: Vec<&'a [u8]>,
    /// `[ids]`: with how many bytes each begins as the one before does, where that is in the same trie.
    shared: Vec<u16>,
}

impl<'a> Order<'a> {
    /// Of sorted `ids`, whose bytes lie one behind the other in `arena`, with room for all of them again.
    fn new(mut ids: Vec<TokenId>, tokens: &[&[u8]], mut arena: &'a [u8]) -> Self {
        let mut bytes: Vec<&[u8]> = Vec::with_capacity(2 * ids.len());
        let mut shared = Vec::with_capacity(2 * ids.len());
        let mut before: &[u8] = &[];
        for &id in &ids {
            let (token, behind) = arena.split_at(tokens[id as usize].len());
            bytes.push(token);
            shared.push(same(token, before));
            (before, arena) = (token, behind);
        }
        ids.reserve_exact(ids.len());
        Self { ids, bytes, shared }
    }

    fn sorted(&self, part: Range<usize>) -> Sorted<'_> {
        Sorted { from: part.start, bytes: &self.bytes[part.clone()], shared: &self.shared[part] }
    }

    /// Puts the tokens again behind all of them, slice by slice, `kinds` being those of all ids. What is left of a sorted
    /// order is sorted. Returns where each slice lies.
    fn split(&mut self, kinds: &[SliceKind]) -> [Range<usize>; SliceKind::COUNT] {
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

/// With how many bytes two tokens begin alike.
fn same(one: &[u8], other: &[u8]) -> u16 {
    let same = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    u16::try_from(same).expect("the table's limits keep tokens below 2^16 bytes")
}

#[cfg(test)]
mod tests {
    use gobo_artifact::Vocabulary;
    use gobo_artifact::layout::TrieNode;
    use proptest::prelude::*;

    use super::*;
    use crate::table::Token;

    /// Bytes of few kinds, so that tokens share beginnings; and text of every slice, whole and cut in pieces.
    fn token() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            prop::collection::vec(0_u8..4, 0..6),
            "[ab]{0,3}[AB]{0,2}".prop_map(String::into_bytes),
            " ?[aé漢\u{301}]{1,20}".prop_map(String::into_bytes),
            " ?([aé]{1,20}|[жд]{1,4}|ω{1,3}|[漢字]{1,3}|한{1,3}|[かカ]{1,3}|س{1,3}|ש{1,3}|न{1,3}|ก{1,3}|[0-9]{1,3})"
                .prop_map(String::into_bytes),
            "[ \n\"\\\\\u{a0}1é]{1,20}".prop_map(String::into_bytes),
            ("[é漢😀a]{1,4}", 0_usize..8)
                .prop_map(|(text, cut)| text.as_bytes()[cut.min(text.len())..].to_vec()),
        ]
    }

    proptest! {
        /// Whatever the table, its file verifies (which compares tries, slices, flags and bytes) and reads back as the
        /// table.
        #[test]
        fn a_built_vocabulary_reads_back(
            tokens in prop::collection::vec((token(), prop::bool::weighted(0.1)), 1..80)
        ) {
            let mut table = TokenTable::new();
            for (id, (bytes, special)) in (0..).zip(&tokens) {
                table.insert(id, bytes.clone(), *special).unwrap();
            }
            match table.build() {
                Err(VocabError::Empty) => {
                    prop_assert!(tokens.iter().all(|(bytes, special)| bytes.is_empty() || *special));
                }
                Err(other) => prop_assert!(false, "{other}"),
                Ok(file) => {
                    let vocabulary = Vocabulary::from_bytes(&file).unwrap();
                    vocabulary.verify().unwrap();
                    prop_assert_eq!(vocabulary.digest(), table.digest());
                    prop_assert_eq!(vocabulary.len() as usize, table.tokens().len());
                    for (id, token) in (0..).zip(table.tokens()) {
                        prop_assert_eq!(vocabulary.bytes(id), &token.bytes);
                        prop_assert_eq!(vocabulary.is_special(id), token.special);
                    }
                    check_tries(&vocabulary, table.tokens());
                }
            }
        }
    }

    /// Every trie leads from each text to exactly the tokens of its own that the text begins with, and the slices are the
    /// tokens of each kind.
    fn check_tries(vocabulary: &Vocabulary, tokens: &[Token]) {
        let ordinary = || (0..).zip(tokens).filter(|(_, token)| !token.special && !token.bytes.is_empty());
        let mut tries = vec![(vocabulary.trie(), None)];
        let mut slices = vocabulary.slices();
        for kind in SliceKind::ALL {
            if ordinary().any(|(_, token)| SliceKind::of(&token.bytes) == kind) {
                let slice = slices.next().unwrap();
                assert_eq!(slice.max_chars == 0, kind == SliceKind::Split);
                assert_eq!(slice.lead, kind.lead());
                tries.push((slice.trie, Some(kind)));
            }
        }
        assert!(slices.next().is_none());
        for (trie, kind) in tries {
            check_heights(vocabulary, trie.root);
            for text in tokens.iter().map(|token| token.bytes.as_slice()) {
                let found: Vec<(usize, Vec<u32>)> = trie
                    .prefixes(text)
                    .filter(|(_, ids)| !ids.is_empty())
                    .map(|(length, ids)| (length, ids.to_vec()))
                    .collect();
                let mut expected: Vec<(usize, Vec<u32>)> = Vec::new();
                for length in 1..=text.len() {
                    let ids: Vec<u32> = ordinary()
                        .filter(|(_, token)| token.bytes == text[..length])
                        .filter(|(_, token)| kind.is_none_or(|kind| SliceKind::of(&token.bytes) == kind))
                        .map(|(id, _)| id)
                        .collect();
                    if !ids.is_empty() {
                        expected.push((length, ids));
                    }
                }
                assert_eq!(found, expected, "{kind:?}");
            }
        }
    }

    /// Heights are those that walking down finds. Returns that of a block.
    fn check_heights(vocabulary: &Vocabulary, block: usize) -> u8 {
        let nodes = vocabulary.trie().nodes;
        let len = 1 + nodes[block..].iter().take_while(|node| !node.is_last()).count();
        let below = |node: &TrieNode| node.children().map_or(0, |child| check_heights(vocabulary, child));
        let height = 1 + nodes[block..block + len].iter().map(below).max().unwrap();
        assert_eq!(vocabulary.trie_heights()[block], height);
        height
    }

    #[test]
    fn the_digest_sees_bytes_flags_and_places_only() {
        let table = |tokens: &[(u32, &str, bool)]| {
            let mut table = TokenTable::new();
            tokens.iter().for_each(|&(id, text, special)| table.insert(id, text.into(), special).unwrap());
            table.digest()
        };
        let first = table(&[(0, "a", false), (1, "b", false)]);
        assert_eq!(first, table(&[(1, "b", false), (0, "a", false)]));
        assert_ne!(first, table(&[(0, "a", false), (1, "b", true)]));
        assert_ne!(first, table(&[(0, "ab", false), (1, "", false)]));
        assert_ne!(first, table(&[(0, "a", false), (2, "b", false)]));
    }

    #[test]
    fn ids_beyond_the_limit_and_second_meanings_are_refused() {
        let mut table = TokenTable::new();
        table.insert(3, b"x".to_vec(), false).unwrap();
        table.insert(3, b"x".to_vec(), false).unwrap();
        assert!(matches!(table.insert(3, b"y".to_vec(), false), Err(VocabError::DuplicateId { id: 3, .. })));
        assert!(matches!(table.insert(u32::MAX, b"y".to_vec(), false), Err(VocabError::TooManyIds { .. })));
        assert!(matches!(table.insert(4, vec![0; 5000], false), Err(VocabError::TokenTooLong { .. })));
    }
}
