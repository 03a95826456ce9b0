//! All figures of a run, and the file that keeps them.

use std::process::Command;

use gobo_measure::csv::{Csv, number};

use crate::spread::Spread;

/// Columns of the file.
const COLUMNS: [&str; 9] =
    ["vocabulary", "constraint", "contestant", "measure", "n", "min", "p50", "p99", "note"];

/// One figure, or why there is none.
#[derive(Debug, Clone)]
pub struct Row {
    pub vocabulary: String,
    pub constraint: String,
    pub contestant: String,
    /// With its unit: `compile_ns`, `file_bytes`.
    pub measure: String,
    pub figure: Result<Spread, String>,
}

/// Everything measured, in order.
#[derive(Debug, Default)]
pub struct Record {
    pub rows: Vec<Row>,
}

impl Record {
    pub fn push(&mut self, at: (&str, &str, &str), measure: &str, figure: Result<Spread, String>) {
        let (vocabulary, constraint, contestant) = at;
        self.rows.push(Row {
            vocabulary: vocabulary.into(),
            constraint: constraint.into(),
            contestant: contestant.into(),
            measure: measure.into(),
            figure,
        });
    }

    /// The row at that place.
    pub fn row(&self, at: (&str, &str, &str), measure: &str) -> Option<&Row> {
        let here = |row: &&Row| (&*row.vocabulary, &*row.constraint, &*row.contestant) == at;
        self.rows.iter().filter(here).find(|row| row.measure == measure)
    }

    /// The figure at that place, if there is one.
    pub fn get(&self, at: (&str, &str, &str), measure: &str) -> Option<Spread> {
        self.row(at, measure)?.figure.as_ref().ok().copied()
    }

    /// The vocabularies, in order.
    pub fn vocabularies(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.rows.iter().map(|row| &*row.vocabulary).collect();
        names.dedup();
        names
    }

    /// As a file: a line on where it comes from, then a line for each figure.
    pub fn csv(&self, origin: &str) -> String {
        let mut csv = Csv::new(origin, &COLUMNS);
        for Row { vocabulary, constraint, contestant, measure, figure } in &self.rows {
            let place = [vocabulary, constraint, contestant, measure].map(Clone::clone);
            let figure = match figure {
                Ok(Spread { n, min, p50, p99 }) => {
                    let [min, p50, p99] = [min, p50, p99].map(|value| number(Some(*value), 1));
                    [n.to_string(), min, p50, p99, String::new()]
                }
                Err(note) => {
                    let note = format!("\"{}\"", note.replace('"', "'"));
                    [String::new(), String::new(), String::new(), String::new(), note]
                }
            };
            csv.row(place.into_iter().chain(figure));
        }
        csv.finish()
    }
}

/// What a command prints, trimmed; empty if it cannot be run.
pub fn output_of(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}

/// The short commit, marked where the product's own tree is not as committed.
pub fn commit() -> String {
    output_of("git", &["describe", "--always", "--dirty", "--exclude", "*"])
}

/// The version of a linked package, from the lock file.
pub fn version_of(package: &str) -> &'static str {
    let lock = include_str!("../Cargo.lock");
    let entry = lock.split(&format!("name = \"{package}\"\nversion = \"")).nth(1);
    entry.and_then(|rest| rest.split('"').next()).unwrap_or_default()
}

/// The load average over the last minute: on a machine without neighbours it stays at about one.
pub fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().into()
}
