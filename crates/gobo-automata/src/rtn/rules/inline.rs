//! Inlining: the automaton of a called rule is put in the place of its calls, where that keeps the automata small. Rules whose
//! characters are counted stay rules: what is counted is told by the call.

use gobo_types::{Budget, CompileError, Table};

use super::{PHASE, Rules, named};
use crate::ids::{CharState, RuleId};
use crate::symbols::{SymbolDfa, SymbolNfa};

/// Most states of all rules together up to which rules are inlined. More make fewer calls, and
/// no longer fewer rows: a SQL subset of 283 states at 3,000 has 519 at 20,000, and twice the rows.
const INLINE_STATES: usize = 3_000;

/// From so many states on a rule with several calls is called instead of inlined, where that is free of ambiguity. A
/// shared rule has its states and rows once: a median schema, whose strings are such a rule, is compiled with a quarter fewer
/// instructions than if it had copies of up to 256 states, and its masks take 6 % longer. Smaller rules are not worth the
/// stack that a call takes.
const SHARE_STATES: usize = 8;

impl Rules {
    /// Inlines rules that do not call themselves, cheapest first, as long as all rules together
    /// stay small. Rules that do not call each other are inlined together, so that a caller is made deterministic once for
    /// all of them; and so are those of a family, or not at all.
    pub(in crate::rtn) fn inline(&mut self, top: RuleId, budget: &Budget) -> Result<(), CompileError> {
        let mut is_kept = Table::filled(false, self.dfas.len());
        is_kept[top] = true;
        loop {
            let reached = self.reached(top);
            let mut uses = Table::filled(0_usize, self.dfas.len());
            let mut states: usize = 0;
            for rule in self.dfas.ids().filter(|&rule| reached[rule]) {
                self.callees(rule).for_each(|callee| uses[callee] += 1);
                states += self.dfas[rule].len();
                budget.charge_steps(PHASE, self.dfas[rule].size())?;
            }
            let is_ambiguous = self.ambiguous(&reached, budget)?;
            let cost = |unit: &[RuleId]| -> usize {
                unit.iter().map(|&rule| self.dfas[rule].len() * (uses[rule] - 1)).sum()
            };
            let is_candidate = |&rule: &RuleId| {
                let family = self.families.of(rule);
                let calls_itself = || self.callees(rule).any(|callee| self.families.of(callee) == family);
                !is_kept[rule] && self.lengths[rule].is_none() && !calls_itself()
            };
            // The rules of a family are inlined together.
            let needed = |rules: &[RuleId]| rules.iter().copied().filter(|&rule| reached[rule]).collect();
            let mut candidates: Vec<Vec<RuleId>> =
                self.families.all().map(|(_, rules)| needed(rules)).collect();
            candidates.retain(|unit| !unit.is_empty() && unit.iter().all(is_candidate));
            candidates.sort_by_key(|unit| (cost(unit), unit[0]));
            let mut batch = Table::filled(false, self.dfas.len());
            // Rules that call one of the batch, or are called by one.
            let mut is_beside = Table::filled(false, self.dfas.len());
            for unit in candidates {
                let is_independent = unit
                    .iter()
                    .all(|&rule| !is_beside[rule] && self.callees(rule).all(|callee| !batch[callee]));
                if !is_independent {
                    continue;
                }
                unit.iter().for_each(|&rule| is_kept[rule] = true);
                let is_shared = unit.iter().all(|&rule| {
                    let called = self.called.iter().find(|called| called.rule == rule);
                    let is_worth_it = called.is_some() || self.dfas[rule].len() >= SHARE_STATES;
                    let is_always = called.is_some_and(|called| called.is_always);
                    uses[rule] > 1 && (is_always || !is_ambiguous[rule] && is_worth_it)
                });
                if is_shared || states + cost(&unit) > INLINE_STATES {
                    continue;
                }
                states += cost(&unit);
                for &rule in &unit {
                    batch[rule] = true;
                    self.callees(rule).for_each(|callee| is_beside[callee] = true);
                }
            }
            let callers: Vec<RuleId> = (self.dfas.ids())
                .filter(|&caller| reached[caller] && self.callees(caller).any(|callee| batch[callee]))
                .collect();
            if callers.is_empty() {
                return Ok(());
            }
            for &caller in &callers {
                self.inline_batch(caller, &batch, budget)?;
            }
        }
    }

    /// Inlines the rules of a batch in a caller: all of them, or, where the subset construction blows up, as many as it
    /// bears.
    fn inline_batch(
        &mut self,
        caller: RuleId,
        batch: &Table<RuleId, bool>,
        budget: &Budget,
    ) -> Result<(), CompileError> {
        let mut callees: Vec<RuleId> = self.callees(caller).filter(|&callee| batch[callee]).collect();
        callees.sort_unstable();
        callees.dedup();
        let mut groups = vec![callees];
        while let Some(group) = groups.pop() {
            let mut nfa = SymbolNfa::of(&self.dfas[caller]);
            for &rule in &group {
                self.substitute(&mut nfa, rule, |_, _| true);
            }
            match self.small(&nfa, caller, budget)? {
                Some(dfa) => {
                    self.dfas[caller] = dfa;
                    self.simplify(caller, budget)?;
                }
                None if group.len() > 1 => {
                    let (one, other) = group.split_at(group.len() / 2);
                    groups.extend([other.to_vec(), one.to_vec()]);
                }
                // These calls stay.
                None => {}
            }
        }
        Ok(())
    }

    /// The minimal automaton of a rule; `None` if the subset construction blows up.
    pub(super) fn small(
        &self,
        nfa: &SymbolNfa,
        rule: RuleId,
        budget: &Budget,
    ) -> Result<Option<SymbolDfa>, CompileError> {
        let build = || nfa.determinize(INLINE_STATES, budget)?.map(|dfa| dfa.minimal(budget)).transpose();
        let held = |dfa: &Option<SymbolDfa>| dfa.as_ref().map_or(0, SymbolDfa::bytes);
        named(budget.holding(build, held), &self.names[rule])
    }

    /// In `nfa`, puts a copy of `rule` in the place of the calls of it that begin where `which(from, start)` says: one for
    /// each state after them.
    pub(super) fn substitute(
        &self,
        nfa: &mut SymbolNfa,
        rule: RuleId,
        which: impl Fn(CharState, CharState) -> bool,
    ) {
        let symbol = self.call(rule);
        let start = nfa.start;
        let mut calls = nfa.take_edges(symbol, |from| which(from, start));
        calls.sort_by_key(|call| call.1);
        for calls in calls.chunk_by(|a, b| a.1 == b.1) {
            let copy = nfa.append(&self.dfas[rule]);
            calls.iter().for_each(|&(from, _)| nfa.add_epsilon(from, copy.of(self.dfas[rule].start)));
            self.dfas[rule].ends().for_each(|end| nfa.add_epsilon(copy.of(end), calls[0].1));
        }
    }
}
