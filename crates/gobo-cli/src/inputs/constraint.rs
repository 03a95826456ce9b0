//! Constraints from the options and from files: patterns, choice lists, grammars.
use std::path::Path;

use anyhow::{Context, bail};
use gobo_types::{Constraint, DEFAULT_START, MatchMode};

use super::given::Given;
use super::schema::schema_file;
use super::text::read_text;
use crate::diagnostics::{Problem, Written};
use crate::options::{Builtin, ConstraintArgs, SourceArgs};

impl ConstraintArgs {
    /// The constraint that was given.
    ///
    /// # Errors
    /// If none was given, an option does not go with it, or a file cannot be read.
    pub fn read(&self) -> anyhow::Result<Given> {
        self.check_options()?;
        let Given { constraint, written } = self.given()?.context(
            "a constraint is missing\nhint: give one of --regex R, --choice FILE, --grammar FILE, --schema FILE, --builtin json",
        )?;
        Ok(Given { constraint: constraint.starting(self.text_start.into()), written })
    }

    /// Whether one was given.
    pub fn is_given(&self) -> bool {
        let SourceArgs { regex, choice, grammar, schema, builtin } = &self.source;
        regex.is_some() || choice.is_some() || grammar.is_some() || schema.is_some() || builtin.is_some()
    }

    /// Refuses options of schemas where there is none: they would be ignored in silence.
    ///
    /// # Errors
    /// If an option of schemas was given without a schema.
    pub fn check_options(&self) -> anyhow::Result<()> {
        match self.schema.first_given() {
            Some(name) if self.source.schema.is_none() => {
                bail!("{name} is an option of schemas, and there is none\nhint: --schema FILE gives one")
            }
            _ => Ok(()),
        }
    }

    fn given(&self) -> anyhow::Result<Option<Given>> {
        let SourceArgs { regex: pattern, choice, grammar, schema, builtin } = &self.source;
        Ok(if let Some(pattern) = pattern {
            Some(regex(pattern, self.mode.into()))
        } else if let Some(file) = choice {
            Some(choice_file(file)?)
        } else if let Some(file) = grammar {
            Some(grammar_file(file, self.start.as_deref().unwrap_or(DEFAULT_START))?)
        } else if let Some(file) = schema {
            Some(schema_file(file, self.schema.options(self.whitespace, self.numbers)?)?)
        } else {
            builtin.map(|Builtin::Json| {
                let constraint = Constraint::json_with(
                    self.whitespace.unwrap_or_default(),
                    self.numbers.unwrap_or_default(),
                );
                Given { written: Written::option("--builtin", &constraint.text()), constraint }
            })
        })
    }
}

/// The constraint of a pattern.
pub fn regex(pattern: &str, mode: MatchMode) -> Given {
    let constraint = match mode {
        MatchMode::Full => Constraint::regex(pattern),
        MatchMode::Search => Constraint::search(pattern),
    };
    Given { constraint, written: Written::option("--regex", pattern) }
}

/// The items of a choice file, one per line. An empty line is refused: it would silently allow the empty text.
///
/// # Errors
/// If the file cannot be read, is no UTF-8, or has an empty line or no line.
pub fn choice_file(file: &Path) -> anyhow::Result<Given> {
    let text = read_text(file)?;
    let items: Vec<&str> = text.lines().collect();
    let empty =
        items.iter().find(|item| item.is_empty()).map(|item| item.as_ptr().addr() - text.as_ptr().addr());
    let problem = |what: &str, at: usize, help: &str| Problem {
        what: what.to_owned(),
        written: Written::file(file, text.clone()),
        span: (at..at).into(),
        help: help.to_owned(),
    };
    if let Some(at) = empty {
        let help =
            "Delete the line. A choice with the empty text is written as a regular expression: (red|blue|).";
        return Err(problem("an empty line is not an item", at, help).into());
    }
    if items.is_empty() {
        return Err(problem("the file has no items", 0, "Write one text on each line.").into());
    }
    Ok(Given { constraint: Constraint::choice(items), written: Written::file(file, text) })
}

/// The grammar of a file, whose name says how it is written.
///
/// # Errors
/// If the file is not called `.gbnf`, cannot be read, or is no UTF-8.
pub fn grammar_file(file: &Path, start: &str) -> anyhow::Result<Given> {
    if file.extension().is_none_or(|kind| kind != "gbnf") {
        bail!(
            "{}: only llama.cpp's GBNF is read so far, from .gbnf files\nhint: rename it if that is what it is",
            file.display()
        );
    }
    let text = read_text(file)?;
    Ok(Given { constraint: Constraint::gbnf(text.clone(), start), written: Written::file(file, text) })
}
