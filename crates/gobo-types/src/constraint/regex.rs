//! How a regular expression is written.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Whose syntax and meaning a regular expression has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", try_from = "String")]
pub enum RegexDialect {
    /// That of Rust's `regex-syntax`, Unicode on, with look-around and named extensions.
    #[default]
    Rust,
    /// That of ECMA-262, as `pattern` in JSON Schema has it.
    Ecma,
    /// That of Python's module `re`, in `str` patterns.
    Python,
}

impl RegexDialect {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Rust, Self::Ecma, Self::Python];

    /// The word of the command line, of case files and of the digest.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Ecma => "ecma",
            Self::Python => "python",
        }
    }
}

impl fmt::Display for RegexDialect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A word that names no dialect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the dialect of a regular expression is rust, ecma or python")]
pub struct RegexDialectError;

impl TryFrom<String> for RegexDialect {
    type Error = RegexDialectError;

    fn try_from(word: String) -> Result<Self, RegexDialectError> {
        word.parse()
    }
}

impl FromStr for RegexDialect {
    type Err = RegexDialectError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|dialect| dialect.name() == word).ok_or(RegexDialectError)
    }
}
