//! The states of all rules in one automaton, equal ones merged.

use gobo_types::{Budget, CompileError, DenseId as _, Table};

use super::fold::folded;
use super::joined::Joined;
use super::{PHASE, Rules};
use crate::chars::ClassRanges;
use crate::chars::alphabet::Alphabet;
use crate::chars::dfa::CharDfa;
use crate::equivalence::refine;
use crate::ids::{CharState, ExitId, RuleId, Symbol};
use crate::rtn::network::{Call, CallTable, Folds, Network};

impl Rules {
    /// Whether some rule that `top` needs calls itself, directly or through others.
    fn is_recursive(&self, top: RuleId) -> bool {
        let reached = self.reached(top);
        let mut callers = Table::filled(0_usize, self.dfas.len());
        let rules = || self.dfas.ids().filter(|&rule| reached[rule]);
        rules().flat_map(|rule| self.callees(rule)).for_each(|callee| callers[callee] += 1);
        // Rules without callers are taken away, one after the other: the others call themselves.
        let mut open: Vec<RuleId> = rules().filter(|&rule| callers[rule] == 0).collect();
        let mut taken = 0;
        while let Some(rule) = open.pop() {
            taken += 1;
            for callee in self.callees(rule) {
                callers[callee] -= 1;
                if callers[callee] == 0 {
                    open.push(callee);
                }
            }
        }
        taken < rules().count()
    }

    /// The states of all rules that `top` needs in one automaton, equal ones merged, numbered breadth first. Families are folded if `folds`
    /// says so; `None` if their states are more than it allows.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(in crate::rtn) fn assemble(
        &self,
        top: RuleId,
        folds: Folds,
        budget: &Budget,
    ) -> Result<Option<Network>, CompileError> {
        let mut joined = self.joined(top, budget)?;
        let mut top_rule = top;
        if let Folds::Families { most } = folds
            && !self.families.several().is_empty()
        {
            let families = (&self.families, most);
            let Some(folded) = folded(&joined, families, top, self.alphabet.classes, budget)? else {
                return Ok(None);
            };
            joined = folded;
            top_rule = RuleId::of(0);
        }
        let Alphabet { ranges, classes, .. } = &self.alphabet;
        joined.network(top_rule, ranges.clone(), *classes, self.is_recursive(top), budget).map(Some)
    }
}

impl Joined {
    /// The network whose whole texts are those of a rule, over `classes` of characters: equal states are merged, and numbered breadth first.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(in crate::rtn) fn network(
        self,
        start: RuleId,
        ranges: ClassRanges,
        classes: usize,
        is_recursive: bool,
        budget: &Budget,
    ) -> Result<Network, CompileError> {
        let initial: Vec<u32> = CharState::enumerate(&self.ends)
            .map(|(state, end)| match end {
                _ if state == CharState::DEAD => 0,
                None => 1,
                Some(exit) => 2 + exit.number(),
            })
            .collect();
        let blocks = refine(&self.all, &initial, None, PHASE, budget)?;
        let dead = blocks.block(CharState::DEAD);
        let mut numbers = vec![CharState::DEAD; blocks.blocks()];
        let mut order = vec![CharState::DEAD];
        let mut visit = |state: CharState, order: &mut Vec<CharState>| {
            let known = &mut numbers[blocks.block(state).index()];
            if *known == CharState::DEAD && blocks.block(state) != dead {
                *known = CharState::new(order.len());
                order.push(state);
            }
            *known
        };
        let mut chars = CharDfa::new(ranges, classes);
        let mut calls: Vec<Call> = Vec::new();
        let mut exits = Table::filled(ExitId::FIRST, 1);
        let mut entries = Table::filled(CharState::DEAD, self.entries.len());
        chars.symbols.start = visit(self.entries[start], &mut order);
        let mut row: Vec<(Symbol, CharState)> = Vec::new();
        while let Some(&state) = order.get(chars.len()) {
            row.clear();
            let first_call = calls.len();
            for &(symbol, next) in self.all.row(state) {
                let Some(call) = symbol.index().checked_sub(classes) else {
                    row.push((symbol, visit(next, &mut order)));
                    continue;
                };
                let (rule, exit) = self.calls[call];
                entries[rule] = visit(self.entries[rule], &mut order);
                let (from, to) = (CharState::new(chars.len()), visit(next, &mut order));
                calls.push(Call { state: from, rule, exit, to, of: self.of[state.index()] });
            }
            calls[first_call..].sort_unstable();
            budget.charge_steps(PHASE, 1 + row.len() as u64)?;
            let end = self.ends[state.index()];
            chars.push(&row, end.is_some());
            exits.push(end.unwrap_or(ExitId::FIRST));
        }
        let calls = CallTable::new(calls, chars.len());
        let chars = chars.with_merged_classes(budget)?;
        let Self { names, lengths, .. } = self;
        Ok(Network { chars, calls, exits, entries, names, lengths, is_recursive })
    }
}
