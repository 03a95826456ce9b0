//! The texts of letters: languages, those in which tokens are counted, and those of other grammars.
//!
//! A terminal that stands for another grammar competes with none: its letter has all texts of that grammar, but for those whose first
//! character a guard bars, and leaves no guard.

use std::collections::BTreeMap;
use std::hash::Hash;

use gobo_automata::{Language, Symbol as Minterm};
use gobo_types::CompileError;

use super::super::grammar::TerminalId;
use super::graph::Graph;
use super::guards::GuardId;
use super::lexemes::{Lexemes, PHASE, SCAN_BYTES};
use super::places::{Letter, Texts, TextsId};

impl Lexemes<'_> {
    /// Texts as a language, if they are one.
    pub(in super::super) fn language(&self, texts: TextsId) -> Option<&Language> {
        match &self.texts[texts] {
            Texts::Plain(language) => Some(language),
            Texts::Budgeted(of, _) => self.language(*of),
            Texts::Nested { .. } => None,
        }
    }

    /// The name of texts, for people.
    pub(in super::super) fn name(&self, texts: TextsId) -> String {
        let terminal = self.read_as.get(&texts);
        terminal.map_or_else(|| "ignored".to_owned(), |&terminal| self.terminals[terminal].name.clone())
    }

    /// The letter of texts of a language, in which tokens are counted if the terminal asks for that.
    pub(super) fn letter(&mut self, terminal: TerminalId, texts: TextsId, guard: GuardId) -> Letter {
        let budget = self.terminals[terminal].text.budget.as_ref();
        let texts = budget.map_or(texts, |budget| {
            let all = &mut self.texts;
            let make = || all.push(Texts::Budgeted(texts, budget.clone()));
            *self.budgeted.entry((texts, budget.most)).or_insert_with(make)
        });
        Letter { terminal, texts, guard }
    }

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
        let mut numbers = BTreeMap::new();
        for (end, language) in graph.languages(self.scanner.minterms(), self.budget)? {
            numbers.insert(end, self.texts_id(language));
        }
        Ok(numbers)
    }
}
