//! Load generators: who calls, when, and how calls are timed.
//!
//! The floor is sorted by the arrival process (Schroeder, Wierman, Harchol-Balter: "Open Versus Closed: A Cautionary Tale",
//! NSDI 2006). In an *open loop* calls arrive by a schedule of their own, whatever the answers; in a *closed loop* a fixed
//! number of callers each waits for an answer before the next call. A *paired* measurement is a closed loop of one caller, which
//! takes turns between the call and its floor. All times are nanoseconds in HDR histograms ([`crate::report::histogram`]).
pub(crate) mod closed_loop;
pub(crate) mod open_loop;
pub(crate) mod paired;
pub(crate) mod workload;

use std::time::Duration;

use anyhow::Context;
use tokio::runtime::{Builder, Runtime};

use crate::args::BoundsArgs;

/// The end of a measurement: the bound that is reached first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Most calls.
    pub(crate) count: u64,
    pub(crate) time: Duration,
}

impl From<BoundsArgs> for Bounds {
    fn from(args: BoundsArgs) -> Self {
        Self { count: args.count.unwrap_or(u64::MAX), time: Duration::from_secs(args.seconds) }
    }
}

/// Threads on which calls are made.
const THREADS: usize = 2;

/// A runtime for the calls of one experiment.
pub(crate) fn runtime() -> anyhow::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(THREADS).enable_all().build().context("cannot start threads")
}
