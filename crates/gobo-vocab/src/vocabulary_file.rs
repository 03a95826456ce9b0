//! Builds the vocabulary file of a table: tries of all ordinary tokens and of each slice, shared rows, and facts about the
//! table. Cost: O(bytes × log ids).

use std::ops::Range;

use gobo_artifact::file::AlignedBytes;
use gobo_artifact::layout::{VocabularyRoot, begins_inside, count_chars};
use gobo_artifact::write::{EncoderParts, SliceParts, VocabularyParts, write_vocabulary};
use gobo_types::{ByteSet, TokenId, VocabularyDigest, beside};

use crate::shared_rows::shared_rows;
use crate::slices::SliceKind;
use crate::table::{TokenTable, VocabError};
use crate::trie_builder::{Added, Tries};
use crate::trie_order::{Sorted, TrieOrder, count, sorted_ids};

impl TokenTable {
    /// The bytes of the vocabulary file. They depend on the table alone, what it says of the encoder included. O(bytes × log
    /// ids), and with an encoder O(merges × log merges).
    ///
    /// # Errors
    /// [`VocabError::Empty`] if no id spells anything, [`VocabError::TrieTooLarge`] past the trie's limit.
    pub fn build(&self) -> Result<AlignedBytes, VocabError> {
        self.build_with(|sorted| {
            self.encoder().map(|encoder| match encoder.map(|encoder| encoder.tables(self.tokens(), sorted)) {
                Ok(Ok(parts)) => parts,
                Ok(Err(error)) => EncoderParts::refused(error.to_string()),
                Err(reason) => EncoderParts::refused(reason),
            })
        })
    }

    /// As [`Self::build`], with these tables of the encoder in the place of what the table says of it.
    ///
    /// # Errors
    /// As [`Self::build`].
    pub fn build_beside(&self, encoder: Option<EncoderParts>) -> Result<AlignedBytes, VocabError> {
        self.build_with(|_| encoder)
    }

    /// The file; `encoder` gets the ordinary tokens in the order of their bytes.
    fn build_with(
        &self,
        encoder: impl FnOnce(&[TokenId]) -> Option<EncoderParts>,
    ) -> Result<AlignedBytes, VocabError> {
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
        // Concatenated in the order in which they are visited from now on.
        let arena = order.iter().map(|&id| tokens[id as usize]).collect::<Vec<_>>().concat();
        let mut order = TrieOrder::new(order, &tokens, &arena);
        let parts = SliceKind::ALL.into_iter().zip(order.split(&about.kinds));
        let parts: Vec<_> = parts.filter(|(_, part)| !part.is_empty()).collect();
        let sorted: Vec<Sorted<'_>> = parts.iter().map(|(_, part)| order.sorted(part.clone())).collect();
        let tries = Tries::new(order.sorted(0..ordinary), &sorted)?;
        let slice = |((kind, part), added): ((SliceKind, Range<usize>), &Added)| SliceParts {
            root: added.root,
            order: part,
            needs: kind.needs(&added.bytes).words(),
            is_text: kind != SliceKind::Split,
            lead: kind.lead(),
        };
        let slices = parts.into_iter().zip(&tries.slices).map(slice).collect();
        about.root.trie_nodes = count(tries.nodes.len());
        about.root.spellable = tries.all.bytes.words();
        let encoder = encoder(&order.ids[..ordinary]);
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
            trie_sets: tries.sets.into_iter().map(ByteSet::words).collect(),
            slices,
            shared_rows,
            encoder,
        }))
    }

    /// The facts about the table that do not depend on the order of its tokens. O(bytes).
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
            spellable: [0; 8],
            single: [0; 8],
        };
        let mut single = ByteSet::default();
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
                single.insert(*byte);
            }
        }
        root.single = single.words();
        About { digest: self.digest(), root, special, kinds }
    }
}

/// Facts about a table that do not depend on its tries.
struct About {
    digest: VocabularyDigest,
    /// The numbers about its tries are not set yet.
    root: VocabularyRoot,
    /// The special ids, as a row.
    special: Vec<u32>,
    /// `[ids]`: the slice of each; meaningless for an id without an ordinary token.
    kinds: Vec<SliceKind>,
}

#[cfg(test)]
mod tests {
    use gobo_artifact::Vocabulary;
    use gobo_artifact::layout::TrieNode;
    use proptest::prelude::*;

    use super::*;
    use crate::token::Token;

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
}
