use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail};
use gobo_types::{CompileError, Constraint, DEFAULT_START, MatchMode, SchemaOptions};
use serde_json::json;

use crate::args::{Global, PrewarmArgs};
use crate::backend::{Backend, Warmed};
use crate::cases::Case;
use crate::inputs::{self, schema_file};
use crate::output::{self, Outcome, grouped, progress};

/// Counts of constraints by their outcome.
#[derive(Debug, Default, Clone)]
pub(crate) struct Tally {
    pub(crate) done: u64,
    pub(crate) hits: u64,
    pub(crate) compiled: u64,
    pub(crate) refused: u64,
    pub(crate) over_budget: u64,
    pub(crate) unavailable: u64,
    pub(crate) failed: u64,
}

impl Tally {
    pub(crate) fn count(&mut self, warmed: &Warmed) {
        self.done += 1;
        *match warmed {
            Ok(true) => &mut self.hits,
            Ok(false) => &mut self.compiled,
            Err(CompileError::Refused(_)) => &mut self.refused,
            Err(CompileError::OverBudget(_)) => &mut self.over_budget,
            Err(CompileError::Unavailable { .. }) => &mut self.unavailable,
            Err(_) => &mut self.failed,
        } += 1;
    }
}

/// One entry of a library: its name, and its constraint.
type Entry = (String, Constraint);

/// The constraints of a file or, in the order of their names, of all files below a folder.
fn read(path: &Path, options: &SchemaOptions, entries: &mut Vec<Entry>) -> anyhow::Result<()> {
    if path.is_dir() {
        let listing = std::fs::read_dir(path).with_context(|| format!("cannot list {}", path.display()))?;
        let mut below: Vec<PathBuf> =
            listing.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
        below.sort();
        for path in below.iter().filter(|path| path.is_dir() || kind(path).is_some()) {
            read(path, options, entries)?;
        }
        return Ok(());
    }
    let name = || path.display().to_string();
    match kind(path) {
        Some("jsonl") => {
            entries.extend(Case::read_all(path, options)?.into_iter().map(|case| (case.id, case.constraint)));
        }
        Some("regex") => {
            let text =
                std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            let pattern = text.strip_suffix('\n').unwrap_or(&text);
            entries.push((name(), inputs::regex(pattern, MatchMode::Full).constraint));
        }
        Some("choice") => entries.push((name(), inputs::choice_file(path)?.constraint)),
        Some("gbnf") => entries.push((name(), inputs::grammar_file(path, DEFAULT_START)?.constraint)),
        Some("schema.json") => entries.push((name(), schema_file(path, options.clone())?.constraint)),
        _ => bail!(
            "{}: a library is made of .jsonl, .regex, .choice, .gbnf and .schema.json files",
            path.display()
        ),
    }
    Ok(())
}

/// The kind of constraint in a file, by the end of its name; `None` for a file that is no part of a library.
fn kind(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?;
    let kinds = ["jsonl", "regex", "choice", "gbnf", "schema.json"];
    let stem = |kind: &str| name.strip_suffix(kind)?.strip_suffix('.');
    kinds.into_iter().find(|&kind| stem(kind).is_some_and(|stem| !stem.is_empty()))
}

pub(crate) fn run(global: &Global, args: &PrewarmArgs) -> anyhow::Result<Outcome> {
    let options = args.defaults.options()?;
    let mut entries = Vec::new();
    for path in &args.paths {
        read(path, &options, &mut entries)?;
    }
    let (ids, constraints): (Vec<String>, Vec<Constraint>) = entries.into_iter().unzip();
    let backend = Backend::open(global)?;
    let begun = Instant::now();
    let mut rows = Vec::new();
    let mut total = Tally::default();
    let mut problems = Vec::new();
    for tokenizer in &args.tokenizer {
        let name = backend.name_of(tokenizer)?;
        let mut tally = Tally::default();
        let bar = progress(constraints.len(), &name);
        backend.prewarm(&name, &constraints, |position, warmed| {
            tally.count(&warmed);
            bar.inc(1);
            if let Err(verdict) = warmed {
                problems.push((name.clone(), ids[position].clone(), verdict.to_string()));
            }
        })?;
        bar.finish_and_clear();
        let of = |tally: &Tally| {
            [
                tally.done,
                tally.hits,
                tally.compiled,
                tally.refused,
                tally.over_budget,
                tally.unavailable,
                tally.failed,
            ]
        };
        rows.push(std::iter::once(name).chain(of(&tally).map(grouped)).collect());
        total = Tally {
            done: total.done + tally.done,
            hits: total.hits + tally.hits,
            compiled: total.compiled + tally.compiled,
            refused: total.refused + tally.refused,
            over_budget: total.over_budget + tally.over_budget,
            unavailable: total.unavailable + tally.unavailable,
            failed: total.failed + tally.failed,
        };
    }
    let seconds = begun.elapsed().as_secs_f64();
    for (name, id, reason) in &problems {
        output::note(format_args!("{name}: {id}: {reason}"));
    }
    if global.json {
        output::line(json!({
            "done": total.done, "hits": total.hits, "compiled": total.compiled, "refused": total.refused,
            "over_budget": total.over_budget, "unavailable": total.unavailable, "failed": total.failed,
            "seconds": seconds,
        }))?;
    } else {
        let heading =
            ["vocabulary", "done", "hits", "compiled", "refused", "over budget", "unavailable", "failed"];
        output::line(output::table(&heading, &rows))?;
        output::note(format_args!("{seconds:.2} s"));
    }
    Ok(if total.failed == 0 && total.unavailable == 0 { Outcome::Yes } else { Outcome::No })
}
