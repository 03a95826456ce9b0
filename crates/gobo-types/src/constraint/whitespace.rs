//! The whitespace policy of JSON texts.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The whitespace of a JSON text between its tokens. Other whitespace spells the same values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Whitespace {
    /// None.
    Compact,
    /// At most one space after each comma and each colon.
    #[default]
    Single,
    /// At each place inside a value where JSON allows whitespace: nothing, one space, or one line end (LF or CR LF) and an
    /// indentation: up to [`Whitespace::MAX_SPACES`] spaces or up to [`Whitespace::MAX_TABS`] tabs. Before the value nothing, after it at most one line end.
    Lines,
    /// Up to so many spaces, tabs and line ends wherever JSON allows whitespace.
    Flexible {
        /// Most whitespace characters in one place.
        max: u32,
    },
    /// Each item and member on a line of its own, indented by its depth, and one space after each colon; nothing inside empty
    /// brackets. Up to the depth [`Whitespace::MAX_INDENTED_DEPTH`]: no stack can count the same indentation on each line.
    Indent {
        /// Spaces for each level.
        by: u32,
    },
}

impl Whitespace {
    /// The number of `flexible` without a number.
    pub const DEFAULT_FLEXIBLE: u32 = 8;
    /// Most spaces of an indentation under `lines`: 64 columns are 32 levels of two spaces, or 16 of four.
    pub const MAX_SPACES: u32 = 64;
    /// Most tabs of an indentation under `lines`, of four columns each. Spaces and tabs do not stand side by side: vocabularies have
    /// some hundred tokens of both, and each would be in the row of nearly every column.
    pub const MAX_TABS: u32 = Self::MAX_SPACES / 4;
    /// Most whitespace characters in one place that `flexible` may allow: each costs a state and its row, once in a file.
    pub const MAX_FLEXIBLE: u32 = 64;
    /// Most spaces of indentation for each level.
    pub const MAX_INDENT: u32 = 8;
    /// Greatest nesting depth of an indented value: each level has states of its own.
    pub const MAX_INDENTED_DEPTH: u32 = 16;
}

impl fmt::Display for Whitespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compact => f.write_str("compact"),
            Self::Single => f.write_str("single"),
            Self::Lines => f.write_str("lines"),
            Self::Flexible { max } => write!(f, "flexible:{max}"),
            Self::Indent { by } => write!(f, "indent:{by}"),
        }
    }
}

/// A whitespace policy that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no whitespace policy: compact, single, lines, flexible:N with N from 1 to {max}, flexible for flexible:8, or indent:N with N from 1 to {indent}", max = Whitespace::MAX_FLEXIBLE, indent = Whitespace::MAX_INDENT)]
pub struct WhitespaceError(String);

impl FromStr for Whitespace {
    type Err = WhitespaceError;

    fn from_str(text: &str) -> Result<Self, WhitespaceError> {
        let fault = || WhitespaceError(text.to_owned());
        match text.split_once(':') {
            None if text == "compact" => Ok(Self::Compact),
            None if text == "single" => Ok(Self::Single),
            None if text == "lines" => Ok(Self::Lines),
            None if text == "flexible" => Ok(Self::Flexible { max: Self::DEFAULT_FLEXIBLE }),
            Some(("flexible", max)) => match max.parse() {
                Ok(max @ 1..=Self::MAX_FLEXIBLE) => Ok(Self::Flexible { max }),
                _ => Err(fault()),
            },
            Some(("indent", by)) => match by.parse() {
                Ok(by @ 1..=Self::MAX_INDENT) => Ok(Self::Indent { by }),
                _ => Err(fault()),
            },
            _ => Err(fault()),
        }
    }
}

impl Serialize for Whitespace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Whitespace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whitespace_policies_read_back_as_written() {
        for policy in [
            Whitespace::Compact,
            Whitespace::Single,
            Whitespace::Lines,
            Whitespace::Flexible { max: 8 },
            Whitespace::Indent { by: 2 },
        ] {
            assert_eq!(policy.to_string().parse(), Ok(policy));
        }
        assert_eq!("flexible".parse(), Ok(Whitespace::Flexible { max: Whitespace::DEFAULT_FLEXIBLE }));
        for bad in [
            "",
            "Compact",
            "flexible:",
            "flexible:0",
            "flexible:65",
            "flexible:-1",
            "single:2",
            "lines:2",
            "indent",
            "indent:0",
            "indent:9",
        ] {
            assert!(bad.parse::<Whitespace>().is_err(), "{bad}");
        }
    }
}
