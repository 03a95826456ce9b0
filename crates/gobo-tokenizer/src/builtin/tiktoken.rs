//! The encodings of the `tiktoken` library, with its ranks.

use std::collections::HashSet;
use std::error::Error;

use gobo_types::TokenId;
use gobo_vocab::TokenTable;
use tiktoken_rs::CoreBPE;

use super::BUILTIN;
use crate::byte_pairs;
use crate::bytes::Spelling;
use crate::named_tokens::NamedTokens;

/// A built-in encoding.
#[derive(Clone, Copy)]
pub(crate) struct Encoding {
    encoder: &'static CoreBPE,
    /// The pattern of its chunks.
    pattern: &'static str,
}

/// The patterns of the library, which does not give them out.
const R50K: &str = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s";
const CL100K: &str = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s";
const O200K: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);

impl Encoding {
    /// The encoding called `name`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let (encoder, pattern) = match name {
            "o200k_base" => (tiktoken_rs::o200k_base_singleton(), O200K),
            "cl100k_base" => (tiktoken_rs::cl100k_base_singleton(), CL100K),
            "r50k_base" => (tiktoken_rs::r50k_base_singleton(), R50K),
            _ => return None,
        };
        Some(Self { encoder, pattern })
    }

    /// The encoding that has exactly these ranks.
    pub(crate) fn with_ranks(tokens: &[(Vec<u8>, TokenId)]) -> Option<Self> {
        let name = BUILTIN.iter().find(|name| rank_count(name) == Some(tokens.len()))?;
        let encoding = Self::named(name)?;
        let equal = tokens
            .iter()
            .all(|(bytes, rank)| encoding.decode(&[*rank]).is_some_and(|expected| expected == *bytes));
        equal.then_some(encoding)
    }

    pub(super) fn tokens(self) -> NamedTokens {
        let encoding = self.encoder;
        let mut names: Vec<(String, TokenId)> = encoding
            .special_tokens()
            .into_iter()
            .map(|name| {
                let (ids, _) = encoding
                    .encode(name, &HashSet::from([name]))
                    .expect("the name of a special token needs no splitting");
                (name.to_owned(), ids[0])
            })
            .collect();
        names.sort_unstable_by_key(|(_, id)| *id);
        let length = names.last().map_or(0, |(_, id)| id + 1);
        let mut table = TokenTable::new();
        // Special tokens come after all ranks, so nothing lies beyond the last of them.
        for id in 0..length {
            if let Some(bytes) = self.decode(&[id]) {
                let special = names.iter().any(|(_, special)| *special == id);
                table.insert(id, bytes, special).expect("built-in tokens are short and have an id each");
            }
        }
        let encoder = byte_pairs::of_ranks(table.tokens(), Some(self.pattern.to_owned()));
        table.set_encoder(Ok(encoder));
        NamedTokens::new(table, "tiktoken", Spelling::ByteLevel, names)
    }

    /// The ids of a text; names of special tokens in it are text.
    ///
    /// # Errors
    /// The library's, if its split regex gives up.
    pub(crate) fn encode(self, text: &str) -> Result<Vec<TokenId>, Box<dyn Error + Send + Sync>> {
        // Not `encode_ordinary`, which panics where the split regex gives up.
        let (ids, _) = self.encoder.encode(text, &HashSet::new())?;
        Ok(ids)
    }

    /// The bytes of all ids, `None` if one is unknown.
    pub(crate) fn decode(self, ids: &[TokenId]) -> Option<Vec<u8>> {
        self.encoder.decode_bytes(ids).ok()
    }
}

/// Number of ordinary ranks of the encoding called `name`.
fn rank_count(name: &str) -> Option<usize> {
    match name {
        "o200k_base" => Some(199_998),
        "cl100k_base" => Some(100_256),
        "r50k_base" => Some(50_256),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;

    #[test]
    fn built_in_vocabularies_have_their_published_sizes() {
        for (name, length, tokens, eos) in [
            ("o200k_base", 200_019, 200_000, 199_999),
            ("cl100k_base", 100_277, 100_261, 100_257),
            ("r50k_base", 50_257, 50_257, 50_256),
        ] {
            let found = builtin(name).unwrap();
            assert_eq!(found.table.tokens().len(), length);
            assert_eq!(found.table.tokens().iter().filter(|token| !token.bytes.is_empty()).count(), tokens);
            assert_eq!((found.eos, found.logits_width as usize, found.kind), (vec![eos], length, "tiktoken"));
            let ordinary =
                found.table.tokens().iter().filter(|token| !token.special && !token.bytes.is_empty());
            assert_eq!(Some(ordinary.count()), rank_count(name));
        }
    }

    #[test]
    fn ranks_of_no_known_encoding_are_none() {
        assert!(Encoding::with_ranks(&[(b"a".to_vec(), 0)]).is_none());
    }
}
