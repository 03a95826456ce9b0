//! Constraints: a rule ([`source`]) and every option that can change its language, and the digest over all of it.
//!
//! [`dialect`] has the ways in which grammars and schemas are written, [`whitespace`] and [`schema_options`] the options of JSON
//! texts; [`compact_json`] makes the text of a schema canonical, and [`restore`] stores a constraint as text and options and reads it
//! back.

mod compact_json;
mod dialect;
mod digest;
mod grammar;
mod json_nesting;
mod regex;
mod restore;
mod schema_options;
mod source;
mod tokens;
mod whitespace;

use serde::{Deserialize, Serialize};

pub use compact_json::compact_json;
pub use dialect::{AnyDialect, DEFAULT_START, Dialect, DialectError, SchemaDialect};
pub use grammar::{Indentation, IndentationError, Lexer, LexerError, LookAhead, LookAheadError};
pub use json_nesting::JsonNesting;
pub use regex::{RegexDialect, RegexDialectError};
pub use restore::RestoreError;
pub use schema_options::{
    DateTimes, Draft, FormatMode, Notation, NumberForm, PropertyOrder, SchemaDocument, SchemaOptionError,
    SchemaOptions, Spelling,
};
pub use source::{GrammarDocument, MatchMode, Source};
pub use tokens::{
    IdRange, NamedClass, NamedClasses, SpecialText, SpecialTextError, Tokenization, TokenizationError,
};
pub use whitespace::{Whitespace, WhitespaceError};

/// How the text of a constraint relates to the decoded text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextStart {
    /// The concatenated token bytes, exactly: text after a prompt.
    #[default]
    Exact,
    /// The concatenated token bytes without one leading space, if they have one: text at the start, for decoders of
    /// SentencePiece kind.
    StripOneSpace,
}

/// A constraint: a rule, and every option that can change its language.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Constraint {
    /// The rule.
    #[serde(flatten)]
    pub source: Source,
    /// How the text begins.
    #[serde(default)]
    pub text_start: TextStart,
    /// Phrases behind the first of which a text ends. Distinct, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// Classes of tokens that the rule may name.
    #[serde(default, skip_serializing_if = "NamedClasses::is_empty")]
    pub token_classes: NamedClasses,
    /// How its texts may be cut into tokens.
    #[serde(default, skip_serializing_if = "Tokenization::is_any")]
    pub tokenization: Tokenization,
}

impl Constraint {
    /// A regular expression that the whole text must match.
    pub fn regex(pattern: impl Into<String>) -> Self {
        Self::regex_with(pattern, MatchMode::Full, RegexDialect::default(), Vec::new(), Vec::new())
    }

    /// A regular expression that must match somewhere in the text.
    pub fn search(pattern: impl Into<String>) -> Self {
        Self::regex_with(pattern, MatchMode::Search, RegexDialect::default(), Vec::new(), Vec::new())
    }

    /// A regular expression in a dialect, with others that must match as well (`and`) and others that must not (`not`), all under one mode.
    /// The order of the others does not matter and does not enter the digest.
    ///
    /// ```
    /// use gobo_types::{Constraint, MatchMode, RegexDialect};
    ///
    /// let not = vec!["foo|bar".to_owned()];
    /// let names = Constraint::regex_with("[a-z]+", MatchMode::Full, RegexDialect::Rust, Vec::new(), not);
    /// assert_ne!(names.digest(), Constraint::regex("[a-z]+").digest());
    /// ```
    pub fn regex_with(
        pattern: impl Into<String>,
        mode: MatchMode,
        dialect: RegexDialect,
        mut and: Vec<String>,
        mut not: Vec<String>,
    ) -> Self {
        for others in [&mut and, &mut not] {
            others.sort_unstable();
            others.dedup();
        }
        Self::of(Source::Regex { pattern: pattern.into(), mode, dialect, and, not })
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
        Self::grammar(Dialect::Gbnf, grammar, start, None, Vec::new())
    }

