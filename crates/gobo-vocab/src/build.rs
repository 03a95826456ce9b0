use std::collections::HashMap;

use gobo_artifact::{AlignedBytes, TrieNode, VocabularyParts, VocabularyRoot, write_vocabulary};
use gobo_types::TokenId;

use crate::table::{TokenTable, VocabError};

/// Subtrees with fewer edges are walked faster than their byte set is compared.
const MIN_EDGES_FOR_SET: usize = 8;

type ByteSet = [u32; 8];

fn insert(set: &mut ByteSet, byte: u8) {
    set[usize::from(byte >> 5)] |= 1 << (byte & 31);
}

fn count(n: usize) -> u32 {
    u32::try_from(n).expect("the table's limits keep every count below 2^32")
}

impl TokenTable {
    /// The bytes of the vocabulary file. They depend on the table alone. O(bytes × log ids).
    ///
    /// # Errors
    /// [`VocabError::Empty`] if no id spells anything, [`VocabError::TrieTooLarge`] past the trie's limit.
    pub fn build(&self) -> Result<AlignedBytes, VocabError> {
        let tokens: Vec<&[u8]> = self.tokens().iter().map(|token| token.bytes.as_slice()).collect();
        let mut order: Vec<TokenId> = (0..count(tokens.len()))
            .filter(|&id| !self.tokens()[id as usize].special && !tokens[id as usize].is_empty())
            .collect();
        if order.is_empty() {
            return Err(VocabError::Empty);
        }
        order.sort_unstable_by_key(|&id| (tokens[id as usize], id));
        let trie = Trie::build(&order, &tokens)?;

        let mut special = vec![0_u32; tokens.len().div_ceil(32)];
        for (id, _) in self.tokens().iter().enumerate().filter(|(_, token)| token.special) {
            special[id >> 5] |= 1 << (id & 31);
        }
        let (mut spellable, mut single) = (ByteSet::default(), ByteSet::default());
        for &id in &order {
            let bytes = tokens[id as usize];
            bytes.iter().for_each(|&byte| insert(&mut spellable, byte));
            if let [byte] = bytes {
                insert(&mut single, *byte);
            }
        }
        let root = VocabularyRoot {
            len: count(tokens.len()),
            tokens: count(tokens.iter().filter(|bytes| !bytes.is_empty()).count()),
            special: count(self.tokens().iter().filter(|token| token.special).count()),
            longest_token_bytes: count(order.iter().map(|&id| tokens[id as usize].len()).max().unwrap_or(0)),
            trie_nodes: count(trie.nodes.len() - 1),
            spellable,
            single,
        };
        Ok(write_vocabulary(&VocabularyParts {
            digest: self.digest(),
            root,
            tokens: &tokens,
            special,
            trie: trie.nodes,
            trie_order: order,
            trie_set_ids: trie.set_ids,
            trie_sets: trie.sets,
        }))
    }
}

struct Trie {
    nodes: Vec<TrieNode>,
    set_ids: Vec<u16>,
    sets: Vec<ByteSet>,
}

/// A node whose subtree is not finished.
struct Open {
    number: usize,
    below: ByteSet,
}

impl Trie {
    /// The trie of sorted tokens, in one pass: a node is numbered when the path first reaches it, and closed when the
    /// path leaves it.
    fn build(order: &[TokenId], tokens: &[&[u8]]) -> Result<Self, VocabError> {
        let mut trie = Self { nodes: Vec::new(), set_ids: Vec::new(), sets: vec![[u32::MAX; 8]] };
        let mut known_sets: HashMap<ByteSet, u16> = HashMap::new();
        let mut path: Vec<u8> = Vec::new();
        let mut open: Vec<Open> = Vec::new();
        for (position, &id) in order.iter().enumerate() {
            let bytes = tokens[id as usize];
            let shared = path.iter().zip(bytes).take_while(|(a, b)| a == b).count();
            trie.close(&mut open, shared, &mut known_sets);
            path.truncate(shared);
            for &byte in &bytes[shared..] {
                if trie.nodes.len() == TrieNode::MAX_NODES {
                    return Err(VocabError::TrieTooLarge { limit: TrieNode::MAX_NODES });
                }
                open.push(Open { number: trie.nodes.len(), below: ByteSet::default() });
                path.push(byte);
                trie.nodes.push(TrieNode::new(byte, 0, count(position)));
                trie.set_ids.push(0);
            }
        }
        trie.close(&mut open, 0, &mut known_sets);
        let end = trie.nodes.len();
        trie.nodes.push(TrieNode::new(0, end, count(order.len())));
        Ok(trie)
    }

    /// Closes all open nodes deeper than `depth`.
    fn close(&mut self, open: &mut Vec<Open>, depth: usize, known_sets: &mut HashMap<ByteSet, u16>) {
        while open.len() > depth {
            let Some(node) = open.pop() else { return };
            let end = self.nodes.len();
            let TrieNode { first, .. } = self.nodes[node.number];
            let byte = self.nodes[node.number].byte();
            self.nodes[node.number] = TrieNode::new(byte, end, first);
            if end - node.number > MIN_EDGES_FOR_SET {
                self.set_ids[node.number] = *known_sets.entry(node.below).or_insert_with(|| {
                    // With no number left a node keeps set 0, which holds all bytes and so never allows a short cut.
                    u16::try_from(self.sets.len()).inspect(|_| self.sets.push(node.below)).unwrap_or(0)
                });
            }
            if let Some(parent) = open.last_mut() {
                for (mine, theirs) in parent.below.iter_mut().zip(node.below) {
                    *mine |= theirs;
                }
                insert(&mut parent.below, byte);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use gobo_artifact::Vocabulary;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever the table, its file verifies (which compares trie, order, flags and bytes) and reads back as the table.
        #[test]
        fn a_built_vocabulary_reads_back(
            tokens in prop::collection::vec((prop::collection::vec(0_u8..4, 0..6), prop::bool::weighted(0.1)), 1..80)
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
                }
            }
        }
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
