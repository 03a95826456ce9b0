//! Output: data to stdout, notes and errors to stderr.
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use crate::diagnostics::{Diagnostic, Problem};
pub use gobo_types::{grouped, human_bytes};
use indicatif::{ProgressBar, ProgressStyle};
use tracing_subscriber::EnvFilter;

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

/// Sends what is logged to stderr: from `level` on, or as `GOBO_LOG` says.
///
/// # Panics
/// If logging was set up before: once in a process.
pub fn log_to_stderr(level: &str) {
    tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_ansi(is_coloured(&io::stderr()))
        .with_env_filter(EnvFilter::try_from_env("GOBO_LOG").unwrap_or_else(|_| level.into()))
        .with_target(false)
        .init();
}

/// Whether a stream is a terminal of somebody who has not set `NO_COLOR` (<https://no-color.org>).
pub fn is_coloured(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty())
}

/// The exit status of a command; an error is written to stderr.
pub fn exit_code(outcome: anyhow::Result<Outcome>) -> ExitCode {
    match outcome {
        Ok(Outcome::Yes) => ExitCode::SUCCESS,
        Ok(Outcome::No) => ExitCode::from(1),
        Ok(Outcome::Refused) => ExitCode::from(2),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            ExitCode::from(2)
        }
    }
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

/// Writes an error with its sources to stderr.
pub fn complain(error: &anyhow::Error) {
    if let Some(problem) = error.downcast_ref::<Problem>() {
        Diagnostic::of_problem(problem).print();
        return;
    }
    note(format_args!("error: {error}"));
    for source in error.chain().skip(1) {
        note(format_args!("  caused by: {source}"));
    }
}

/// Whether stdout was closed by its reader, as `head` does: no error of ours.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<io::Error>();
    io.is_some_and(|io| io.kind() == io::ErrorKind::BrokenPipe)
}

/// Microseconds in the unit a person would use.
pub fn human_us(us: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let us = us as f64;
    match us {
        us if us < 1_000.0 => format!("{us:.0} us"),
        us if us < 1_000_000.0 => format!("{:.2} ms", us / 1_000.0),
        us => format!("{:.2} s", us / 1_000_000.0),
    }
}

/// A bar on stderr; nothing where no person watches.
pub fn progress(len: usize, what: &str) -> ProgressBar {
    let bar = ProgressBar::new(len as u64).with_message(what.to_owned());
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {per_sec} eta {eta}");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// Rows under a heading, columns as wide as their widest cell; numbers, which all but the first column hold, to the right.
pub fn table(heading: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = heading.iter().map(|cell| cell.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = String::new();
    let mut push = |cells: &mut dyn Iterator<Item = &str>| {
        let cells: Vec<String> = cells
            .zip(&widths)
            .enumerate()
            .map(
                |(column, (cell, width))| {
                    if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
                },
            )
            .collect();
        out.push_str(cells.join("  ").trim_end());
        out.push('\n');
    };
    push(&mut heading.iter().copied());
    for row in rows {
        push(&mut row.iter().map(String::as_str));
    }
    out.pop();
    out
}
