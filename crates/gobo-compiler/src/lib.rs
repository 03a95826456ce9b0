//! Vocabulary × automaton → index: which states need a row, which states share one, and what is in it.
//!
//! Pure and deterministic: the bytes depend on the key alone, not on the number of threads.
#![forbid(unsafe_code)]

mod canonical;
mod compile;
mod compiled;
mod joined_bytes;
mod lay_out;
mod pairs;
mod rows;
mod spell;
mod tokens;

pub use compile::{CompileOptions, compile};
pub use compiled::{CompileStats, Compiled};
pub use rows::RowCache;
