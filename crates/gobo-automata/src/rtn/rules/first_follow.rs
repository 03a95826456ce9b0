//! FIRST and FOLLOW of rules (Aho, Sethi & Ullman 1986, section 4.4), by classes of characters, and the rules whose calls would be
//! ambiguous to one character of look-ahead.

use gobo_types::{Budget, CompileError, DenseId as _, Table};

use super::families::FamilyId;
use super::{PHASE, Rules};
use crate::ids::{CharState, RuleId, Symbol};

impl Rules {
    /// `[rules]`: calls of which would leave several ways to be followed at once: where a call of one stands beside another
    /// way on that begins with the same character, and where one of its texts can go on with a character that may
    /// follow it too. O((edges + calls × classes / 64) × depth of rules that end with each other).
    pub(super) fn ambiguous(
        &self,
        reached: &Table<RuleId, bool>,
        budget: &Budget,
    ) -> Result<Table<RuleId, bool>, CompileError> {
        let firsts = self.firsts(reached, budget)?;
        let follows = self.follows(reached, &firsts, budget)?;
        let mut is_ambiguous = Table::filled(false, self.dfas.len());
        for rule in self.dfas.ids().filter(|&rule| reached[rule]) {
            let dfa = &self.dfas[rule];
            for state in CharState::range(0..dfa.len()) {
                let row = dfa.row(state);
                if dfa.accepting[state] && !row.is_empty() {
                    let mut begins = self.no_chars();
                    self.add_firsts(row, &firsts, &mut begins);
                    is_ambiguous[rule] |=
                        begins.iter().zip(&follows[rule]).any(|(one, other)| one & other != 0);
                }
                // Calls come after characters.
                if row.len() < 2 || row.last().is_none_or(|&(symbol, _)| self.callee(symbol).is_none()) {
                    continue;
                }
                let mut begins = self.no_chars();
                let mut is_free = true;
                let mut ways = row.to_vec();
                ways.sort_by_key(|&(symbol, _)| self.family(symbol));
                // Rules of one family are one way on.
                for way in ways.chunk_by(|one, next| {
                    one.0 == next.0 || self.family(one.0).is_some_and(|of| self.family(next.0) == Some(of))
                }) {
                    let mut own = self.no_chars();
                    self.add_firsts(way, &firsts, &mut own);
                    for (begins, own) in begins.iter_mut().zip(own) {
                        is_free &= *begins & own == 0;
                        *begins |= own;
                    }
                }
                budget.charge_steps(PHASE, (row.len() * begins.len()) as u64)?;
                if !is_free {
                    let callees = row.iter().filter_map(|&(symbol, _)| self.callee(symbol));
                    callees.for_each(|callee| is_ambiguous[callee] = true);
                }
            }
        }
        Ok(is_ambiguous)
    }

    /// The family of the rule that a symbol calls.
    fn family(&self, symbol: Symbol) -> Option<FamilyId> {
        self.callee(symbol).map(|callee| self.families.of(callee))
    }

    /// A set of no characters: `[classes / 64]`.
    fn no_chars(&self) -> Vec<u64> {
        vec![0; self.alphabet.classes.div_ceil(64).max(1)]
    }

    /// Adds the characters that some edges begin with.
    fn add_firsts(&self, row: &[(Symbol, CharState)], firsts: &Table<RuleId, Vec<u64>>, chars: &mut [u64]) {
        for &(symbol, _) in row {
            match self.callee(symbol) {
                None => chars[symbol.index() / 64] |= 1 << (symbol.index() % 64),
                Some(callee) => chars.iter_mut().zip(&firsts[callee]).for_each(|(all, of)| *all |= of),
            }
        }
    }

    /// `[rules, classes / 64]`: the characters that may follow a text of each reached rule.
    fn follows(
        &self,
        reached: &Table<RuleId, bool>,
        firsts: &Table<RuleId, Vec<u64>>,
        budget: &Budget,
    ) -> Result<Table<RuleId, Vec<u64>>, CompileError> {
        let mut follows = Table::filled(self.no_chars(), self.dfas.len());
        // What follows the caller follows the callee too: pairs of callee and caller.
        let mut last: Vec<(RuleId, RuleId)> = Vec::new();
        for caller in self.dfas.ids().filter(|&rule| reached[rule]) {
            let dfa = &self.dfas[caller];
            for (_, symbol, to) in dfa.edges() {
                let Some(callee) = self.callee(symbol) else { continue };
                self.add_firsts(dfa.row(to), firsts, &mut follows[callee]);
                budget.charge_steps(PHASE, 1 + dfa.row(to).len() as u64)?;
                if dfa.accepting[to] {
                    last.push((callee, caller));
                }
            }
        }
        loop {
            let mut changed = false;
            for &(callee, caller) in &last {
                for word in 0..follows[callee].len() {
                    let all = follows[callee][word] | follows[caller][word];
                    changed |= std::mem::replace(&mut follows[callee][word], all) != all;
                }
                budget.charge_steps(PHASE, 1)?;
            }
            if !changed {
                return Ok(follows);
            }
        }
    }

    /// `[rules, classes / 64]`: the characters that texts of each reached rule begin with. No rule begins with itself.
    fn firsts(
        &self,
        reached: &Table<RuleId, bool>,
        budget: &Budget,
    ) -> Result<Table<RuleId, Vec<u64>>, CompileError> {
        let mut firsts = Table::filled(Vec::new(), self.dfas.len());
        let mut open: Vec<RuleId> = self.dfas.ids().filter(|&rule| reached[rule]).collect();
        while let Some(&rule) = open.last() {
            let known = open.len();
            open.extend(self.left_corners(rule).filter(|&corner| firsts[corner].is_empty()));
            if open.len() > known {
                continue;
            }
            open.pop();
            let row = self.dfas[rule].row(self.dfas[rule].start);
            budget.charge_steps(PHASE, 1 + row.len() as u64)?;
            let mut first = self.no_chars();
            self.add_firsts(row, &firsts, &mut first);
            firsts[rule] = first;
        }
        Ok(firsts)
    }
}
