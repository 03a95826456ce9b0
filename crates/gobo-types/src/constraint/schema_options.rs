//! The options of a JSON Schema.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{SchemaDialect, Whitespace, compact_json};

/// A version of the JSON Schema standard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Draft {
    /// Draft 4, 2013.
    #[serde(rename = "draft4")]
    Draft4,
    /// Draft 6, 2017.
    #[serde(rename = "draft6")]
    Draft6,
    /// Draft 7, 2018.
    #[serde(rename = "draft7")]
    Draft7,
    /// Draft 2019-09.
    #[serde(rename = "draft2019-09")]
    Draft201909,
    /// Draft 2020-12.
    #[serde(rename = "draft2020-12")]
    Draft202012,
}

/// The order of the declared properties of an object. Others follow them, in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PropertyOrder {
    /// As their names first appear in the schema, those that are only `required` last.
    #[default]
    Declared,
    /// Any order; refused for objects with many properties, because each doubles the number of states.
    Any,
}

/// How the characters of strings and names under a constraint are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Spelling {
    /// Each in its shortest form: raw, else a short escape, else `\u00xx` in lower case.
    #[default]
    Canonical,
    /// Any escape that JSON has.
    Any,
}

/// Which of the texts of a number are allowed, with a constraint and without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NumberForm {
    /// Those that programs write and read: integers as digits, no negative zero, fractions of at most
    /// [`NumberForm::MAX_PLACES`] digits, exponents of at most [`NumberForm::MAX_EXPONENT_DIGITS`].
    #[default]
    Plain,
    /// All that JSON has and the tests of a place can be decided for.
    Json,
}

impl NumberForm {
    /// Most digits of the fraction of a plain number: `JSON.stringify(1.2345678901234567e-6)` writes as many without an exponent,
    /// and no program more for a double.
    pub const MAX_PLACES: u32 = 22;

    /// Most digits of the exponent of a plain number: doubles end at 10^308.
    pub const MAX_EXPONENT_DIGITS: u32 = 3;
}

/// The notation in which values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Notation {
    /// JSON.
    #[default]
    Json,
    /// YAML in block style, one text for each value.
    Yaml,
}

/// What `format` means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FormatMode {
    /// A constraint, for every format that the standard names.
    #[default]
    Assert,
    /// A remark.
    Annotate,
}

/// What the formats `date-time` and `time` take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DateTimes {
    /// Texts of RFC 3339, which have an offset from UTC.
    #[default]
    Rfc3339,
    /// Texts without an offset too.
    Naive,
}

impl Notation {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
    fn is_json(&self) -> bool {
        *self == Self::Json
    }
}

/// Everything that changes the language of a schema, its text apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SchemaOptions {
    /// The draft of schemas that do not name theirs in `$schema`; without it, 2020-12.
    pub draft: Option<Draft>,
    /// Which keywords beyond the standard count.
    pub dialect: SchemaDialect,
    /// The order of properties.
    pub order: PropertyOrder,
    /// In which notation values are written.
    #[serde(skip_serializing_if = "Notation::is_json")]
    pub notation: Notation,
    /// The whitespace between tokens.
    pub whitespace: Whitespace,
    /// How characters are written.
    pub spelling: Spelling,
    /// How numbers are written.
    pub numbers: NumberForm,
    /// Whether `format` constrains.
    pub format: FormatMode,
    /// What `date-time` and `time` take, where `format` constrains.
    pub date_times: DateTimes,
    /// Whether an object without `additionalProperties` has the declared properties alone. The standard says otherwise.
    pub closed: bool,
    /// Greatest nesting depth, if there is a limit.
    pub max_depth: Option<u32>,
    /// The documents to which references may lead.
    pub documents: Vec<SchemaDocument>,
    /// Whether a keyword that cannot be enforced is ignored and reported, and not refused.
    pub allow_widening: bool,
}

/// A document to which references may lead.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SchemaDocument {
    /// Its address.
    pub uri: String,
    /// Its JSON text.
    pub document: String,
}

impl SchemaOptions {
    /// Greatest nesting depth that `max_depth` may allow: each level has states of its own.
    pub const MAX_DEPTH: u32 = 64;

    /// The defaults of schemas in structural tags: objects are closed, as engines take arguments of tools to be.
    pub fn of_tags() -> Self {
        Self { closed: true, ..Self::default() }
    }

    /// The same options, with documents without whitespace between their tokens.
    pub(super) fn compacted(self) -> Self {
        let of = |SchemaDocument { uri, document }| SchemaDocument { uri, document: compact_json(&document) };
        Self { documents: self.documents.into_iter().map(of).collect(), ..self }
    }

    /// The same options without documents.
    pub(super) fn without_documents(&self) -> Self {
        Self { documents: Vec::new(), ..*self }
    }
}

/// A word of a schema option that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{found:?} is none of {}", .known.join(", "))]
pub struct SchemaOptionError {
    found: String,
    known: &'static [&'static str],
}

macro_rules! words {
    ($type:ty, $($variant:ident = $word:literal),+) => {
        impl $type {
            /// All words.
            pub const NAMES: &'static [&'static str] = &[$($word),+];

            /// The word of the command line, of the proto and of the digest.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $type {
            type Err = SchemaOptionError;

            fn from_str(text: &str) -> Result<Self, SchemaOptionError> {
                match text {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(SchemaOptionError { found: text.to_owned(), known: Self::NAMES }),
                }
            }
        }
    };
}

words!(
    Draft,
    Draft4 = "draft4",
    Draft6 = "draft6",
    Draft7 = "draft7",
    Draft201909 = "draft2019-09",
    Draft202012 = "draft2020-12"
);
words!(PropertyOrder, Declared = "declared", Any = "any");
words!(Spelling, Canonical = "canonical", Any = "any");
words!(Notation, Json = "json", Yaml = "yaml");
words!(NumberForm, Plain = "plain", Json = "json");
words!(FormatMode, Assert = "assert", Annotate = "annotate");
words!(DateTimes, Rfc3339 = "rfc3339", Naive = "naive");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back() {
        for draft in ["draft4", "draft6", "draft7", "draft2019-09", "draft2020-12"] {
            assert_eq!(draft.parse::<Draft>().unwrap().to_string(), draft);
            assert_eq!(serde_json::to_value(draft.parse::<Draft>().unwrap()).unwrap(), draft);
        }
        for date_times in DateTimes::NAMES {
            assert_eq!(serde_json::to_value(date_times.parse::<DateTimes>().unwrap()).unwrap(), *date_times);
        }
        assert_eq!("any".parse(), Ok(PropertyOrder::Any));
        let error = "other".parse::<Spelling>().unwrap_err();
        assert_eq!(error.to_string(), "\"other\" is none of canonical, any");
    }
}
