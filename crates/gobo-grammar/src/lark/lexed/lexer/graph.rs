//! Texts that are read from a place on: the languages of the paths of graphs, and those of other grammars.

use std::collections::{BTreeMap, VecDeque};
use std::hash::Hash;

use gobo_automata::{Language, Symbol as Minterm};
use gobo_types::CompileError;

use super::super::grammar::TerminalId;
use super::guards::GuardId;
use super::lexemes::{Lexemes, PHASE, SCAN_BYTES, Texts, TextsId};

/// A graph of states whose edges read minterms: the states after each, and what ends in it.
pub(super) struct Graph<L> {
    pub(super) edges: Vec<Vec<(Minterm, usize)>>,
    pub(super) ends: Vec<Vec<L>>,
}

impl Lexemes<'_> {
    /// The texts of another grammar after a guard; `None` if there are none.
    pub(super) fn nested(
        &mut self,
        terminal: TerminalId,
        guard: GuardId,
    ) -> Result<Option<TextsId>, CompileError> {
        let Some(nested) = &self.terminals[terminal].text.nested else { return Ok(None) };
        let minterms = self.scanner.minterms();
        // What is not decided by one character is left out.
        let after = |minterm| self.guards.step(guard, minterm);
        let barred: Vec<Minterm> = minterms.all().filter(|&of| after(of) != GuardId::PASS).collect();
        self.undecided_before_nested |= barred.iter().any(|&of| after(of) != GuardId::DEAD);
        self.budget.charge_steps(PHASE, minterms.all().len() as u64)?;
        let left = nested.first.without(&minterms.chars(&barred));
        if left.is_empty() {
            return Ok(None);
        }
        let first = Some(left).filter(|left| *left != nested.first);
        self.budget.charge_bytes(PHASE, SCAN_BYTES)?;
        let key = (terminal, first.clone());
        let texts = &mut self.texts;
        let id = *self.nested.entry(key).or_insert_with(|| texts.push(Texts::Nested { terminal, first }));
        Ok(Some(id))
    }

    /// The texts from the first state of a graph to each end.
    pub(super) fn languages<L: Copy + Ord + Hash>(
        &mut self,
        graph: &Graph<L>,
    ) -> Result<BTreeMap<L, TextsId>, CompileError> {
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); graph.edges.len()];
        for (from, edges) in graph.edges.iter().enumerate() {
            edges.iter().for_each(|&(_, to)| before[to].push(from));
        }
        let mut ending: BTreeMap<L, Vec<usize>> = BTreeMap::new();
        for (state, ends) in graph.ends.iter().enumerate() {
            ends.iter().for_each(|&end| ending.entry(end).or_default().push(state));
        }
        let mut languages = BTreeMap::new();
        for (end, states) in ending {
            let mut leads = vec![false; graph.edges.len()];
            let mut open: VecDeque<usize> = states.into();
            while let Some(state) = open.pop_front() {
                if !std::mem::replace(&mut leads[state], true) {
                    self.budget.charge_steps(PHASE, 1 + before[state].len() as u64)?;
                    open.extend(&before[state]);
                }
            }
            let expand = |&state: &usize, row: &mut Vec<(Minterm, usize)>| {
                row.extend(graph.edges[state].iter().filter(|edge| leads[edge.1]));
                Ok(graph.ends[state].contains(&end))
            };
            let language = Language::explore_minterms(self.scanner.minterms(), 0, expand, self.budget)?;
            let id = match self.texts_of.get(&language) {
                Some(&known) => known,
                None => {
                    let id = self.texts.push(Texts::Plain(language.clone()));
                    self.texts_of.insert(language, id);
                    id
                }
            };
            languages.insert(end, id);
        }
        Ok(languages)
    }
}
