//! Hosts that share a bucket: what an index costs that is known to the bucket alone, what a bucket costs those whose index nobody has,
//! and a pull; each beside its floor, calls of both by turns.
//!
//! The bucket is filled by the product's own `gobo prewarm` and read by its daemons. A floor reads the very objects by the same crate,
//! writes their bytes to a file and syncs it. Hosts are stores on one machine.
mod hosts;
mod lookups;
mod pulls;
mod storm;

use gobo_cli::output::Outcome;

use self::hosts::Fleet;
use crate::args::{FleetArgs, Options};
use crate::report::Report;
pub(super) use storm::{run as run_storm, work};

pub(super) fn run(options: &Options, args: &FleetArgs) -> anyhow::Result<Outcome> {
    let out = args.out.create()?;
    let fleet = Fleet::fill(options, &args.tokenizer, args.keys, args.remote.as_deref())?;
    let mut report = Report::default();
    let host = fleet.host("host", &["--remote", &fleet.url])?;
    let without = fleet.host("without", &[])?;
    lookups::known(&fleet, &mut report, &host)?;
    lookups::hits(&fleet, &mut report, &host, &without)?;
    lookups::unseen(&fleet, &mut report, "fleet_unseen", &host, &without)?;
    lookups::unseen_beside_a_bucket_that_hangs(&fleet, &mut report, &without)?;
    pulls::run(&fleet, &mut report, &without)?;
    report.finish(&options.global, "gobo-bench fleet", out)
}
