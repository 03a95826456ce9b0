//! The lengths of the texts of a language: the least and the greatest, and whether any between them is missing.
//!
//! The least lengths from all states are found by a search backward from the ends, the greatest by a longest path, which a cycle
//! makes endless (Cormen, Leiserson, Rivest & Stein, *Introduction to Algorithms*, 4th edition, chapters 20 and 22). O(edges) for
//! either, O(64 × edges) for the missing ones.

use gobo_types::{Budget, CompileError, DenseId as _};

use super::{Language, Minterms};
use crate::equivalence::Edges as _;
use crate::ids::CharState;

const PHASE: &str = "measuring lengths";

/// Lengths that are looked at one by one.
const BITS: u32 = u64::BITS;

impl Language {
    /// `[states]`: the least number of characters from each to the end of a text, beginning with some lengths that are known.
    fn least(&self, mut least: Vec<u32>, budget: &Budget) -> Result<Vec<u32>, CompileError> {
        let mut open: Vec<(CharState, CharState)> =
            self.dfa.symbols.edges().map(|(from, _, to)| (to, from)).collect();
        open.sort_unstable();
        open.dedup();
        budget.charge_steps(PHASE, open.len() as u64)?;
        // In rounds (Bellman 1958): where all lengths that are known are the same, each state is reached once.
        let mut round: Vec<CharState> = CharState::range(0..self.len()).collect();
        round.retain(|state| least[state.index()] != u32::MAX);
        while !round.is_empty() {
            let mut next = Vec::new();
            for to in round {
                let first = open.partition_point(|edge| edge.0 < to);
                let last = open.partition_point(|edge| edge.0 <= to);
                budget.charge_steps(PHASE, 1 + (last - first) as u64)?;
                for &(_, from) in &open[first..last] {
                    let length = least[to.index()].saturating_add(1);
                    if length < least[from.index()] {
                        least[from.index()] = length;
                        next.push(from);
                    }
                }
            }
            round = next;
        }
        Ok(least)
    }

    fn distances(&self, budget: &Budget) -> Result<Vec<u32>, CompileError> {
        let end = |state| if self.may_end(state) { 0 } else { u32::MAX };
        self.least(CharState::range(0..self.len()).map(end).collect(), budget)
    }

    /// The characters of the shortest and of the longest text; `None` for no limit. Of the language of no text, those of the empty one.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn lengths(&self, budget: &Budget) -> Result<(u32, Option<u32>), CompileError> {
        if self.is_empty() {
            return Ok((0, Some(0)));
        }
        let shortest = self.distances(budget)?[self.start().index()];
        // States whose next ones are all done are done, from the ends on: on a cycle none ever is.
        let mut waiting = vec![0_u32; self.len()];
        let mut before: Vec<(CharState, CharState)> = Vec::new();
        for (from, _, to) in self.dfa.symbols.edges() {
            before.push((to, from));
            waiting[from.index()] += 1;
        }
        before.sort_unstable();
        budget.charge_steps(PHASE, before.len() as u64)?;
        let mut longest = vec![0_u32; self.len()];
        let mut open: Vec<CharState> =
            CharState::range(1..self.len()).filter(|state| waiting[state.index()] == 0).collect();
        let mut done = 0;
        while let Some(to) = open.pop() {
            done += 1;
            let first = before.partition_point(|edge| edge.0 < to);
            for &(_, from) in before[first..].iter().take_while(|edge| edge.0 == to) {
                longest[from.index()] = longest[from.index()].max(longest[to.index()] + 1);
                waiting[from.index()] -= 1;
                if waiting[from.index()] == 0 {
                    open.push(from);
                }
            }
        }
        let is_finite = done == self.len() - 1;
        Ok((shortest, is_finite.then(|| longest[self.start().index()])))
    }

    /// A shortest text, of those that begin with a character if one is given, in plain characters where there is a choice;
    /// `None` if there is none. O(edges + length × ranges).
    ///
    /// ```
    /// use gobo_automata::Language;
    /// use gobo_types::{Budget, CompileLimits, MatchMode};
    ///
    /// let budget = Budget::new(CompileLimits::default());
    /// let numbers = Language::regex("-?[0-9]{2,}", MatchMode::Full, &budget)?;
    /// assert_eq!(numbers.shortest(None, &budget)?.as_deref(), Some("00"));
    /// assert_eq!(numbers.shortest(Some('-'), &budget)?.as_deref(), Some("-00"));
    /// assert_eq!(numbers.shortest(Some('x'), &budget)?, None);
    /// # Ok::<(), gobo_types::CompileError>(())
    /// ```
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn shortest(&self, first: Option<char>, budget: &Budget) -> Result<Option<String>, CompileError> {
        let distances = self.distances(budget)?;
        let minterms = Minterms::of(&[], std::slice::from_ref(self), budget)?;
        let mut text = String::new();
        let mut state = self.start();
        if let Some(char) = first {
            state = minterms.step(minterms.of_char(char), 0, self, state);
            text.push(char);
        }
        while !self.may_end(state) {
            if state == CharState::DEAD {
                return Ok(None);
            }
            budget.charge_steps(PHASE, self.dfa.ranges.len() as u64)?;
            let nearer = minterms.all().filter_map(|minterm| {
                let next = minterms.step(minterm, 0, self, state);
                let is_nearer = distances[next.index()] < distances[state.index()];
                (next != CharState::DEAD && is_nearer).then(|| (minterms.sample(minterm), next))
            });
            let plainness = |char: char| (!char.is_ascii_lowercase(), !char.is_ascii_graphic(), char);
            // From each state that is not dead, some text goes to an end.
            let Some((char, next)) = nearer.min_by_key(|of| plainness(of.0)) else { return Ok(None) };
            text.push(char);
            state = next;
        }
        Ok(Some(text))
    }

    /// Whether it is seen that from each state, texts of every length from the least one on lead to an end.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn has_all_lengths(&self, budget: &Budget) -> Result<bool, CompileError> {
        let distances = self.distances(budget)?;
        // By way of a state that a character leads back to, a text may be longer by any number.
        let mut endless = vec![u32::MAX; self.len()];
        for (from, _, to) in self.dfa.symbols.edges().filter(|(from, _, to)| from == to) {
            endless[from.index()] = distances[to.index()];
        }
        let endless = self.least(endless, budget)?;
        // `[states]`: bit n stands for texts of n characters.
        let mut bits: Vec<u64> =
            CharState::range(0..self.len()).map(|state| u64::from(self.may_end(state))).collect();
        for _ in 1..BITS {
            budget.charge_steps(PHASE, self.dfa.symbols.edge_count() as u64)?;
            let before = bits.clone();
            for (from, _, to) in self.dfa.symbols.edges() {
                bits[from.index()] |= before[to.index()] << 1;
            }
            if bits == before {
                break;
            }
        }
        let has_all = |state: CharState| {
            let (distance, endless) = (distances[state.index()], endless[state.index()]);
            endless < BITS && (bits[state.index()] | ((1 << distance) - 1)) == u64::MAX
        };
        Ok(CharState::range(1..self.len()).all(has_all))
    }
}
