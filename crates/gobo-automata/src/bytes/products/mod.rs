//! Products: two automata that read the same bytes side by side.

mod difference;
mod stops;

pub use difference::{ByteAutomaton, Difference, MAX_PAIRS, Side, TooManyPairs, difference};
