//! Lines of a case file: a constraint and texts with the answer expected for each.
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, bail};
use gobo_types::{Constraint, DEFAULT_START, MatchMode, Whitespace};
use serde::Deserialize;
use serde_json::Value;

use crate::constraint;

/// The library that ships with gobo.
const LIBRARY: &str = include_str!("../library/everyday.jsonl");

/// One line. Keys that are not here are ignored.
#[derive(Debug, Deserialize)]
struct Line {
    id: Option<Value>,
    regex: Option<String>,
    choice: Option<Vec<String>>,
    schema: Option<Value>,
    grammar: Option<Value>,
    start: Option<String>,
    json: Option<Whitespace>,
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

/// A case: what to compile, and what to expect of it.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) id: String,
    /// The constraint, or the name of a kind that gobo does not compile.
    pub(crate) constraint: Result<Constraint, &'static str>,
    pub(crate) texts: Vec<(String, Expected)>,
    /// The constraint must be refused.
    pub(crate) invalid: bool,
}

/// What a text must be.
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

impl Case {
    fn parse(line: &str, number: usize) -> anyhow::Result<Self> {
        let line: Line = serde_json::from_str(line)?;
        let id = match line.id {
            Some(Value::String(id)) => id,
            Some(other) => other.to_string(),
            None => format!("line {number}"),
        };
        if line.start.is_some() && line.grammar.is_none() {
            bail!("{id}: only a grammar has a start");
        }
        let constraint = match (line.regex, line.choice, line.grammar, line.json, line.schema) {
            (Some(pattern), None, None, None, None) => Ok(constraint::regex(&pattern, line.mode)),
            (None, Some(items), None, None, None) => Ok(Constraint::choice(items)),
            (None, None, Some(Value::String(grammar)), None, None) => {
                Ok(Constraint::gbnf(grammar, line.start.as_deref().unwrap_or(DEFAULT_START)))
            }
            (None, None, Some(_), None, None) => bail!("{id}: a grammar is a text, in GBNF"),
            (None, None, None, Some(whitespace), None) => Ok(Constraint::json(whitespace)),
            (None, None, None, None, Some(_)) => Err("schema"),
            _ => bail!("{id}: a case has exactly one of regex, choice, grammar, json, schema"),
        };
        let of = |texts: Vec<String>, expected| texts.into_iter().map(move |text| (text, expected));
        let texts = of(line.accept, Expected::Accept)
            .chain(of(line.reject, Expected::Reject))
            .chain(of(line.incomplete, Expected::Incomplete))
            .collect();
        let invalid =
            line.invalid.is_some_and(|invalid| !matches!(invalid, Value::Bool(false) | Value::Null));
        Ok(Self { id, constraint, texts, invalid })
    }

    /// The cases of the library that ships with gobo.
    pub(crate) fn library() -> anyhow::Result<Vec<Self>> {
        Self::read(LIBRARY.as_bytes(), "the library")
    }

    /// The cases of a file, empty lines skipped.
    pub(crate) fn read_all(path: &Path) -> anyhow::Result<Vec<Self>> {
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        Self::read(BufReader::new(file), &path.display().to_string())
    }

    fn read(reader: impl BufRead, origin: &str) -> anyhow::Result<Vec<Self>> {
        let mut cases = Vec::new();
        for (number, line) in (1..).zip(reader.lines()) {
            let line = line.with_context(|| format!("{origin}:{number}"))?;
            if !line.trim().is_empty() {
                cases.push(Self::parse(&line, number).with_context(|| format!("{origin}:{number}"))?);
            }
        }
        Ok(cases)
    }
}
