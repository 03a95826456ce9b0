//! How texts are written that are the texts of special tokens.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How the strings of a structural tag are written where they hold the text of a special token, as in `<|call|>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", try_from = "String")]
pub enum SpecialText {
    /// By that token, or spelled by others.
    #[default]
    Both,
    /// By that token alone.
    Token,
    /// Spelled alone.
    Spelled,
}

impl SpecialText {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Both, Self::Token, Self::Spelled];

    /// Their words.
    pub const NAMES: &'static [&'static str] = &["both", "token", "spelled"];

    /// The word of the command line, of case files and of the digest.
    pub fn name(self) -> &'static str {
        match self {
            Self::Both => "both",
            Self::Token => "token",
            Self::Spelled => "spelled",
        }
    }
}

impl fmt::Display for SpecialText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A word that names no way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("texts of special tokens are written as both, token or spelled")]
pub struct SpecialTextError;

impl TryFrom<String> for SpecialText {
    type Error = SpecialTextError;

    fn try_from(word: String) -> Result<Self, SpecialTextError> {
        word.parse()
    }
}

impl FromStr for SpecialText {
    type Err = SpecialTextError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|of| of.name() == word).ok_or(SpecialTextError)
    }
}
