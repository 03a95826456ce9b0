//! The load laboratory: what gobo costs on this host, and what its daemon does under load, under attack and under `kill -9`.
//!
//! `experiments` holds one module for each command; `generator` makes calls and times them; `subject` is what is measured,
//! most of all daemons, which are the product's own program `gobo` in processes of their own; `report` says what was found.
#![forbid(unsafe_code)]

#[expect(clippy::doc_markdown, reason = "these comments are help texts, which people read in a terminal")]
mod args;
mod experiments;
mod generator;
mod report;
mod subject;

use std::process::ExitCode;

use clap::Parser;
use gobo_cli::{exit, output};

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    // What the environment says is a filter, or is passed over.
    let _ = output::log_to_stderr(&output::filter_of_command(), output::LogFormat::default());
    exit::exit_code(experiments::run(&cli.options, &cli.experiment))
}
