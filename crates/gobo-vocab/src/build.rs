use gobo_artifact::{
    AlignedBytes, SliceParts, VocabularyParts, VocabularyRoot, begins_inside, count_chars, write_vocabulary,
};
use gobo_types::TokenId;

use crate::slices::SliceKind;
use crate::table::{TokenTable, VocabError};
use crate::trie::Tries;

pub(crate) type ByteSet = [u32; 8];

pub(crate) fn insert(set: &mut ByteSet, byte: u8) {
    set[usize::from(byte >> 5)] |= 1 << (byte & 31);
}

pub(crate) fn count(n: usize) -> u32 {
    u32::try_from(n).expect("the table's limits keep every count below 2^32")
}

impl TokenTable {
    /// The bytes of the vocabulary file. They depend on the table alone. O(bytes × log ids).
    ///
    /// # Errors
    /// [`VocabError::Empty`] if no id spells anything, [`VocabError::TrieTooLarge`] past the trie's limit.
    pub fn build(&self) -> Result<AlignedBytes, VocabError> {
        let tokens: Vec<&[u8]> = self.tokens().iter().map(|token| token.bytes.as_slice()).collect();
        let mut order = sorted(&tokens, |id| !self.tokens()[id as usize].special);
        if order.is_empty() {
            return Err(VocabError::Empty);
        }
        let mut tries = Tries::new();
        tries.add(&order, 0, &tokens)?;
        let kinds: Vec<SliceKind> = order.iter().map(|&id| SliceKind::of(tokens[id as usize])).collect();
        let ordinary = order.len();
        let mut slices = Vec::new();
        for kind in SliceKind::ALL {
            let begin = order.len();
            // What is left of a sorted order is sorted.
            for at in (0..ordinary).filter(|&at| kinds[at] == kind) {
                order.push(order[at]);
            }
            if begin == order.len() {
                continue;
            }
            let mut occurring = ByteSet::default();
            for &id in &order[begin..] {
                tokens[id as usize].iter().for_each(|&byte| insert(&mut occurring, byte));
            }
            slices.push(SliceParts {
                root: tries.add(&order[begin..], begin, &tokens)?,
                order: begin..order.len(),
                needs: kind.needs(&occurring),
                is_text: kind != SliceKind::Split,
            });
        }

        let mut special = vec![0_u32; tokens.len().div_ceil(32)];
        for (id, _) in self.tokens().iter().enumerate().filter(|(_, token)| token.special) {
            special[id >> 5] |= 1 << (id & 31);
        }
        let (mut spellable, mut single) = (ByteSet::default(), ByteSet::default());
        for &id in &order[..ordinary] {
            let bytes = tokens[id as usize];
            bytes.iter().for_each(|&byte| insert(&mut spellable, byte));
            if let [byte] = bytes {
                insert(&mut single, *byte);
            }
        }
        let ordinary_tokens = || order[..ordinary].iter().map(|&id| tokens[id as usize]);
        let most_chars = |tokens: &mut dyn Iterator<Item = &[u8]>| tokens.map(count_chars).max().unwrap_or(0);
        let root = VocabularyRoot {
            len: count(tokens.len()),
            tokens: count(tokens.iter().filter(|bytes| !bytes.is_empty()).count()),
            ordinary: count(ordinary),
            special: count(self.tokens().iter().filter(|token| token.special).count()),
            longest_token_bytes: count(ordinary_tokens().map(<[u8]>::len).max().unwrap_or(0)),
            longest_token_chars: most_chars(&mut ordinary_tokens()),
            longest_inner_chars: most_chars(&mut ordinary_tokens().filter(|bytes| begins_inside(bytes))),
            trie_nodes: count(tries.nodes.len()),
            spellable,
            single,
        };
        Ok(write_vocabulary(&VocabularyParts {
            digest: self.digest(),
            root,
            tokens: &tokens,
            special,
            trie: tries.nodes,
            trie_order: order,
            trie_set_ids: tries.set_ids,
            trie_sets: tries.sets,
            slices,
        }))
    }
}

/// The ids with bytes that `keep` keeps, by bytes, then by id.
fn sorted(tokens: &[&[u8]], keep: impl Fn(TokenId) -> bool) -> Vec<TokenId> {
    // Most comparisons end within the first bytes, and those are at hand.
    let begin = |bytes: &[u8]| {
        let mut first = [0; 8];
        first.iter_mut().zip(bytes).for_each(|(first, byte)| *first = *byte);
        u64::from_be_bytes(first)
    };
    let with_bytes = (0..).zip(tokens).filter(|(id, bytes)| !bytes.is_empty() && keep(*id));
    let mut keyed: Vec<(u64, TokenId)> = with_bytes.map(|(id, bytes)| (begin(bytes), id)).collect();
    keyed.sort_unstable_by(|(a, a_id), (b, b_id)| {
        let whole = |id: TokenId| (tokens[id as usize], id);
        a.cmp(b).then_with(|| whole(*a_id).cmp(&whole(*b_id)))
    });
    keyed.into_iter().map(|(_, id)| id).collect()
}

#[cfg(test)]
mod tests {
    use gobo_artifact::Vocabulary;
    use proptest::prelude::*;

    use super::*;
    use crate::table::Token;

    /// Bytes of few kinds, so that tokens share beginnings; and text of every slice, whole and cut in pieces.
    fn token() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            prop::collection::vec(0_u8..4, 0..6),
            "[ab]{0,3}[AB]{0,2}".prop_map(String::into_bytes),
            " ?[aé漢\u{301}]{1,20}".prop_map(String::into_bytes),
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
                tries.push((slice.trie, Some(kind)));
            }
        }
        assert!(slices.next().is_none());
        for (trie, kind) in tries {
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
