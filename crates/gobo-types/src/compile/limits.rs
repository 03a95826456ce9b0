//! The counted limits of a compile: states, steps, bytes.

use serde::{Deserialize, Serialize};

use crate::text::{grouped, human_bytes};

/// One of the counted limits of a compile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// [`CompileLimits::max_states`].
    MaxStates,
    /// [`CompileLimits::max_steps`].
    MaxSteps,
    /// [`CompileLimits::max_bytes`].
    MaxBytes,
}

impl Limit {
    /// The limit's name in options, replies and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::MaxStates => "max_states",
            Self::MaxSteps => "max_steps",
            Self::MaxBytes => "max_bytes",
        }
    }

    /// The unit that is counted.
    pub fn unit(self) -> &'static str {
        match self {
            Self::MaxStates => "states",
            Self::MaxSteps => "steps",
            Self::MaxBytes => "bytes",
        }
    }

    /// An amount with its unit, for a person.
    ///
    /// ```
    /// use gobo_types::Limit;
    ///
    /// assert_eq!(Limit::MaxStates.quantity(262_144), "262,144 states");
    /// assert_eq!(Limit::MaxBytes.quantity(268_435_456), "256 MiB");
    /// assert_eq!(Limit::MaxBytes.quantity(1_000_000), "976.6 KiB");
    /// ```
    pub fn quantity(self, amount: u64) -> String {
        match self {
            Self::MaxBytes => human_bytes(amount),
            Self::MaxStates | Self::MaxSteps => format!("{} {}", grouped(amount), self.unit()),
        }
    }
}

/// The limits of one compile. All three are counted, never timed, so that a verdict is the same on every host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CompileLimits {
    /// Most states of any automaton that is built. Default 262,144 (2^18). A regular expression that doubles its
    /// states with each character ends here within about a second.
    pub max_states: u64,
    /// Most steps of the inner loops: states visited in closures, transitions built or compared, trie nodes
    /// walked. Default 2,000,000,000, 8 to 20 seconds of one core.
    pub max_steps: u64,
    /// Most bytes of the tables of one compile, the file itself included; tables that a step of lowering drops at its end are
    /// given back. Default 256 MiB.
    pub max_bytes: u64,
}

impl Default for CompileLimits {
    fn default() -> Self {
        Self { max_states: 1 << 18, max_steps: 2_000_000_000, max_bytes: 256 << 20 }
    }
}

impl CompileLimits {
    /// The lesser of both, limit by limit: the limits of a request, within those of the host.
    #[must_use]
    pub fn within(self, most: &Self) -> Self {
        // Destructured, so that a new limit cannot be forgotten here.
        let Self { max_states, max_steps, max_bytes } = *most;
        Self {
            max_states: self.max_states.min(max_states),
            max_steps: self.max_steps.min(max_steps),
            max_bytes: self.max_bytes.min(max_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_is_the_lesser_of_both() {
        let most = CompileLimits { max_states: 1, max_steps: 20, max_bytes: 300 };
        let asked = CompileLimits { max_states: u64::MAX, max_steps: 2, max_bytes: 300 };
        assert_eq!(asked.within(&most), CompileLimits { max_states: 1, max_steps: 2, max_bytes: 300 });
        assert_eq!(CompileLimits { max_states: 0, max_steps: 0, max_bytes: 0 }.within(&most).max_bytes, 0);
    }
}
