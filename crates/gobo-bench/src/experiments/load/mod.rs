//! Load tests of a daemon, scenario by scenario.
//!
//! | scenario | arrivals | measures |
//! |---|---|---|
//! | [`rotation`] | paired | hits of thousands of indices in a shuffled order, after a restart and again |
//! | [`hits`] | paired, open loop, closed loop | hits of one index by every way: latency alone, latency at a rate, throughput |
//! | [`burst`] | all at once | identical misses: one compile, and the wait of the last caller beyond it |
//! | [`distinct`] | closed loop | throughput of misses that share types |
//! | [`hostile_share`] | open loop | misses without and with one hostile constraint among ten arrivals |
//! | [`flood`] | open loop | one tenant's misses without and with another tenant's closed loop |
//! | [`eviction`] | open loop | calls to a store that is over its size |
//!
//! Times are microseconds. Each scenario has a daemon of its own, unless `--server` names one.
mod burst;
mod distinct;
mod eviction;
mod flood;
mod harness;
mod hits;
mod hostile_share;
mod rotation;

use gobo_cli::output::Outcome;

use self::harness::Load;
use crate::args::{LoadArgs, Options, Scenario};

/// All scenarios, in the order in which they run and stand in the table. Eviction is last: its daemon has options of its own.
const ALL: [Scenario; 7] = [
    Scenario::Rotation,
    Scenario::Hit,
    Scenario::Burst,
    Scenario::Distinct,
    Scenario::Hostile,
    Scenario::Flood,
    Scenario::Eviction,
];

pub(super) fn run(options: &Options, args: &LoadArgs) -> anyhow::Result<Outcome> {
    let out = args.out.create()?;
    let mut load = Load::prepare(options, args)?;
    let scenarios = if args.scenario.is_empty() { &ALL[..] } else { &args.scenario };
    for scenario in scenarios {
        match scenario {
            Scenario::Rotation => rotation::run(&mut load)?,
            Scenario::Hit => hits::run(&mut load)?,
            Scenario::Burst => burst::run(&mut load)?,
            Scenario::Distinct => distinct::run(&mut load)?,
            Scenario::Hostile => hostile_share::run(&mut load)?,
            Scenario::Flood => flood::run(&mut load)?,
            Scenario::Eviction => eviction::run(&mut load)?,
        }
    }
    load.report.finish(&options.global, "gobo-bench load", out)
}
