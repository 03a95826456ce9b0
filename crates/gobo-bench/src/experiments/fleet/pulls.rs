//! A pull of all that a manifest names, beside the same GETs, as parallel, with files written and synced.
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::Context;
use gobo_measure::Target;
use gobo_types::IndexKey;

use super::hosts::{Fleet, Host, KNOWN, MANIFEST, finish};
use crate::generator::workload::Workload;
use crate::report::Report;

/// Objects that a pull fetches at a time.
const PARALLEL: usize = 16;

/// Pulls of many objects, each into a store of its own; the median counts.
const ROUNDS: usize = 3;

/// From so many objects on.
const MANY: u32 = 100;

pub(super) fn run(fleet: &Fleet, report: &mut Report, host: &Host) -> anyhow::Result<()> {
    let vocabulary = host.client.find_vocabulary(&fleet.vocabulary)?.context("the vocabulary is gone")?.0;
    let keys: Vec<IndexKey> = (0..fleet.keys)
        .map(|nth| vocabulary.index_key(&Workload::new(0).schema(KNOWN, nth.into())))
        .collect();
    let (mut pulls, mut floors) = (Vec::new(), Vec::new());
    for round in 0..if fleet.keys < MANY { 1 } else { ROUNDS } {
        let begun = Instant::now();
        bare(fleet, &keys, round)?;
        floors.push(begun.elapsed().as_secs_f64());
        let mut command = Command::new(&fleet.program);
        command.args(["pull", MANIFEST, "--remote", &fleet.url, "--store"]);
        command.arg(fleet.home.path().join(format!("pulled{round}")));
        let begun = Instant::now();
        finish(&mut command)?;
        pulls.push(begun.elapsed().as_secs_f64());
    }
    let median = |mut seconds: Vec<f64>| {
        seconds.sort_by(f64::total_cmp);
        seconds[seconds.len() / 2]
    };
    let (pull, floor) = (median(pulls), median(floors));
    report.figure("fleet_pull", pull, "s");
    report.figure("fleet_pull_floor", floor, "s");
    report.target("fleet_pull_ratio", pull / floor, "x", Target::AtMost(1.5));
    Ok(())
}

fn bare(fleet: &Fleet, keys: &[IndexKey], round: usize) -> anyhow::Result<()> {
    let folder = fleet.home.path().join(format!("bare{round}"));
    std::fs::create_dir(&folder)?;
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
    thread::scope(|scope| {
        for _ in 0..PARALLEL {
            scope.spawn(|| {
                while let Some(key) = keys.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(error) = fleet.bare_get(key, &folder.join(key.to_string())) {
                        *failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(error);
                        return;
                    }
                }
            });
        }
    });
    failed.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).map_or(Ok(()), Err)
}
