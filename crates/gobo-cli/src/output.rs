//! What goes to stdout and stderr, and nothing else does.
use std::fmt::Display;
use std::io::{self, Write};

use gobo_types::CompileError;
use serde_json::{Value, json};

/// How a command ended, for the exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Done; 0.
    Yes,
    /// The answer is no; 1.
    No,
    /// The input was refused; 2.
    Refused,
}

/// Writes a line of data to stdout.
pub(crate) fn line(text: impl Display) -> anyhow::Result<()> {
    writeln!(io::stdout().lock(), "{text}")?;
    Ok(())
}

/// Writes a note for a person to stderr. A closed stderr is nobody's loss.
pub(crate) fn note(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Writes an error with its sources to stderr.
pub(crate) fn complain(error: &anyhow::Error) {
    note(format_args!("error: {error}"));
    for source in error.chain().skip(1) {
        note(format_args!("  caused by: {source}"));
    }
}

/// Whether stdout was closed by its reader, as `head` does: no error of ours.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<io::Error>();
    io.is_some_and(|io| io.kind() == io::ErrorKind::BrokenPipe)
}

/// The JSON of a compile that made no index.
pub(crate) fn verdict_json(error: &CompileError) -> Value {
    match error {
        CompileError::Refused(refusal) => json!({
            "verdict": error.verdict(), "kind": refusal.kind, "where": refusal.place,
            "reason": refusal.reason, "limit": null, "given": null,
        }),
        CompileError::OverBudget(over) => json!({
            "verdict": error.verdict(), "kind": "limit", "where": over.phase,
            "reason": over.to_string(), "limit": over.limit.name(), "given": over.given,
        }),
        other => json!({
            "verdict": error.verdict(), "kind": error.verdict(), "where": null,
            "reason": other.to_string(), "limit": null, "given": null,
        }),
    }
}

/// Reports a compile that made no index, as JSON on stdout or as text on stderr.
pub(crate) fn verdict(error: &CompileError, as_json: bool) -> anyhow::Result<Outcome> {
    if as_json {
        line(verdict_json(error))?;
    } else {
        note(format_args!("{error}"));
        if let CompileError::OverBudget(over) = error {
            note(format_args!("hint: raise it with --{} N", over.limit.name().replace('_', "-")));
        }
    }
    Ok(match error {
        CompileError::Refused(_) | CompileError::OverBudget(_) => Outcome::Refused,
        _ => Outcome::No,
    })
}

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Bytes in the unit a person would use.
pub(crate) fn human_bytes(bytes: u64) -> String {
    indicatif::BinaryBytes(bytes).to_string()
}

/// Microseconds in the unit a person would use.
pub(crate) fn human_us(us: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let us = us as f64;
    match us {
        us if us < 1_000.0 => format!("{us:.0} us"),
        us if us < 1_000_000.0 => format!("{:.2} ms", us / 1_000.0),
        us => format!("{:.2} s", us / 1_000_000.0),
    }
}

/// Rows under a heading, columns as wide as their widest cell; numbers, which all but the first column hold, to the right.
pub(crate) fn table(heading: &[&str], rows: &[Vec<String>]) -> String {
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
