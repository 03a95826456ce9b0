//! How the texts of a grammar with terminals are split into lexemes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How the texts of a grammar with terminals are split into lexemes.
///
/// ```
/// use gobo_types::{Lexer, LookAhead};
///
/// let lexer: Lexer = "basic:4".parse()?;
/// assert_eq!((lexer, lexer.to_string()), (Lexer::Basic(LookAhead::new(4).unwrap()), "basic:4".to_owned()));
/// assert_eq!(Lexer::Contextual(LookAhead::default()).to_string(), "contextual");
/// # Ok::<(), gobo_types::LexerError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Lexer {
    /// Not at all: a terminal stands for each of its texts, and ignored text may stand between terminals. Lark calls this reading
    /// `dynamic_complete`.
    None,
    /// As Lark's contextual lexer does: of the terminals that its LALR(1) parser can use, and of the ignored ones, the first that matches.
    Contextual(LookAhead),
    /// As Lark's basic lexer does: of all terminals, the first that matches.
    Basic(LookAhead),
    /// As llguidance does: of the terminals that the LALR(1) parser can use, and of the ignored ones, all that match the longest text. One
    /// character after it decides.
    Longest,
}

impl Lexer {
    /// The words of the command line, of the proto and of the digest; a colon and the look-ahead may follow those of lexers with one.
    pub const NAMES: [&str; 4] = ["none", "contextual", "basic", "longest"];

    /// Its word, without the look-ahead.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Contextual(_) => "contextual",
            Self::Basic(_) => "basic",
            Self::Longest => "longest",
        }
    }

    /// How far it looks ahead, if it is one of Lark's.
    pub fn look_ahead(self) -> Option<LookAhead> {
        match self {
            Self::None | Self::Longest => None,
            Self::Contextual(look_ahead) | Self::Basic(look_ahead) => Some(look_ahead),
        }
    }

    /// The lexer with another look-ahead, if it has one.
    #[must_use]
    pub fn looking_ahead(self, look_ahead: LookAhead) -> Self {
        match self {
            Self::None | Self::Longest => self,
            Self::Contextual(_) => Self::Contextual(look_ahead),
            Self::Basic(_) => Self::Basic(look_ahead),
        }
    }
}

impl fmt::Display for Lexer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.look_ahead().filter(|look_ahead| *look_ahead != LookAhead::default()) {
            Some(look_ahead) => write!(f, "{}:{}", self.name(), look_ahead.characters()),
            None => f.write_str(self.name()),
        }
    }
}

impl FromStr for Lexer {
    type Err = LexerError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let error = || LexerError { found: word.to_owned() };
        let (name, number) = match word.split_once(':') {
            Some((name, number)) => (name, Some(number)),
            None => (word, None),
        };
        let look_ahead = match number {
            Some(number) => number.parse().ok().and_then(LookAhead::new).ok_or_else(error)?,
            None => LookAhead::default(),
        };
        match name {
            "none" if number.is_none() => Ok(Self::None),
            "longest" if number.is_none() => Ok(Self::Longest),
            "contextual" => Ok(Self::Contextual(look_ahead)),
            "basic" => Ok(Self::Basic(look_ahead)),
            _ => Err(error()),
        }
    }
}

impl TryFrom<String> for Lexer {
    type Error = LexerError;

    fn try_from(word: String) -> Result<Self, Self::Error> {
        word.parse()
    }
}

impl From<Lexer> for String {
    fn from(lexer: Lexer) -> Self {
        lexer.to_string()
    }
}

/// How many characters after a lexeme may decide where it ends: 1 to 16.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LookAhead(u8);

impl LookAhead {
    /// The least and the greatest.
    pub const BOUNDS: (u8, u8) = (1, 16);

    /// A look-ahead of so many characters, if it is within the bounds.
    pub fn new(characters: u8) -> Option<Self> {
        (Self::BOUNDS.0 <= characters && characters <= Self::BOUNDS.1).then_some(Self(characters))
    }

    /// What is taken where nothing is said.
    pub const DEFAULT: Self = Self(8);

    /// How many characters.
    pub fn characters(self) -> u8 {
        self.0
    }
}

impl Default for LookAhead {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl FromStr for LookAhead {
    type Err = LookAheadError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().ok().and_then(Self::new).ok_or_else(|| LookAheadError { found: text.to_owned() })
    }
}

/// A text that is no look-ahead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{found:?} is no number of characters from 1 to 16")]
pub struct LookAheadError {
    found: String,
}

/// A word that names no lexer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{found:?} is no lexer: there are contextual and basic, with a look-ahead as in contextual:4, longest and none"
)]
pub struct LexerError {
    found: String,
}
