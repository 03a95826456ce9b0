//! The rule of a constraint: a regular expression, a choice list, a grammar, JSON, a structural tag, or a JSON Schema.

use serde::{Deserialize, Serialize};

use super::{
    DEFAULT_START, Dialect, Indentation, JsonNesting, Lexer, NumberForm, RegexDialect, SchemaOptions,
    SpecialText, Whitespace,
};

/// How much of a text a regular expression has to match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MatchMode {
    /// The whole text matches.
    #[default]
    Full,
    /// A match anywhere in the text suffices, as for JSON Schema's `pattern`.
    Search,
}

/// The rule of a constraint, in the form in which its author wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Source {
    /// A regular expression, and others that hold or do not hold beside it.
    Regex {
        /// The pattern.
        pattern: String,
        /// How much of a text it has to match, as do the others.
        #[serde(default, rename = "match")]
        mode: MatchMode,
        /// How it is written, and the others.
        #[serde(default, skip_serializing_if = "is_default_dialect")]
        dialect: RegexDialect,
        /// Patterns that match as well. Sorted and free of repetitions.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        and: Vec<String>,
        /// Patterns that do not match. Sorted and free of repetitions.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        not: Vec<String>,
    },
    /// A list of texts, of which exactly one is written. Sorted and free of repetitions: order means nothing here.
    Choice {
        /// The texts.
        items: Vec<String>,
    },
    /// A grammar: the texts of one of its rules.
    Grammar {
        /// Its language.
        #[serde(default)]
        dialect: Dialect,
        /// Its text.
        grammar: String,
        /// The start rule.
        #[serde(default = "default_start")]
        start: String,
        /// How its texts are split into lexemes; `None` for dialects without lexemes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lexer: Option<Lexer>,
        /// How its lines are indented, if it has tokens for that.
        #[serde(default, skip_serializing_if = "is_default_indentation")]
        indentation: Indentation,
        /// The grammars that it may import, by name: sorted, each name once.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        documents: Vec<GrammarDocument>,
    },
    /// Any JSON value, of any nesting depth.
    Json {
        /// The whitespace between its tokens.
        #[serde(default)]
        whitespace: Whitespace,
        /// How its numbers are written.
        #[serde(default)]
        numbers: NumberForm,
        /// How deep values nest, if that has a bound.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nesting: Option<JsonNesting>,
    },
    /// A structural tag: text, tokens, and formats in between, as engines send them for calls of tools.
    Tag {
        /// Its JSON text, without whitespace between tokens: with `type` and `format`, or the format alone.
        format: String,
        /// How strings in it are written that are texts of special tokens.
        #[serde(default)]
        special_text: SpecialText,
        /// How its schemas are read, and which texts of a value are allowed.
        #[serde(default = "options_of_tags")]
        options: Box<SchemaOptions>,
    },
    /// A JSON Schema: the JSON texts of its valid values, in the order and spelling of the options.
    Schema {
        /// Its text, without whitespace between tokens.
        schema: String,
        /// How it is read, and which texts of a value are allowed.
        #[serde(default)]
        options: Box<SchemaOptions>,
    },
}

#[expect(clippy::unnecessary_box_returns, reason = "serde asks for the type of the field")]
fn options_of_tags() -> Box<SchemaOptions> {
    Box::new(SchemaOptions::of_tags())
}

fn default_start() -> String {
    DEFAULT_START.to_owned()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives fields by reference")]
fn is_default_dialect(dialect: &RegexDialect) -> bool {
    *dialect == RegexDialect::default()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives fields by reference")]
fn is_default_indentation(indentation: &Indentation) -> bool {
    *indentation == Indentation::default()
}

/// A grammar that another one may import.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrammarDocument {
    /// Its name: the path of the import, folders parted by `/`, without the file's ending: `lib/words` for `%import lib.words.NAME`.
    pub name: String,
    /// Its text.
    pub text: String,
}
