//! A handful of numbers in place of many samples.

use serde::{Deserialize, Serialize};

/// Least, median and 99th percentile of `n` samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    pub n: usize,
    pub min: f64,
    pub p50: f64,
    pub p99: f64,
}

impl Spread {
    /// `None` without samples.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |part: f64| sorted[((sorted.len() - 1) as f64 * part).round() as usize];
        (!sorted.is_empty()).then(|| Self { n: sorted.len(), min: sorted[0], p50: at(0.5), p99: at(0.99) })
    }

    /// A figure that was counted, not sampled.
    pub fn exact(value: f64) -> Self {
        Self { n: 1, min: value, p50: value, p99: value }
    }
}
