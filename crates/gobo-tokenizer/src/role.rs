//! The roles of tokens in texts: end, beginning, padding.

use std::fmt;

use gobo_types::TokenId;

/// The choice of a token for a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenChoice {
    /// By id.
    Id(TokenId),
    /// By the name of a special or added token, `</s>` for instance.
    Text(String),
}

/// The role of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenRole {
    /// Ends a text.
    Eos,
    /// Begins a text.
    Bos,
    /// Fills up a batch.
    Pad,
}

impl fmt::Display for TokenRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Eos => "end-of-text",
            Self::Bos => "beginning-of-text",
            Self::Pad => "padding",
        })
    }
}

/// A value for every role.
#[derive(Debug, Default)]
pub(crate) struct ByRole<T> {
    pub(crate) eos: T,
    pub(crate) bos: T,
    pub(crate) pad: T,
}

impl<T> ByRole<T> {
    pub(crate) fn get(&self, role: TokenRole) -> &T {
        match role {
            TokenRole::Eos => &self.eos,
            TokenRole::Bos => &self.bos,
            TokenRole::Pad => &self.pad,
        }
    }

    pub(crate) fn get_mut(&mut self, role: TokenRole) -> &mut T {
        match role {
            TokenRole::Eos => &mut self.eos,
            TokenRole::Bos => &mut self.bos,
            TokenRole::Pad => &mut self.pad,
        }
    }
}
