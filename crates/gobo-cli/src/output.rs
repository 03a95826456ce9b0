//! Output: data to stdout, notes and errors to stderr.
use std::ffi::OsStr;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use clap::ValueEnum;
pub use gobo_types::{grouped, human_bytes};
use indicatif::{ProgressBar, ProgressStyle};
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, reload};

/// How a command ended, for the exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Done; 0.
    Yes,
    /// The answer is no; 1.
    No,
    /// The input was refused; 2.
    Refused,
}

/// How lines of the log are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    #[default]
    Text,
    /// A JSON object each
    Json,
}

/// Changes which lines are written, once logging is set up.
static FILTER: OnceLock<Box<dyn Fn(EnvFilter) -> bool + Send + Sync>> = OnceLock::new();

/// Sends what is logged to stderr, as `filter` says.
///
/// # Errors
/// If the filter is none.
///
/// # Panics
/// If logging was set up before: once in a process.
pub fn log_to_stderr(filter: &str, format: LogFormat) -> Result<(), ParseError> {
    let (filter, handle) = reload::Layer::new(EnvFilter::try_new(filter)?);
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_target(false);
    let lines = match format {
        LogFormat::Text => lines.with_ansi(is_coloured(&io::stderr())).boxed(),
        LogFormat::Json => lines.with_ansi(false).json().flatten_event(true).boxed(),
    };
    tracing_subscriber::registry().with(filter).with(lines).init();
    let _ = FILTER.set(Box::new(move |filter| handle.reload(filter).is_ok()));
    Ok(())
}

/// Changes which lines are written from now on.
///
/// # Errors
/// If the filter is none.
pub fn log_as(filter: &str) -> Result<(), ParseError> {
    let filter = EnvFilter::try_new(filter)?;
    if let Some(change) = FILTER.get() {
        change(filter);
    }
    Ok(())
}

/// The filter of a command: what `GOBO_LOG` says, where that is one, else warnings.
pub fn filter_of_command() -> String {
    let given = std::env::var("GOBO_LOG").ok();
    given.filter(|filter| EnvFilter::try_new(filter).is_ok()).unwrap_or_else(|| "warn".to_owned())
}

/// Whether a stream is a terminal of somebody who has not set `NO_COLOR` (<https://no-color.org>).
pub fn is_coloured(stream: &impl IsTerminal) -> bool {
    wants_colour(stream.is_terminal(), std::env::var_os("NO_COLOR").as_deref())
}

/// An empty `NO_COLOR` counts as none.
fn wants_colour(is_terminal: bool, no_color: Option<&OsStr>) -> bool {
    is_terminal && no_color.is_none_or(OsStr::is_empty)
}

/// Writes a line of data to stdout.
///
/// # Errors
/// If stdout is closed or full.
pub fn line(text: impl Display) -> anyhow::Result<()> {
    writeln!(io::stdout().lock(), "{text}")?;
    Ok(())
}

/// Writes a note for a person to stderr. A closed stderr is no error.
pub fn note(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Microseconds in the unit a person would use, rounded to three digits.
pub fn human_us(us: u64) -> String {
    const UNITS: [&str; 3] = ["us", "ms", "s"];
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let mut number = us as f64;
    let mut unit = 0;
    // What would be rounded to 1,000 of a unit is one of the next.
    while number >= 999.5 && unit < UNITS.len() - 1 {
        number /= 1_000.0;
        unit += 1;
    }
    let decimals = match number {
        _ if unit == 0 => 0,
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{number:.decimals$} {}", UNITS[unit])
}

/// A bar on stderr; nothing where no person watches.
pub fn progress(len: usize, what: &str) -> ProgressBar {
    let bar = ProgressBar::new(len as u64).with_message(what.to_owned());
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {per_sec} eta {eta}");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// Columns of a table: those of the narrowest terminals.
const TABLE_WIDTH: usize = 80;

/// Rows under a heading, columns as wide as their widest cell; numbers, which all but the first column hold, to the right.
/// A first cell with which its row would be too wide for a terminal stands on a line of its own.
pub fn table(heading: &[&str], rows: &[Vec<String>]) -> String {
    let length = |cell: &str| cell.chars().count();
    let widest = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| length(cell));
        cells.chain([length(heading[column])]).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = (0..heading.len()).map(widest).collect();
    let beside: usize = widths.iter().skip(1).map(|width| width + 2).sum();
    if let Some(first) = widths.first_mut() {
        *first = (*first).min(TABLE_WIDTH.saturating_sub(beside).max(length(heading[0])));
    }
    let mut out = String::new();
    let mut push = |cells: &mut dyn Iterator<Item = &str>| {
        let cells =
            cells.zip(widths.iter().copied()).enumerate().map(|(column, (cell, width))| match column {
                0 if length(cell) > width => format!("{cell}\n{:width$}", ""),
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
        let line = cells.collect::<Vec<_>>().join("  ");
        out.push_str(line.trim_end());
        out.push('\n');
    };
    push(&mut heading.iter().copied());
    for row in rows {
        push(&mut row.iter().map(String::as_str));
    }
    out.pop();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_coloured_unless_somebody_wants_none() {
        let set = |value: &'static str| Some(OsStr::new(value));
        assert!(wants_colour(true, None) && wants_colour(true, set("")));
        assert!(!wants_colour(true, set("1")) && !wants_colour(true, set("0")));
        assert!(!wants_colour(false, None) && !wants_colour(false, set("")));
    }

    #[test]
    fn times_have_three_digits() {
        for (us, text) in [
            (0, "0 us"),
            (999, "999 us"),
            (1_000, "1.00 ms"),
            (1_234, "1.23 ms"),
            (9_996, "10.0 ms"),
            (12_345, "12.3 ms"),
            (99_960, "100 ms"),
            (123_456, "123 ms"),
            (999_600, "1.00 s"),
            (65_432_100, "65.4 s"),
            (3_600_000_000, "3600 s"),
        ] {
            assert_eq!(human_us(us), text, "{us}");
        }
    }

    #[test]
    fn a_table_fits_a_terminal() {
        let rows =
            [vec!["a".into(), "1".into(), "22".into()], vec!["b".repeat(90), "333".into(), "4".into()]];
        let text = table(&["name", "n", "more"], &rows);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[0].starts_with("name ") && lines[0].ends_with("    n  more"), "{text}");
        assert_eq!(lines[2], rows[1][0]);
        assert!(lines[3].ends_with(" 333     4") && lines[3].len() == TABLE_WIDTH, "{text}");
        let narrow = table(&["name", "n", "more"], &rows[..1]);
        assert_eq!(narrow, "name  n  more\na     1    22");
    }
}
