//! Timing calls beside their floor, and what is said of the times.
use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::Context;
use hdrhistogram::Histogram;
use serde_json::json;

use crate::args::Global;
use crate::commands::prewarm::progress;
use crate::output;

/// The longest time that is told from longer ones.
const LONGEST: Duration = Duration::from_secs(60);

/// Rounds that are not recorded: connections are made, and pages and caches filled.
const MAX_WARM_UP: u64 = 1000;

/// How often the bar moves: seldom, because drawing it disturbs what is measured.
const ROUNDS_PER_TICK: u64 = 256;

/// What is reported of one scenario, in this order.
pub(super) const COLUMNS: [&str; 9] =
    ["name", "n", "failed", "p50_us", "p99_us", "p999_us", "max_us", "floor_p50_us", "floor_p99_us"];

/// Where a scenario ends: at whichever comes first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) count: u64,
    pub(super) time: Duration,
}

/// The times of one scenario.
pub(super) struct Measured {
    pub(super) name: &'static str,
    /// Calls, the failed ones included.
    pub(super) n: u64,
    pub(super) failed: u64,
    /// Nanoseconds of the calls that did not fail.
    pub(super) hits: Histogram<u64>,
    /// Nanoseconds of the floor's calls.
    pub(super) floor: Histogram<u64>,
}

/// Calls `hit` and `floor` in turn and times each. Which of them goes first changes from round to round, so that neither
/// always finds the caches as the other left them.
///
/// # Errors
/// That of a floor: without it the numbers say nothing. A hit that fails is counted, and the first one is shown.
pub(super) fn measure(
    name: &'static str,
    bounds: Bounds,
    mut floor: impl FnMut() -> anyhow::Result<()>,
    mut hit: impl FnMut() -> anyhow::Result<()>,
) -> anyhow::Result<Measured> {
    let mut measured = Measured { name, n: 0, failed: 0, hits: histogram()?, floor: histogram()? };
    for _ in 0..(bounds.count / 10).clamp(1, MAX_WARM_UP) {
        floor().with_context(|| format!("the floor of {name}"))?;
        // If it fails, it fails again below.
        let _ = hit();
    }
    let bar = progress(usize::try_from(bounds.count).unwrap_or(usize::MAX), name);
    let begun = Instant::now();
    while measured.n < bounds.count && begun.elapsed() < bounds.time {
        let hit_goes_first = measured.n % 2 == 1;
        if hit_goes_first {
            measured.time_hit(&mut hit);
        }
        let call = Instant::now();
        floor().with_context(|| format!("the floor of {name}"))?;
        measured.floor.saturating_record(nanos(call));
        if !hit_goes_first {
            measured.time_hit(&mut hit);
        }
        if measured.n.is_multiple_of(ROUNDS_PER_TICK) {
            bar.set_position(measured.n);
        }
    }
    bar.finish_and_clear();
    Ok(measured)
}

impl Measured {
    fn time_hit(&mut self, hit: &mut impl FnMut() -> anyhow::Result<()>) {
        let call = Instant::now();
        let result = hit();
        let nanos = nanos(call);
        self.n += 1;
        match result {
            Ok(()) => self.hits.saturating_record(nanos),
            Err(error) => {
                if self.failed == 0 {
                    output::note(format_args!("{}: {error:#}", self.name));
                }
                self.failed += 1;
            }
        }
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed > 0
    }

    /// Microseconds, in the order of [`COLUMNS`] behind the counts.
    fn times_us(&self) -> [f64; 6] {
        let hits = |quantile| micros(self.hits.value_at_quantile(quantile));
        let floor = |quantile| micros(self.floor.value_at_quantile(quantile));
        [hits(0.5), hits(0.99), hits(0.999), micros(self.hits.max()), floor(0.5), floor(0.99)]
    }

    /// As text, times with so many decimals.
    fn cells(&self, decimals: usize) -> Vec<String> {
        let counts = [self.name.to_owned(), self.n.to_string(), self.failed.to_string()];
        let times = self.times_us().map(|us| format!("{us:.decimals$}"));
        counts.into_iter().chain(times).collect()
    }
}

/// Prints what was measured to stdout, and to `csv` too.
pub(super) fn report(
    global: &Global,
    measured: &[Measured],
    csv: Option<&mut impl Write>,
) -> anyhow::Result<()> {
    if let Some(csv) = csv {
        let mut text = COLUMNS.join(",") + "\n";
        measured.iter().for_each(|row| text += &(row.cells(3).join(",") + "\n"));
        csv.write_all(text.as_bytes()).context("cannot write the CSV file")?;
    }
    if global.json {
        for row in measured {
            let mut printed = json!({"name": row.name, "n": row.n, "failed": row.failed});
            for (column, us) in COLUMNS[3..].iter().zip(row.times_us()) {
                printed[*column] = json!(us);
            }
            output::line(printed)?;
        }
        return Ok(());
    }
    let rows: Vec<Vec<String>> = measured.iter().map(|row| row.cells(2)).collect();
    output::line(output::table(&COLUMNS, &rows))
}

/// Nanoseconds, each to three digits.
pub(super) fn histogram() -> anyhow::Result<Histogram<u64>> {
    let longest = u64::try_from(LONGEST.as_nanos())?;
    Ok(Histogram::new_with_bounds(1, longest, 3)?)
}

pub(super) fn nanos(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

pub(super) fn micros(nanos: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a minute of nanoseconds is far below 2^53")]
    let nanos = nanos as f64;
    nanos / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(
            (measured.n, measured.failed, measured.hits.len(), measured.floor.len()),
            (100, 33, 67, 100)
        );
        assert!(measured.has_failed());
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
        let [p50, p99, p999, max, floor_p50, _] = measured.times_us();
        assert!(p50 >= 2990.0 && p50 <= p99 && p99 <= p999 && p999 <= max, "{p50} {p99} {p999} {max}");
        assert!(floor_p50 < p50, "{floor_p50}");
    }
}
