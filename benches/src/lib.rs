//! Benchmarks of gobo with its peers linked: everything that the binaries and the criterion benches share.
//!
//! How to run each command, and how to read it, is in `README.md`.

pub mod ambiguity;
pub mod args;
pub mod ask;
pub mod canonical;
pub mod cases;
pub mod clock;
pub mod compare;
pub mod compile_plot;
pub mod contestants;
pub mod extensions;
pub mod heap;
pub mod instructions;
pub mod library;
pub mod record;
pub mod recursion;
pub mod run;
pub mod schema;
pub mod short;
pub mod spread;
pub mod tables;
pub mod tags;
pub mod targets;
pub mod vocabularies;
pub mod worker;
