//! The merges of a tokenizer that states ranks instead: any two neighbours merge whose texts together are a token, and its rank is that of the merge.

use std::collections::HashMap;

use gobo_types::TokenId;
use gobo_vocab::{BytePairEncoder, MAX_MERGED_BYTES, Merge, Symbols, Token};

/// The encoder of tokens whose ids are in the order of their ranks. A chunk that is a token is that token. O(bytes).
pub(crate) fn of_ranks(tokens: &[Token], pattern: Option<String>) -> BytePairEncoder {
    let is_ordinary = |token: &Token| !token.special && !token.bytes.is_empty();
    let ordinary = || (0..).zip(tokens).filter(|(_, token)| is_ordinary(token));
    let id_of: HashMap<&[u8], TokenId, foldhash::fast::FixedState> =
        ordinary().map(|(id, token)| (token.bytes.as_slice(), id)).collect();
    let mut merges = Vec::new();
    // With a longer one there are no tables, and the splits of each are many.
    for (product, token) in ordinary().filter(|(_, token)| token.bytes.len() <= MAX_MERGED_BYTES) {
        for at in 1..token.bytes.len() {
            let (left, right) = token.bytes.split_at(at);
            if let (Some(&left), Some(&right)) = (id_of.get(left), id_of.get(right)) {
                merges.push((product, Merge { left, right, product }));
            }
        }
    }
    BytePairEncoder {
        merges,
        symbols: Symbols::Bytes,
        pattern,
        has_whole_chunks: true,
        literals: Vec::new(),
        only: None,
    }
}
