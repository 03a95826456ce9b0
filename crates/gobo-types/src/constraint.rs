use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::schema::{SchemaDocument, SchemaOptions, compact_json};
use crate::{ConstraintDigest, KeyHasher};

/// Where in a text a regular expression has to match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MatchMode {
    /// The whole text matches.
    #[default]
    Full,
    /// A match anywhere in the text suffices, as for JSON Schema's `pattern`.
    Search,
}

/// What the text of a constraint is, seen from the decoded text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextStart {
    /// The concatenated token bytes, exactly: text after a prompt.
    #[default]
    Exact,
    /// What is left of the concatenated token bytes when one leading space is dropped, if there is one: text at the
    /// start, for decoders of SentencePiece kind.
    StripOneSpace,
}

/// The rule itself, in the form its author wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Source {
    /// A regular expression in the syntax of `regex-syntax`, Unicode on.
    Regex {
        /// The pattern.
        pattern: String,
        /// Where it has to match.
        #[serde(default, rename = "match")]
        mode: MatchMode,
    },
    /// A list of texts, of which exactly one is written. Sorted and free of repetitions: order means nothing here.
    Choice {
        /// The texts.
        items: Vec<String>,
    },
    /// A grammar: the texts of one of its rules.
    Grammar {
        /// The language that it is written in.
        #[serde(default)]
        dialect: Dialect,
        /// Its text.
        grammar: String,
        /// The rule of whole texts.
        #[serde(default = "default_start")]
        start: String,
    },
    /// Any JSON value, nested as deep as one likes.
    Json {
        /// The blanks between its tokens.
        #[serde(default)]
        whitespace: Whitespace,
    },
    /// A JSON Schema: the JSON texts of its valid values, in the order and spelling that the options say.
    Schema {
        /// Its text, without blanks between tokens.
        schema: String,
        /// How it is read, and which texts of a value are allowed.
        #[serde(default)]
        options: Box<SchemaOptions>,
    },
}

/// The start rule of grammars that name none.
pub const DEFAULT_START: &str = "root";

fn default_start() -> String {
    DEFAULT_START.to_owned()
}

/// How a grammar is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// llama.cpp's GBNF: scannerless, over characters.
    #[default]
    Gbnf,
}

impl Dialect {
    /// The word of the command line, of the proto and of the digest.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gbnf => "gbnf",
        }
    }
}

/// Which blanks a JSON text has between its tokens. Other blanks are other spellings of the same values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Whitespace {
    /// None.
    Compact,
    /// At most one space after each comma and each colon.
    #[default]
    Single,
    /// Up to so many spaces, tabs and line ends wherever JSON allows blanks.
    Flexible {
        /// Most blanks in one place.
        max: u32,
    },
    /// Each item and member on a line of its own, indented by its depth, and one space behind each colon; nothing inside empty
    /// brackets. As deep as [`Whitespace::MAX_INDENTED_DEPTH`]: no stack can count the same blanks on each line.
    Indent {
        /// Spaces for each level.
        by: u32,
    },
}

impl Whitespace {
    /// What `flexible` stands for without a number.
    pub const DEFAULT_FLEXIBLE: u32 = 8;
    /// Most blanks in one place that `flexible` may allow: each costs states and rows.
    pub const MAX_FLEXIBLE: u32 = 64;
    /// Most spaces of indentation for each level.
    pub const MAX_INDENT: u32 = 8;
    /// Most brackets around an indented value: each level has states of its own.
    pub const MAX_INDENTED_DEPTH: u32 = 16;
}

impl fmt::Display for Whitespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compact => f.write_str("compact"),
            Self::Single => f.write_str("single"),
            Self::Flexible { max } => write!(f, "flexible:{max}"),
            Self::Indent { by } => write!(f, "indent:{by}"),
        }
    }
}

/// A whitespace policy that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no whitespace policy: compact, single, flexible:N with N from 1 to {max}, flexible for flexible:8, or indent:N with N from 1 to {indent}", max = Whitespace::MAX_FLEXIBLE, indent = Whitespace::MAX_INDENT)]
pub struct WhitespaceError(String);

impl FromStr for Whitespace {
    type Err = WhitespaceError;

