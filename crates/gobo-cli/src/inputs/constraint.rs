//! Constraints from the options, and patterns and choice lists.
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use gobo_types::{AnyDialect, Constraint, DialectError, JsonNesting, MatchMode, NamedClasses, SchemaOptions};

use super::given::Given;
use super::grammar::grammar_file;
use super::schema::{schema_file, tag_file};
use super::text::read_text;
use crate::diagnostics::{Problem, Written};
use crate::options::{Builtin, ConstraintArgs, RegexArgs, SourceArgs};

impl ConstraintArgs {
    /// The constraint that was given.
    ///
    /// # Errors
    /// If none was given, an option does not go with it, or a file cannot be read.
    pub fn read(&self) -> anyhow::Result<Given> {
        self.check_options()?;
        let Given { constraint, written } = self.given()?.context(
            "a constraint is missing\nhint: give one of --regex R, --choice FILE, --grammar FILE, --schema FILE, --structural-tag FILE, --builtin json",
        )?;
        let constraint = constraint.starting(self.text_start.into()).stopping(self.stop.clone());
        let constraint = constraint.naming(self.token_classes()?).cut(self.tokenization);
        Ok(Given { constraint, written })
    }

    /// The classes of tokens that have names.
    fn token_classes(&self) -> anyhow::Result<NamedClasses> {
        let Some(file) = &self.token_class else { return Ok(NamedClasses::default()) };
        let problem = || {
            let help = r#"{"IMAGE": {"begin": [7], "fill": [[100, 199]], "min": 1, "max": 64, "end": [8]}}"#;
            format!("{}: no token classes\nhint: write {help}", file.display())
        };
        serde_json::from_str(&read_text(file)?).with_context(problem)
    }

    /// Whether one was given.
    pub fn is_given(&self) -> bool {
        let SourceArgs { regex, choice, grammar, structural_tag, schema, builtin } = &self.source;
        let files = [choice, grammar, structural_tag, schema];
        regex.is_some() || files.iter().any(|file| file.is_some()) || builtin.is_some()
    }

    /// Refuses options of schemas and of grammars where there is none: they would be ignored in silence.
    ///
    /// # Errors
    /// If an option of schemas was given without a schema, or a dialect without a schema or grammar.
    pub fn check_options(&self) -> anyhow::Result<()> {
        if self.dialect.is_some() && self.source.schema.is_none() && self.source.grammar.is_none() {
            bail!(
                "--dialect is an option of grammars and schemas, and there is none\n\
                 hint: --grammar FILE and --schema FILE give one"
            )
        }
        match self.schema.first_given() {
            Some(name) if self.source.schema.is_none() && self.source.structural_tag.is_none() => {
                bail!("{name} is an option of schemas, and there is none\nhint: --schema FILE gives one")
            }
            _ => Ok(()),
        }
    }

    /// The dialect that was given, for a constraint of the kind that has dialects of this type.
    fn dialect_for<T: TryFrom<AnyDialect, Error = DialectError>>(&self) -> anyhow::Result<Option<T>> {
        let dialect = self.dialect.map(T::try_from).transpose();
        dialect.map_err(|error| anyhow!("--dialect: {error}"))
    }

    fn given(&self) -> anyhow::Result<Option<Given>> {
        let SourceArgs { regex: pattern, choice, grammar, structural_tag, schema, builtin } = &self.source;
        Ok(if let Some(pattern) = pattern {
            let RegexArgs { regex_dialect, and, not } = &self.regex;
            let (dialect, and, not) = (regex_dialect.unwrap_or_default(), and.clone(), not.clone());
            let constraint = Constraint::regex_with(pattern, self.mode.into(), dialect, and, not);
            Some(Given { constraint, written: Written::option("--regex", pattern) })
        } else if let Some(file) = choice {
            Some(choice_file(file)?)
        } else if let Some(file) = grammar {
            Some(grammar_file(file, self.dialect_for()?, self.start.as_deref(), &self.grammar)?)
        } else if let Some(file) = schema {
            let options = self.schema.options(self.dialect_for()?, self.whitespace, self.numbers)?;
            Some(schema_file(file, options)?)
        } else if let Some(file) = structural_tag {
            let options = self.schema.options(None, self.whitespace, self.numbers)?;
            let options = SchemaOptions { closed: !self.open, ..options };
            Some(tag_file(file, self.special_text.unwrap_or_default(), options)?)
        } else {
            builtin.map(|Builtin::Json| {
                let constraint = Constraint::json_with(
                    self.whitespace.unwrap_or_default(),
                    self.numbers.unwrap_or_default(),
                );
                let bounds = self.max_objects.zip(self.max_arrays);
                let nesting = bounds.and_then(|(objects, arrays)| JsonNesting::new(objects, arrays));
                let constraint = constraint.nested(nesting);
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
