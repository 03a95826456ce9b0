//! Measurements of this host, each beside the least that its path can cost.
mod hit;
mod measure;

use crate::args::{BenchCommand, Global};
use crate::output::Outcome;

pub(crate) fn run(global: &Global, command: &BenchCommand) -> anyhow::Result<Outcome> {
    match command {
        BenchCommand::Hit(args) => hit::run(global, args),
    }
}
