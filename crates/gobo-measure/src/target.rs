//! Targets: what a measured figure should be, and whether it is.
//!
//! There are two sorts. A *wish* is a bound on a time or a size: a slow or busy machine misses it, and nobody fails for that. A
//! *promise* is about a count that no machine can change (compiles for one burst, lost indices): whoever breaks it fails.
//!
//! ```
//! use gobo_measure::{Target, Verdict};
//!
//! assert_eq!(Target::AtMost(2.0).verdict(1.3), Verdict::Met);
//! assert_eq!(Target::AtLeast(0.8).verdict(0.7), Verdict::Missed);
//! assert_eq!(Target::Exactly(1.0).verdict(2.0), Verdict::Broken);
//! assert_eq!(Target::AtMost(2.0).to_string(), "at most 2");
//! ```
use std::fmt;

/// What a figure should be. The unit is that of the figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// A wish.
    AtMost(f64),
    /// A wish.
    Below(f64),
    /// A wish.
    AtLeast(f64),
    /// A promise.
    Exactly(f64),
}

/// How a figure stands to its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Wish or promise, it holds.
    Met,
    /// A wish that does not hold.
    Missed,
    /// A promise that does not hold.
    Broken,
}

impl Target {
    /// Compares a figure with the target.
    #[expect(clippy::float_cmp, reason = "promises are about counts")]
    pub fn verdict(self, value: f64) -> Verdict {
        let is_met = match self {
            Self::AtMost(limit) => value <= limit,
            Self::Below(limit) => value < limit,
            Self::AtLeast(limit) => value >= limit,
            Self::Exactly(wanted) => value == wanted,
        };
        match self {
            _ if is_met => Verdict::Met,
            Self::Exactly(_) => Verdict::Broken,
            Self::AtMost(_) | Self::Below(_) | Self::AtLeast(_) => Verdict::Missed,
        }
    }

    /// Whether greater figures are better.
    pub fn wants_more(self) -> bool {
        matches!(self, Self::AtLeast(_))
    }

    /// The comparison in one word, and the number: `("at_most", 2.0)`.
    pub fn parts(self) -> (&'static str, f64) {
        match self {
            Self::AtMost(value) => ("at_most", value),
            Self::Below(value) => ("below", value),
            Self::AtLeast(value) => ("at_least", value),
            Self::Exactly(value) => ("exactly", value),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, value) = self.parts();
        write!(f, "{} {value}", word.replace('_', " "))
    }
}

impl Verdict {
    /// Whether the target holds.
    pub fn is_met(self) -> bool {
        self == Self::Met
    }

    /// As reports print it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "missed",
            Self::Broken => "BROKEN",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_at_their_limit_and_nothing_is_met_by_no_number() {
        for target in [Target::AtMost(1.0), Target::AtLeast(1.0), Target::Exactly(1.0)] {
            assert!(target.verdict(1.0).is_met(), "{target}");
        }
        assert_eq!(Target::Below(1.0).verdict(1.0), Verdict::Missed);
        for target in [Target::AtMost(1.0), Target::Below(1.0), Target::AtLeast(1.0), Target::Exactly(1.0)] {
            assert!(!target.verdict(f64::NAN).is_met(), "{target}");
        }
    }
}
