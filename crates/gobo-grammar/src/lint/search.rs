//! The search for a shortest text with two parse trees.
//!
//! A derivation from the left is a stack of symbols that are still to be read, and a list of choices. Two derivations of one text are
//! followed at once: as long as they choose alike they are one stack; from the first choice at which they part they are a pair of
//! stacks, which read the same characters. Where both stacks of a pair become equal, whatever is read on completes two trees; so any
//! way to the end gives a text with two trees, and each such text has such a way. The pairs that were met are kept, and not the
//! texts: many texts lead to one pair, and characters that no symbol tells apart are one minterm.
//!
//! Pairs are taken in the order of the length of the shortest text that they could still become: what was read, and the shortest text
//! of the longer stack (Hart, Nilsson & Raphael, *A Formal Basis for the Heuristic Determination of Minimum Cost Paths*, 1968). The
//! estimate is never too high and falls by one at most with a character, so the first pair at the end is a shortest text, and what is
//! taken once need not be taken again. Among equal lengths fewer steps come first, so that rules that call themselves without reading
//! end the search and do not prolong it: each of them is ambiguous.
//!
//! Whether a grammar is ambiguous at all is undecidable (Cantor, *On the Ambiguity Problem of Backus Systems*, 1962): the length of
//! texts bounds the search, and a budget of its own does. Up to a length the answer is exact, both ways. The cost is that of the pairs
//! of stacks that come up, which may double with each character.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use gobo_automata::Symbol;
use gobo_types::{Budget, CompileError};

use super::leaf::plus;
use super::stacks::{EMPTY, Next, StackId, Stacks};
use super::symbols::{SymbolId, Symbols};

const PHASE: &str = "looking for two parse trees";

/// Bytes that a place is charged: itself, in the queue, and among those that were taken.
const PLACE_BYTES: u64 = 128;

/// One text and the choices of two derivations of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) text: Vec<Symbol>,
    pub(super) choices: [Vec<usize>; 2],
}

/// The end of a search.
pub(super) enum End {
    Found(Found),
    /// No text of so many characters or fewer has two trees.
    None,
    /// None of fewer characters has; then the budget ran out.
    OverBudget(u32),
}

/// What two derivations have still to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Pair {
    /// They have chosen alike.
    One(StackId),
    /// They have parted.
    Two(StackId, StackId),
    /// They have parted, and become equal.
    Joined(StackId),
}

impl Pair {
    fn parted(a: StackId, b: StackId) -> Self {
        if a == b { Self::Joined(a) } else { Self::Two(a, b) }
    }

    /// Which of two derivations is the first means nothing.
    fn unordered(self) -> Self {
        match self {
            Self::Two(a, b) if b < a => Self::Two(b, a),
            other => other,
        }
    }
}

/// A pair that was met, and how.
struct Place {
    pair: Pair,
    before: Option<usize>,
    read: Option<Symbol>,
    choices: [Option<usize>; 2],
    length: u32,
    steps: u32,
}

struct Search<'a> {
    stacks: Stacks<'a>,
    budget: &'a Budget,
    length: u32,
    places: Vec<Place>,
    /// By the length of the shortest text that it may become, then by steps.
    queue: BinaryHeap<Reverse<(u32, u32, usize)>>,
}

/// Looks for a text of at most `length` characters with two trees whose root is `start`.
///
/// # Errors
/// [`CompileError::Unavailable`] once the budget is cancelled.
pub(super) fn search(
    symbols: &Symbols,
    start: SymbolId,
    length: u32,
    budget: &Budget,
) -> Result<End, CompileError> {
    let mut reached = 0;
    match run(symbols, start, length, budget, &mut reached) {
        Err(CompileError::OverBudget(_)) => Ok(End::OverBudget(reached)),
        other => other,
    }
}

/// `reached` becomes the length of which no shorter text has two trees.
fn run(
    symbols: &Symbols,
    start: SymbolId,
    length: u32,
    budget: &Budget,
    reached: &mut u32,
) -> Result<End, CompileError> {
    let mut stacks = Stacks::new(symbols, budget)?;
    let Some(start) = stacks.start(start)? else { return Ok(End::None) };
    let mut search = Search { stacks, budget, length, places: Vec::new(), queue: BinaryHeap::new() };
    search.meet(Place {
        pair: Pair::One(start),
        before: None,
        read: None,
        choices: [None; 2],
        length: 0,
        steps: 0,
    })?;
    let mut taken = HashSet::new();
    while let Some(Reverse((least, _, at))) = search.queue.pop() {
        *reached = least;
        let pair = search.places[at].pair;
        if pair == Pair::Joined(EMPTY) {
            return Ok(End::Found(search.found(at)));
        }
        if taken.insert(pair.unordered()) {
            search.follow(at)?;
        }
    }
    Ok(End::None)
}