    /// The texts of the rule `start` of a grammar, which may import the documents. Their order does not matter and does not enter the
    /// digest; of two with one name, the first in the order of their texts counts. Without a lexer it is
    /// [`Dialect::default_lexer`].
    ///
    /// ```
    /// use gobo_types::{Constraint, Dialect, Lexer};
    ///
    /// let words = "start: WORD\nWORD: /[a-z]+/";
    /// let constraint = Constraint::grammar(Dialect::Lark, words, "start", Some(Lexer::None), Vec::new());
    /// assert_eq!(constraint.kind(), "grammar");
    /// ```
    pub fn grammar(
        dialect: Dialect,
        grammar: impl Into<String>,
        start: impl Into<String>,
        lexer: Option<Lexer>,
        mut documents: Vec<GrammarDocument>,
    ) -> Self {
        documents.sort_unstable();
        documents.dedup_by(|later, first| later.name == first.name);
        let grammar = grammar.into();
        let lexer = lexer.or_else(|| dialect.default_lexer(&grammar));
        let (start, indentation) = (start.into(), Indentation::default());
        Self::of(Source::Grammar { dialect, grammar, start, lexer, indentation, documents })
    }

    /// The same grammar over texts with this indentation, which grammars with tokens for it alone have; other constraints as they are.
    ///
    /// ```
    /// use gobo_types::{Constraint, Dialect, Indentation};
    ///
    /// let blocks = "start: \"a\" _NL _INDENT \"b\" _DEDENT\n_NL: /\\n */\n%declare _INDENT _DEDENT";
    /// let constraint = Constraint::grammar(Dialect::Lark, blocks, "start", None, Vec::new());
    /// let narrow = constraint.clone().indented(Indentation::new(2, 8).unwrap());
    /// assert_ne!(constraint.digest(), narrow.digest());
    /// ```
    #[must_use]
    pub fn indented(mut self, by: Indentation) -> Self {
        if let Source::Grammar { indentation, .. } = &mut self.source {
            *indentation = by;
        }
        self
    }

    /// Any JSON value, its numbers in the default form.
    pub fn json(whitespace: Whitespace) -> Self {
        Self::json_with(whitespace, NumberForm::default())
    }

    /// Any JSON value.
    pub fn json_with(whitespace: Whitespace, numbers: NumberForm) -> Self {
        Self::of(Source::Json { whitespace, numbers, nesting: None })
    }

    /// The same JSON whose values nest no deeper; other constraints as they are.
    ///
    /// ```
    /// use gobo_types::{Constraint, JsonNesting, Whitespace};
    ///
    /// let json = Constraint::json(Whitespace::Compact);
    /// assert_ne!(json.clone().nested(JsonNesting::new(2, 2)).digest(), json.digest());
    /// ```
    #[must_use]
    pub fn nested(mut self, within: Option<JsonNesting>) -> Self {
        if let Source::Json { nesting, .. } = &mut self.source {
            *nesting = within;
        }
        self
    }

    /// The values that a JSON Schema allows. Whitespace between the tokens of its text does not enter the digest; the order of
    /// keys does, because it is the order of properties.
    pub fn schema(schema: &str, options: SchemaOptions) -> Self {
        let options = Box::new(options.compacted());
        Self::of(Source::Schema { schema: compact_json(schema), options })
    }

    /// The texts of a structural tag, whose schemas have these options ([`SchemaOptions::of_tags`] by default). Whitespace between the tokens
    /// of its text does not enter the digest.
    ///
    /// ```
    /// use gobo_types::{Constraint, SchemaOptions, SpecialText};
    ///
    /// let format = r#"{"type": "const_string", "value": "a"}"#;
    /// let tag = Constraint::tag(format, SpecialText::Both, SchemaOptions::of_tags());
    /// assert_eq!(tag.text(), r#"{"type":"const_string","value":"a"}"#);
    /// ```
    pub fn tag(format: &str, special_text: SpecialText, options: SchemaOptions) -> Self {
        let options = Box::new(options.compacted());
        Self::of(Source::Tag { format: compact_json(format), special_text, options })
    }

