//! One side of a comparison, as a person writes it.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

/// A constraint or an index, as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Operand(String);

impl FromStr for Operand {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Operand {
    /// The text that was given.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}
