use clap::FromArgMatches as _;
use serde_json::json;

use crate::args::{Cli, Command, ConfigCheckArgs, Global, command, settings_as_args};
use crate::output::{self, Outcome};

pub(crate) fn run(global: &Global, args: &ConfigCheckArgs) -> anyhow::Result<Outcome> {
    let settings = settings_as_args(&command(), &args.file)?;
    let count = settings.len();
    let line = ["gobo".to_owned(), "serve".to_owned()].into_iter().chain(settings);
    // What is wrong between options is said as of a command line.
    let matches = command().try_get_matches_from(line)?;
    let cli = Cli::from_arg_matches(&matches)?;
    let Command::Serve(serve) = cli.command else { unreachable!("the line is one of `gobo serve`") };
    if let Some(tls) = serve.edge.tls() {
        tls.check()?;
    }
    if let Some(access) = serve.edge.access() {
        access.check()?;
    }
    if global.json {
        output::line(json!({ "settings": count }))?;
    } else {
        output::line(format_args!("{count} settings"))?;
    }
    Ok(Outcome::Yes)
}
