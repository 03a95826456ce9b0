//! One tenant asks now and then, and another asks as much as it can.
use std::time::Duration;

use anyhow::Context;
use gobo_measure::Target;

use super::Bench;
use crate::generator::Bounds;
use crate::generator::closed_loop::closed_loop;
use crate::generator::open_loop::{Lane, open_loop};
use crate::subject::caller::Caller;

/// Arrivals a second of the tenant that is measured.
const RATE: f64 = 20.0;

/// What each caller of the flood waits after an answer that was no index, so that it floods the daemon and not this side.
const PAUSE: Duration = Duration::from_millis(10);

pub(super) fn run(bench: &mut Bench<'_>) -> anyhow::Result<()> {
    let subject = bench.subject("flood", &[])?;
    let caller = bench.connect(&subject)?.of_tenant("bench-interactive");
    let without = interactive(bench, &caller, "flood_without")?;

    let connections = bench.connections(&subject)?;
    let flooders: Vec<Caller> = connections.iter().map(|caller| caller.of_tenant("bench-flood")).collect();
    let workload = bench.workload;
    let flood = move |caller: usize, nth| {
        let flooder = flooders[caller % flooders.len()].clone();
        async move {
            if flooder.index(&workload.schema("flood", nth)).await.is_err() {
                tokio::time::sleep(PAUSE).await;
            }
            Ok(())
        }
    };
    // It ends when it is aborted, not before what it is there to disturb.
    let unbounded = Bounds { count: u64::MAX, time: Duration::from_secs(24 * 3600) };
    let flooding = bench.runtime.spawn(closed_loop("flood", bench.callers(), unbounded, flood));
    let with = interactive(bench, &caller, "flood_with");
    flooding.abort();

    let without = bench.report.row(without.into_row("flood_without")).us(0.99);
    let with = bench.report.row(with?.into_row("flood_with")).us(0.99);
    bench.report.target(
        "flood_p99_ratio",
        with / without.max(1e-3),
        "times that without",
        Target::AtMost(2.0),
    );
    Ok(())
}

fn interactive(bench: &Bench<'_>, caller: &Caller, name: &'static str) -> anyhow::Result<Lane> {
    let workload = bench.workload;
    let mut lanes = open_loop(&bench.runtime, &bench.plan(RATE), &[name], |nth| {
        let caller = caller.clone();
        (0, async move { caller.index(&workload.schema(name, nth)).await.map(drop) })
    })?;
    lanes.pop().context("one lane was asked for")
}
