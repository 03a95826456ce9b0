//! Writes the tables of calls, and computes the depths of the stack.
//!
//! The deepest pop is the longest path in the graph of suffix sets, whose edges are the pairs: a depth-first search with a state
//! for each set that finds cycles, too (Cormen, Leiserson, Rivest & Stein, *Introduction to Algorithms*, 4th edition, section 20.3). O(pairs).

use gobo_types::{CharCount, LengthRange};
use zerocopy::IntoBytes;

use crate::layout::index::calls::{
    CallRoot, END, NO_SUFFIXES, PairEntry, PushTransition, ReturnEntry, ReturnName,
};
use crate::layout::index::lengths::{DistanceEntry, LengthEntry, UNBOUNDED};
use crate::layout::index::states::DEAD;
use crate::layout::section as kinds;
use crate::write::file::{archive, count};

/// A return state as it is written.
#[derive(Debug)]
pub struct ReturnPart {
    /// The states after the exits of the called rule: exit and state, ascending, at least one.
    pub row: Vec<(u32, u32)>,
    /// The class, numbered as they are met.
    pub class: u32,
    /// The rule that the call stands in.
    pub caller: String,
    /// The rule that is called.
    pub callee: String,
    /// How many characters may be read until it is popped, if they are counted.
    pub lengths: Option<LengthRange>,
}

impl ReturnPart {
    /// The state after the first exit.
    fn first_state(&self) -> u32 {
        self.row.first().map_or(DEAD, |way| way.1)
    }
}

/// The distance of a state of a counted rule to the end of the rule, or to the last `@`, as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DistancePart {
    /// The state.
    pub state: u32,
    /// The place inside an escape.
    pub place: CharCount,
    /// The least number of characters that begin before that.
    pub distance: u32,
}

/// The tables of an index with calls, as they are written.
#[derive(Debug, Default)]
pub struct CallParts {
    /// Whether no text has more than one configuration.
    pub is_deterministic: bool,
    /// `[states]`: the exit of those in which a rule may end, 0 of all others; empty where no rule has a second exit.
    pub exits: Vec<u32>,
    /// `[states]`: the push transitions of each state: entry state, and the numbers of the return states pushed, outermost first.
    pub push_transitions: Vec<Vec<(u32, Vec<u32>)>>,
    /// `[returns]`.
    pub returns: Vec<ReturnPart>,
    /// `[states]`, under a canonical index `[borders]`: the pending-suffix set of each, 0 for the empty one; `None` where nothing can be read and a rule ends.
    pub suffix_sets: Vec<Option<u32>>,
    /// `[suffix sets]`: return class, row, suffix set that is left; ascending by class.
    pub pairs: Vec<Vec<[u32; 3]>>,
    /// The states of counted rules, ascending by state and place.
    pub distances: Vec<DistancePart>,
    /// The states before the last `@` in rules that bound the heads of their texts, ascending by state and place.
    pub head_distances: Vec<DistancePart>,
}

impl CallParts {
    /// Most frames that a token can pop: the longest path through the pairs, `None` if it has no end.
    fn pop_depth(&self) -> Option<u32> {
        // Depth of each set: unknown, being computed, known.
        #[derive(Clone, Copy)]
        enum Depth {
            Unknown,
            Open,
            Known(u32),
        }
        let mut depths = vec![Depth::Unknown; self.pairs.len().max(1)];
        depths[NO_SUFFIXES as usize] = Depth::Known(0);
        for root in 0..self.pairs.len() {
            let mut path: Vec<(usize, usize)> = vec![(root, 0)];
            while let Some((set, at)) = path.last_mut() {
                if *at == 0 {
                    match depths[*set] {
                        Depth::Known(_) => {
                            path.pop();
                            continue;
                        }
                        Depth::Open => return None,
                        Depth::Unknown => depths[*set] = Depth::Open,
                    }
                }
                match self.pairs[*set].get(*at) {
                    Some(&[_, _, next]) => {
                        *at += 1;
                        path.push((next as usize, 0));
                    }
                    None => {
                        let below = |&[_, _, next]: &[u32; 3]| match depths[next as usize] {
                            Depth::Known(depth) => depth + 1,
                            _ => 0,
                        };
                        depths[*set] = Depth::Known(self.pairs[*set].iter().map(below).max().unwrap_or(0));
                        path.pop();
                    }
                }
            }
        }
        let known = |set: &u32| match depths.get(*set as usize) {
            Some(Depth::Known(depth)) => *depth,
            _ => 0,
        };
        self.suffix_sets.iter().flatten().map(known).max()
    }

