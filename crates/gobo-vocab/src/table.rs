//! The table of a vocabulary: each id's bytes and special flag.

use gobo_artifact::layout::vocabulary_digest;
use gobo_types::{ErrorKind, TokenId, VocabularyDigest};

use crate::encoder::BytePairEncoder;
use crate::token::Token;

/// Most ids of a vocabulary. The largest in use have about 2^18; a file that claims more than 2^22 is broken or hostile.
pub const MAX_VOCABULARY_LEN: usize = 1 << 22;

/// Longest token in bytes. The longest in use have 128, a run of spaces.
pub const MAX_TOKEN_BYTES: usize = 1 << 12;

/// Every id's bytes and special flag: a whole vocabulary. Ids without an insertion are holes. Tables are equal if their tokens are, whatever is
/// known of how texts are cut.
#[derive(Debug, Clone, Eq, Default)]
pub struct TokenTable {
    tokens: Vec<Token>,
    encoder: Option<Result<BytePairEncoder, String>>,
}

/// Why a table is impossible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VocabError {
    /// Two different tokens claim one id.
    #[error("id {id} is given twice, as {first:?} and as {second:?}")]
    DuplicateId {
        /// The id.
        id: TokenId,
        /// The bytes inserted first, lossily as text.
        first: String,
        /// The bytes inserted second, lossily as text.
        second: String,
    },
    /// More ids than [`MAX_VOCABULARY_LEN`].
    #[error("id {id} is beyond the longest vocabulary of {limit} ids")]
    TooManyIds {
        /// The id.
        id: TokenId,
        /// The limit.
        limit: usize,
    },
    /// A token longer than [`MAX_TOKEN_BYTES`].
    #[error("token {id} has {given} bytes, the limit is {limit}")]
    TokenTooLong {
        /// The id.
        id: TokenId,
        /// Its length in bytes.
        given: usize,
        /// The limit.
        limit: usize,
    },
    /// The tokens share so few beginnings that their trie has too many nodes.
    #[error("the trie of the vocabulary has more than {limit} nodes")]
    TrieTooLarge {
        /// The limit.
        limit: usize,
    },
    /// No id spells anything.
    #[error("the vocabulary has no token that spells any byte")]
    Empty,
}

impl VocabError {
    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::DuplicateId { .. } | Self::Empty => ErrorKind::Invalid,
            Self::TooManyIds { .. } | Self::TokenTooLong { .. } | Self::TrieTooLarge { .. } => {
                ErrorKind::Limit
            }
        }
    }
}

impl PartialEq for TokenTable {
    fn eq(&self, other: &Self) -> bool {
        self.tokens == other.tokens
    }
}

impl TokenTable {
    /// A table without tokens.
    pub fn new() -> Self {
        Self::default()
    }

    /// A table without tokens, with room for those of so many ids.
    pub fn with_capacity(ids: usize) -> Self {
        Self { tokens: Vec::with_capacity(ids), encoder: None }
    }

    /// Gives `id` its bytes. Inserting the very same token again changes nothing.
    ///
    /// # Errors
    /// [`VocabError::DuplicateId`] if the id already has other bytes or another flag,
    /// [`VocabError::TooManyIds`] and [`VocabError::TokenTooLong`] past the limits.
    pub fn insert(&mut self, id: TokenId, bytes: Vec<u8>, special: bool) -> Result<(), VocabError> {
        let index = id as usize;
        if index >= MAX_VOCABULARY_LEN {
            return Err(VocabError::TooManyIds { id, limit: MAX_VOCABULARY_LEN });
        }
        if bytes.len() > MAX_TOKEN_BYTES {
            return Err(VocabError::TokenTooLong { id, given: bytes.len(), limit: MAX_TOKEN_BYTES });
        }
        let token = Token { bytes, special };
        // Most tables are filled in the order of ids.
        if index == self.tokens.len() {
            self.tokens.push(token);
            return Ok(());
        }
        if index > self.tokens.len() {
            self.tokens.resize(index + 1, Token::default());
        }
        let present = &mut self.tokens[index];
        if *present == Token::default() {
            *present = token;
        } else if *present != token {
            return Err(VocabError::DuplicateId {
                id,
                first: String::from_utf8_lossy(&present.bytes).into_owned(),
                second: String::from_utf8_lossy(&token.bytes).into_owned(),
            });
        }
        Ok(())
    }

    /// All ids in order, holes included: `[vocabulary length]`.
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// Says how the tokenizer cuts texts, or why that is not known. It is no part of the table's digest.
    pub fn set_encoder(&mut self, encoder: Result<BytePairEncoder, String>) {
        self.encoder = Some(encoder);
    }

    /// How the tokenizer cuts texts; `None` if nobody has said it.
    pub fn encoder(&self) -> Option<Result<&BytePairEncoder, &str>> {
        self.encoder.as_ref().map(|encoder| encoder.as_ref().map_err(String::as_str))
    }

    /// The digest over every id's flag and bytes: tables have equal tokens exactly if their digests are equal. O(bytes).
    pub fn digest(&self) -> VocabularyDigest {
        vocabulary_digest(self.tokens.iter().map(|token| (token.bytes.as_slice(), token.special)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_sees_bytes_flags_and_ids_only() {
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
