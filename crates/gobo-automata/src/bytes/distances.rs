//! How many characters have to be read from each state of a counted rule until the rule may end, and until the last `@` of a text.
//!
//! The states of the rules are explored together with the place inside an escape, forward from where the rules begin; then shortest
//! paths are found backward from the ends, over edges of length 0 and 1, with a queue of two ends (0-1 breadth-first search, after
//! Dial 1969). A state is before the last `@` if no text from there ends without another one. O(states × classes).

use std::collections::VecDeque;

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CharCount, CompileError, DenseId as _, LengthRange};

use super::calls::PHASE;
use super::dfa::Dfa;
use crate::ids::StateId;
use crate::rtn::Call;

/// A state of a counted rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Distance {
    /// The state.
    pub state: StateId,
    /// The place inside an escape: a count of no characters.
    pub place: CharCount,
    /// The least number of characters that begin before the rule may end, or before the last `@`.
    pub distance: u32,
}

/// The states of counted rules with the places inside an escape, as they are reached.
#[derive(Default)]
struct Explored {
    order: Vec<(StateId, CharCount)>,
    /// By target, ascending.
    edges: Vec<Edge>,
}

/// A way from one place of [`Explored::order`] to another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    to: usize,
    from: usize,
    /// Whether a character begins.
    begins: bool,
    /// Whether it is the character after a head.
    is_after_head: bool,
}

impl Explored {
    /// The edges that lead to a place.
    fn before(&self, to: usize) -> impl Iterator<Item = &Edge> {
        let first = self.edges.partition_point(|edge| edge.to < to);
        self.edges[first..].iter().take_while(move |edge| edge.to == to)
    }

    /// `[order]`: the least number of characters from each place to one of `ends`, over edges that are taken; [`u32::MAX`] where
    /// there is no way.
    fn distances(&self, ends: impl Iterator<Item = usize>, is_taken: impl Fn(&Edge) -> bool) -> Vec<u32> {
        let mut distances = vec![u32::MAX; self.order.len()];
        let mut open: VecDeque<usize> = ends.collect();
        open.iter().for_each(|&end| distances[end] = 0);
        while let Some(to) = open.pop_front() {
            for &Edge { from, begins, .. } in self.before(to).filter(|edge| is_taken(edge)) {
                let distance = distances[to] + u32::from(begins);
                if distance < distances[from] {
                    distances[from] = distance;
                    if begins { open.push_back(from) } else { open.push_front(from) }
                }
            }
        }
        distances
    }

    /// The places that are kept, ascending by state and place.
    fn written(self, distances: Vec<u32>, is_kept: impl Fn(usize) -> bool) -> Vec<Distance> {
        let all = self.order.into_iter().zip(distances).enumerate().filter(|(at, _)| is_kept(*at));
        let mut found: Vec<Distance> =
            all.map(|(_, ((state, place), distance))| Distance { state, place, distance }).collect();
        found.sort_unstable();
        found
    }
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
        let explored = self.explored(|lengths| lengths.tokens.is_none(), budget)?;
        let ends = (0..explored.order.len()).filter(|&at| self.accepting[explored.order[at].0]);
        let distances = explored.distances(ends, |_| true);
        Ok(explored.written(distances, |_| true))
    }

    /// The states before the last `@` in rules that bound the heads of their texts, with the distances to it; as [`Self::distances`].
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn head_distances(&self, budget: &Budget) -> Result<Vec<Distance>, CompileError> {
        let explored = self.explored(|lengths| lengths.head.is_some(), budget)?;
        let ends = (0..explored.order.len()).filter(|&at| self.accepting[explored.order[at].0]);
        let is_head: Vec<bool> = (explored.distances(ends, |edge| !edge.is_after_head).into_iter())
            .map(|distance| distance == u32::MAX)
            .collect();
        let last = explored.edges.iter();
        let last = last.filter(|edge| edge.is_after_head && is_head[edge.from] && !is_head[edge.to]);
        let mut last: Vec<usize> = last.map(|edge| edge.from).collect();
        last.sort_unstable();
        last.dedup();
        let distances = explored.distances(last.into_iter(), |edge| is_head[edge.to] && is_head[edge.from]);
        Ok(explored.written(distances, |at| is_head[at]))
    }

    /// Explores the counted rules that `which` takes.
    fn explored(
        &self,
        which: impl Fn(&LengthRange) -> bool,
        budget: &Budget,
    ) -> Result<Explored, CompileError> {
        let Some((chars, calls)) = self.chars.as_ref().zip(self.calls.as_ref()) else {
            return Ok(Explored::default());
        };
        let is_counted = |call: &&Call| calls.lengths[call.rule].as_ref().is_some_and(&which);
        let counted = calls.of_chars.all.iter().filter(is_counted);
        let entries = counted.map(|call| chars.blocks[calls.entries[call.rule].index()].root);
        let bytes = self.byte_of_class();
        let after_head = usize::from(self.classes[usize::from(LengthRange::AFTER_HEAD)]);
        let mut known: HashMap<(StateId, CharCount), usize> = HashMap::new();
        let mut explored = Explored::default();
        let mut visit = |at: (StateId, CharCount), order: &mut Vec<_>| {
            *known.entry(at).or_insert_with(|| {
                order.push(at);
                order.len() - 1
            })
        };
        let Explored { order, edges } = &mut explored;
        for entry in entries {
            visit((entry, CharCount::default()), order);
        }
        let mut at = 0;
        while let Some(&(state, place)) = order.get(at) {
            budget.charge_steps(PHASE, self.stride as u64)?;
            budget.charge_bytes(PHASE, 64)?;
            for (class, &byte) in bytes.iter().enumerate() {
                let Some(to) = self.step(state, class) else { continue };
                let count = place.after(byte);
                let to = visit((to, count.place()), order);
                let is_after_head = class == after_head;
                edges.push(Edge { to, from: at, begins: count.chars() > 0, is_after_head });
            }
            at += 1;
        }
        edges.sort_unstable();
        edges.dedup();
        budget.charge_bytes(PHASE, edges.len() as u64 * 24)?;
        Ok(explored)
    }
}