    fn from_str(text: &str) -> Result<Self, WhitespaceError> {
        let fault = || WhitespaceError(text.to_owned());
        match text.split_once(':') {
            None if text == "compact" => Ok(Self::Compact),
            None if text == "single" => Ok(Self::Single),
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

/// A constraint as asked: a rule, and every option that can change its language.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Constraint {
    /// The rule.
    #[serde(flatten)]
    pub source: Source,
    /// How the text begins.
    #[serde(default)]
    pub text_start: TextStart,
}

impl Constraint {
    /// A regular expression that the whole text must match.
    pub fn regex(pattern: impl Into<String>) -> Self {
        Self::of(Source::Regex { pattern: pattern.into(), mode: MatchMode::Full })
    }

    /// A regular expression that must match somewhere in the text.
    pub fn search(pattern: impl Into<String>) -> Self {
        Self::of(Source::Regex { pattern: pattern.into(), mode: MatchMode::Search })
    }

    /// One of `items`. Their order and repetitions do not matter and do not enter the digest.
    pub fn choice(items: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let mut items: Vec<String> = items.into_iter().map(Into::into).collect();
        items.sort_unstable();
        items.dedup();
        Self::of(Source::Choice { items })
    }

    /// The texts of the rule `start` of a GBNF grammar.
    pub fn gbnf(grammar: impl Into<String>, start: impl Into<String>) -> Self {
        Self::of(Source::Grammar { dialect: Dialect::Gbnf, grammar: grammar.into(), start: start.into() })
    }

    /// Any JSON value.
    pub fn json(whitespace: Whitespace) -> Self {
        Self::of(Source::Json { whitespace })
    }

    /// The values that a JSON Schema allows. Blanks between the tokens of its text do not enter the digest; the order of keys
    /// does, because it is the order of members.
    pub fn schema(schema: &str, options: SchemaOptions) -> Self {
        let documents = options.documents.into_iter();
        let documents = documents
            .map(|of| SchemaDocument { uri: of.uri, document: compact_json(&of.document) })
            .collect();
        let options = Box::new(SchemaOptions { documents, ..options });
        Self::of(Source::Schema { schema: compact_json(schema), options })
    }

    fn of(source: Source) -> Self {
        Self { source, text_start: TextStart::default() }
    }

    /// The same rule over texts that begin as `text_start` says.
    #[must_use]
    pub fn starting(self, text_start: TextStart) -> Self {
        Self { text_start, ..self }
    }

    /// `regex`, `choice`, `grammar`, `json` or `schema`: the word of the command line and of the proto.
    pub fn kind(&self) -> &'static str {
        match self.source {
            Source::Regex { .. } => "regex",
            Source::Choice { .. } => "choice",
            Source::Grammar { .. } => "grammar",
            Source::Json { .. } => "json",
            Source::Schema { .. } => "schema",
        }
    }

    /// The canonical text of the rule: the pattern, the items one per line, the grammar, the whitespace policy, the
    /// schema.
    pub fn text(&self) -> String {
        match &self.source {
            Source::Regex { pattern, .. } => pattern.clone(),
            Source::Choice { items } => items.join("\n"),
            Source::Grammar { grammar, .. } => grammar.clone(),
            Source::Json { whitespace } => whitespace.to_string(),
            Source::Schema { schema, .. } => schema.clone(),
        }
    }

    /// Bytes of all texts that it carries, documents beside a schema included: what holding it costs.
    pub fn text_bytes(&self) -> usize {
        match &self.source {
            Source::Regex { pattern, .. } => pattern.len(),
            Source::Choice { items } => items.iter().map(String::len).sum(),
            Source::Grammar { grammar, start, .. } => grammar.len() + start.len(),
            Source::Json { .. } => 0,
            Source::Schema { schema, options } => {
                let documents = options.documents.iter();
                schema.len()
                    + documents.map(|document| document.uri.len() + document.document.len()).sum::<usize>()
            }
        }
    }

    /// The digest over the rule and every option that can change its language. O(length of the text).
    pub fn digest(&self) -> ConstraintDigest {
        let mut hasher = KeyHasher::new("gobo constraint v1").field("kind", self.kind().as_bytes());
        hasher = match &self.source {
            Source::Regex { pattern, mode } => hasher.field("pattern", pattern.as_bytes()).field(
                "match",
                match mode {
                    MatchMode::Full => b"full",
                    MatchMode::Search => b"search",
                },
            ),
            Source::Choice { items } => {
                items.iter().fold(hasher, |hasher, item| hasher.field("item", item.as_bytes()))
            }
            Source::Grammar { dialect, grammar, start } => hasher
                .field("dialect", dialect.name().as_bytes())
                .field("grammar", grammar.as_bytes())
                .field("start", start.as_bytes()),
            Source::Json { whitespace } => hasher.field("whitespace", whitespace.to_string().as_bytes()),
            Source::Schema { schema, options } => {
                let SchemaOptions {
                    draft,
                    order,
                    whitespace,
                    spelling,
                    format,
                    closed,
                    max_depth,
                    documents,
                    allow_widening,
                } = &**options;
                let hasher = hasher
                    .field("schema", schema.as_bytes())
                    .field("draft", draft.map_or("", |draft| draft.name()).as_bytes())
                    .field("order", order.name().as_bytes())
                    .field("whitespace", whitespace.to_string().as_bytes())
                    .field("spelling", spelling.name().as_bytes())
                    .field("format", format.name().as_bytes())
                    .field("closed", &[u8::from(*closed)])
                    .field("max_depth", &max_depth.map_or(0, |depth| depth + 1).to_le_bytes())
                    .field("allow_widening", &[u8::from(*allow_widening)]);
                documents.iter().fold(hasher, |hasher, SchemaDocument { uri, document }| {
                    hasher.field("uri", uri.as_bytes()).field("document", document.as_bytes())
                })
            }
        };
        let text_start = match self.text_start {
            TextStart::Exact => "exact",
            TextStart::StripOneSpace => "strip_one_space",
        };
        ConstraintDigest(hasher.field("text_start", text_start.as_bytes()).finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Draft, FormatMode, PropertyOrder, Spelling};

    fn schema(text: &str, set: impl Fn(&mut SchemaOptions)) -> ConstraintDigest {
        let mut options = SchemaOptions::default();
        set(&mut options);
        Constraint::schema(text, options).digest()
    }

    fn document(uri: &str, document: &str) -> SchemaDocument {
        SchemaDocument { uri: uri.to_owned(), document: document.to_owned() }
    }

    #[test]
    fn the_digest_sees_all_that_changes_the_language_and_nothing_else() {
        let digests = [
            Constraint::regex("a").digest(),
            Constraint::search("a").digest(),
            Constraint::choice(["a"]).digest(),
            Constraint::choice(["a", "b"]).digest(),
            Constraint::choice(["a\nb"]).digest(),
            Constraint::regex("a").starting(TextStart::StripOneSpace).digest(),
            Constraint::gbnf("a ::= b\nb ::= \"\"", "a").digest(),
            Constraint::gbnf("a ::= b\nb ::= \"\"", "b").digest(),
            Constraint::gbnf("a ::= b\nb ::=  \"\"", "b").digest(),
            Constraint::json(Whitespace::Compact).digest(),
            Constraint::json(Whitespace::Single).digest(),
            Constraint::json(Whitespace::Flexible { max: 7 }).digest(),
            Constraint::json(Whitespace::Flexible { max: 8 }).digest(),
            Constraint::json(Whitespace::Indent { by: 8 }).digest(),
            schema("{}", |_| ()),
            schema("true", |_| ()),
            schema(r#"{"a":1,"b":1}"#, |_| ()),
            schema(r#"{"b":1,"a":1}"#, |_| ()),
            schema("{}", |options| options.draft = Some(Draft::Draft7)),
            schema("{}", |options| options.draft = Some(Draft::Draft202012)),
            schema("{}", |options| options.order = PropertyOrder::Any),
            schema("{}", |options| options.whitespace = Whitespace::Compact),
            schema("{}", |options| options.spelling = Spelling::Any),
            schema("{}", |options| options.format = FormatMode::Annotate),
            schema("{}", |options| options.closed = true),
            schema("{}", |options| options.max_depth = Some(0)),
            schema("{}", |options| options.max_depth = Some(1)),
            schema("{}", |options| options.allow_widening = true),
            schema("{}", |options| options.documents = vec![document("a", "{}")]),
            schema("{}", |options| options.documents = vec![document("a", "true")]),
            schema("{}", |options| options.documents = vec![document("b", "{}")]),
        ];
        for (i, a) in digests.iter().enumerate() {
            assert!(digests[..i].iter().all(|b| a != b), "{i}");
        }
        assert_eq!(schema(" { } ", |_| ()), schema("{}", |_| ()));
        assert_eq!(Constraint::choice(["b", "a", "b"]).digest(), Constraint::choice(["a", "b"]).digest());
    }

    #[test]
    fn whitespace_policies_read_back_as_written() {
        for policy in [
            Whitespace::Compact,
            Whitespace::Single,
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
            "indent",
            "indent:0",
            "indent:9",
        ] {
            assert!(bad.parse::<Whitespace>().is_err(), "{bad}");
        }
    }
}
