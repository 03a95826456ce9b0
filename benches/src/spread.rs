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
        let sorted = Sorted::of(samples.to_vec());
        let at = |part| sorted.at(part);
        Some(Self { n: sorted.len(), min: at(0.0)?, p50: at(0.5)?, p99: at(0.99)? })
    }

    /// A figure that was counted, not sampled.
    pub fn exact(value: f64) -> Self {
        Self { n: 1, min: value, p50: value, p99: value }
    }
}

/// Samples in ascending order.
#[derive(Debug, Clone, Default)]
pub struct Sorted(Vec<f64>);

impl Sorted {
    pub fn of(mut samples: Vec<f64>) -> Self {
        samples.sort_by(f64::total_cmp);
        Self(samples)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The sample below which `part` of all lie: 0 is the least, 0.5 the median, 1 the greatest. `None` without samples.
    pub fn at(&self, part: f64) -> Option<f64> {
        let last = self.0.len().checked_sub(1)?;
        Some(self.0[(last as f64 * part).round() as usize])
    }

    pub fn sum(&self) -> f64 {
        self.0.iter().sum()
    }

    /// How many are at most `limit`.
    pub fn up_to(&self, limit: f64) -> usize {
        self.0.partition_point(|&sample| sample <= limit)
    }
}
