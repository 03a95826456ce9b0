//! The grammar of all texts that are texts of another one once a leading space is dropped.

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError};

use super::Rules;
use crate::ids::{CharState, RuleId, Symbol};
use crate::symbols::SymbolDfa;

/// Copies of rules without the texts that begin with a space.
struct Copies {
    space: Symbol,
    /// The copy of each rule.
    of: HashMap<RuleId, RuleId>,
    /// The rules, in the order in which they were met.
    order: Vec<RuleId>,
}

impl Rules {
    /// Adds the rule of all texts that are texts of `top` once one leading space is dropped, if there is one: a start that
    /// reads a space and is where `top` begins, and reads everything else as `top` does.
    pub(in crate::rtn) fn before_strip_of_one_space(
        &mut self,
        top: RuleId,
        space: Symbol,
        budget: &Budget,
    ) -> Result<RuleId, CompileError> {
        let mut copies = Copies { space, of: HashMap::new(), order: Vec::new() };
        let mut dfa = self.dfas[top].clone();
        let mut row = self.row_without_space(&dfa, &mut copies);
        row.push((space, dfa.start));
        row.sort_unstable();
        dfa.replace_start(&row, dfa.accepting[dfa.start]);
        self.names.push(self.names[top].clone());
        self.lengths.push(None);
        self.families.push();
        let stripped = self.dfas.push(dfa);
        let mut at = 0;
        // Left recursion is gone, so that no rule comes back to where it began.
        while let Some(&rule) = copies.order.get(at) {
            let mut dfa = self.dfas[rule].clone();
            let row = self.row_without_space(&dfa, &mut copies);
            dfa.replace_start(&row, false);
            self.dfas[copies.of[&rule]] = dfa.minimal(budget)?;
            at += 1;
        }
        let stripped_dfa = std::mem::replace(&mut self.dfas[stripped], SymbolDfa::empty());
        self.dfas[stripped] = stripped_dfa.minimal(budget)?;
        for family in self.families.several() {
            let copied: Vec<RuleId> = family.iter().filter_map(|rule| copies.of.get(rule).copied()).collect();
            self.families.join(&copied);
        }
        // A rule whose texts all begin with a space has none left.
        self.drop_unproductive(budget)?;
        Ok(stripped)
    }

    /// The edges of the start without what begins with a space: calls are those of copies, numbered as they are met.
    fn row_without_space(&mut self, dfa: &SymbolDfa, copies: &mut Copies) -> Vec<(Symbol, CharState)> {
        let mut row: Vec<(Symbol, CharState)> =
            dfa.row(dfa.start).iter().filter(|edge| edge.0 != copies.space).copied().collect();
        for (symbol, _) in &mut row {
            let Some(callee) = self.callee(*symbol) else { continue };
            let copy = *copies.of.entry(callee).or_insert_with(|| {
                copies.order.push(callee);
                self.names.push(self.names[callee].clone());
                self.lengths.push(self.lengths[callee]);
                self.families.push();
                self.dfas.push(SymbolDfa::empty())
            });
            *symbol = self.call(copy);
        }
        row.sort_unstable();
        row
    }
}
