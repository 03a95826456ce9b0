use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _};

use super::cli::{Cli, Command};
use super::config;
use super::examples::with_examples;
use super::uses::refuse_unused;

/// The command line as clap knows it, with examples.
pub(crate) fn command() -> clap::Command {
    config::with_variables(with_examples(Cli::command()))
}

/// The command line that was given. A usage error, and what asks for help or the version, is written, and the process ends.
///
/// # Errors
/// If an option has no use, or the file of a daemon's options is none.
pub(crate) fn parse() -> anyhow::Result<Cli> {
    let command = command();
    let (args, given) = config::complete(&command, std::env::args_os().collect())?;
    let matches = command.clone().get_matches_from(args);
    read(&command, &matches, &given)
}

/// The same once more, for a daemon that runs: its file may be another by now.
///
/// # Errors
/// As for [`parse`], and for what would have ended the process.
pub(crate) fn parse_again() -> anyhow::Result<Cli> {
    let command = command();
    let (args, given) = config::complete(&command, std::env::args_os().collect())?;
    let matches = command.clone().try_get_matches_from(args)?;
    read(&command, &matches, &given)
}

fn read(command: &clap::Command, matches: &ArgMatches, given: &config::Given) -> anyhow::Result<Cli> {
    let mut cli = Cli::from_arg_matches(matches)?;
    refuse_unused(&cli, matches)?;
    if let (Command::Serve(args), Some(serve)) = (&mut cli.command, matches.subcommand_matches("serve")) {
        args.printed = config::print(command, serve, given);
    }
    Ok(cli)
}
