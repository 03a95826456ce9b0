//! Eviction: calls in an open loop to a daemon whose store is over its size, so that indices are evicted and compiled again.
//!
//! Measures microseconds from the due moment, and the bytes of the store after the load. A path in an answer may be gone, but never
//! a file of another length.
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use gobo_measure::Target;

use super::harness::Load;
use crate::generator::open_loop::open_loop;

/// Size of the store: a few dozen of the schemas that are asked for.
const STORE_BYTES: u64 = 4 << 20;

/// Most time until the store is within its size after the load.
const SETTLE: Duration = Duration::from_secs(15);

/// Arrivals a second.
const RATE: f64 = 20.0;

/// Calls for each schema on the average, so that some are hits.
const REPEATS: u64 = 2;

pub(super) fn run(load: &mut Load<'_>) -> anyhow::Result<()> {
    if load.is_named() {
        load.report.leave_out("eviction", "the daemon that was named with --server has its own size");
        return Ok(());
    }
    load.report.panel("a store over its size");
    let options = ["--max-store-bytes", &STORE_BYTES.to_string(), "--grace", "1s"].map(str::to_owned);
    let subject = load.subject("eviction", &options)?;
    let caller = load.connect(&subject)?;
    let workload = load.workload;
    let lanes = open_loop(&load.runtime, &load.plan(RATE), &["eviction"], |nth| {
        let caller = caller.clone();
        let call = async move {
            let location = caller.index(&workload.schema("eviction", nth / REPEATS)).await?;
            // The file may be evicted since then; one of another length is wrong.
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
    load.report.row(row);
    // Indices that were used within the grace are kept beyond the bound; they go after the load.
    let begun = Instant::now();
    let mut status = load.runtime.block_on(caller.status())?;
    while status.bytes > STORE_BYTES && begun.elapsed() < SETTLE {
        std::thread::sleep(Duration::from_millis(200));
        status = load.runtime.block_on(caller.status())?;
    }
    #[expect(clippy::cast_precision_loss, reason = "a few digits are shown")]
    let (held, limit) = (status.bytes as f64, STORE_BYTES as f64);
    #[expect(clippy::cast_precision_loss, reason = "a few digits are shown")]
    load.report.figure("eviction_evicted", status.evicted as f64, "indices");
    load.report.target("eviction_store", held, "bytes", Target::AtMost(limit));
    Ok(())
}