    /// The sections after those of every index: number and bytes.
    pub(crate) fn sections(&self) -> Vec<(u32, Vec<u8>)> {
        let (mut starts, mut push_transitions, mut pushed_returns) =
            (vec![0_u32], Vec::new(), Vec::<u32>::new());
        for of_state in &self.push_transitions {
            for (entry, pushed) in of_state {
                let from = count(pushed_returns.len());
                pushed_returns.extend(pushed);
                push_transitions.push(PushTransition {
                    entry: *entry,
                    from,
                    to: count(pushed_returns.len()),
                });
            }
            starts.push(count(push_transitions.len()));
        }
        let (mut pair_starts, mut pairs) = (vec![0_u32], Vec::new());
        for of_set in &self.pairs {
            pairs.extend(of_set.iter().map(|&[class, row, suffix_set]| PairEntry { class, row, suffix_set }));
            pair_starts.push(count(pairs.len()));
        }
        let root = CallRoot {
            pop_depth: self.pop_depth(),
            push_depth: self
                .push_transitions
                .iter()
                .flatten()
                .map(|(_, pushed)| count(pushed.len()))
                .max()
                .unwrap_or(0),
            returns: (self.returns.iter())
                .map(|of| ReturnName { caller: of.caller.clone(), callee: of.callee.clone() })
                .collect(),
        };
        let returns: Vec<ReturnEntry> =
            self.returns.iter().map(|of| ReturnEntry { state: of.first_state(), class: of.class }).collect();
        let suffix_sets: Vec<u32> = self.suffix_sets.iter().map(|set| set.unwrap_or(END)).collect();
        let mut sections = vec![
            (kinds::CALLS, archive(&root)),
            (kinds::PUSH_TRANSITION_STARTS, starts.as_bytes().to_vec()),
            (kinds::PUSH_TRANSITIONS, push_transitions.as_bytes().to_vec()),
            (kinds::PUSHED, pushed_returns.as_bytes().to_vec()),
            (kinds::RETURNS, returns.as_bytes().to_vec()),
            (kinds::SUFFIX_SETS, suffix_sets.as_bytes().to_vec()),
            (kinds::PAIR_STARTS, pair_starts.as_bytes().to_vec()),
            (kinds::PAIRS, pairs.as_bytes().to_vec()),
        ];
        if self.returns.iter().any(|of| of.lengths.is_some()) {
            sections.extend(self.sections_of_lengths());
        }
        if self.returns.iter().any(|of| of.lengths.is_some_and(|lengths| lengths.head.is_some())) {
            sections.extend(self.sections_of_heads());
        }
        let budget = |of: &ReturnPart| of.lengths.and_then(|lengths| lengths.tokens);
        if self.returns.iter().any(|of| budget(of).is_some()) {
            let budgets: Vec<u32> = self.returns.iter().map(|of| budget(of).unwrap_or(UNBOUNDED)).collect();
            sections.push((kinds::BUDGETS, budgets.as_bytes().to_vec()));
        }
        if !self.exits.is_empty() {
            sections.extend(self.sections_of_exits());
        }
        sections
    }

    /// The sections of exits.
    fn sections_of_exits(&self) -> [(u32, Vec<u8>); 3] {
        let (mut starts, mut rows) = (vec![0_u32], Vec::<u32>::new());
        for of in &self.returns {
            let first = rows.len();
            for &(exit, state) in &of.row {
                rows.resize(first + exit as usize, DEAD);
                rows.push(state);
            }
            starts.push(count(rows.len()));
        }
        [
            (kinds::EXITS, self.exits.as_bytes().to_vec()),
            (kinds::RETURN_ROW_STARTS, starts.as_bytes().to_vec()),
            (kinds::RETURN_ROWS, rows.as_bytes().to_vec()),
        ]
    }

    /// The sections of counted rules.
    fn sections_of_lengths(&self) -> [(u32, Vec<u8>); 2] {
        let lengths = self.returns.iter().map(|of| match of.lengths {
            Some(LengthRange { min, max, .. }) => LengthEntry { min, max: max.unwrap_or(UNBOUNDED) },
            None => LengthEntry { min: 0, max: UNBOUNDED },
        });
        let lengths: Vec<LengthEntry> = lengths.collect();
        [(kinds::LENGTHS, lengths.as_bytes().to_vec()), (kinds::DISTANCES, distances(&self.distances))]
    }

    /// The sections of counted rules that bound the heads of their texts.
    fn sections_of_heads(&self) -> [(u32, Vec<u8>); 2] {
        let heads = self.returns.iter().map(|of| of.lengths.and_then(|lengths| lengths.head));
        let heads: Vec<u32> = heads.map(|head| head.unwrap_or(UNBOUNDED)).collect();
        [(kinds::HEADS, heads.as_bytes().to_vec()), (kinds::HEAD_DISTANCES, distances(&self.head_distances))]
    }
}

/// The bytes of a table of distances.
fn distances(of: &[DistancePart]) -> Vec<u8> {
    let greatest = of.iter().map(|of| of.distance).max().unwrap_or(0);
    let first = DistanceEntry { state: DEAD, place: 0, distance: greatest };
    let states = of.iter().map(|&DistancePart { state, place, distance }| DistanceEntry {
        state,
        place: place.word(),
        distance,
    });
    std::iter::once(first).chain(states).collect::<Vec<DistanceEntry>>().as_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pops_are_counted_along_the_longest_path() {
        let parts = |pairs: Vec<Vec<[u32; 3]>>| CallParts {
            suffix_sets: vec![Some(0), Some(1), None],
            pairs,
            ..CallParts::default()
        };
        assert_eq!(parts(vec![vec![], vec![]]).pop_depth(), Some(0));
        assert_eq!(parts(vec![vec![], vec![[0, 0, 0]]]).pop_depth(), Some(1));
        assert_eq!(parts(vec![vec![], vec![[0, 0, 0], [1, 0, 2]], vec![[0, 0, 0]]]).pop_depth(), Some(2));
        assert_eq!(parts(vec![vec![], vec![[0, 0, 2]], vec![[0, 0, 1]]]).pop_depth(), None);
    }
}
