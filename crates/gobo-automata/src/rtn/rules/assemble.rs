//! The states of all rules in one automaton, equal ones merged.

use gobo_types::{Budget, CompileError, DenseId as _, Table};

use super::{PHASE, Rules};
use crate::chars::dfa::CharDfa;
use crate::equivalence::refine;
use crate::ids::{CharState, RuleId, Symbol};
use crate::rtn::network::{Call, CallTable, Network};
use crate::symbols::{Offset, SymbolDfa, SymbolNfa};

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

    /// The states of all rules that `top` needs in one automaton, equal ones merged, numbered breadth first.
    pub(in crate::rtn) fn assemble(&self, top: RuleId, budget: &Budget) -> Result<Network, CompileError> {
        let mut all = SymbolNfa::of(&SymbolDfa::empty());
        let mut offsets: Table<RuleId, Option<Offset>> = Table::filled(None, self.dfas.len());
        let mut accepting = vec![false];
        // `[states]`: the rule that each is of; the dead state is of none.
        let mut of = vec![RuleId::of(0)];
        let reached = self.reached(top);
        for rule in self.dfas.ids().filter(|&rule| reached[rule]) {
            let dfa = &self.dfas[rule];
            offsets[rule] = Some(all.append(dfa));
            accepting.extend(&dfa.accepting);
            of.resize(accepting.len(), rule);
        }
        budget.check_states(PHASE, accepting.len())?;
        let initial: Vec<u32> = CharState::enumerate(&accepting)
            .map(|(state, &accepting)| if state == CharState::DEAD { 0 } else { 1 + u32::from(accepting) })
            .collect();
        let blocks = refine(&all, &initial, None, PHASE, budget)?;
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
        let entry =
            |rule: RuleId| offsets[rule].map_or(CharState::DEAD, |offset| offset.of(self.dfas[rule].start));
        let mut chars = CharDfa::new(self.alphabet.ranges.clone(), self.alphabet.classes);
        let mut calls: Vec<Call> = Vec::new();
        let mut entries = Table::filled(CharState::DEAD, self.dfas.len());
        chars.symbols.start = visit(entry(top), &mut order);
        let mut row: Vec<(Symbol, CharState)> = Vec::new();
        while let Some(&state) = order.get(chars.len()) {
            row.clear();
            for &(symbol, next) in all.row(state) {
                match self.callee(symbol) {
                    None => row.push((symbol, visit(next, &mut order))),
                    Some(callee) => {
                        entries[callee] = visit(entry(callee), &mut order);
                        calls.push(Call {
                            state: CharState::new(chars.len()),
                            rule: callee,
                            to: visit(next, &mut order),
                            of: of[state.index()],
                        });
                    }
                }
            }
            budget.charge_steps(PHASE, 1 + row.len() as u64)?;
            chars.push(&row, accepting[state.index()]);
        }
        let calls = CallTable::new(calls, chars.len());
        let chars = chars.with_merged_classes(budget)?;
        Ok(Network {
            chars,
            calls,
            entries,
            names: self.names.clone(),
            lengths: self.lengths.clone(),
            is_recursive: self.is_recursive(top),
        })
    }
}
