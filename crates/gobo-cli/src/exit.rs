//! The end of a command: what is said of an error, and the exit status.
use std::io;
use std::process::ExitCode;

use crate::diagnostics::{Diagnostic, Problem};
use crate::output::{Outcome, note};

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

/// Writes an error with its sources, and after them what can be done about it.
pub fn complain(error: &anyhow::Error) {
    if let Some(problem) = error.downcast_ref::<Problem>() {
        Diagnostic::of_problem(problem).print();
        return;
    }
    note(complaint(error));
}

/// `error: …`, a line `  caused by: …` for each source, and a line `hint: …` for each piece of advice in any of them.
fn complaint(error: &anyhow::Error) -> String {
    let (mut lines, mut hints) = (Vec::new(), Vec::new());
    for (at, source) in error.chain().enumerate() {
        let text = source.to_string().replace("; hint: ", "\nhint: ");
        let mut parts = text.split("\nhint: ");
        let what = parts.next().unwrap_or_default();
        lines.push(if at == 0 { format!("error: {what}") } else { format!("  caused by: {what}") });
        hints.extend(parts.map(|hint| format!("hint: {hint}")));
    }
    lines.extend(hints);
    lines.join("\n")
}

/// Whether stdout was closed by its reader, as `head` does: no error of ours.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<io::Error>();
    io.is_some_and(|io| io.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn advice_comes_after_all_causes() {
        let error =
            anyhow!("no such thing; hint: look elsewhere").context("cannot begin\nhint: end\nhint: or wait");
        let text =
            "error: cannot begin\n  caused by: no such thing\nhint: end\nhint: or wait\nhint: look elsewhere";
        assert_eq!(complaint(&error), text);
    }
}
