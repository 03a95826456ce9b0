//! Rules without texts, and the empty text (Hopcroft & Ullman 1979, section 4.4): calls of unproductive rules are removed, and a call
//! of a nullable rule may be left out, after which no rule has the empty text.

use gobo_types::{Budget, CompileError, DenseId as _, Table};

use super::{PHASE, Rules};
use crate::ids::{CharState, RuleId};
use crate::symbols::{SymbolDfa, SymbolNfa};

impl Rules {
    /// Removes calls of rules that have no text.
    pub(in crate::rtn) fn drop_unproductive(&mut self, budget: &Budget) -> Result<(), CompileError> {
        let mut productive = Table::filled(false, self.dfas.len());
        loop {
            let mut changed = false;
            for rule in self.dfas.ids() {
                let allowed = |symbol| self.callee(symbol).is_none_or(|callee| productive[callee]);
                if !productive[rule] && self.dfas[rule].accepts_over(allowed) {
                    productive[rule] = true;
                    changed = true;
                }
                budget.charge_steps(PHASE, self.dfas[rule].size())?;
            }
            if !changed {
                break;
            }
        }
        for rule in self.dfas.ids() {
            if self.callees(rule).any(|callee| !productive[callee]) {
                let mut nfa = SymbolNfa::of(&self.dfas[rule]);
                nfa.retain(|symbol| self.callee(symbol).is_none_or(|callee| productive[callee]));
                self.dfas[rule] = self.settled(&nfa, rule, budget)?;
            }
        }
        Ok(())
    }

    /// `[rules]`: which have the empty text.
    pub(in crate::rtn) fn nullable(&self, budget: &Budget) -> Result<Table<RuleId, bool>, CompileError> {
        let mut nullable: Table<RuleId, bool> = Table::filled(false, self.dfas.len());
        loop {
            let before = nullable.clone();
            for (nullable, dfa) in nullable.iter_mut().zip(&self.dfas) {
                let allowed = |symbol| self.callee(symbol).is_some_and(|callee| before[callee]);
                *nullable = *nullable || dfa.accepts_over(allowed);
                budget.charge_steps(PHASE, dfa.size())?;
            }
            if nullable == before {
                return Ok(nullable);
            }
        }
    }

    /// Takes the empty text out of rules whose texts are counted and may not be empty: where a rule is left out, nothing is counted.
    pub(super) fn drop_empty_of_counted(&mut self, budget: &Budget) -> Result<(), CompileError> {
        for rule in self.dfas.ids() {
            if self.lengths[rule].is_some_and(|lengths| !lengths.has(0)) {
                let dfa = std::mem::replace(&mut self.dfas[rule], SymbolDfa::empty());
                self.dfas[rule] = dfa.without_empty().minimal(budget)?;
            }
        }
        Ok(())
    }

    /// Takes the empty text out of every rule: a call of a nullable one may be left out instead.
    pub(in crate::rtn) fn remove_nullable(
        &mut self,
        nullable: &Table<RuleId, bool>,
        budget: &Budget,
    ) -> Result<(), CompileError> {
        for rule in self.dfas.ids() {
            if !nullable[rule] && !self.callees(rule).any(|callee| nullable[callee]) {
                continue;
            }
            let mut nfa = SymbolNfa::of(&self.dfas[rule]);
            for (from, symbol, to) in self.dfas[rule].edges() {
                if self.callee(symbol).is_some_and(|callee| nullable[callee]) {
                    nfa.add_epsilon(from, to);
                }
            }
            let mut dfa = self.settled(&nfa, rule, budget)?;
            if nullable[rule] {
                dfa = dfa.without_empty().minimal(budget)?;
            }
            self.dfas[rule] = dfa;
        }
        // A rule that had the empty text alone has none left.
        self.drop_unproductive(budget)
    }

    /// Adds the rule of whole texts, which nobody calls.
    pub(in crate::rtn) fn add_top(
        &mut self,
        start: RuleId,
        nullable: bool,
        budget: &Budget,
    ) -> Result<RuleId, CompileError> {
        // A start, and the state after the call.
        let call = (self.call(start), CharState::new(2));
        let mut dfa = SymbolDfa::empty();
        dfa.replace_start(
            if self.dfas[start].is_empty() { &[] } else { std::slice::from_ref(&call) },
            nullable,
        );
        dfa.push(&[], true);
        self.names.push(self.names[start].clone());
        self.lengths.push(None);
        self.families.push();
        Ok(self.dfas.push(dfa.minimal(budget)?))
    }
}
