//! HDR histograms of nanoseconds (Gil Tene, `HdrHistogram`): a time is kept with three significant digits in constant memory,
//! so that the 99.9th percentile is as exact as the median and no sample is thrown away.
//!
//! A time over a minute counts as a minute. The histogram corrects nothing afterwards: where calls could be late, the generator
//! times them from the moment at which they were due ([`crate::generator::open_loop`]).
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

/// The longest time that is told from longer ones.
const LONGEST: Duration = Duration::from_secs(60);

/// Significant digits of a time.
const DIGITS: u8 = 3;

/// An empty histogram.
pub(crate) fn histogram() -> anyhow::Result<Histogram<u64>> {
    let longest = u64::try_from(LONGEST.as_nanos())?;
    Ok(Histogram::new_with_bounds(1, longest, DIGITS)?)
}

/// Nanoseconds since a moment.
pub(crate) fn nanos(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Nanoseconds as microseconds.
pub(crate) fn micros(nanos: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a minute of nanoseconds is far below 2^53")]
    let nanos = nanos as f64;
    nanos / 1000.0
}
