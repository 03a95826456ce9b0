//! The hidden command behind the empty call.
use gobo_server::serve_empty;
use tokio::runtime::Builder;

use crate::args::EmptyArgs;
use crate::output::{self, Outcome};

pub(super) fn run(args: &EmptyArgs) -> anyhow::Result<Outcome> {
    // The runtime that `gobo serve` has.
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve_empty(&args.unix, args.listen, |tcp| {
        output::note(format_args!("listening on unix:{}", args.unix.display()));
        output::note(format_args!("listening on http://{tcp}"));
    }))?;
    Ok(Outcome::Yes)
}
