//! How the lines of a text are indented, in grammars whose blocks are indented lines.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How lines are indented in a grammar that has tokens for it: so many blanks for each level, and at most so many levels.
///
/// ```
/// use gobo_types::Indentation;
///
/// let indentation: Indentation = "2x8".parse()?;
/// assert_eq!((indentation.by(), indentation.depth(), indentation.to_string()), (2, 8, "2x8".to_owned()));
/// assert_eq!(Indentation::default(), Indentation::new(4, 16).unwrap());
/// assert_eq!(Indentation::new(0, 16), None);
/// # Ok::<(), gobo_types::IndentationError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Indentation {
    by: u8,
    depth: u8,
}

impl Indentation {
    /// Most blanks for a level: two tabs.
    pub const MAX_BY: u8 = 16;

    /// Most levels.
    pub const MAX_DEPTH: u8 = 32;

    /// `by` blanks for each level, and at most `depth` levels; `None` unless both are from 1 to their greatest.
    pub fn new(by: u8, depth: u8) -> Option<Self> {
        let is_within = (1..=Self::MAX_BY).contains(&by) && (1..=Self::MAX_DEPTH).contains(&depth);
        is_within.then_some(Self { by, depth })
    }

    /// With the numbers that are given in the place of its own; `None` unless both are within their bounds.
    pub fn overwritten(self, by: Option<u8>, depth: Option<u8>) -> Option<Self> {
        Self::new(by.unwrap_or(self.by), depth.unwrap_or(self.depth))
    }

    /// Blanks for each level.
    pub fn by(self) -> u8 {
        self.by
    }

    /// The most levels.
    pub fn depth(self) -> u8 {
        self.depth
    }
}

impl Default for Indentation {
    fn default() -> Self {
        Self { by: 4, depth: 16 }
    }
}

impl fmt::Display for Indentation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.by, self.depth)
    }
}

impl FromStr for Indentation {
    type Err = IndentationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts =
            text.split_once('x').and_then(|(by, depth)| Some((by.parse().ok()?, depth.parse().ok()?)));
        let found = parts.and_then(|(by, depth)| Self::new(by, depth));
        found.ok_or_else(|| IndentationError { found: text.to_owned() })
    }
}

impl TryFrom<String> for Indentation {
    type Error = IndentationError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Indentation> for String {
    fn from(indentation: Indentation) -> Self {
        indentation.to_string()
    }
}

/// A text that is no indentation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{found:?} is no indentation: blanks for each level from 1 to 16, and levels from 1 to 32, as in 4x16"
)]
pub struct IndentationError {
    found: String,
}
