//! The newest record of each kind.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gobo_measure::{Origin, Table};

/// A record: a table of figures, and what a person is shown of them.
pub(super) struct Record {
    /// From the root of the repository.
    pub(super) path: String,
    pub(super) origin: Origin,
    pub(super) table: Table,
    /// The report in markdown that stands beside the table; empty where there is none.
    pub(super) report: String,
}

impl Record {
    /// Median of a row in the tables of `benches`.
    pub(super) fn p50(&self, at: [&str; 3], measure: &str) -> Option<f64> {
        self.figure(at, measure, "p50")
    }

    /// A part of the figure of a vocabulary, constraint and contestant.
    pub(super) fn figure(&self, at: [&str; 3], measure: &str, part: &str) -> Option<f64> {
        self.row(at, measure)?.number(part)
    }

    /// Why there is no such figure.
    pub(super) fn note(&self, at: [&str; 3], measure: &str) -> Option<&str> {
        self.row(at, measure)?.get("note")
    }

    fn row(
        &self,
        [vocabulary, constraint, contestant]: [&str; 3],
        measure: &str,
    ) -> Option<gobo_measure::csv::Fields<'_>> {
        self.table.find(&[
            ("vocabulary", vocabulary),
            ("constraint", constraint),
            ("contestant", contestant),
            ("measure", measure),
        ])
    }

    /// The values of a column, each once, in their order.
    pub(super) fn values(&self, column: &str) -> Vec<&str> {
        let mut values: Vec<&str> = Vec::new();
        for row in self.table.rows() {
            values.extend(row.get(column).filter(|value| !values.contains(value)));
        }
        values
    }

    /// The figures in the comments of `gobo-bench`: name, value, unit, target, verdict.
    pub(super) fn comments(&self) -> impl Iterator<Item = [&str; 5]> {
        self.table.comments.iter().filter_map(|comment| {
            let fields: Vec<&str> = comment.split(',').collect();
            <[&str; 5]>::try_from(fields).ok().filter(|fields| fields[1].parse::<f64>().is_ok())
        })
    }

    /// `epoch 7`, with a remark where the compiler has changed since.
    pub(super) fn epoch(&self) -> String {
        let (of, now) = (self.origin.compiler_epoch, gobo_types::COMPILER_EPOCH);
        if of == now { format!("epoch {of}") } else { format!("epoch {of} (now {now})") }
    }
}

/// The newest records, by kind: `table`, `load` …
pub(super) struct Records(pub(super) BTreeMap<String, Record>);

impl Records {
    /// Reads `benches/record` below the root of the repository. A kind's newest record is that of the latest date; of one date,
    /// the one whose path is last.
    pub(super) fn newest(root: &Path) -> Self {
        let mut records: BTreeMap<String, Record> = BTreeMap::new();
        for path in files_below(&root.join("benches/record")) {
            let Some((kind, text)) = kind(&path).zip(std::fs::read_to_string(&path).ok()) else { continue };
            let Some(origin) = text.lines().next().and_then(Origin::parse) else { continue };
            if records.get(&kind).is_some_and(|known| known.origin.date > origin.date) {
                continue;
            }
            let report = std::fs::read_to_string(path.with_extension("md")).unwrap_or_default();
            let path = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            records.insert(kind, Record { path, origin, table: Table::parse(&text), report });
        }
        Self(records)
    }

    pub(super) fn of(&self, kind: &str) -> &Record {
        self.0.get(kind).unwrap_or_else(|| panic!("no record of {kind} in benches/record"))
    }
}

/// `load` of `2026-11-22-load.csv`.
fn kind(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.strip_suffix(".csv")?;
    let (date, kind) = name.split_at_checked(11)?;
    let is_date = date.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    (is_date && !kind.is_empty()).then(|| kind.to_owned())
}

/// All files below a folder, in the order of their paths.
pub(super) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}
