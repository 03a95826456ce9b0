//! A row of a report: counts and times of one kind of call, beside those of its floor.
//!
//! Counts tell calls that were made (`n`), those of them without a good answer (`failed`) and those that could not be made in
//! time (`skipped`); times are those of good answers alone, as percentiles in microseconds. Rates are calls a second.
use std::time::Duration;

use gobo_measure::csv::number;
use hdrhistogram::Histogram;

use super::histogram::micros;

/// Columns of every report, in this order.
pub(super) const COLUMNS: [&str; 9] =
    ["name", "n", "failed", "p50_us", "p99_us", "p999_us", "max_us", "floor_p50_us", "floor_p99_us"];

/// Columns after those, of reports that have calls at a rate. `seconds` is how long the row was measured, its floor included and
/// its warm-up not.
pub(super) const LOAD_COLUMNS: [&str; 4] = ["skipped", "per_s", "floor_per_s", "seconds"];

/// The times of one kind of call.
pub(crate) struct Row {
    pub(crate) name: String,
    /// The rows that are drawn together: set by the report.
    pub(crate) panel: String,
    /// Calls, the failed ones included and the skipped ones not.
    pub(crate) n: u64,
    pub(crate) failed: u64,
    /// Calls that were due and could not leave.
    pub(crate) skipped: u64,
    /// Nanoseconds of the calls that did not fail.
    pub(crate) times: Histogram<u64>,
    /// Nanoseconds of the floor's calls.
    pub(crate) floor: Option<Histogram<u64>>,
    /// Calls a second of a closed loop.
    pub(crate) per_s: Option<f64>,
    pub(crate) floor_per_s: Option<f64>,
    /// How long it was measured, with the turns of its floor and without the warm-up.
    pub(crate) elapsed: Option<Duration>,
    /// Whether its calls may fail: attacks, and calls that a kill cuts off.
    pub(crate) may_fail: bool,
}

impl Row {
    pub(crate) fn new(name: &str, n: u64, failed: u64, times: Histogram<u64>) -> Self {
        let name = name.to_owned();
        Self {
            name,
            panel: String::new(),
            n,
            failed,
            skipped: 0,
            times,
            floor: None,
            per_s: None,
            floor_per_s: None,
            elapsed: None,
            may_fail: false,
        }
    }

    /// A percentile in microseconds.
    pub(crate) fn us(&self, quantile: f64) -> f64 {
        micros(self.times.value_at_quantile(quantile))
    }

    pub(super) fn seconds(&self) -> Option<f64> {
        self.elapsed.map(|elapsed| elapsed.as_secs_f64())
    }

    /// Microseconds, in the order of [`COLUMNS`] after the counts.
    pub(super) fn times_us(&self) -> [Option<f64>; 6] {
        let times = |quantile| Some(self.us(quantile));
        let floor = |quantile| Some(micros(self.floor.as_ref()?.value_at_quantile(quantile)));
        [times(0.5), times(0.99), times(0.999), Some(micros(self.times.max())), floor(0.5), floor(0.99)]
    }

    /// The fields of all columns as text, times with this many decimals.
    pub(super) fn cells(&self, decimals: usize) -> Vec<String> {
        let counts = [self.name.clone(), self.n.to_string(), self.failed.to_string()];
        let times = self.times_us().map(|us| number(us, decimals));
        let rates = [self.per_s, self.floor_per_s, self.seconds()].map(|value| number(value, 1));
        let more = [self.skipped.to_string()].into_iter().chain(rates);
        counts.into_iter().chain(times).chain(more).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::histogram::histogram;
    use super::*;

    #[test]
    fn a_row_without_floor_has_empty_cells_and_as_many_columns() {
        let mut times = histogram().unwrap();
        (1..=1000).for_each(|us| times.record(us * 1000).unwrap());
        let cells = Row::new("some", 1000, 0, times).cells(1);
        assert_eq!(cells.len(), COLUMNS.len() + LOAD_COLUMNS.len());
        assert_eq!(cells[..3], ["some", "1000", "0"]);
        assert_eq!(cells[7..], ["", "", "0", "", "", ""]);
        let p50: f64 = cells[3].parse().unwrap();
        assert!((499.0..=502.0).contains(&p50), "{p50}");
    }
}
