//! Bursts: many callers miss the same index at the same moment, and one compile serves them all (*single flight*).
//!
//! Measures each caller's nanoseconds, from a barrier that all callers leave at once, and beyond the compile that they share. The
//! floor is a lone miss. **Promise:** one compile for a burst, by the daemon's own counter.
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use gobo_measure::Target;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::harness::Load;
use crate::report::Row;
use crate::report::histogram::{histogram, micros, nanos};

/// Callers of one burst.
const CALLERS: u64 = 100;

/// Most bursts, each for another constraint.
const MOST_ROUNDS: u64 = 20;

pub(super) fn run(load: &mut Load<'_>) -> anyhow::Result<()> {
    load.report.panel("misses");
    let subject = load.subject("burst", &[])?;
    let connections = load.connections(&subject)?;
    let rounds = (load.bounds().count / CALLERS).clamp(1, MOST_ROUNDS);
    let (mut times, mut alone) = (histogram()?, histogram()?);
    // The time of an answer without the compile: publishing the file and waking the caller.
    let (mut slowest_beyond, mut alone_beyond) = (histogram()?, histogram()?);
    let (mut failed, mut done, mut burst_compiles) = (0, 0, 0);
    let begun = Instant::now();
    while done < rounds && (done == 0 || begun.elapsed() < load.bounds().time) {
        // A lone miss of the same kind is the floor of a burst: the same compile, and one caller.
        let call = Instant::now();
        let lone = load.runtime.block_on(connections[0].index(&load.workload.schema("alone", done)))?;
        let took = nanos(call);
        alone.saturating_record(took);
        alone_beyond.saturating_record(beyond(took, lone.compile_us));

        let constraint = Arc::new(load.workload.schema("burst", done));
        let barrier = Arc::new(Barrier::new(usize::try_from(CALLERS)?));
        let (round, compiles) = load.runtime.block_on(async {
            let before = connections[0].status().await?.compiled;
            let mut tasks = JoinSet::new();
            for caller in 0..usize::try_from(CALLERS)? {
                let connection = connections[caller % connections.len()].clone();
                let (constraint, barrier) = (Arc::clone(&constraint), Arc::clone(&barrier));
                tasks.spawn(async move {
                    barrier.wait().await;
                    let call = Instant::now();
                    let answer = connection.index(&constraint).await;
                    (answer, nanos(call))
                });
            }
            let answers = tasks.join_all().await;
            anyhow::Ok((answers, connections[0].status().await?.compiled - before))
        })?;
        burst_compiles += compiles;
        let (mut slowest, mut compile_us) = (0, 0);
        for (answer, nanos) in round {
            match answer {
                Ok(location) => {
                    times.saturating_record(nanos);
                    slowest = slowest.max(nanos);
                    compile_us = compile_us.max(location.compile_us);
                }
                Err(error) => {
                    gobo_cli::output::note(format_args!("burst: {error:#}"));
                    failed += 1;
                }
            }
        }
        slowest_beyond.saturating_record(beyond(slowest, compile_us));
        done += 1;
    }
    let elapsed = begun.elapsed();
    let mut row = Row::new("burst", done * CALLERS, failed, times);
    row.floor = Some(alone);
    row.elapsed = Some(elapsed);
    load.report.row(row);
    let compiles = u32::try_from(burst_compiles).context("too many compiles")?;
    let rounds = u32::try_from(done)?;
    // The counter of a named daemon counts compiles of its other callers too.
    if !load.is_named() {
        let per_burst = f64::from(compiles) / f64::from(rounds);
        load.report.target("burst_compiles", per_burst, "compiles a burst", Target::Exactly(1.0));
    }
    let ms = |nanos| micros(nanos) / 1000.0;
    for (name, quantile) in
        [("burst_slowest_beyond_compile_p50", 0.5), ("burst_slowest_beyond_compile_max", 1.0)]
    {
        let beyond = ms(slowest_beyond.value_at_quantile(quantile));
        load.report.target(name, beyond, "ms", Target::AtMost(5.0));
    }
    load.report.figure("burst_alone_beyond_compile_p50", ms(alone_beyond.value_at_quantile(0.5)), "ms");
    load.report.figure("burst_alone_beyond_compile_max", ms(alone_beyond.max()), "ms");
    Ok(())
}

fn beyond(took_ns: u64, compile_us: u64) -> u64 {
    took_ns.saturating_sub(compile_us.saturating_mul(1000))
}
