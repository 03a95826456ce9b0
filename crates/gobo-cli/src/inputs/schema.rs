//! JSON Schemas, their options, and the documents beside them.
use std::path::Path;

use gobo_types::{
    AnyDialect, Constraint, NumberForm, SchemaDialect, SchemaDocument, SchemaOptions, SpecialText, Whitespace,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::given::Given;
use super::grammar::GrammarDefaults;
use super::text::read_text;
use crate::diagnostics::{Problem, Written};
use crate::options::{Defaults, SchemaArgs};

impl SchemaArgs {
    /// The options that were given, and the defaults of the others.
    ///
    /// # Errors
    /// If the file of documents cannot be read.
    pub fn options(
        &self,
        dialect: Option<SchemaDialect>,
        whitespace: Option<Whitespace>,
        numbers: Option<NumberForm>,
    ) -> anyhow::Result<SchemaOptions> {
        let Self {
            draft,
            order,
            notation,
            spelling,
            format,
            date_times,
            closed,
            max_depth,
            documents,
            allow_widening,
        } = self;
        Ok(SchemaOptions {
            draft: *draft,
            dialect: dialect.unwrap_or_default(),
            order: order.unwrap_or_default(),
            notation: notation.unwrap_or_default(),
            whitespace: whitespace.unwrap_or_default(),
            spelling: spelling.unwrap_or_default(),
            numbers: numbers.unwrap_or_default(),
            format: format.unwrap_or_default(),
            date_times: date_times.unwrap_or_default(),
            closed: *closed,
            max_depth: *max_depth,
            documents: documents.as_deref().map(read_documents).transpose()?.unwrap_or_default(),
            allow_widening: *allow_widening,
        })
    }

    /// The first option that was given.
    pub fn first_given(&self) -> Option<&'static str> {
        let Self {
            draft,
            order,
            notation,
            spelling,
            format,
            date_times,
            closed,
            max_depth,
            documents,
            allow_widening,
        } = self;
        [
            ("--draft", draft.is_some()),
            ("--order", order.is_some()),
            ("--as", notation.is_some()),
            ("--spelling", spelling.is_some()),
            ("--format", format.is_some()),
            ("--date-times", date_times.is_some()),
            ("--closed", *closed),
            ("--max-depth", max_depth.is_some()),
            ("--documents", documents.is_some()),
            ("--allow-widening", *allow_widening),
        ]
        .into_iter()
        .find_map(|(name, is_given)| is_given.then_some(name))
    }
}

impl Defaults {
    /// The options of schemas that say nothing else themselves. A dialect of grammars says nothing about them.
    ///
    /// # Errors
    /// If the file of documents cannot be read.
    pub fn options(&self) -> anyhow::Result<SchemaOptions> {
        let dialect = match self.dialect {
            Some(AnyDialect::Schema(dialect)) => Some(dialect),
            Some(AnyDialect::Grammar(_)) | None => None,
        };
        self.schema.options(dialect, self.whitespace, self.numbers)
    }

    /// The options of grammars that say nothing else themselves. A dialect of schemas says nothing about them.
    pub fn grammars(&self) -> GrammarDefaults {
        let dialect = match self.dialect {
            Some(AnyDialect::Grammar(dialect)) => Some(dialect),
            Some(AnyDialect::Schema(_)) | None => None,
        };
        GrammarDefaults { dialect, lexer: self.lexer }
    }
}

/// The schema of a file. The lowering decides whether it is valid.
///
/// # Errors
/// If the file cannot be read, or is no UTF-8.
pub fn schema_file(file: &Path, options: SchemaOptions) -> anyhow::Result<Given> {
    let text = read_text(file)?;
    let constraint = Constraint::schema(&text, options);
    Ok(Given { constraint, written: Written { is_schema: true, ..Written::file(file, text) } })
}

/// The structural tag of a file. The lowering decides whether it is one.
///
/// # Errors
/// If the file cannot be read, or is no UTF-8.
pub fn tag_file(file: &Path, special_text: SpecialText, options: SchemaOptions) -> anyhow::Result<Given> {
    let text = read_text(file)?;
    let constraint = Constraint::tag(&text, special_text, options);
    Ok(Given { constraint, written: Written { is_schema: true, ..Written::file(file, text) } })
}

/// One line of a file of documents.
#[derive(Deserialize)]
struct Line {
    uri: String,
    document: Box<RawValue>,
}

/// The documents of a file, empty lines skipped.
///
/// # Errors
/// If the file cannot be read, or a line is no document.
pub fn read_documents(file: &Path) -> anyhow::Result<Vec<SchemaDocument>> {
    let text = read_text(file)?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| {
            let Line { uri, document } = serde_json::from_str(line).map_err(|error| {
                let start = line.as_ptr().addr() - text.as_ptr().addr();
                let at = (start + error.column().saturating_sub(1)).min(start + line.len());
                Problem {
                    what: format!("the line is no document: {}", reason(&error)),
                    written: Written::file(file, text.clone()),
                    span: (at..at).into(),
                    help: "Write {\"uri\": …, \"document\": …} on each line.".to_owned(),
                }
            })?;
            Ok(SchemaDocument { uri, document: document.get().to_owned() })
        })
        .collect()
}

/// What the reader of JSON says, without the line and the column, which count from the line that it was given.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or(&text).to_owned()
}
