//! Feeds readers with inputs that are made of other inputs, in the way of AFL's *havoc* and *splice* stages (Zalewski 2014): each is a seed with
//! a few random changes. The numbers are those of one generator, so every run makes the same inputs. Crates whose readers are not public
//! include this file in their own tests.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use fastrand::Rng;

/// Inputs of a run for which no time is set.
const INPUTS: usize = 300;

/// Most bytes of an input.
const LONGEST: usize = 1 << 16;

/// Most seeds that are kept.
const MOST_SEEDS: usize = 1_000;

/// Numbers at whose neighbours readers err.
const EDGES: [u64; 9] = [0, 1, 0x7f, 0x80, 0xff, 0x7fff_ffff, 0xffff_ffff, u64::MAX >> 1, u64::MAX];

struct Mutator {
    random: Rng,
    seeds: Vec<Vec<u8>>,
    /// Words of the format, which random bytes would not meet.
    words: Vec<Vec<u8>>,
}

impl Mutator {
    fn new(seeds: Vec<Vec<u8>>, words: &[&str]) -> Self {
        Self {
            random: Rng::with_seed(1),
            seeds,
            words: words.iter().map(|word| word.as_bytes().to_vec()).collect(),
        }
    }

    /// Makes an input a seed.
    fn keep(&mut self, input: Vec<u8>) {
        if self.seeds.len() < MOST_SEEDS {
            self.seeds.push(input);
        }
    }

    fn next(&mut self) -> Vec<u8> {
        let mut input = self.seed();
        for _ in 0..=self.random.usize(..6) {
            self.change(&mut input);
        }
        input.truncate(LONGEST);
        input
    }

    fn seed(&mut self) -> Vec<u8> {
        self.seeds[self.random.usize(..self.seeds.len())].clone()
    }

    fn byte(&mut self) -> u8 {
        u8::try_from(self.random.usize(..256)).expect("below 256")
    }

    /// A range of places in a text, mostly short.
    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.random.usize(..=length);
        let most = if self.random.usize(..4) == 0 { length } else { 8 };
        start..(start + self.random.usize(..=most)).min(length)
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.random.usize(..=input.len());
        match self.random.usize(..9) {
            0 if at < input.len() => input[at] ^= 1 << self.random.usize(..8),
            1 if at < input.len() => input[at] = self.byte(),
            2 => input.insert(at, self.byte()),
            3 => drop(input.drain(self.range(input.len()))),
            4 => {
                let copy = input[self.range(input.len())].to_vec();
                input.splice(at..at, copy);
            }
            5 => {
                let other = self.seed();
                let part = other[self.range(other.len())].to_vec();
                let replaced = at..(at + part.len()).min(input.len());
                input.splice(replaced, part);
            }
            6 if !self.words.is_empty() => {
                let word = self.words[self.random.usize(..self.words.len())].clone();
                input.splice(at..at, word);
            }
            7 => {
                let width = 1 << self.random.usize(..4);
                let edge = EDGES[self.random.usize(..EDGES.len())].to_le_bytes();
                let replaced = at..(at + width).min(input.len());
                input.splice(replaced, edge[..width].iter().copied());
            }
            _ => input.truncate(at.max(1)),
        }
    }
}

/// Feeds a target, which says whether its reader took the input.
pub(crate) fn fuzz(target: &str, seeds: Vec<Vec<u8>>, words: &[&str], takes: impl Fn(&[u8]) -> bool) {
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
