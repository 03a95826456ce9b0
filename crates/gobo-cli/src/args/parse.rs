use clap::{CommandFactory as _, FromArgMatches as _};

use super::cli::Cli;
use super::examples::with_examples;
use super::uses::{UnusedOption, refuse_unused};

/// The command line as clap knows it, with examples.
pub(crate) fn command() -> clap::Command {
    with_examples(Cli::command())
}

/// The command line that was given. A usage error, and what asks for help or the version, is written, and the process ends.
pub(crate) fn parse() -> Result<Cli, UnusedOption> {
    let matches = command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    refuse_unused(&cli, &matches)?;
    Ok(cli)
}
