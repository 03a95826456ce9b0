//! Constraints from the options and from files: patterns, choice lists, grammars.
use std::path::Path;

use anyhow::{Context, bail};
use gobo_grammar::lark::imported;
use gobo_types::{Constraint, Dialect, GrammarDocument, MatchMode};

use super::given::Given;
use super::schema::schema_file;
use super::text::read_text;
use crate::diagnostics::{Problem, Written};
use crate::options::{Builtin, ConstraintArgs, GrammarArgs, SourceArgs};

/// Most grammars that one grammar imports from a folder, directly or not.
const MAX_IMPORTS: usize = 256;

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
            Some(grammar_file(file, self.start.as_deref(), &self.grammar)?)
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

/// The grammar of a file; where no dialect is given, the ending of its name says how it is written.
///
/// # Errors
/// If the ending names no dialect, a file cannot be read or is no UTF-8, or an import has no file in the folder of imports.
pub fn grammar_file(file: &Path, start: Option<&str>, options: &GrammarArgs) -> anyhow::Result<Given> {
    let ending = file.extension().and_then(|ending| ending.to_str());
    let of_ending = || ending.and_then(|ending| ending.parse::<Dialect>().ok());
    let Some(dialect) = options.dialect.or_else(of_ending) else {
        bail!(
            "{}: the name ends with none of .gbnf, .ebnf, .lark\nhint: say how it is written with --dialect",
            file.display()
        );
    };
    let text = read_text(file)?;
    let documents = match &options.import_dir {
        Some(_) if dialect != Dialect::Lark => bail!("a grammar in {} imports nothing", dialect.name()),
        Some(folder) => imports(&text, folder)?,
        None => Vec::new(),
    };
    let start = start.unwrap_or_else(|| dialect.default_start());
    let constraint = Constraint::grammar(dialect, text.clone(), start, options.lexer, documents);
    Ok(Given { constraint, written: Written::file(file, text) })
}

/// The grammars of a folder that a grammar imports, and those that they import. Names that the folder lacks are left to the reader:
/// they may be built in.
fn imports(grammar: &str, folder: &Path) -> anyhow::Result<Vec<GrammarDocument>> {
    let mut documents: Vec<GrammarDocument> = Vec::new();
    let mut names = imported(grammar, "");
    while let Some(name) = names.pop() {
        let file = folder.join(format!("{name}.lark"));
        if documents.iter().any(|document| document.name == name) || !file.is_file() {
            continue;
        }
        if documents.len() == MAX_IMPORTS {
            bail!("more than {MAX_IMPORTS} grammars are imported");
        }
        let text = read_text(&file)?;
        names.extend(imported(&text, &name));
        documents.push(GrammarDocument { name, text });
    }
    Ok(documents)
}
