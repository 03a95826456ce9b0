//! The gobo command line: one file per command, and here only the way in and out.
#![forbid(unsafe_code)]

#[expect(clippy::doc_markdown, reason = "these comments are help texts, which people read in a terminal")]
mod args;
mod backend;
mod case;
mod commands;
mod destination;
mod operand;
mod replay;
mod target;
mod units;

use std::process::ExitCode;

use clap::Parser;
use gobo_cli::{constraint, output, schema, vocabulary};

use crate::args::Cli;

fn main() -> ExitCode {
    let cli = Cli::parse();
    // A daemon tells its operator what it does; a command speaks for itself.
    let level = if matches!(cli.command, args::Command::Serve(_)) { "info" } else { "warn" };
    output::log_to_stderr(level);
    output::exit_code(commands::run(cli))
}
