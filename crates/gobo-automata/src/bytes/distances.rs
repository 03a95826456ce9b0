//! How many characters have to be read from each state of a counted rule until the rule may end.
//!
//! The states of the rules are explored together with the place inside an escape, forward from where the rules begin; then shortest
//! paths are found backward from the ends, over edges of length 0 and 1, with a queue of two ends (0-1 breadth-first search, after
//! Dial 1969). O(states × classes).

use std::collections::VecDeque;

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CharCount, CompileError, DenseId as _};

use super::calls::PHASE;
use super::dfa::Dfa;
use crate::ids::StateId;

/// A state of a counted rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Distance {
    /// The state.
    pub state: StateId,
    /// The place inside an escape: a count of no characters.
    pub place: CharCount,
    /// The least number of characters that begin before the rule may end.
    pub distance: u32,
}

impl Dfa {
    /// `[classes]`: a byte of each. In a state of a counted rule that two bytes of a class lead on from, they count alike: after
    /// bytes that count otherwise, other texts of JSON strings may follow.
    pub fn byte_of_class(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.stride];
        (0..=u8::MAX).rev().for_each(|byte| bytes[usize::from(self.classes[usize::from(byte)])] = byte);
        bytes
    }

    /// The states of counted rules, ascending by state and place; none where nothing is counted.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn distances(&self, budget: &Budget) -> Result<Vec<Distance>, CompileError> {
        let Some((chars, calls)) = self.chars.as_ref().zip(self.calls.as_ref()) else {
            return Ok(Vec::new());
        };
        let counted = calls.of_chars.all.iter().filter(|call| calls.lengths[call.rule].is_some());
        let entries = counted.map(|call| chars.blocks[calls.entries[call.rule].index()].root);
        let bytes = self.byte_of_class();
        let mut known: HashMap<(StateId, CharCount), usize> = HashMap::new();
        let mut order: Vec<(StateId, CharCount)> = Vec::new();
        let mut visit = |at: (StateId, CharCount), order: &mut Vec<_>| {
            *known.entry(at).or_insert_with(|| {
                order.push(at);
                order.len() - 1
            })
        };
        for entry in entries {
            visit((entry, CharCount::default()), &mut order);
        }
        // By target: from where, and whether a character begins.
        let mut edges: Vec<(usize, usize, bool)> = Vec::new();
        let mut at = 0;
        while let Some(&(state, place)) = order.get(at) {
            budget.charge_steps(PHASE, self.stride as u64)?;
            budget.charge_bytes(PHASE, 64)?;
            for (class, &byte) in bytes.iter().enumerate() {
                let Some(to) = self.step(state, class) else { continue };
                let count = place.after(byte);
                let to = visit((to, count.place()), &mut order);
                edges.push((to, at, count.chars() > 0));
            }
            at += 1;
        }
        edges.sort_unstable();
        edges.dedup();
        budget.charge_bytes(PHASE, edges.len() as u64 * 24)?;
        let mut distances = vec![u32::MAX; order.len()];
        let mut open: VecDeque<usize> = VecDeque::new();
        for (at, &(state, _)) in order.iter().enumerate() {
            if self.accepting[state] {
                distances[at] = 0;
                open.push_back(at);
            }
        }
        while let Some(to) = open.pop_front() {
            let first = edges.partition_point(|edge| edge.0 < to);
            for &(_, from, begins) in edges[first..].iter().take_while(|edge| edge.0 == to) {
                let distance = distances[to] + u32::from(begins);
                if distance < distances[from] {
                    distances[from] = distance;
                    if begins { open.push_back(from) } else { open.push_front(from) }
                }
            }
        }
        let mut found: Vec<Distance> = (order.into_iter().zip(distances))
            .map(|((state, place), distance)| Distance { state, place, distance })
            .collect();
        found.sort_unstable();
        Ok(found)
    }
}
