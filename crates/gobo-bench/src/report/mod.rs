//! Reports: rows of times ([`Row`]), figures beside their targets, and what was left out; as a table, as JSON lines, as a CSV
//! file and as a picture of percentiles.
//!
//! The exit status follows from the report: a failed call or a broken promise is a *no*; a missed wish is not
//! ([`gobo_measure::target`]).
pub(crate) mod histogram;
mod percentiles;
mod row;

use std::fs::File;
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use gobo_cli::options::Global;
use gobo_cli::output::{self, Outcome};
use gobo_measure::origin::load_average;
use gobo_measure::{Csv, Origin, Target, Verdict};
use gobo_types::COMPILER_EPOCH;
use serde_json::json;

pub(crate) use self::row::Row;
use self::row::{COLUMNS, LOAD_COLUMNS};

/// A number that belongs to no row.
#[derive(Debug)]
pub(crate) struct Figure {
    name: String,
    value: f64,
    unit: &'static str,
    target: Option<Target>,
}

impl Figure {
    /// `None` without a target.
    fn verdict(&self) -> Option<Verdict> {
        self.target.map(|target| target.verdict(self.value))
    }

    /// The target and the verdict as text; empty without a target.
    fn cells(&self) -> [String; 2] {
        let target = self.target.map_or_else(String::new, |target| target.to_string());
        [target, self.verdict().map_or("", Verdict::name).to_owned()]
    }
}

/// The files that a report is written to besides stdout, and what they say of their origin. Files are created before the
/// measurement, so that errors are known early.
pub(crate) struct Out {
    csv: Option<File>,
    svg: Option<File>,
    origin: Origin,
    load_before: String,
}

impl Out {
    /// Creates those files that are named. Their origin is that of this command, at `commit` on `machine`.
    pub(crate) fn create(
        csv: Option<&Path>,
        svg: Option<&Path>,
        (commit, machine): (Option<&str>, Option<&str>),
    ) -> anyhow::Result<Self> {
        let create =
            |path: &Path| File::create(path).with_context(|| format!("cannot write {}", path.display()));
        Ok(Self {
            csv: csv.map(create).transpose()?,
            svg: svg.map(create).transpose()?,
            origin: Origin::today(commit, machine, COMPILER_EPOCH, command(std::env::args())),
            load_before: load_average(),
        })
    }
}

/// The command that repeats a run: without where its report goes and what that says of its origin.
fn command(args: impl IntoIterator<Item = String>) -> String {
    const OUT: [&str; 4] = ["--csv", "--svg", "--commit", "--machine"];
    let mut words = vec!["gobo-bench".to_owned()];
    let mut args = args.into_iter().skip(1);
    while let Some(word) = args.next() {
        if OUT.contains(&word.as_str()) {
            args.next();
        } else if !OUT
            .iter()
            .any(|option| word.strip_prefix(option).is_some_and(|rest| rest.starts_with('=')))
        {
            words.push(word);
        }
    }
    words.join(" ")
}

/// Everything that one run found.
#[derive(Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
    figures: Vec<Figure>,
    left_out: Vec<(&'static str, String)>,
    summary: Summary,
    /// The panel of the rows that come next.
    panel: String,
    /// Calls are made one at a time: there are no columns of rates.
    is_alone: bool,
}

