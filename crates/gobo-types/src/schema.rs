use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Whitespace;

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

/// In which order the declared members of an object stand. Others follow them, in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PropertyOrder {
    /// As their names first appear in the schema, those that are only `required` last.
    #[default]
    Declared,
    /// Any order; refused for objects with many names, because their states double with each.
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

/// Everything beside its text that changes what a schema allows.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SchemaOptions {
    /// The draft of schemas that do not name theirs in `$schema`; without it, 2020-12.
    pub draft: Option<Draft>,
    /// The order of members.
    pub order: PropertyOrder,
    /// The blanks between tokens.
    pub whitespace: Whitespace,
    /// How characters are written.
    pub spelling: Spelling,
    /// Whether `format` constrains.
    pub format: FormatMode,
    /// Whether an object without `additionalProperties` has the declared members alone. The standard says otherwise.
    pub closed: bool,
    /// Most brackets around a value, if there is a limit.
    pub max_depth: Option<u32>,
    /// Documents that references may lead to.
    pub documents: Vec<SchemaDocument>,
    /// Whether what cannot be enforced is let through and reported, where it would be refused otherwise.
    pub allow_widening: bool,
}

/// A document that references may lead to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SchemaDocument {
    /// Its address.
    pub uri: String,
    /// Its JSON text.
    pub document: String,
}

impl SchemaOptions {
    /// Most brackets that `max_depth` may allow: each level has states of its own.
    pub const MAX_DEPTH: u32 = 64;
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
words!(FormatMode, Assert = "assert", Annotate = "annotate");

/// A JSON text without the blanks between its tokens; everything else stays as it is written. What is no JSON stays no
/// JSON.
pub fn compact_json(text: &str) -> String {
    let is_blank = |byte: &u8| b" \t\n\r".contains(byte);
    let is_word = |char: char| char.is_alphanumeric() || "+-.".contains(char);
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    // Whole runs are copied, because this is done to every schema that is asked for. Blanks, quotes and backslashes are bytes of
    // no other character.
    let (mut kept, mut at) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        if *byte == b'"' {
            at = end_of_string(bytes, at + 1);
        } else if is_blank(byte) {
            out.push_str(&text[kept..at]);
            at += bytes[at..].iter().take_while(|byte| is_blank(byte)).count();
            kept = at;
            // Two words that a blank keeps apart are no JSON, and must not become any.
            if out.chars().next_back().is_some_and(is_word) && text[at..].chars().next().is_some_and(is_word)
            {
                out.push(' ');
            }
        } else {
            at += 1;
        }
    }
    out.push_str(&text[kept..]);
    out
}

/// Behind the quote that ends a string, or at the end of a text without one.
fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    while let Some(found) =
        bytes.get(at..).and_then(|rest| rest.iter().position(|byte| b"\"\\".contains(byte)))
    {
        at += found + 1;
        if bytes[at - 1] == b'"' {
            return at;
        }
        // The byte behind a backslash ends nothing.
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_between_tokens_are_dropped_and_nothing_else() {
        for (text, expected) in [
            (" { \"a b\" :\t[1 , 2.0e1,\r\n\"\\\" \\\\\" , true ] } ", r#"{"a b":[1,2.0e1,"\" \\",true]}"#),
            ("1 2", "1 2"),
            ("tr ue", "tr ue"),
            ("- 1", "- 1"),
            (" \"a\\", "\"a\\"),
            (" \"a\\\"", "\"a\\\""),
            (" \"\\é \" é é", "\"\\é \"é é"),
            ("\\\" \" \" ", "\\\" \"\" "),
        ] {
            assert_eq!(compact_json(text), expected);
            assert_eq!(compact_json(expected), expected);
        }
    }

    #[test]
    fn words_read_back() {
        for draft in ["draft4", "draft6", "draft7", "draft2019-09", "draft2020-12"] {
            assert_eq!(draft.parse::<Draft>().unwrap().to_string(), draft);
            assert_eq!(serde_json::to_value(draft.parse::<Draft>().unwrap()).unwrap(), draft);
        }
        assert_eq!("any".parse(), Ok(PropertyOrder::Any));
        let error = "other".parse::<Spelling>().unwrap_err();
        assert_eq!(error.to_string(), "\"other\" is none of canonical, any");
    }
}
