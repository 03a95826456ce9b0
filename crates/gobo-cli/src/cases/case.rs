//! Lines of a case file: a constraint and texts with the answer expected for each.
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, bail};
use gobo_schema::plain_text;
use gobo_types::{
    AnyDialect, Constraint, Dialect, FormatMode, GrammarDocument, Indentation, JsonNesting, Lexer, MatchMode,
    NamedClasses, NumberForm, RegexDialect, SchemaOptions, SpecialText, Tokenization, Whitespace,
};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::inputs::{GrammarDefaults, Pieces};

/// The library that ships with gobo.
const LIBRARY: &str = include_str!("../../library/everyday.jsonl");

/// One line. Keys that are not here are ignored.
#[derive(Debug, Deserialize)]
struct Line {
    id: Option<Value>,
    regex: Option<String>,
    regex_dialect: Option<RegexDialect>,
    #[serde(default)]
    and: Vec<String>,
    #[serde(default)]
    not: Vec<String>,
    choice: Option<Vec<String>>,
    /// As it is written: the order of keys and the spelling of numbers mean something.
    #[serde(default, deserialize_with = "present")]
    schema: Option<Box<RawValue>>,
    grammar: Option<Value>,
    structural_tag: Option<Box<RawValue>>,
    special_text: Option<SpecialText>,
    #[serde(default)]
    stop: Vec<String>,
    #[serde(default)]
    token_classes: NamedClasses,
    #[serde(default)]
    tokenization: Tokenization,
    /// The tokens of the prompt.
    #[serde(default)]
    prompt: Vec<u32>,
    start: Option<String>,
    /// Of a grammar or of a schema.
    dialect: Option<AnyDialect>,
    lexer: Option<Lexer>,
    indent_by: Option<u8>,
    indent_depth: Option<u8>,
    #[serde(default)]
    documents: Vec<GrammarDocument>,
    json: Option<Whitespace>,
    max_objects: Option<u8>,
    max_arrays: Option<u8>,
    numbers: Option<NumberForm>,
    /// Fields of [`SchemaOptions`].
    options: Option<Map<String, Value>>,
    draft: Option<String>,
    format: Option<FormatMode>,
    tests: Option<Vec<Instance>>,
    #[serde(default)]
    accept: Vec<Pieces>,
    #[serde(default)]
    reject: Vec<Pieces>,
    #[serde(default)]
    incomplete: Vec<Pieces>,
    #[serde(default, rename = "match")]
    mode: MatchMode,
    invalid: Option<Value>,
}

/// A value, and whether the schema of its line allows it.
#[derive(Debug, Deserialize)]
struct Instance {
    data: Box<RawValue>,
    valid: bool,
}

/// A value that is there, `null` too.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::deserialize(deserializer).map(Some)
}

/// A case: what to compile, and what to expect of it.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) constraint: Constraint,
    /// The tokens of the prompt behind which the texts stand.
    pub(crate) prompt: Vec<u32>,
    pub(crate) texts: Vec<Question>,
    /// The constraint must be refused.
    pub(crate) invalid: bool,
}

/// A text, and the answer expected for it.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) text: Pieces,
    pub(crate) expected: Expected,
    /// Whether it is the JSON text of a value, whose other texts are as good.
    pub(crate) is_instance: bool,
}

/// The expected answer for a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Viable to its end, and complete there.
    Accept,
    /// Not that.
    Reject,
    /// Viable to its end, and not complete there.
    Incomplete,
}

impl Expected {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Reject => "reject",
            Self::Incomplete => "incomplete",
        }
    }
}

impl Line {
    /// The options of its schema: its own, and `defaults` where it says nothing.
    fn schema_options(&self, defaults: &SchemaOptions) -> anyhow::Result<SchemaOptions> {
        let mut options = match &self.options {
            Some(own) => {
                let Value::Object(mut all) = serde_json::to_value(defaults)? else {
                    bail!("options have names");
                };
                all.extend(own.clone());
                serde_json::from_value(Value::Object(all)).context("options")?
            }
            None => defaults.clone(),
        };
        if let Some(draft) = &self.draft {
            // Some corpora say "7" where others say "draft7".
            let number = draft.strip_prefix("draft").unwrap_or(draft);
            options.draft = Some(format!("draft{number}").parse().context("draft")?);
        }
        if let Some(dialect) = self.dialect {
            options.dialect = dialect.try_into().context("dialect")?;
        }
        options.format = self.format.unwrap_or(options.format);
        options.numbers = self.numbers.unwrap_or(options.numbers);
        if let Some(depth) = options.max_depth.filter(|depth| *depth > SchemaOptions::MAX_DEPTH) {
            bail!("max_depth is {depth}, and at most {}", SchemaOptions::MAX_DEPTH);
        }
        Ok(options)
    }

