//! What a load test says: rows of times, figures beside their targets, and what was left out.
use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use hdrhistogram::Histogram;
use serde_json::json;

use super::measure::{COLUMNS, Measured, micros};
use super::plot;
use crate::args::{Global, OutArgs};
use crate::output::{self, Outcome};

/// What stands behind the columns of `gobo bench hit`.
const MORE_COLUMNS: [&str; 3] = ["skipped", "per_s", "floor_per_s"];

/// The times of one kind of call.
pub(super) struct Row {
    pub(super) name: String,
    /// Calls, the failed ones included and the skipped ones not.
    pub(super) n: u64,
    pub(super) failed: u64,
    /// Calls that could not leave at their moment.
    pub(super) skipped: u64,
    /// Nanoseconds of the calls that did not fail.
    pub(super) times: Histogram<u64>,
    /// Nanoseconds of what they are compared with.
    pub(super) floor: Option<Histogram<u64>>,
    /// Calls a second, where they were as many as could be.
    pub(super) per_s: Option<f64>,
    pub(super) floor_per_s: Option<f64>,
    /// Whether its calls may fail: those that a daemon is attacked with.
    pub(super) may_fail: bool,
}

impl Row {
    pub(super) fn new(name: &str, n: u64, failed: u64, times: Histogram<u64>) -> Self {
        let name = name.to_owned();
        Self {
            name,
            n,
            failed,
            skipped: 0,
            times,
            floor: None,
            per_s: None,
            floor_per_s: None,
            may_fail: false,
        }
    }

    /// A percentile in microseconds.
    pub(super) fn us(&self, quantile: f64) -> f64 {
        micros(self.times.value_at_quantile(quantile))
    }

    /// Microseconds, in the order of [`COLUMNS`] behind the counts.
    fn times_us(&self) -> [Option<f64>; 6] {
        let times = |quantile| Some(self.us(quantile));
        let floor = |quantile| Some(micros(self.floor.as_ref()?.value_at_quantile(quantile)));
        [times(0.5), times(0.99), times(0.999), Some(micros(self.times.max())), floor(0.5), floor(0.99)]
    }

    fn cells(&self, decimals: usize) -> Vec<String> {
        let number =
            |number: Option<f64>, decimals| number.map_or(String::new(), |us| format!("{us:.decimals$}"));
        let counts = [self.name.clone(), self.n.to_string(), self.failed.to_string()];
        let times = self.times_us().map(|us| number(us, decimals));
        let more = [self.skipped.to_string(), number(self.per_s, 1), number(self.floor_per_s, 1)];
        counts.into_iter().chain(times).chain(more).collect()
    }
}

impl From<Measured> for Row {
    fn from(measured: Measured) -> Self {
        let mut row = Self::new(measured.name, measured.n, measured.failed, measured.hits);
        row.floor = Some(measured.floor);
        row
    }
}

/// What a figure should be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Target {
    /// A wish: a machine that is slow or busy misses it, and nobody fails for that.
    AtMost(f64),
    /// A wish too.
    AtLeast(f64),
    /// A promise, which holds on every machine.
    Exactly(f64),
}

impl Target {
    #[expect(clippy::float_cmp, reason = "promises are about counts")]
    fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtMost(limit) => value <= limit,
            Self::AtLeast(limit) => value >= limit,
            Self::Exactly(wanted) => value == wanted,
        }
    }

    fn parts(self) -> (&'static str, f64) {
        match self {
            Self::AtMost(value) => ("at_most", value),
            Self::AtLeast(value) => ("at_least", value),
            Self::Exactly(value) => ("exactly", value),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, value) = self.parts();
        write!(f, "{} {value}", word.replace('_', " "))
    }
}

/// One number that a table of times has no column for.
#[derive(Debug)]
pub(super) struct Figure {
    name: String,
    value: f64,
    unit: &'static str,
    target: Option<Target>,
}

impl Figure {
    /// Whether the target is met; `None` without one.
    fn is_met(&self) -> Option<bool> {
        self.target.map(|target| target.is_met(self.value))
    }

    fn verdict(&self) -> &'static str {
        match (self.is_met(), self.target) {
            (None, _) => "",
            (Some(true), _) => "met",
            (Some(false), Some(Target::Exactly(_))) => "BROKEN",
            (Some(false), _) => "missed",
        }
    }
}

/// Where a report is written beside stdout; opened before the measuring, so that what cannot be written is known early.
pub(super) struct Out {
    csv: Option<File>,
    svg: Option<File>,
}

impl Out {
    pub(super) fn create(args: &OutArgs) -> anyhow::Result<Self> {
        let create =
            |path: &PathBuf| File::create(path).with_context(|| format!("cannot write {}", path.display()));
        Ok(Self {
            csv: args.csv.as_ref().map(create).transpose()?,
            svg: args.svg.as_ref().map(create).transpose()?,
        })
    }
}

