//! The result of reading a tokenizer file: its table, and the names of its special and added tokens.

use std::path::Path;

use gobo_types::TokenId;
use gobo_vocab::{TokenTable, VocabError};

use crate::ImportError;
use crate::bytes::Spelling;
use crate::role::ByRole;

/// A table, and the names of its control tokens.
#[derive(Debug)]
pub(crate) struct NamedTokens {
    pub(crate) table: TokenTable,
    pub(crate) kind: &'static str,
    /// The spelling of tokens that are added to the table later.
    pub(crate) spelling: Spelling,
    /// Special and added tokens and the unknown one, by name.
    pub(crate) names: Vec<(String, TokenId)>,
    /// The ids with a role that the tokenizer file itself states, as few formats do.
    pub(crate) stated: ByRole<Vec<TokenId>>,
    /// Number of logits, where the padding of the tokenizer file shows it.
    pub(crate) logits_width: Option<u32>,
}

impl NamedTokens {
    /// Tokens of a file without facts about the model.
    pub(crate) fn new(
        table: TokenTable,
        kind: &'static str,
        spelling: Spelling,
        names: Vec<(String, TokenId)>,
    ) -> Self {
        Self { table, kind, spelling, names, stated: ByRole::default(), logits_width: None }
    }
    /// The same, unless no token of it spells anything.
    ///
    /// # Errors
    /// [`ImportError::Token`] of the file at `path`.
    pub(crate) fn spelling_something(self, path: &Path) -> Result<Self, ImportError> {
        if self.table.tokens().iter().any(|token| !token.special && !token.bytes.is_empty()) {
            return Ok(self);
        }
        Err(ImportError::Token { path: path.into(), source: VocabError::Empty })
    }
}
