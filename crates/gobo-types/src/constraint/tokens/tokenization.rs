//! How a text may be cut into tokens.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How the texts of a constraint may be cut into tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "String")]
pub enum Tokenization {
    /// In every way that spells them.
    #[default]
    Any,
    /// As the tokenizer itself cuts them, where a chunk begins with the text: what stands before it excludes nothing.
    Canonical,
    /// As the tokenizer itself cuts them together with the prompt, whose tokens stay as they are.
    CanonicalStrict,
    /// As the tokenizer itself cuts them together with the prompt, whose last token is taken back and written anew (*token healing*).
    CanonicalHeal,
}

impl Tokenization {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Any, Self::Canonical, Self::CanonicalStrict, Self::CanonicalHeal];

    /// Their words.
    pub const NAMES: &'static [&'static str] = &["any", "canonical", "canonical-strict", "canonical-heal"];

    /// The word of the command line, of case files and of the digest.
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Canonical => "canonical",
            Self::CanonicalStrict => "canonical-strict",
            Self::CanonicalHeal => "canonical-heal",
        }
    }

    /// Whether it is the default, under which keys and files are as if there were no other.
    pub fn is_any(&self) -> bool {
        *self == Self::Any
    }

    /// Whether texts may go on with the last chunk of a prompt.
    pub fn is_behind_prompt(self) -> bool {
        matches!(self, Self::CanonicalStrict | Self::CanonicalHeal)
    }
}

impl fmt::Display for Tokenization {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A word that names no tokenization.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("texts are cut into tokens in any way, or canonical, canonical-strict or canonical-heal")]
pub struct TokenizationError;

impl TryFrom<String> for Tokenization {
    type Error = TokenizationError;

    fn try_from(word: String) -> Result<Self, TokenizationError> {
        word.parse()
    }
}

impl FromStr for Tokenization {
    type Err = TokenizationError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|of| of.name() == word).ok_or(TokenizationError)
    }
}
