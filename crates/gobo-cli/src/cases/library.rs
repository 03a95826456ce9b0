//! A library of constraints: files and folders of them.
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use gobo_types::{Constraint, MatchMode, SchemaOptions};

use super::Case;
use crate::inputs::{self, GrammarDefaults, schema_file};

/// One constraint, by the name it has in its library.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) constraint: Constraint,
}

/// A file, or a line of one, that is no constraint.
#[derive(Debug)]
pub(crate) struct Unreadable {
    /// `PATH` or `PATH:LINE`.
    pub(crate) id: String,
    pub(crate) error: anyhow::Error,
}

/// What was read. One bad entry hides no other.
#[derive(Debug, Default)]
pub(crate) struct Library {
    pub(crate) entries: Vec<Entry>,
    pub(crate) unreadable: Vec<Unreadable>,
}

impl Library {
    /// The constraints of files and, in the order of their names, of all files below folders.
    ///
    /// # Errors
    /// If one of `paths` itself is not there, or is a file of no kind that a library has.
    pub(crate) fn read(
        paths: &[PathBuf],
        options: &SchemaOptions,
        grammars: GrammarDefaults,
    ) -> anyhow::Result<Self> {
        let mut library = Self::default();
        for path in paths {
            path.metadata().with_context(|| format!("cannot read {}", path.display()))?;
            if !path.is_dir() && kind(path).is_none() {
                bail!(
                    "{}: a library is made of .jsonl, .regex, .choice, .gbnf, .ebnf, .lark and .schema.json files",
                    path.display()
                );
            }
            library.add(path, options, grammars);
        }
        Ok(library)
    }

    fn add(&mut self, path: &Path, options: &SchemaOptions, grammars: GrammarDefaults) {
        let id = path.display().to_string();
        let added = if path.is_dir() {
            self.add_folder(path, options, grammars)
        } else if kind(path) == Some("jsonl") {
            self.add_lines(path, &id, options, grammars)
        } else {
            constraint(path, options, grammars).map(|constraint| {
                self.entries.push(Entry { id: id.clone(), constraint });
            })
        };
        if let Err(error) = added {
            self.unreadable.push(Unreadable { id, error });
        }
    }

    fn add_folder(
        &mut self,
        folder: &Path,
        options: &SchemaOptions,
        grammars: GrammarDefaults,
    ) -> anyhow::Result<()> {
        let listing = folder.read_dir().context("cannot list the folder")?;
        let mut below: Vec<PathBuf> =
            listing.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
        below.sort();
        for path in below.iter().filter(|path| path.is_dir() || kind(path).is_some()) {
            self.add(path, options, grammars);
        }
        Ok(())
    }

    fn add_lines(
        &mut self,
        path: &Path,
        name: &str,
        options: &SchemaOptions,
        grammars: GrammarDefaults,
    ) -> anyhow::Result<()> {
        for (number, case) in Case::each_of(path, options, grammars)? {
            match case {
                Ok(case) => self.entries.push(Entry { id: case.id, constraint: case.constraint }),
                Err(error) => self.unreadable.push(Unreadable { id: format!("{name}:{number}"), error }),
            }
        }
        Ok(())
    }
}

/// The constraint of a file that is one.
fn constraint(path: &Path, options: &SchemaOptions, grammars: GrammarDefaults) -> anyhow::Result<Constraint> {
    Ok(match kind(path) {
        Some("choice") => inputs::choice_file(path)?.constraint,
        Some("gbnf" | "ebnf" | "lark") => grammars.file(path)?.constraint,
        Some("schema.json") => schema_file(path, options.clone())?.constraint,
        _ => {
            let text =
                std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            let pattern = text.strip_suffix('\n').unwrap_or(&text);
            inputs::regex(pattern, MatchMode::Full).constraint
        }
    })
}

/// The kind of constraint in a file, by the end of its name; `None` for a file that is no part of a library.
fn kind(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?;
    let kinds = ["jsonl", "regex", "choice", "gbnf", "ebnf", "lark", "schema.json"];
    let stem = |kind: &str| name.strip_suffix(kind)?.strip_suffix('.');
    kinds.into_iter().find(|&kind| stem(kind).is_some_and(|stem| !stem.is_empty()))
}