/// A short form of a long report, for a person. It is printed below the tables and repeats what they say.
#[derive(Default)]
struct Summary {
    heading: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Report {
    /// A report of calls that are made one at a time, without columns of rates.
    pub(crate) fn of_single_calls() -> Self {
        Self { is_alone: true, ..Self::default() }
    }

    /// Rows that come next are drawn together, under this name.
    pub(crate) fn panel(&mut self, name: impl Into<String>) {
        self.panel = name.into();
    }

    pub(crate) fn row(&mut self, row: Row) -> &Row {
        self.rows.push(Row { panel: self.panel.clone(), ..row });
        &self.rows[self.rows.len() - 1]
    }

    /// A figure without a target.
    pub(crate) fn figure(&mut self, name: impl Into<String>, value: f64, unit: &'static str) {
        self.figures.push(Figure { name: name.into(), value, unit, target: None });
    }

    pub(crate) fn target(&mut self, name: impl Into<String>, value: f64, unit: &'static str, target: Target) {
        self.figures.push(Figure { name: name.into(), value, unit, target: Some(target) });
    }

    /// A line of the summary. The heading is that of all lines.
    pub(crate) fn summary(&mut self, heading: &[&'static str], cells: Vec<String>) {
        self.summary.heading = heading.to_vec();
        self.summary.rows.push(cells);
    }

    /// Notes an experiment that was asked for and cannot be done here, with the reason.
    pub(crate) fn leave_out(&mut self, name: &'static str, why: impl Into<String>) {
        let why = why.into();
        output::note(format_args!("{name} is left out: {why}"));
        self.left_out.push((name, why));
    }

    /// Prints everything and writes the files. [`Outcome::No`] for a failed call and for a broken promise.
    pub(crate) fn finish(self, global: &Global, title: &str, mut out: Out) -> anyhow::Result<Outcome> {
        let load = format!("load average before {}, after {}", out.load_before, load_average());
        let origin = out.origin.noting(load);
        if let Some(csv) = &mut out.csv {
            csv.write_all(self.csv(&origin).as_bytes()).context("cannot write the CSV file")?;
        }
        if let Some(svg) = &mut out.svg {
            svg.write_all(percentiles::draw(title, &origin, &self.rows).as_bytes())
                .context("cannot write the SVG file")?;
        }
        if global.json {
            self.print_json()?;
        } else {
            self.print_table()?;
        }
        let has_failed = self.rows.iter().any(|row| row.failed > 0 && !row.may_fail);
        let is_broken = self.figures.iter().any(|figure| figure.verdict() == Some(Verdict::Broken));
        Ok(if has_failed || is_broken { Outcome::No } else { Outcome::Yes })
    }

    /// The columns of this report.
    fn columns(&self) -> Vec<&'static str> {
        let more: &[&str] = if self.is_alone { &[] } else { &LOAD_COLUMNS };
        COLUMNS.iter().chain(more).copied().collect()
    }

    /// The fields of all rows, times with this many decimals.
    fn cells(&self, decimals: usize) -> Vec<Vec<String>> {
        let columns = self.columns().len();
        let cells = |row: &Row| row.cells(decimals).into_iter().take(columns).collect();
        self.rows.iter().map(cells).collect()
    }

    fn csv(&self, origin: &Origin) -> String {
        let mut csv = Csv::new(&origin.to_string(), &self.columns());
        self.cells(3).iter().for_each(|row| csv.row(row));
        for figure in &self.figures {
            let Figure { name, value, unit, .. } = figure;
            let [target, verdict] = figure.cells();
            csv.comment(format_args!("{name},{value:.3},{unit},{target},{verdict}"));
        }
        for (name, why) in &self.left_out {
            csv.comment(format_args!("{name} is left out: {why}"));
        }
        csv.finish()
    }

    fn print_json(&self) -> anyhow::Result<()> {
        for row in &self.rows {
            let mut printed = json!({"name": row.name, "n": row.n, "failed": row.failed});
            for (column, us) in COLUMNS[3..].iter().zip(row.times_us()) {
                printed[*column] = json!(us);
            }
            if !self.is_alone {
                let more =
                    [json!(row.skipped), json!(row.per_s), json!(row.floor_per_s), json!(row.seconds())];
                LOAD_COLUMNS.iter().zip(more).for_each(|(column, value)| printed[*column] = value);
            }
            output::line(printed)?;
        }
        for figure in &self.figures {
            let parts = figure.target.map(Target::parts);
            output::line(json!({
                "figure": figure.name, "value": figure.value, "unit": figure.unit,
                "goal": parts.map(|(word, _)| word), "target": parts.map(|(_, value)| value),
                "met": figure.verdict().map(Verdict::is_met),
            }))?;
        }
        self.left_out.iter().try_for_each(|(name, why)| output::line(json!({"left_out": name, "why": why})))
    }

    fn print_table(&self) -> anyhow::Result<()> {
        if !self.rows.is_empty() {
            output::line(output::table(&self.columns(), &self.cells(2)))?;
        }
        if self.figures.is_empty() {
            return Ok(());
        }
        let cells = |figure: &Figure| {
            let [target, verdict] = figure.cells();
            let value = format!("{:.2}", figure.value);
            vec![figure.name.clone(), value, figure.unit.to_owned(), target, verdict]
        };
        let rows: Vec<Vec<String>> = self.figures.iter().map(cells).collect();
        output::line(format_args!("\n{}", output::table(&["figure", "value", "unit", "target", ""], &rows)))?;
        if !self.summary.rows.is_empty() {
            output::line(format_args!("\n{}", output::table(&self.summary.heading, &self.summary.rows)))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::histogram::histogram;
    use super::*;

    fn row(failed: u64) -> Row {
        let mut times = histogram().unwrap();
        (1..=1000).for_each(|us| times.record(us * 1000).unwrap());
        Row::new("some", 1000, failed, times)
    }

    #[test]
    fn a_command_is_repeated_without_its_files() {
        let line =
            "target/gobo-bench load --seconds 30 --csv a.csv --svg=b.svg --commit 12 --machine m --keys 9";
        let command = command(line.split(' ').map(str::to_owned));
        assert_eq!(command, "gobo-bench load --seconds 30 --keys 9");
    }

    #[test]
    fn failed_calls_and_broken_promises_are_a_no_and_missed_wishes_are_not() {
        let global = Global::default();
        let finish = |report: Report| {
            report.finish(&global, "", Out::create(None, None, (None, None)).unwrap()).unwrap()
        };
        let with = |fill: &dyn Fn(&mut Report)| {
            let mut report = Report::default();
            fill(&mut report);
            finish(report)
        };
        assert_eq!(with(&|report| report.target("some", 2.0, "times", Target::AtMost(1.0))), Outcome::Yes);
        assert_eq!(with(&|report| report.target("some", 2.0, "", Target::Exactly(1.0))), Outcome::No);
        let failed = |report: &mut Report| {
            report.row(row(1));
        };
        assert_eq!(with(&failed), Outcome::No);
        let attack = Row { may_fail: true, ..row(1) };
        let mut report = Report::default();
        report.row(attack);
        assert_eq!(finish(report), Outcome::Yes);
    }
}