    fn constraint(&self, defaults: &SchemaOptions, grammars: GrammarDefaults) -> anyhow::Result<Constraint> {
        let is_indented = self.indent_by.is_some() || self.indent_depth.is_some();
        let of_grammar =
            self.start.is_some() || self.lexer.is_some() || is_indented || !self.documents.is_empty();
        if self.grammar.is_none() && of_grammar {
            bail!("only a grammar has a start, a lexer, an indentation and documents");
        }
        let of_regex = self.regex_dialect.is_some() || !self.and.is_empty() || !self.not.is_empty();
        if self.regex.is_none() && of_regex {
            bail!("only a regex has a regex_dialect, and, not");
        }
        if self.dialect.is_some() && self.grammar.is_none() && self.schema.is_none() {
            bail!("only a grammar and a schema have a dialect");
        }
        let has_options = self.options.is_some() || self.draft.is_some() || self.format.is_some();
        if self.schema.is_none() && self.structural_tag.is_none() && has_options {
            bail!("only a schema and a structural_tag have options, draft and format");
        }
        if self.schema.is_none() && self.tests.is_some() {
            bail!("only a schema has tests");
        }
        if self.structural_tag.is_none() && self.special_text.is_some() {
            bail!("only a structural_tag has a special_text");
        }
        if self.json.is_none() && (self.max_objects.is_some() || self.max_arrays.is_some()) {
            bail!("only json has max_objects and max_arrays");
        }
        let has_numbers = self.schema.is_some() || self.structural_tag.is_some() || self.json.is_some();
        if self.numbers.is_some() && !has_numbers {
            bail!("only a schema, a structural_tag and json have numbers");
        }
        if let Some(tag) = &self.structural_tag {
            let others = [self.regex.is_some(), self.choice.is_some(), self.grammar.is_some()];
            if others.contains(&true) || self.json.is_some() || self.schema.is_some() {
                bail!("a case has exactly one of regex, choice, grammar, json, schema, structural_tag");
            }
            let defaults = SchemaOptions { closed: true, ..defaults.clone() };
            let options = self.schema_options(&defaults)?;
            return Ok(Constraint::tag(tag.get(), self.special_text.unwrap_or_default(), options));
        }
        Ok(match (&self.regex, &self.choice, &self.grammar, self.json, &self.schema) {
            (Some(pattern), None, None, None, None) => {
                let dialect = self.regex_dialect.unwrap_or_default();
                Constraint::regex_with(pattern, self.mode, dialect, self.and.clone(), self.not.clone())
            }
            (None, Some(items), None, None, None) => Constraint::choice(items),
            (None, None, Some(Value::String(grammar)), None, None) => {
                let dialect = self.dialect.map(Dialect::try_from).transpose().context("dialect")?;
                let dialect = dialect.or(grammars.dialect).unwrap_or_default();
                let start = self.start.as_deref().unwrap_or_else(|| dialect.default_start());
                let lexer = self.lexer.or_else(|| grammars.lexer_of(dialect));
                let indentation = Indentation::default().overwritten(self.indent_by, self.indent_depth);
                let indentation =
                    indentation.context("indent_by is from 1 to 16, and indent_depth from 1 to 32")?;
                Constraint::grammar(dialect, grammar, start, lexer, self.documents.clone())
                    .indented(indentation)
            }
            (None, None, Some(_), None, None) => bail!("a grammar is a text"),
            (None, None, None, Some(whitespace), None) => {
                let json = Constraint::json_with(whitespace, self.numbers.unwrap_or(defaults.numbers));
                let nesting = match (self.max_objects, self.max_arrays) {
                    (None, None) => None,
                    (Some(objects), Some(arrays)) => {
                        Some(JsonNesting::new(objects, arrays).with_context(|| {
                            format!("max_objects and max_arrays are at most {}", JsonNesting::MAX)
                        })?)
                    }
                    _ => bail!("max_objects and max_arrays stand together"),
                };
                json.nested(nesting)
            }
            (None, None, None, None, Some(schema)) => {
                Constraint::schema(schema.get(), self.schema_options(defaults)?)
            }
            _ => bail!("a case has exactly one of regex, choice, grammar, json, schema, structural_tag"),
        })
    }

