//! Vocabulary × automaton → index: which states need a row, which states share one, and what is in it.
//!
//! Pure and deterministic: the bytes depend on the key alone, not on the number of threads.
#![forbid(unsafe_code)]

mod ambiguity;
mod compile;
mod configurations;
mod push_down;
mod row_cache;
mod row_computer;
mod rule_view;
mod spell;
mod walk;

pub use compile::{CompileOptions, CompileStats, Compiled, compile};
pub use row_cache::RowCache;
