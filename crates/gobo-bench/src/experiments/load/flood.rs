//! A noisy neighbour: one tenant's misses in an open loop, without and with a second tenant's flood of misses in a closed loop.
//!
//! Measures microseconds from the due moment. Target: the 99th percentile with the flood at most twice that without.
use std::time::Duration;

use anyhow::Context;
use gobo_measure::Target;

use super::harness::Load;
use crate::generator::Bounds;
use crate::generator::closed_loop::closed_loop;
use crate::generator::open_loop::{Lane, open_loop};
use crate::subject::caller::Caller;

/// Arrivals a second of the tenant that is measured.
const RATE: f64 = 20.0;

/// Pause of a flooding caller after an answer that was no index: without it, it floods its own side.
const PAUSE: Duration = Duration::from_millis(10);

pub(super) fn run(load: &mut Load<'_>) -> anyhow::Result<()> {
    load.report.panel("beside another tenant's flood");
    let subject = load.subject("flood", &[])?;
    let caller = load.connect(&subject)?.of_tenant("bench-interactive");
    let without = interactive(load, &caller, "flood_without")?;

    let connections = load.connections(&subject)?;
    let flooders: Vec<Caller> = connections.iter().map(|caller| caller.of_tenant("bench-flood")).collect();
    let workload = load.workload;
    let flood = move |caller: usize, nth| {
        let flooder = flooders[caller % flooders.len()].clone();
        async move {
            if flooder.index(&workload.schema("flood", nth)).await.is_err() {
                tokio::time::sleep(PAUSE).await;
            }
            Ok(())
        }
    };
    // Aborted below, after the calls that it disturbs.
    let unbounded = Bounds { count: u64::MAX, time: Duration::from_secs(24 * 3600) };
    let flooding = load.runtime.spawn(closed_loop("flood", load.callers(), unbounded, flood));
    let with = interactive(load, &caller, "flood_with");
    flooding.abort();

    let without = load.report.row(without.into_row("flood_without")).us(0.99);
    let with = load.report.row(with?.into_row("flood_with")).us(0.99);
    load.report.target(
        "flood_p99_ratio",
        with / without.max(1e-3),
        "times that without",
        Target::AtMost(2.0),
    );
    Ok(())
}

fn interactive(load: &Load<'_>, caller: &Caller, name: &'static str) -> anyhow::Result<Lane> {
    let workload = load.workload;
    let mut lanes = open_loop(&load.runtime, &load.plan(RATE), &[name], |nth| {
        let caller = caller.clone();
        (0, async move { caller.index(&workload.schema(name, nth)).await.map(drop) })
    })?;
    lanes.pop().context("one lane was asked for")
}
