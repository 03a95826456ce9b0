//! The command line of `gobo`: its commands with their arguments, as clap reads them. Their comments are help texts.

mod access;
mod cli;
mod config;
mod constraint;
mod daemon;
mod examples;
mod grammar;
mod manual;
mod operand;
mod parse;
mod store;
mod tokenizer;
mod uses;

pub(crate) use self::access::{AccessCheckArgs, AccessCommand, TokenArgs};
pub(crate) use self::cli::{Cli, Command};
pub(crate) use self::config::settings_as_args;
pub(crate) use self::constraint::{
    CheckArgs, CompileArgs, DiffArgs, ExplainArgs, MaskArgs, SampleArgs, TargetArgs,
};
pub(crate) use self::daemon::{
    ConfigCheckArgs, ConfigCommand, DoctorArgs, GetArgs, ModeArg, OrderArg, PrewarmArgs, PullArgs,
    RemoteCommand, ServeArgs,
};
pub(crate) use self::grammar::{GrammarCommand, LintArgs};
pub(crate) use self::manual::{CompletionsArgs, ManArgs};
pub(crate) use self::operand::Operand;
pub(crate) use self::parse::{command, parse, parse_again};
pub(crate) use self::store::{CatalogCommand, GcArgs, LsArgs, PinArgs, StatusArgs, UnpinArgs, VerifyArgs};
pub(crate) use self::tokenizer::TokenizerCommand;
pub(crate) use gobo_cli::options::{Global, StoreWriters};
