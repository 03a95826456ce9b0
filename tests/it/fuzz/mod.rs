//! Fuzzing of every reader of foreign bytes, on a stable compiler: no input may make one panic, or take longer than its
//! budget.
//!
//! Each target is a test. It replays its seeds, and then inputs that the [`mutator`](Mutator) makes of them, the same ones in
//! every run: some hundreds, or as many as fit in `GOBO_FUZZ_SECONDS` seconds (`.ci/run` gives each 5). An input that a
//! reader takes becomes a seed, so that later ones go deeper. Whoever finds an input that fails adds it to the seeds of its
//! target.

mod access;
mod artifact;
mod constraints;
mod mutator;
mod objects;
mod proto;
mod tokenizers;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use self::mutator::Mutator;

/// Inputs of a run for which no time is set.
const INPUTS: usize = 300;

/// Feeds a target, which says whether its reader took the input.
fn fuzz(target: &str, seeds: Vec<Vec<u8>>, words: &[&str], takes: impl Fn(&[u8]) -> bool) {
    let seconds = std::env::var("GOBO_FUZZ_SECONDS").ok();
    let time = seconds.map(|seconds| Duration::from_secs(seconds.parse().expect("a number of seconds")));
    let began = Instant::now();
    let run = |input: &[u8]| {
        catch_unwind(AssertUnwindSafe(|| takes(input)))
            .unwrap_or_else(|_| panic!("{target} fails on b\"{}\"", input.escape_ascii()))
    };
    let taken = seeds.iter().filter(|seed| run(seed)).count();
    assert!(taken > 0, "{target}: no seed is taken, so nothing deep is reached");
    let mut mutator = Mutator::new(seeds, words);
    let mut inputs = 0;
    while time.map_or(inputs < INPUTS, |time| began.elapsed() < time) {
        let input = mutator.next();
        if run(&input) {
            mutator.keep(input);
        }
        inputs += 1;
    }
}