/// All that a run has to say.
#[derive(Default)]
pub(super) struct Report {
    rows: Vec<Row>,
    figures: Vec<Figure>,
    left_out: Vec<(&'static str, String)>,
    summary: Summary,
}

/// The essence of a long report, for a person: it stands below the tables, and says nothing that they do not.
#[derive(Default)]
struct Summary {
    heading: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Report {
    pub(super) fn row(&mut self, row: Row) -> &Row {
        self.rows.push(row);
        &self.rows[self.rows.len() - 1]
    }

    /// A figure without a target.
    pub(super) fn figure(&mut self, name: impl Into<String>, value: f64, unit: &'static str) {
        self.figures.push(Figure { name: name.into(), value, unit, target: None });
    }

    pub(super) fn target(&mut self, name: impl Into<String>, value: f64, unit: &'static str, target: Target) {
        self.figures.push(Figure { name: name.into(), value, unit, target: Some(target) });
    }

    /// A line of the summary. The heading is that of all lines.
    pub(super) fn summary(&mut self, heading: &[&'static str], cells: Vec<String>) {
        self.summary.heading = heading.to_vec();
        self.summary.rows.push(cells);
    }

    /// What was asked for and could not be done here, and why.
    pub(super) fn leave_out(&mut self, name: &'static str, why: impl Into<String>) {
        let why = why.into();
        output::note(format_args!("{name} is left out: {why}"));
        self.left_out.push((name, why));
    }

    /// Prints everything. [`Outcome::No`] for a failed call and for a broken promise.
    pub(super) fn finish(self, global: &Global, title: &str, mut out: Out) -> anyhow::Result<Outcome> {
        if let Some(csv) = &mut out.csv {
            csv.write_all(self.csv().as_bytes()).context("cannot write the CSV file")?;
        }
        if let Some(svg) = &mut out.svg {
            svg.write_all(plot::percentiles(title, &self.rows).as_bytes())
                .context("cannot write the SVG file")?;
        }
        if global.json {
            self.print_json()?;
        } else {
            self.print_table()?;
        }
        let has_failed = self.rows.iter().any(|row| row.failed > 0 && !row.may_fail);
        let is_promise = |figure: &&Figure| matches!(figure.target, Some(Target::Exactly(_)));
        let is_broken = self.figures.iter().filter(is_promise).any(|figure| figure.is_met() == Some(false));
        Ok(if has_failed || is_broken { Outcome::No } else { Outcome::Yes })
    }

    fn csv(&self) -> String {
        let mut text = COLUMNS.iter().chain(&MORE_COLUMNS).copied().collect::<Vec<_>>().join(",") + "\n";
        self.rows.iter().for_each(|row| text += &(row.cells(3).join(",") + "\n"));
        for figure in &self.figures {
            let Figure { name, value, unit, target } = figure;
            let target = target.map_or(String::new(), |target| target.to_string());
            let _ = writeln!(text, "# {name},{value:.3},{unit},{target},{}", figure.verdict());
        }
        for (name, why) in &self.left_out {
            let _ = writeln!(text, "# {name} is left out: {why}");
        }
        text
    }

    fn print_json(&self) -> anyhow::Result<()> {
        for row in &self.rows {
            let mut printed = json!({"name": row.name, "n": row.n, "failed": row.failed});
            for (column, us) in COLUMNS[3..].iter().zip(row.times_us()) {
                printed[*column] = json!(us);
            }
            let more = [json!(row.skipped), json!(row.per_s), json!(row.floor_per_s)];
            MORE_COLUMNS.iter().zip(more).for_each(|(column, value)| printed[*column] = value);
            output::line(printed)?;
        }
        for figure in &self.figures {
            let parts = figure.target.map(Target::parts);
            output::line(json!({
                "figure": figure.name, "value": figure.value, "unit": figure.unit,
                "goal": parts.map(|(word, _)| word), "target": parts.map(|(_, value)| value),
                "met": figure.is_met(),
            }))?;
        }
        self.left_out.iter().try_for_each(|(name, why)| output::line(json!({"left_out": name, "why": why})))
    }

    fn print_table(&self) -> anyhow::Result<()> {
        let heading: Vec<&str> = COLUMNS.iter().chain(&MORE_COLUMNS).copied().collect();
        let rows: Vec<Vec<String>> = self.rows.iter().map(|row| row.cells(2)).collect();
        if !rows.is_empty() {
            output::line(output::table(&heading, &rows))?;
        }
        if self.figures.is_empty() {
            return Ok(());
        }
        let cells = |figure: &Figure| {
            let target = figure.target.map_or(String::new(), |target| target.to_string());
            let value = format!("{:.2}", figure.value);
            vec![figure.name.clone(), value, figure.unit.to_owned(), target, figure.verdict().to_owned()]
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
    use super::super::measure::histogram;
    use super::*;

    fn row(failed: u64) -> Row {
        let mut times = histogram().unwrap();
        (1..=1000).for_each(|us| times.record(us * 1000).unwrap());
        Row::new("some", 1000, failed, times)
    }

    #[test]
    fn a_row_without_floor_has_empty_cells_and_as_many_columns() {
        let cells = row(0).cells(1);
        assert_eq!(cells.len(), COLUMNS.len() + MORE_COLUMNS.len());
        assert_eq!(cells[..3], ["some", "1000", "0"]);
        assert_eq!(cells[7..], ["", "", "0", "", ""]);
        let p50: f64 = cells[3].parse().unwrap();
        assert!((499.0..=502.0).contains(&p50), "{p50}");
    }

    #[test]
    fn failed_calls_and_broken_promises_are_a_no_and_missed_wishes_are_not() {
        let global = crate::args::Global::default();
        let finish = |report: Report| report.finish(&global, "", Out { csv: None, svg: None }).unwrap();
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
