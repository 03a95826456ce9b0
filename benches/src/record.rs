//! All figures of a run, and the file that keeps them.

use gobo_measure::Origin;
use gobo_measure::csv::{Csv, number};
use gobo_measure::dots::Mark;
use gobo_measure::origin::commit;
use gobo_types::COMPILER_EPOCH;

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

    /// What a picture shows of a figure, with the 99th percentile that `p99` takes of it.
    pub fn mark(&self, at: (&str, &str, &str), measure: &str, p99: impl Fn(&Spread) -> Option<f64>) -> Mark {
        match self.row(at, measure).map(|row| &row.figure) {
            Some(Ok(spread)) => Mark::Time { p50: spread.p50, p99: p99(spread) },
            Some(Err(reason)) => Mark::failed(reason),
            None => Mark::Absent,
        }
    }

    /// As [`Record::mark`], of failures alone.
    pub fn failure(&self, at: (&str, &str, &str), measure: &str) -> Mark {
        match self.mark(at, measure, |_| None) {
            Mark::Time { .. } => Mark::Absent,
            mark => mark,
        }
    }

    /// The vocabularies, in order.
    pub fn vocabularies(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.rows.iter().map(|row| &*row.vocabulary).collect();
        names.dedup();
        names
    }

    /// As a file: a line on where it comes from, then a line for each figure.
    pub fn csv(&self, origin: &Origin) -> String {
        let mut csv = Csv::new(&origin.to_string(), &COLUMNS);
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

/// Where a record of this run comes from: of `program` with these arguments.
pub fn origin(program: &str, words: &[String], machine: Option<&str>) -> Origin {
    let command = format!("cargo run --release --bin {program} -- {}", words.join(" "));
    origin_of(command.trim_end().to_owned(), machine)
}

/// Where a record of this checkout comes from: of this command.
pub fn origin_of(command: String, machine: Option<&str>) -> Origin {
    Origin::today(Some(&commit()), machine, COMPILER_EPOCH, command)
}

/// The version of a linked package, from the lock file.
pub fn version_of(package: &str) -> &'static str {
    let lock = include_str!("../Cargo.lock");
    let entry = lock.split(&format!("name = \"{package}\"\nversion = \"")).nth(1);
    entry.and_then(|rest| rest.split('"').next()).unwrap_or_default()
}
