//! The commands, one file each, by the subject of a command: `access`, a `constraint`, the `store`, a `daemon`, a `tokenizer`, the `manual`.

mod access;
mod constraint;
mod daemon;
mod manual;
mod report;
mod store;
mod tokenizer;

use self::constraint::{check, check_remote, compile, diff, explain, lint, mask, sample};
use self::daemon::{config, demo, doctor, get, prewarm, pull, serve};
use self::store::{catalog, gc, inspect, ls, pin, status, verify};
use crate::args::{Cli, Command, ConfigCommand, Global, GrammarCommand, RemoteCommand};
use crate::output::Outcome;

pub(crate) fn run(cli: Cli) -> anyhow::Result<Outcome> {
    let global = &Global { command: cli.command.name(), ..cli.global };
    match cli.command {
        Command::Tokenizer(command) => tokenizer::run(global, command),
        Command::Compile(args) => compile::run(global, &args),
        Command::Inspect(args) => inspect::run(global, &args.file),
        Command::Verify(args) => verify::run(global, &args),
        Command::Mask(args) => mask::run(global, &args),
        Command::Explain(args) => explain::run(global, &args),
        Command::Check(args) if global.server.is_some() => check_remote::run(global, &args),
        Command::Check(args) => check::run(global, &args),
        Command::Diff(args) => diff::run(global, &args),
        Command::Grammar(GrammarCommand::Lint(args)) => lint::run(global, &args),
        Command::Sample(args) => sample::run(global, &args),
        Command::Prewarm(args) => prewarm::run(global, &args),
        Command::Pull(args) => pull::run(global, &args),
        Command::Remote(RemoteCommand::Doctor(args)) => doctor::run(global, &args),
        Command::Serve(args) => serve::run(global, &args),
        Command::Get(args) => get::run(global, &args),
        Command::Ls(args) => ls::run(global, &args),
        Command::Status(args) => status::run(global, &args),
        Command::Gc(args) => gc::run(global, &args),
        Command::Pin(args) => pin::pin(global, &args),
        Command::Unpin(args) => pin::unpin(global, &args),
        Command::Catalog(command) => catalog::run(global, &command),
        Command::Access(command) => access::run(global, command),
        Command::Config(ConfigCommand::Check(args)) => config::run(global, &args),
        Command::Demo => demo::run(global),
        Command::Completions(args) => manual::completions(&args),
        Command::Man(args) => manual::man(&args),
        Command::Worker => {
            gobo_worker::run_worker()?;
            Ok(Outcome::Yes)
        }
    }
}
