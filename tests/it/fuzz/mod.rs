//! Fuzzing of every reader of foreign bytes, on a stable compiler: no input may make one panic, or take longer than its
//! budget.
//!
//! Each target is a test. It replays its seeds, and then inputs that the fuzzer makes of them, the same ones in
//! every run: some hundreds, or as many as fit in `GOBO_FUZZ_SECONDS` seconds (`.ci/run` gives each 5). An input that a
//! reader takes becomes a seed, so that later ones go deeper. Whoever finds an input that fails adds it to the seeds of its
//! target.

mod access;
mod artifact;
mod constraints;
mod fuzzer;
mod objects;
mod proto;
mod tokenizers;

use self::fuzzer::fuzz;
