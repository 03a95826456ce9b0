//! Inputs made of other inputs, in the way of AFL's *havoc* and *splice* stages (Zalewski 2014): each is a seed with a few
//! random changes. The numbers are those of one generator, so every run makes the same inputs.

use crate::schema::Random;

/// Most bytes of an input.
const LONGEST: usize = 1 << 16;

/// Most seeds that are kept.
const MOST_SEEDS: usize = 1_000;

/// Numbers at whose neighbours readers err.
const EDGES: [u64; 9] = [0, 1, 0x7f, 0x80, 0xff, 0x7fff_ffff, 0xffff_ffff, u64::MAX >> 1, u64::MAX];

pub(super) struct Mutator {
    random: Random,
    seeds: Vec<Vec<u8>>,
    /// Words of the format, which random bytes would not meet.
    words: Vec<Vec<u8>>,
}

impl Mutator {
    pub(super) fn new(seeds: Vec<Vec<u8>>, words: &[&str]) -> Self {
        Self { random: Random(1), seeds, words: words.iter().map(|word| word.as_bytes().to_vec()).collect() }
    }

    /// Makes an input a seed.
    pub(super) fn keep(&mut self, input: Vec<u8>) {
        if self.seeds.len() < MOST_SEEDS {
            self.seeds.push(input);
        }
    }

    pub(super) fn next(&mut self) -> Vec<u8> {
        let mut input = self.seed();
        for _ in 0..=self.random.below(6) {
            self.change(&mut input);
        }
        input.truncate(LONGEST);
        input
    }

    fn seed(&mut self) -> Vec<u8> {
        self.seeds[self.random.below(self.seeds.len())].clone()
    }

    fn byte(&mut self) -> u8 {
        u8::try_from(self.random.below(256)).expect("below 256")
    }

    /// A range of places in a text, mostly short.
    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.random.below(length + 1);
        let most = if self.random.below(4) == 0 { length } else { 8 };
        start..(start + self.random.below(most + 1)).min(length)
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.random.below(input.len() + 1);
        match self.random.below(9) {
            0 if at < input.len() => input[at] ^= 1 << self.random.below(8),
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
                let word = self.words[self.random.below(self.words.len())].clone();
                input.splice(at..at, word);
            }
            7 => {
                let width = 1 << self.random.below(4);
                let edge = EDGES[self.random.below(EDGES.len())].to_le_bytes();
                let replaced = at..(at + width).min(input.len());
                input.splice(replaced, edge[..width].iter().copied());
            }
            _ => input.truncate(at.max(1)),
        }
    }
}
