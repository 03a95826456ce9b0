//! Load on a daemon whose store has more than it may keep.
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use gobo_measure::Target;

use super::Bench;
use crate::generator::open_loop::open_loop;

/// Size of the store: a few dozen of the schemas that are asked for.
const STORE_BYTES: u64 = 4 << 20;

/// How long the store may take to come down to its size when the load is over.
const SETTLE: Duration = Duration::from_secs(15);

/// Arrivals a second.
const RATE: f64 = 20.0;

/// Calls for each schema on the average, so that some are hits.
const REPEATS: u64 = 2;

pub(super) fn run(bench: &mut Bench<'_>) -> anyhow::Result<()> {
    if bench.is_named() {
        bench.report.leave_out("eviction", "the daemon that was named with --server has its own size");
        return Ok(());
    }
    let options = ["--max-store-bytes", &STORE_BYTES.to_string(), "--grace", "1s"].map(str::to_owned);
    let subject = bench.subject("eviction", &options)?;
    let caller = bench.connect(&subject)?;
    let workload = bench.workload;
    let lanes = open_loop(&bench.runtime, &bench.plan(RATE), &["eviction"], |nth| {
        let caller = caller.clone();
        let call = async move {
            let location = caller.index(&workload.schema("eviction", nth / REPEATS)).await?;
            // Evicted since: possible, and the next call compiles it again. There with other bytes: never.
            match std::fs::metadata(&location.path) {
                Ok(found) if found.len() != location.bytes => {
                    bail!("{} has {} bytes instead of {}", location.path, found.len(), location.bytes)
                }
                _ => Ok(()),
            }
        };
        (0, call)
    })?;
    let row = lanes.into_iter().next().context("one lane was asked for")?.into_row("eviction");
    bench.report.row(row);
    // What was used within the grace is on top of the bound: it goes once nobody asks any more.
    let begun = Instant::now();
    let mut status = bench.runtime.block_on(caller.status())?;
    while status.bytes > STORE_BYTES && begun.elapsed() < SETTLE {
        std::thread::sleep(Duration::from_millis(200));
        status = bench.runtime.block_on(caller.status())?;
    }
    #[expect(clippy::cast_precision_loss, reason = "a few digits are shown")]
    let (held, limit) = (status.bytes as f64, STORE_BYTES as f64);
    #[expect(clippy::cast_precision_loss, reason = "a few digits are shown")]
    bench.report.figure("eviction_evicted", status.evicted as f64, "indices");
    bench.report.target("eviction_store", held, "bytes", Target::AtMost(limit));
    Ok(())
}
