//! The experiments, one for each command.
//!
//! | experiment | arrivals | what it measures |
//! |---|---|---|
//! | [`hit`] | closed loop, one caller | a hit by every way to an index, beside the floor of that way |
//! | [`load`] | open and closed loops | hits, bursts, cold schemas, hostile constraints, floods and eviction |
//! | [`storm`] | all at once | processes that start together and map every index of a store |
//! | [`fleet`] | closed loop, one caller; all at once | what hosts have from a bucket that they share, and what it costs them |
//! | [`soak`] | closed loops | whether anything acknowledged is lost while processes are killed |
//! | [`hostile`] | open loop (good tenant) | a good tenant's times without and with an attack, and the attack's cost |
mod fleet;
mod hit;
mod hostile;
mod load;
mod soak;
mod storm;

use gobo_cli::output::Outcome;

use crate::args::{Experiment, Options};

/// Runs one experiment.
pub(crate) fn run(options: &Options, experiment: &Experiment) -> anyhow::Result<Outcome> {
    let global = &options.global;
    match experiment {
        Experiment::Hit(args) => hit::run(global, args),
        Experiment::Load(args) => load::run(options, args),
        Experiment::Storm(args) => match args.hosts {
            Some(hosts) => fleet::run_storm(options, args, hosts),
            None => storm::run(global, args),
        },
        Experiment::Fleet(args) => fleet::run(options, args),
        Experiment::FleetWorker(args) => fleet::work(global, args),
        Experiment::Soak(args) => soak::run(options, args),
        Experiment::Hostile(args) => hostile::run(options, args),
        Experiment::StormWorker(args) => storm::work(global, args),
    }
}
