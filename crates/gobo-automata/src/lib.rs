//! Byte-level automata from regular expressions and choice lists, under counted budgets.
//!
//! An automaton here is anchored and total: it speaks of whole texts, and every alternative is alive (`a|ab` accepts
//! `ab`). It is trimmed, minimal and canonically numbered, so one language has one [`Dfa`].
#![forbid(unsafe_code)]

mod choice;
mod determinize;
mod dfa;
mod difference;
mod lower;
mod refine;
mod regex;

pub use dfa::{ByteSet, DEAD, Dfa, StateId};
pub use difference::{ByteAutomaton, Difference, MAX_PAIRS, Side, TooManyPairs, difference};
pub use lower::{Lowered, lower};
pub use refine::{Partition, refine};
pub use regex::{MAX_PATTERN_BYTES, NEST_LIMIT};