    fn of(source: Source) -> Self {
        Self {
            source,
            text_start: TextStart::default(),
            stop: Vec::new(),
            token_classes: NamedClasses::default(),
            tokenization: Tokenization::default(),
        }
    }

    /// The same rule, over texts with another beginning.
    #[must_use]
    pub fn starting(self, text_start: TextStart) -> Self {
        Self { text_start, ..self }
    }

    /// The texts of the same rule in which none of some phrases stands, and beginnings of its texts that end with the first occurrence of one.
    /// The order of the phrases does not matter.
    ///
    /// ```
    /// use gobo_types::Constraint;
    ///
    /// let answer = Constraint::regex("(?s).*").stopping(vec!["\n\n".to_owned()]);
    /// assert_eq!(answer.stop, ["\n\n"]);
    /// ```
    #[must_use]
    pub fn stopping(self, mut stop: Vec<String>) -> Self {
        stop.sort_unstable();
        stop.dedup();
        Self { stop, ..self }
    }

    /// The same rule, in which classes of tokens have names: `(?P<NAME>)` in a regular expression in Rust's syntax, `<class:NAME>` in a grammar.
    ///
    /// ```
    /// use gobo_types::Constraint;
    ///
    /// let classes = r#"{"IMAGE": {"begin": [7], "fill": [[100, 199]], "min": 1, "max": 64, "end": [8]}}"#;
    /// let picture = Constraint::regex("(?P<IMAGE>)!").naming(serde_json::from_str(classes)?);
    /// assert_eq!(picture.token_classes.iter().count(), 1);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn naming(self, token_classes: NamedClasses) -> Self {
        Self { token_classes, ..self }
    }

    /// The same texts, cut into tokens in this way.
    ///
    /// ```
    /// use gobo_types::{Constraint, Tokenization};
    ///
    /// let word = Constraint::regex("[a-z]+");
    /// assert_ne!(word.clone().cut(Tokenization::Canonical).digest(), word.digest());
    /// ```
    #[must_use]
    pub fn cut(self, tokenization: Tokenization) -> Self {
        Self { tokenization, ..self }
    }

    /// `regex`, `choice`, `grammar`, `json`, `tag` or `schema`: the word of the proto and of files.
    pub fn kind(&self) -> &'static str {
        match self.source {
            Source::Regex { .. } => "regex",
            Source::Choice { .. } => "choice",
            Source::Grammar { .. } => "grammar",
            Source::Json { .. } => "json",
            Source::Tag { .. } => "tag",
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
            Source::Json { whitespace, .. } => whitespace.to_string(),
            Source::Tag { format, .. } => format.clone(),
            Source::Schema { schema, .. } => schema.clone(),
        }
    }

    /// Bytes of all its texts, documents beside a schema included: the memory that it takes.
    pub fn text_bytes(&self) -> usize {
        let stop: usize = self.stop.iter().map(String::len).sum();
        stop + self.token_classes.bytes()
            + match &self.source {
                Source::Regex { pattern, and, not, .. } => {
                    pattern.len() + and.iter().chain(not).map(String::len).sum::<usize>()
                }
                Source::Choice { items } => items.iter().map(String::len).sum(),
                Source::Grammar { grammar, start, documents, .. } => {
                    let documents = documents.iter().map(|of| of.name.len() + of.text.len());
                    grammar.len() + start.len() + documents.sum::<usize>()
                }
                Source::Json { .. } => 0,
                Source::Schema { schema: text, options } | Source::Tag { format: text, options, .. } => {
                    let documents = options.documents.iter();
                    text.len()
                        + documents
                            .map(|document| document.uri.len() + document.document.len())
                            .sum::<usize>()
                }
            }
    }
}
