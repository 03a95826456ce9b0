//! A call beside its floor: both in turns, by one caller, one call at a time.
//!
//! Measures nanoseconds of a call and of its *floor*, the least that such a call can cost on this host (an empty call over the same
//! connection, the same file opened). It is a closed loop of one caller without think time. The two alternate, and which of them
//! goes first changes from round to round (a counterbalanced, paired design), so that drift of the machine and warm caches hit
//! both alike and their difference is the call's own. Of Bulej et al., "Duet Benchmarking" (ICPE 2020), it takes the pairing, and
//! runs the pair alternately instead of at once.
use std::time::{Duration, Instant};

use anyhow::Context;
use gobo_cli::output::{self, progress};

use super::Bounds;
use crate::report::Row;
use crate::report::histogram::{histogram, nanos};

/// Most rounds of the warm-up, which are not recorded: they make connections and fill caches.
const MAX_WARM_UP: u64 = 1000;

/// Parts of the progress bar.
const PARTS: usize = 1000;

/// Rounds between two moves of the progress bar: drawing it disturbs what is measured.
const ROUNDS_PER_TICK: u64 = 256;

/// Calls `hit` and `floor` in turn and times each. Which of them goes first changes from round to round, so that neither
/// always finds the caches as the other left them.
///
/// # Errors
/// That of a floor: without it the numbers say nothing. A hit that fails is counted, and the first one is shown.
pub(crate) fn measure(
    name: &'static str,
    bounds: Bounds,
    mut floor: impl FnMut() -> anyhow::Result<()>,
    mut hit: impl FnMut() -> anyhow::Result<()>,
) -> anyhow::Result<Row> {
    for _ in 0..(bounds.count / 10).clamp(1, MAX_WARM_UP) {
        floor().with_context(|| format!("the floor of {name}"))?;
        // If it fails, it fails again below.
        let _ = hit();
    }
    measure_cold(name, bounds, floor, hit)
}

/// As [`measure`], without the warm-up: the first call counts too.
///
/// # Errors
/// As [`measure`].
pub(crate) fn measure_cold(
    name: &'static str,
    bounds: Bounds,
    mut floor: impl FnMut() -> anyhow::Result<()>,
    mut hit: impl FnMut() -> anyhow::Result<()>,
) -> anyhow::Result<Row> {
    let (mut row, mut floor_times) = (Row::new(name, 0, 0, histogram()?), histogram()?);
    let bar = progress(PARTS, name);
    let begun = Instant::now();
    while row.n < bounds.count && begun.elapsed() < bounds.time {
        let hit_goes_first = row.n % 2 == 1;
        if hit_goes_first {
            time(&mut row, &mut hit);
        }
        let call = Instant::now();
        floor().with_context(|| format!("the floor of {name}"))?;
        floor_times.saturating_record(nanos(call));
        if !hit_goes_first {
            time(&mut row, &mut hit);
        }
        if row.n.is_multiple_of(ROUNDS_PER_TICK) {
            bar.set_position(parts(bounds, row.n, begun.elapsed()));
        }
    }
    bar.finish_and_clear();
    row.floor = Some(floor_times);
    row.elapsed = Some(begun.elapsed());
    Ok(row)
}

/// How far a measurement is, in [`PARTS`], by the bound that is nearer.
fn parts(bounds: Bounds, n: u64, elapsed: Duration) -> u64 {
    let by_time = elapsed.as_millis() * PARTS as u128 / bounds.time.as_millis().max(1);
    let by_count = u128::from(n) * PARTS as u128 / u128::from(bounds.count.max(1));
    u64::try_from(by_time.max(by_count)).unwrap_or(u64::MAX)
}

/// Makes one call and counts it; one that fails has no time.
fn time(row: &mut Row, call: &mut impl FnMut() -> anyhow::Result<()>) {
    let begun = Instant::now();
    let result = call();
    let nanos = nanos(begun);
    row.n += 1;
    match result {
        Ok(()) => row.times.saturating_record(nanos),
        Err(error) => {
            if row.failed == 0 {
                output::note(format_args!("{}: {error:#}", row.name));
            }
            row.failed += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::histogram::micros;

    fn bounds(count: u64, seconds: u64) -> Bounds {
        Bounds { count, time: Duration::from_secs(seconds) }
    }

    #[test]
    fn a_failed_call_is_counted_and_not_timed_and_a_failed_floor_ends_it() {
        let mut calls = 0;
        let every_third_fails = || {
            calls += 1;
            anyhow::ensure!(calls % 3 != 0, "no");
            Ok(())
        };
        let measured = measure("some", bounds(100, 60), || Ok(()), every_third_fails).unwrap();
        let floor = measured.floor.unwrap();
        assert_eq!((measured.n, measured.failed, measured.times.len(), floor.len()), (100, 33, 67, 100));
        assert!(measure("none", bounds(100, 60), || anyhow::bail!("no floor"), || Ok(())).is_err());
    }

    #[test]
    fn time_ends_a_scenario_too() {
        let slow = || {
            std::thread::sleep(Duration::from_millis(10));
            Ok(())
        };
        let measured = measure("slow", bounds(10, 0), slow, slow).unwrap();
        assert_eq!(measured.n, 0);
    }

    #[test]
    fn a_floor_and_its_call_do_not_share_their_times() {
        let slow = || {
            std::thread::sleep(Duration::from_millis(3));
            Ok(())
        };
        let measured = measure("some", bounds(4, 60), || Ok(()), slow).unwrap();
        let p50 = measured.us(0.5);
        assert!(p50 >= 2990.0 && p50 <= measured.us(0.99), "{p50}");
        assert!(micros(measured.floor.unwrap().value_at_quantile(0.5)) < p50);
    }
}
