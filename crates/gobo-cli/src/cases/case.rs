//! Lines of a case file: a constraint and texts with the answer expected for each.
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, bail};
use gobo_schema::plain_text;
use gobo_types::{Constraint, DEFAULT_START, FormatMode, MatchMode, NumberForm, SchemaOptions, Whitespace};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::inputs;

/// The library that ships with gobo.
const LIBRARY: &str = include_str!("../../library/everyday.jsonl");

/// One line. Keys that are not here are ignored.
#[derive(Debug, Deserialize)]
struct Line {
    id: Option<Value>,
    regex: Option<String>,
    choice: Option<Vec<String>>,
    /// As it is written: the order of keys and the spelling of numbers mean something.
    #[serde(default, deserialize_with = "present")]
    schema: Option<Box<RawValue>>,
    grammar: Option<Value>,
    start: Option<String>,
    json: Option<Whitespace>,
    numbers: Option<NumberForm>,
    /// Fields of [`SchemaOptions`].
    options: Option<Map<String, Value>>,
    draft: Option<String>,
    format: Option<FormatMode>,
    tests: Option<Vec<Instance>>,
    #[serde(default)]
    accept: Vec<String>,
    #[serde(default)]
    reject: Vec<String>,
    #[serde(default)]
    incomplete: Vec<String>,
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
    pub(crate) texts: Vec<Question>,
    /// The constraint must be refused.
    pub(crate) invalid: bool,
}

/// A text, and the answer expected for it.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) text: String,
    pub(crate) expected: Expected,
    /// Whether it stands for a value, whose other texts are as good.
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
        options.format = self.format.unwrap_or(options.format);
        options.numbers = self.numbers.unwrap_or(options.numbers);
        if let Some(depth) = options.max_depth.filter(|depth| *depth > SchemaOptions::MAX_DEPTH) {
            bail!("max_depth is {depth}, and at most {}", SchemaOptions::MAX_DEPTH);
        }
        Ok(options)
    }

    fn constraint(&self, defaults: &SchemaOptions) -> anyhow::Result<Constraint> {
        if self.start.is_some() && self.grammar.is_none() {
            bail!("only a grammar has a start");
        }
        let has_options = self.options.is_some() || self.draft.is_some() || self.format.is_some();
        if self.schema.is_none() && (has_options || self.tests.is_some()) {
            bail!("only a schema has options, draft, format and tests");
        }
        if self.numbers.is_some() && self.schema.is_none() && self.json.is_none() {
            bail!("only a schema and json have numbers");
        }
        Ok(match (&self.regex, &self.choice, &self.grammar, self.json, &self.schema) {
            (Some(pattern), None, None, None, None) => inputs::regex(pattern, self.mode).constraint,
            (None, Some(items), None, None, None) => Constraint::choice(items),
            (None, None, Some(Value::String(grammar)), None, None) => {
                Constraint::gbnf(grammar, self.start.as_deref().unwrap_or(DEFAULT_START))
            }
            (None, None, Some(_), None, None) => bail!("a grammar is a text, in GBNF"),
            (None, None, None, Some(whitespace), None) => {
                Constraint::json_with(whitespace, self.numbers.unwrap_or(defaults.numbers))
            }
            (None, None, None, None, Some(schema)) => {
                Constraint::schema(schema.get(), self.schema_options(defaults)?)
            }
            _ => bail!("a case has exactly one of regex, choice, grammar, json, schema"),
        })
    }

    fn texts(self) -> Vec<Question> {
        let of = |texts: Vec<String>, expected| {
            texts.into_iter().map(move |text| Question { text, expected, is_instance: false })
        };
        let instances = self.tests.into_iter().flatten().map(|Instance { data, valid }| {
            let expected = if valid { Expected::Accept } else { Expected::Reject };
            Question { text: plain_text(data.get()), expected, is_instance: true }
        });
        of(self.accept, Expected::Accept)
            .chain(of(self.reject, Expected::Reject))
            .chain(of(self.incomplete, Expected::Incomplete))
            .chain(instances)
            .collect()
    }
}

impl Case {
    fn parse(line: &str, number: usize, defaults: &SchemaOptions) -> anyhow::Result<Self> {
        let line: Line = serde_json::from_str(line)?;
        let id = match &line.id {
            Some(Value::String(id)) => id.clone(),
            Some(other) => other.to_string(),
            None => format!("line {number}"),
        };
        let constraint = line.constraint(defaults).with_context(|| id.clone())?;
        let invalid =
            line.invalid.as_ref().is_some_and(|invalid| !matches!(invalid, Value::Bool(false) | Value::Null));
        Ok(Self { id, constraint, texts: line.texts(), invalid })
    }

    /// The cases of the library that ships with gobo.
    pub(crate) fn library() -> anyhow::Result<Vec<Self>> {
        Self::all(LIBRARY.as_bytes(), "the library", &SchemaOptions::default())
    }

    /// The cases of a file, empty lines skipped; `defaults` are options of schemas that say nothing else.
    pub(crate) fn read_all(path: &Path, defaults: &SchemaOptions) -> anyhow::Result<Vec<Self>> {
        Self::all(open(path)?, &path.display().to_string(), defaults)
    }

    fn all(reader: impl BufRead, origin: &str, defaults: &SchemaOptions) -> anyhow::Result<Vec<Self>> {
        Self::each(reader, defaults)
            .map(|(number, case)| case.with_context(|| format!("{origin}:{number}")))
            .collect()
    }

    /// The lines of a file with their numbers, each a case or what is wrong with it; empty lines skipped.
    pub(crate) fn each_of(
        path: &Path,
        defaults: &SchemaOptions,
    ) -> anyhow::Result<impl Iterator<Item = (usize, anyhow::Result<Self>)>> {
        Ok(Self::each(open(path)?, defaults))
    }

    fn each(
        reader: impl BufRead,
        defaults: &SchemaOptions,
    ) -> impl Iterator<Item = (usize, anyhow::Result<Self>)> {
        (1..).zip(reader.split(b'\n')).filter_map(move |(number, line)| {
            let text = match line.map_err(anyhow::Error::new).and_then(|line| Ok(String::from_utf8(line)?)) {
                Ok(text) if text.trim().is_empty() => return None,
                Ok(text) => text,
                Err(error) => return Some((number, Err(error.context("the line cannot be read")))),
            };
            Some((number, Self::parse(&text, number, defaults)))
        })
    }
}

fn open(path: &Path) -> anyhow::Result<BufReader<File>> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    Ok(BufReader::new(file))
}

#[cfg(test)]
mod tests {
    use gobo_types::{Draft, PropertyOrder, SchemaDocument, Source};

    use super::*;

    fn parse(line: &str, defaults: &SchemaOptions) -> anyhow::Result<Case> {
        Case::parse(line, 1, defaults)
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
        let texts: Vec<_> =
            case.texts.iter().map(|of| (of.text.as_str(), of.expected, of.is_instance)).collect();
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
            (r#"{"regex":"a","draft":"draft7"}"#, "only a schema has"),
            (r#"{"regex":"a","numbers":"json"}"#, "only a schema and json have numbers"),
            (r#"{"schema":{},"regex":"a"}"#, "exactly one of"),
            (r#"{"schema":{},"start":"a"}"#, "only a grammar"),
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
