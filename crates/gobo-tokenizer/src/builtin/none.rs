//! A program without built-in encodings.

use std::error::Error;

use gobo_types::TokenId;

use crate::named_tokens::NamedTokens;

/// A built-in encoding, of which there is none.
#[derive(Clone, Copy)]
pub(crate) enum Encoding {}

impl Encoding {
    pub(crate) fn named(_: &str) -> Option<Self> {
        None
    }

    pub(crate) fn with_ranks(_: &[(Vec<u8>, TokenId)]) -> Option<Self> {
        None
    }

    pub(super) fn tokens(self) -> NamedTokens {
        match self {}
    }

    pub(crate) fn encode(self, _: &str) -> Result<Vec<TokenId>, Box<dyn Error + Send + Sync>> {
        match self {}
    }

    pub(crate) fn decode(self, _: &[TokenId]) -> Option<Vec<u8>> {
        match self {}
    }
}