    fn texts(self) -> Vec<Question> {
        let of = |texts: Vec<Pieces>, expected| {
            texts.into_iter().map(move |text| Question { text, expected, is_instance: false })
        };
        let instances = self.tests.into_iter().flatten().map(|Instance { data, valid }| {
            let expected = if valid { Expected::Accept } else { Expected::Reject };
            Question { text: Pieces::Text(plain_text(data.get())), expected, is_instance: true }
        });
        of(self.accept, Expected::Accept)
            .chain(of(self.reject, Expected::Reject))
            .chain(of(self.incomplete, Expected::Incomplete))
            .chain(instances)
            .collect()
    }
}

impl Case {
    fn parse(
        line: &str,
        number: usize,
        defaults: &SchemaOptions,
        grammars: GrammarDefaults,
    ) -> anyhow::Result<Self> {
        let line: Line = serde_json::from_str(line)?;
        let id = match &line.id {
            Some(Value::String(id)) => id.clone(),
            Some(other) => other.to_string(),
            None => format!("line {number}"),
        };
        let constraint = line.constraint(defaults, grammars).with_context(|| id.clone())?;
        let constraint =
            constraint.stopping(line.stop.clone()).naming(line.token_classes.clone()).cut(line.tokenization);
        let invalid =
            line.invalid.as_ref().is_some_and(|invalid| !matches!(invalid, Value::Bool(false) | Value::Null));
        if !line.prompt.is_empty() && !line.tokenization.is_behind_prompt() {
            bail!("{id}: a prompt needs the tokenization canonical-strict or canonical-heal");
        }
        let prompt = line.prompt.clone();
        Ok(Self { id, constraint, prompt, texts: line.texts(), invalid })
    }

    /// The cases of the library that ships with gobo.
    pub(crate) fn library() -> anyhow::Result<Vec<Self>> {
        Self::all(LIBRARY.as_bytes(), "the library", &SchemaOptions::default(), GrammarDefaults::default())
    }

    /// The cases of a file, empty lines skipped; `defaults` are options of schemas, and `grammars` of grammars, that say nothing
    /// else.
    pub(crate) fn read_all(
        path: &Path,
        defaults: &SchemaOptions,
        grammars: GrammarDefaults,
    ) -> anyhow::Result<Vec<Self>> {
        Self::all(open(path)?, &path.display().to_string(), defaults, grammars)
    }

    fn all(
        reader: impl BufRead,
        origin: &str,
        defaults: &SchemaOptions,
        grammars: GrammarDefaults,
    ) -> anyhow::Result<Vec<Self>> {
        Self::each(reader, defaults, grammars)
            .map(|(number, case)| case.with_context(|| format!("{origin}:{number}")))
            .collect()
    }

    /// The lines of a file with their numbers, each a case or what is wrong with it; empty lines skipped.
    pub(crate) fn each_of<'a>(
        path: &Path,
        defaults: &'a SchemaOptions,
        grammars: GrammarDefaults,
    ) -> anyhow::Result<impl Iterator<Item = (usize, anyhow::Result<Self>)> + use<'a>> {
        Ok(Self::each(open(path)?, defaults, grammars))
    }

    fn each<R: BufRead>(
        reader: R,
        defaults: &SchemaOptions,
        grammars: GrammarDefaults,
    ) -> impl Iterator<Item = (usize, anyhow::Result<Self>)> + use<'_, R> {
        // What cannot be read once is not read again.
        let mut has_failed = false;
        let lines = reader.split(b'\n').take_while(move |line| {
            let goes_on = !has_failed;
            has_failed |= line.is_err();
            goes_on
        });
        (1..).zip(lines).filter_map(move |(number, line)| {
            let text = match line.map_err(anyhow::Error::new).and_then(|line| Ok(String::from_utf8(line)?)) {
                Ok(text) if text.trim().is_empty() => return None,
                Ok(text) => text,
                Err(error) => return Some((number, Err(error.context("the line cannot be read")))),
            };
            Some((number, Self::parse(&text, number, defaults, grammars)))
        })
    }
}

