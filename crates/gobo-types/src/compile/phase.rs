//! What a compile is doing: the coarse steps by which its time is told.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A coarse step of a compile. Each begins where the one before it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The vocabulary is mapped.
    Open,
    /// The constraint becomes an automaton.
    Lower,
    /// The part of the automaton is found that tokens can spell.
    Spell,
    /// Mask rows are computed.
    Rows,
    /// Rows are numbered, and equal ones become one.
    LayOut,
    /// The bytes of the index are written.
    Write,
    /// The part of a constraint is looked for that ends its compile.
    Diagnose,
}

impl Phase {
    /// Its name in traces.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Lower => "lower",
            Self::Spell => "spell",
            Self::Rows => "rows",
            Self::LayOut => "lay_out",
            Self::Write => "write",
            Self::Diagnose => "diagnose",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// When a phase was, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseTime {
    /// Which.
    pub phase: Phase,
    /// From the beginning of the compile to that of the phase.
    pub after_us: u64,
    /// From the beginning of the phase to its end.
    pub took_us: u64,
}

impl PhaseTime {
    /// Most phases of a compile that are kept. A compile that begins again has some of them twice.
    pub const MOST: usize = 32;

    /// From the beginning of the compile to that of the phase.
    pub fn after(&self) -> Duration {
        Duration::from_micros(self.after_us)
    }

    /// From the beginning of the phase to its end.
    pub fn took(&self) -> Duration {
        Duration::from_micros(self.took_us)
    }
}
