//! Indices of a bucket, one at a time: known there, and known nowhere.
use std::cell::Cell;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use gobo_client::{Constraint, Source};
use gobo_measure::Target;

use super::hosts::{Fleet, Host, KNOWN, hanging};
use crate::generator::Bounds;
use crate::generator::paired::{measure, measure_cold};
use crate::generator::workload::Workload;
use crate::report::histogram::micros;
use crate::report::{Report, Row};

/// Most time of one row.
const MOST: Duration = Duration::from_secs(120);

/// Misses that a bucket which hangs is given to be found out.
const FOUND_OUT: u64 = 50;

fn schema(series: &str, nth: u64) -> Constraint {
    Workload::new(0).schema(series, nth)
}

/// Adds a row, and the ratios of its percentiles to those of its floor.
fn ratios(report: &mut Report, row: Row, at_most: [f64; 2]) -> anyhow::Result<()> {
    let name = row.name.clone();
    let floor = row.floor.as_ref().context("it has a floor")?;
    for ((quantile, name_of), most) in [(0.5, "p50"), (0.99, "p99")].into_iter().zip(at_most) {
        let ratio = row.us(quantile) / micros(floor.value_at_quantile(quantile));
        report.target(format!("{name}_{name_of}_ratio"), ratio, "x", Target::AtMost(most));
    }
    report.row(row);
    Ok(())
}

/// Known to the bucket alone: from a request to the first mask, beside a bare GET of the object, written and synced.
pub(super) fn known(fleet: &Fleet, report: &mut Report, host: &Host) -> anyhow::Result<()> {
    report.panel("known to the bucket alone");
    let file = fleet.home.path().join("object");
    let (floor_at, hit_at, by_bucket) = (Cell::new(0), Cell::new(0), Cell::new(0_u32));
    let vocabulary = host.client.find_vocabulary(&fleet.vocabulary)?.context("the vocabulary is gone")?.0;
    let next = |at: &Cell<u64>| schema(KNOWN, at.replace(at.get() + 1));
    let bounds = Bounds { count: fleet.keys.into(), time: MOST };
    let row = measure_cold(
        "fleet_known",
        bounds,
        || fleet.bare_get(&vocabulary.index_key(&next(&floor_at)), &file),
        || {
            let source = fleet.first_mask(host, &next(&hit_at))?;
            by_bucket.set(by_bucket.get() + u32::from(source == Source::Remote));
            Ok(())
        },
    )?;
    let share = f64::from(by_bucket.get()) / f64::from(fleet.keys);
    ratios(report, row, [1.3, 2.0])?;
    report.figure("fleet_known_from_bucket", share, "of all; the rest was compiled sooner");
    Ok(())
}

/// Known nowhere: beside a host without a bucket.
pub(super) fn unseen(
    fleet: &Fleet,
    report: &mut Report,
    name: &'static str,
    host: &Host,
    without: &Host,
) -> anyhow::Result<()> {
    report.panel("known nowhere");
    let (floor_at, hit_at) = (Cell::new(0), Cell::new(0));
    let next = |at: &Cell<u64>| schema(name, at.replace(at.get() + 1));
    let bounds = Bounds { count: fleet.keys.into(), time: MOST };
    let row = measure_cold(
        name,
        bounds,
        || fleet.first_mask(without, &next(&floor_at)).map(drop),
        || fleet.first_mask(host, &next(&hit_at)).map(drop),
    )?;
    ratios(report, row, [1.1, 1.3])
}

/// Calls for an index that both hosts have.
const HITS: u64 = 20_000;

/// What everybody asks for all the time: an index that the host has, beside a host without a bucket. Both answer before anything looks at a
/// bucket.
pub(super) fn hits(fleet: &Fleet, report: &mut Report, host: &Host, without: &Host) -> anyhow::Result<()> {
    report.panel("there already");
    let constraint = schema(KNOWN, 0);
    let hit = |host: &Host| -> anyhow::Result<()> {
        let found = fleet.runtime.block_on(host.client.locate(&*fleet.vocabulary, &constraint))?;
        ensure!(found.bytes > 0, "an empty index");
        Ok(())
    };
    let bounds = Bounds { count: HITS.min(u64::from(fleet.keys) * 20), time: MOST };
    let row = measure("fleet_hit", bounds, || hit(without), || hit(host))?;
    ratios(report, row, [1.01, 1.3])
}

/// The same beside a bucket that takes calls and never answers: once that has been found out, and what anybody waited before.
pub(super) fn unseen_beside_a_bucket_that_hangs(
    fleet: &Fleet,
    report: &mut Report,
    without: &Host,
) -> anyhow::Result<()> {
    let (url, environment) = hanging()?;
    let host = fleet.host_in("hung", &["--remote", &url], &environment)?;
    let mut longest = Duration::ZERO;
    for nth in 0..FOUND_OUT {
        let begun = Instant::now();
        fleet.first_mask(&host, &schema("before", nth))?;
        longest = longest.max(begun.elapsed());
        if fleet.status(&host)?["remote_reading_paused"] == 1 {
            break;
        }
    }
    report.target("fleet_hung_longest_wait", longest.as_secs_f64(), "s", Target::AtMost(2.0));
    unseen(fleet, report, "fleet_unseen_hung", &host, without)
}