/// The lines of a file, which may be compressed.
fn open(path: &Path) -> anyhow::Result<Box<dyn BufRead>> {
    let cannot = || format!("cannot open {}", path.display());
    let file = File::open(path).with_context(cannot)?;
    if path.extension().is_some_and(|end| end == "zst") {
        let decoder = zstd::stream::read::Decoder::new(file).with_context(cannot)?;
        return Ok(Box::new(BufReader::new(decoder)));
    }
    Ok(Box::new(BufReader::new(file)))
}

#[cfg(test)]
mod tests {
    use gobo_types::{Draft, LookAhead, PropertyOrder, SchemaDialect, SchemaDocument, Source};

    use super::*;

    fn parse(line: &str, defaults: &SchemaOptions) -> anyhow::Result<Case> {
        Case::parse(line, 1, defaults, GrammarDefaults::default())
    }

    fn options(line: &str, defaults: &SchemaOptions) -> SchemaOptions {
        match parse(line, defaults).unwrap().constraint.source {
            Source::Schema { options, .. } => *options,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_schema_stays_as_it_is_written() {
        for (line, schema) in [
            (r#"{"schema": {"b": 1.0, "a": [1e5]}}"#, r#"{"b":1.0,"a":[1e5]}"#),
            (r#"{"schema":{"a":1,"a":2}}"#, r#"{"a":1,"a":2}"#),
            (r#"{"schema":true}"#, "true"),
            (r#"{"schema":null}"#, "null"),
            (r#"{"schema":"\ud800"}"#, r#""\ud800""#),
        ] {
            let case = parse(line, &SchemaOptions::default()).unwrap();
            assert_eq!(case.constraint, Constraint::schema(schema, SchemaOptions::default()));
            assert_eq!(case.constraint.text(), schema);
        }
    }

    #[test]
    fn the_options_of_a_line_win() {
        let document = SchemaDocument { uri: "a".into(), document: "{}".into() };
        let defaults = SchemaOptions {
            draft: Some(Draft::Draft4),
            order: PropertyOrder::Any,
            closed: true,
            documents: vec![document],
            ..SchemaOptions::default()
        };
        assert_eq!(options(r#"{"schema":{}}"#, &defaults), defaults);
        let line = r#"{"schema":{},"options":{"closed":false,"draft":"draft6","max_depth":3}}"#;
        let expected = SchemaOptions {
            closed: false,
            draft: Some(Draft::Draft6),
            max_depth: Some(3),
            ..defaults.clone()
        };
        assert_eq!(options(line, &defaults), expected);
        for (draft, expected) in [
            ("draft7", Draft::Draft7),
            ("7", Draft::Draft7),
            ("2020-12", Draft::Draft202012),
            ("draft2019-09", Draft::Draft201909),
        ] {
            let line = format!(
                r#"{{"schema":{{}},"draft":"{draft}","format":"annotate","options":{{"draft":"draft6"}}}}"#
            );
            let read = options(&line, &defaults);
            assert_eq!((read.draft, read.format), (Some(expected), FormatMode::Annotate));
        }
    }

    #[test]
    fn the_dialect_is_that_of_the_line_or_the_default_of_its_kind() {
        let grammars = GrammarDefaults { dialect: Some(Dialect::Lark), lexer: Some(Lexer::None) };
        let schemas = SchemaOptions { dialect: SchemaDialect::OpenApi30, ..SchemaOptions::default() };
        let grammar = |dialect: Dialect, lexer| {
            Constraint::grammar(dialect, "a", dialect.default_start(), lexer, Vec::new())
        };
        for (line, constraint) in [
            (r#"{"grammar":"a"}"#, grammar(Dialect::Lark, Some(Lexer::None))),
            (r#"{"grammar":"a","dialect":"ebnf"}"#, grammar(Dialect::Ebnf, None)),
            (
                r#"{"grammar":"a","lexer":"basic","indent_by":2}"#,
                grammar(Dialect::Lark, Some(Lexer::Basic(LookAhead::default())))
                    .indented(Indentation::new(2, 16).unwrap()),
            ),
            (r#"{"schema":{}}"#, Constraint::schema("{}", schemas.clone())),
            (r#"{"schema":{},"dialect":"openapi-3.0"}"#, Constraint::schema("{}", schemas.clone())),
            (r#"{"schema":{},"dialect":"json-schema"}"#, Constraint::schema("{}", SchemaOptions::default())),
        ] {
            assert_eq!(Case::parse(line, 1, &schemas, grammars).unwrap().constraint, constraint, "{line}");
        }
        let plain = parse(r#"{"schema":{},"dialect":"openapi-3.0"}"#, &SchemaOptions::default()).unwrap();
        assert_eq!(plain.constraint, Constraint::schema("{}", schemas));
    }

    #[test]
    fn the_form_of_numbers_is_that_of_the_line_or_the_default() {
        let defaults = SchemaOptions { numbers: NumberForm::Json, ..SchemaOptions::default() };
        for (line, form) in [("", NumberForm::Json), (r#","numbers":"plain""#, NumberForm::Plain)] {
            assert_eq!(options(&format!(r#"{{"schema":{{}}{line}}}"#), &defaults).numbers, form);
            let json = parse(&format!(r#"{{"json":"compact"{line}}}"#), &defaults).unwrap();
            assert_eq!(json.constraint, Constraint::json_with(Whitespace::Compact, form));
        }
    }

    #[test]
    fn instances_are_texts_as_python_writes_them() {
        let line = r#"{"schema":{},"tests":[
            {"description":"a","data":{"b":[1.50,"\u00e9"],"a":1e5},"valid":true},
            {"data":null,"valid":false},{"data":"\ud800","valid":false}],"accept":["1"]}"#;
        let case = parse(line, &SchemaOptions::default()).unwrap();
        let texts: Vec<_> = case
            .texts
            .iter()
            .map(|of| (of.text.text().unwrap_or_default(), of.expected, of.is_instance))
            .collect();
        assert_eq!(
            texts,
            [
                ("1", Expected::Accept, false),
                (r#"{"b": [1.50, "é"], "a": 1e5}"#, Expected::Accept, true),
                ("null", Expected::Reject, true),
                (r#""\ud800""#, Expected::Reject, true),
            ]
        );
    }

    #[test]
    fn what_would_be_ignored_is_refused() {
        for (line, words) in [
            (r#"{"regex":"a","tests":[]}"#, "only a schema has"),
            (r#"{"regex":"a","draft":"draft7"}"#, "only a schema and a structural_tag have"),
            (r#"{"regex":"a","special_text":"both"}"#, "only a structural_tag has"),
            (r#"{"regex":"a","structural_tag":{}}"#, "exactly one of"),
            (r#"{"regex":"a","numbers":"json"}"#, "only a schema, a structural_tag and json have numbers"),
            (r#"{"schema":{},"regex":"a"}"#, "exactly one of"),
            (r#"{"schema":{},"start":"a"}"#, "only a grammar"),
            (r#"{"regex":"a","dialect":"lark"}"#, "only a grammar and a schema have a dialect"),
            (r#"{"schema":{},"dialect":"lark"}"#, "dialect: lark is a dialect of grammars, not of schemas"),
            (r#"{"schema":{},"options":{"dialect":"lark"}}"#, "options: lark is a dialect of grammars"),
            (r#"{"grammar":"","dialect":"openapi-3.0"}"#, "dialect: openapi-3.0 is a dialect of schemas"),
            (r#"{"grammar":"","dialect":"Lark"}"#, "\"Lark\" is no dialect of grammars"),
            (r#"{"schema":{},"options":{"clsed":true}}"#, "unknown field `clsed`"),
            (r#"{"schema":{},"options":{"max_depth":65}}"#, "max_depth is 65, and at most 64"),
            (r#"{"schema":{},"draft":"draft3"}"#, "\"draft3\" is none of draft4"),
            (r#"{"schema":{},"format":"maybe"}"#, "unknown variant `maybe`"),
            (r#"{"schema":{},"tests":[{"data":1}]}"#, "missing field `valid`"),
        ] {
            let error = format!("{:#}", parse(line, &SchemaOptions::default()).unwrap_err());
            assert!(error.contains(words), "{line}: {error}");
        }
    }
}
