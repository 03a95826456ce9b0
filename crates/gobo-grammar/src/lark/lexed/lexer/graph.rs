//! Graphs of what is read from a place on, and the languages of their paths.

use std::collections::{BTreeMap, VecDeque};

use gobo_automata::{Language, Minterms, Symbol as Minterm};
use gobo_types::{Budget, CompileError};

const PHASE: &str = "scanning lexemes";

/// A graph of states whose edges read minterms: the states after each, and what ends in it.
pub(super) struct Graph<L> {
    pub(super) edges: Vec<Vec<(Minterm, usize)>>,
    pub(super) ends: Vec<Vec<L>>,
}

impl<L: Copy + Ord> Graph<L> {
    /// The texts from the first state of a graph to each end.
    pub(super) fn languages(
        &self,
        minterms: &Minterms,
        budget: &Budget,
    ) -> Result<BTreeMap<L, Language>, CompileError> {
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); self.edges.len()];
        for (from, edges) in self.edges.iter().enumerate() {
            edges.iter().for_each(|&(_, to)| before[to].push(from));
        }
        let mut ending: BTreeMap<L, Vec<usize>> = BTreeMap::new();
        for (state, ends) in self.ends.iter().enumerate() {
            ends.iter().for_each(|&end| ending.entry(end).or_default().push(state));
        }
        let mut languages = BTreeMap::new();
        for (end, states) in ending {
            let mut leads = vec![false; self.edges.len()];
            let mut open: VecDeque<usize> = states.into();
            while let Some(state) = open.pop_front() {
                if !std::mem::replace(&mut leads[state], true) {
                    budget.charge_steps(PHASE, 1 + before[state].len() as u64)?;
                    open.extend(&before[state]);
                }
            }
            let expand = |&state: &usize, row: &mut Vec<(Minterm, usize)>| {
                row.extend(self.edges[state].iter().filter(|edge| leads[edge.1]));
                Ok(self.ends[state].contains(&end))
            };
            let language = Language::explore_minterms(minterms, 0, expand, budget)?;
            languages.insert(end, language);
        }
        Ok(languages)
    }
}
