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
        for entry in Walk::new(paths, options, grammars)? {
            match entry {
                Ok(entry) => library.entries.push(entry),
                Err(unreadable) => library.unreadable.push(unreadable),
            }
        }
        Ok(library)
    }
}

/// The lines of a file, with their numbers.
type Lines<'a> = Box<dyn Iterator<Item = (usize, anyhow::Result<Case>)> + 'a>;

/// What is still to be read.
enum Step<'a> {
    Path(PathBuf),
    Lines(String, Lines<'a>),
}

/// The entries of a library one by one, in their order: of a file of lines no more than one is in memory.
pub(crate) struct Walk<'a> {
    /// The last is read next.
    steps: Vec<Step<'a>>,
    options: &'a SchemaOptions,
    grammars: GrammarDefaults,
}

impl<'a> Walk<'a> {
    /// As [`Library::read`].
    ///
    /// # Errors
    /// As there.
    pub(crate) fn new(
        paths: &[PathBuf],
        options: &'a SchemaOptions,
        grammars: GrammarDefaults,
    ) -> anyhow::Result<Self> {
        for path in paths {
            path.metadata().with_context(|| format!("cannot read {}", path.display()))?;
            if !path.is_dir() && kind(path).is_none() {
                bail!(
                    "{}: a library is made of .jsonl, .jsonl.zst, .regex, .choice, .gbnf, .ebnf, .lark and .schema.json files",
                    path.display()
                );
            }
        }
        let steps = paths.iter().rev().cloned().map(Step::Path).collect();
        Ok(Self { steps, options, grammars })
    }

    /// A constraint, or `None` where the steps of a folder or of a file of lines have taken the place of a path.
    fn open(&mut self, path: &Path, id: &str) -> anyhow::Result<Option<Entry>> {
        if path.is_dir() {
            let listing = path.read_dir().context("cannot list the folder")?;
            let mut below: Vec<PathBuf> =
                listing.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
            below.sort();
            let is_part = |path: &PathBuf| path.is_dir() || kind(path).is_some();
            self.steps.extend(below.into_iter().rev().filter(is_part).map(Step::Path));
            return Ok(None);
        }
        if matches!(kind(path), Some("jsonl" | "jsonl.zst")) {
            let lines = Case::each_of(path, self.options, self.grammars)?;
            self.steps.push(Step::Lines(id.to_owned(), Box::new(lines)));
            return Ok(None);
        }
        let constraint = constraint(path, self.options, self.grammars)?;
        Ok(Some(Entry { id: id.to_owned(), constraint }))
    }
}

impl Iterator for Walk<'_> {
    type Item = Result<Entry, Unreadable>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.steps.pop()? {
                Step::Path(path) => {
                    let id = path.display().to_string();
                    match self.open(&path, &id) {
                        Ok(None) => {}
                        Ok(Some(entry)) => return Some(Ok(entry)),
                        Err(error) => return Some(Err(Unreadable { id, error })),
                    }
                }
                Step::Lines(name, mut lines) => {
                    let Some((number, case)) = lines.next() else { continue };
                    let entry = match case {
                        Ok(case) => Ok(Entry { id: case.id, constraint: case.constraint }),
                        Err(error) => Err(Unreadable { id: format!("{name}:{number}"), error }),
                    };
                    self.steps.push(Step::Lines(name, lines));
                    return Some(entry);
                }
            }
        }
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
    let kinds = ["jsonl", "jsonl.zst", "regex", "choice", "gbnf", "ebnf", "lark", "schema.json"];
    let stem = |kind: &str| name.strip_suffix(kind)?.strip_suffix('.');
    kinds.into_iter().find(|&kind| stem(kind).is_some_and(|stem| !stem.is_empty()))
}
