//! Timing of steps that are hardly longer than reading the clock.

use std::time::Instant;

use crate::spread::Spread;

/// A clock that subtracts its own cost, the median of many readings with nothing in between.
pub struct Clock {
    own_ns: f64,
}

impl Clock {
    pub fn calibrated() -> Self {
        let empty = |_| {
            let begin = Instant::now();
            begin.elapsed().as_nanos() as f64
        };
        let readings: Vec<f64> = (0..2001).map(empty).collect();
        Self { own_ns: Spread::of(&readings).map_or(0.0, |spread| spread.p50) }
    }

    /// What one reading costs, in nanoseconds.
    pub fn own_ns(&self) -> f64 {
        self.own_ns
    }

    /// Runs `work` once: its result and its nanoseconds.
    #[inline]
    pub fn time<T>(&self, work: impl FnOnce() -> T) -> (T, f64) {
        let begin = Instant::now();
        let result = work();
        let elapsed = begin.elapsed().as_nanos() as f64;
        (result, (elapsed - self.own_ns).max(0.0))
    }
}
