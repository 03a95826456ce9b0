//! What a person reads where a constraint has no index: what, where in the text that they wrote, why, and what to do next.
//!
//! `written` keeps that text and finds places in it, `render` draws them.

mod problem;
mod render;
mod written;

use gobo_types::{Clipped, CompileError, Span};
use serde_json::{Value, json};

pub use problem::Problem;
pub use render::Diagnostic;
pub use written::Written;

use crate::output::{self, Outcome};

/// The place and the advice of a verdict.
fn parts(error: &CompileError) -> (Option<&Clipped>, Option<Span>, &str) {
    match error {
        CompileError::Refused(refusal) => (Some(&refusal.place), refusal.span, &refusal.help),
        CompileError::OverBudget(over) => (Some(&over.place), over.span, &over.help),
        _ => (None, None, ""),
    }
}

/// What to do next, in the words of the command line: the verdict's advice, or else the option that raises the limit.
fn help(error: &CompileError) -> String {
    let CompileError::OverBudget(over) = error else { return parts(error).2.to_owned() };
    let option = over.limit.name().replace('_', "-");
    match over.needed {
        Some(needed) if over.help.is_empty() => {
            format!("Some {} would do: --{option} {needed}.", over.limit.quantity(needed))
        }
        None if over.help.is_empty() => {
            format!("If the constraint is worth it, raise the limit with --{option}.")
        }
        _ => over.help.to_string(),
    }
}

/// The JSON of a compile that made no index. `written` is the text of the constraint, where a person wrote one.
pub fn verdict_json(error: &CompileError, written: Option<&Written>) -> Value {
    let ((place, span, _), help) = (parts(error), help(error));
    let found = written.zip(place).and_then(|(written, place)| written.find(place, span));
    let (limit, given, needed, phase) = match error {
        CompileError::OverBudget(over) => {
            (Some(over.limit.name()), Some(over.given), over.needed, Some(&over.phase))
        }
        _ => (None, None, None, None),
    };
    let (kind, reason) = match error {
        CompileError::Refused(refusal) => (json!(refusal.kind), refusal.reason.to_string()),
        CompileError::OverBudget(_) => (json!("limit"), error.to_string()),
        other => (json!(other.verdict()), other.to_string()),
    };
    json!({
        "verdict": error.verdict(),
        "kind": kind,
        "where": place,
        "file": written.map(|written| &written.name),
        "line": found.as_ref().map(|found| found.line),
        "column": found.as_ref().map(|found| found.column),
        "reason": reason,
        "help": (!help.is_empty()).then_some(help),
        "phase": phase,
        "limit": limit,
        "given": given,
        "needed": needed,
    })
}

/// Reports a compile that made no index, as JSON on stdout or as text on stderr.
///
/// # Errors
/// If stdout is closed or full.
pub fn verdict(error: &CompileError, written: Option<&Written>, as_json: bool) -> anyhow::Result<Outcome> {
    if as_json {
        output::line(verdict_json(error, written))?;
    } else {
        Diagnostic::of(error, written).print();
    }
    Ok(match error {
        CompileError::Refused(_) | CompileError::OverBudget(_) => Outcome::Refused,
        _ => Outcome::No,
    })
}
