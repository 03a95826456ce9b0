//! Measurements of this host, each beside the least that its path can cost.
mod caller;
mod closed_loop;
mod here;
mod hit;
mod hostile;
mod load;
mod measure;
mod open_loop;
mod plot;
mod process;
mod report;
mod served;
mod soak;
mod storm;
mod workload;

use crate::args::{BenchCommand, Global};
use crate::output::Outcome;

pub(crate) fn run(global: &Global, command: &BenchCommand) -> anyhow::Result<Outcome> {
    match command {
        BenchCommand::Hit(args) => hit::run(global, args),
        BenchCommand::Load(args) => load::run(global, args),
        BenchCommand::Storm(args) => storm::run(global, args),
        BenchCommand::Soak(args) => soak::run(global, args),
        BenchCommand::Hostile(args) => hostile::run(global, args),
        BenchCommand::StormWorker(args) => storm::work(global, args),
    }
}
