//! One file per command.
mod catalog;
mod check;
mod check_remote;
mod compile;
mod demo;
mod diff;
mod explain;
mod gc;
mod get;
mod inspect;
mod mask;
mod pin;
mod prewarm;
mod sample;
mod serve;
mod status;
mod tokenizer;
mod tokenizer_verify;
mod verify;

use crate::args::{Cli, Command};
use crate::output::Outcome;

pub(crate) fn run(cli: Cli) -> anyhow::Result<Outcome> {
    let global = &cli.global;
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
        Command::Sample(args) => sample::run(global, &args),
        Command::Prewarm(args) => prewarm::run(global, &args),
        Command::Serve(args) => serve::run(global, &args),
        Command::Get(args) => get::run(global, &args),
        Command::Status(args) => status::run(global, &args),
        Command::Gc(args) => gc::run(global, &args),
        Command::Pin(args) => pin::pin(global, &args),
        Command::Unpin(args) => pin::unpin(global, &args.keys),
        Command::Catalog(command) => catalog::run(global, &command),
        Command::Demo => demo::run(global),
        Command::Worker => {
            gobo_worker::run_worker()?;
            Ok(Outcome::Yes)
        }
    }
}