impl Search<'_> {
    fn meet(&mut self, place: Place) -> Result<(), CompileError> {
        let least = match place.pair {
            Pair::One(stack) | Pair::Joined(stack) => self.stacks.least(stack),
            Pair::Two(a, b) => self.stacks.least(a).max(self.stacks.least(b)),
        };
        let least = plus(place.length, least);
        self.budget.charge_steps(PHASE, 1)?;
        if least <= self.length {
            self.budget.charge_bytes(PHASE, PLACE_BYTES)?;
            self.queue.push(Reverse((least, place.steps, self.places.len())));
            self.places.push(place);
        }
        Ok(())
    }

    /// Meets a pair that follows a place.
    fn after(
        &mut self,
        at: usize,
        pair: Pair,
        read: Option<Symbol>,
        choices: [Option<usize>; 2],
    ) -> Result<(), CompileError> {
        let Place { length, steps, .. } = self.places[at];
        let length = length + u32::from(read.is_some());
        self.meet(Place { pair, before: Some(at), read, choices, length, steps: steps + 1 })
    }

    /// Meets all that follows a place.
    fn follow(&mut self, at: usize) -> Result<(), CompileError> {
        match self.places[at].pair {
            Pair::One(stack) => match self.stacks.next(stack)? {
                Next::End => Ok(()),
                Next::Choose(ways) => {
                    let ways: Vec<_> =
                        ways.into_iter().map(|(choice, stack)| (Some(choice), stack)).collect();
                    self.part(at, None, &ways)
                }
                Next::Read(minterms) => minterms.into_iter().try_for_each(|minterm| {
                    let ways = self.stacks.read(stack, minterm)?;
                    self.part(at, Some(minterm), &ways)
                }),
            },
            Pair::Joined(stack) => match self.stacks.next(stack)? {
                Next::End => Ok(()),
                Next::Choose(ways) => ways.into_iter().try_for_each(|(choice, stack)| {
                    self.after(at, Pair::Joined(stack), None, [Some(choice); 2])
                }),
                Next::Read(minterms) => minterms.into_iter().try_for_each(|minterm| {
                    let ways = self.stacks.read(stack, minterm)?;
                    ways.into_iter().try_for_each(|(choice, stack)| {
                        self.after(at, Pair::Joined(stack), Some(minterm), [choice; 2])
                    })
                }),
            },
            Pair::Two(a, b) => self.follow_both(at, a, b),
        }
    }

    /// After one choice of both, or after a character: alike, or parted.
    fn part(
        &mut self,
        at: usize,
        read: Option<Symbol>,
        ways: &[(Option<usize>, StackId)],
    ) -> Result<(), CompileError> {
        for (number, &(choice, stack)) in ways.iter().enumerate() {
            self.after(at, Pair::One(stack), read, [choice; 2])?;
            for &(other, beside) in &ways[number + 1..] {
                self.after(at, Pair::parted(stack, beside), read, [choice, other])?;
            }
        }
        Ok(())
    }

    /// Choices come first, those of the first before those of the second; then both read the same.
    fn follow_both(&mut self, at: usize, a: StackId, b: StackId) -> Result<(), CompileError> {
        let (of_a, of_b) = (self.stacks.next(a)?, self.stacks.next(b)?);
        match (of_a, of_b) {
            (Next::Choose(ways), _) => ways.into_iter().try_for_each(|(choice, stack)| {
                self.after(at, Pair::parted(stack, b), None, [Some(choice), None])
            }),
            (_, Next::Choose(ways)) => ways.into_iter().try_for_each(|(choice, stack)| {
                self.after(at, Pair::parted(a, stack), None, [None, Some(choice)])
            }),
            (Next::Read(minterms), Next::Read(others)) => {
                self.budget.charge_steps(PHASE, minterms.len() as u64)?;
                for minterm in minterms {
                    if others.binary_search(&minterm).is_err() {
                        continue;
                    }
                    let (of_a, of_b) = (self.stacks.read(a, minterm)?, self.stacks.read(b, minterm)?);
                    for &(choice, a) in &of_a {
                        for &(other, b) in &of_b {
                            self.after(at, Pair::parted(a, b), Some(minterm), [choice, other])?;
                        }
                    }
                }
                Ok(())
            }
            (Next::End, _) | (_, Next::End) => Ok(()),
        }
    }

    /// The text that leads to a place, and the choices.
    fn found(&self, at: usize) -> Found {
        let mut found = Found { text: Vec::new(), choices: [Vec::new(), Vec::new()] };
        let mut next = Some(at);
        while let Some(at) = next {
            let place = &self.places[at];
            found.text.extend(place.read);
            for (all, choice) in found.choices.iter_mut().zip(place.choices) {
                all.extend(choice);
            }
            next = place.before;
        }
        found.text.reverse();
        found.choices.iter_mut().for_each(|all| all.reverse());
        found
    }
}
