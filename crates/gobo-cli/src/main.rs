//! The command line of gobo: from the arguments to the exit status.
#![forbid(unsafe_code)]

#[expect(clippy::doc_markdown, reason = "these comments are help texts, which people read in a terminal")]
mod args;
mod backend;
mod cases;
mod commands;
mod destination;
mod interrupt;

use std::process::ExitCode;

use gobo_cli::output::LogFormat;
use gobo_cli::{diagnostics, exit, inputs, output};

fn main() -> ExitCode {
    let cli = match args::parse() {
        Ok(cli) => cli,
        Err(error) => return exit::exit_code(Err(error)),
    };
    // A daemon tells its operator what it does; a command speaks for itself.
    let logging = match &cli.command {
        args::Command::Serve(serve) => output::log_to_stderr(&serve.log, serve.log_format),
        _ => output::log_to_stderr(&output::filter_of_command(), LogFormat::default()),
    };
    if let Err(error) = logging {
        return exit::exit_code(Err(error.into()));
    }
    exit::exit_code(commands::run(cli))
}
