//! The options of a daemon that a file and the environment may give.

use clap::{Arg, Command};

use super::super::uses::is_of_daemon;

/// The variable of an option.
pub(super) fn variable(long: &str) -> String {
    format!("GOBO_{}", long.replace('-', "_").to_uppercase())
}

/// Gives each option of `serve` its variable.
pub(in crate::args) fn with_variables(command: Command) -> Command {
    command.mut_subcommand("serve", |serve| {
        serve.mut_args(|arg| match arg.get_long().map(variable) {
            // The help would be twice as long, and says so once at its end.
            Some(variable) if arg.get_env().is_none() && arg.get_id() != "print_config" => {
                arg.env(variable).hide_env(true)
            }
            _ => arg,
        })
    })
}

/// The options of a daemon that a file may have: all but those about the file itself.
pub(super) fn of_files(command: &Command) -> Vec<Arg> {
    let mut built = command.clone();
    built.build();
    let args = built.find_subcommand("serve").into_iter().flat_map(Command::get_arguments);
    let is_one = |arg: &&Arg| {
        let id = arg.get_id().as_str();
        arg.get_long().is_some() && is_of_daemon(arg) && !["config", "print_config", "help"].contains(&id)
    };
    args.filter(is_one).cloned().collect()
}
