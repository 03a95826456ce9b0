//! Logarithmic axes: times and ratios that spread over powers of ten.
//!
//! The axis begins and ends at whole powers of ten. A value lies at the share of the axis that its logarithm has between the two
//! ends; values beyond an end are drawn at that end.
use std::ops::RangeInclusive;

/// An axis from one power of ten to a higher one, in the coordinates of a picture.
#[derive(Debug, Clone, Copy)]
pub struct LogAxis {
    low: i32,
    high: i32,
    from: f64,
    to: f64,
}

impl LogAxis {
    /// The axis of these powers of ten, whose ends lie at `from` and `to`. Where `to` is smaller, values grow to the left or
    /// upwards.
    pub fn new(powers: RangeInclusive<i32>, from: f64, to: f64) -> Self {
        Self { low: *powers.start(), high: *powers.end(), from, to }
    }

    /// The powers of ten around all values, at least one decade; `otherwise` where there are no values. Values below `least`
    /// count as that.
    pub fn powers_of(
        values: impl IntoIterator<Item = f64>,
        least: f64,
        otherwise: RangeInclusive<i32>,
    ) -> RangeInclusive<i32> {
        let bounds = values.into_iter().fold(None, |bounds: Option<(f64, f64)>, value| {
            let (low, high) = bounds.unwrap_or((value, value));
            Some((low.min(value), high.max(value)))
        });
        let Some((low, high)) = bounds else { return otherwise };
        #[expect(clippy::cast_possible_truncation, reason = "exponents of an f64")]
        let power = |value: f64| value as i32;
        let low = power(low.max(least).log10().floor());
        low..=power(high.max(least).log10().ceil()).max(low + 1)
    }

    /// Where a value lies.
    pub fn at(&self, value: f64) -> f64 {
        self.at_power(value.log10())
    }

    /// Where a power of ten lies. Below zero, and no number: at the lower end.
    pub fn at_power(&self, power: f64) -> f64 {
        let (low, high) = (f64::from(self.low), f64::from(self.high));
        let share = (power - low) / (high - low);
        // `clamp` keeps what is no number.
        let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
        self.from + (self.to - self.from) * share
    }

    /// The powers of ten on the axis, ascending.
    pub fn powers(&self) -> RangeInclusive<i32> {
        self.low..=self.high
    }

    /// The two ends of the axis in the picture.
    pub fn ends(&self) -> (f64, f64) {
        (self.from, self.to)
    }
}

/// A power of ten of nanoseconds, in the unit that a person would use: `10 ns`, `1 µs`, `100 ms`, `1 s`.
pub fn nanoseconds(power: i32) -> String {
    let (unit, name) = match power {
        ..3 => (0, "ns"),
        3..6 => (3, "µs"),
        6..9 => (6, "ms"),
        9.. => (9, "s"),
    };
    format!("{} {name}", 10_f64.powi(power - unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_between_the_ends_by_their_logarithm() {
        let axis = LogAxis::new(-2..=4, 100.0, 700.0);
        for (value, at) in
            [(1.0, 300.0), (0.01, 100.0), (1e4, 700.0), (1e9, 700.0), (0.0, 100.0), (-1.0, 100.0)]
        {
            assert!((axis.at(value) - at).abs() < 1e-9, "{value}: {}", axis.at(value));
        }
        let upwards = LogAxis::new(0..=2, 400.0, 0.0);
        assert!((upwards.at(10.0) - 200.0).abs() < 1e-9);
    }

    #[test]
    fn powers_enclose_all_values() {
        assert_eq!(LogAxis::powers_of([3.0, 250.0], 1e-3, 0..=3), 0..=3);
        assert_eq!(LogAxis::powers_of([20.0, 30.0], 1e-3, 0..=3), 1..=2);
        assert_eq!(LogAxis::powers_of([10.0, 10.0], 1e-3, 0..=3), 1..=2);
        assert_eq!(LogAxis::powers_of([0.0], 1e-3, 0..=3), -3..=-2);
        assert_eq!(LogAxis::powers_of([], 1e-3, 0..=3), 0..=3);
    }

    #[test]
    fn powers_of_nanoseconds_have_units() {
        let names = [(0, "1 ns"), (2, "100 ns"), (3, "1 µs"), (8, "100 ms"), (9, "1 s"), (11, "100 s")];
        names.iter().for_each(|(power, name)| assert_eq!(nanoseconds(*power), *name));
    }
}
