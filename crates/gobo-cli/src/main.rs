//! The gobo command line: one file per command, and here only the way in and out.
#![forbid(unsafe_code)]

#[expect(clippy::doc_markdown, reason = "these comments are help texts, which people read in a terminal")]
mod args;
mod backend;
mod case;
mod commands;
mod constraint;
mod destination;
mod operand;
mod output;
mod replay;
mod schema;
mod target;
mod units;
mod vocabulary;

use std::process::ExitCode;

use clap::Parser;

use crate::args::Cli;
use crate::output::Outcome;

fn main() -> ExitCode {
    let cli = Cli::parse();
    // A daemon tells its operator what it does; a command speaks for itself.
    let level = if matches!(cli.command, args::Command::Serve(_)) { "info" } else { "warn" };
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_env("GOBO_LOG").unwrap_or_else(|_| level.into()),
        )
        .with_target(false)
        .init();
    match commands::run(cli) {
        Ok(Outcome::Yes) => ExitCode::SUCCESS,
        Ok(Outcome::No) => ExitCode::from(1),
        Ok(Outcome::Refused) => ExitCode::from(2),
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::complain(&error);
            ExitCode::from(2)
        }
    }
}
