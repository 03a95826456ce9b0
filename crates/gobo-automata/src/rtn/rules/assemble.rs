//! The states of all rules in one automaton, equal ones merged.

use gobo_types::{Budget, CompileError};

use super::{PHASE, Rules};
use crate::chars::dfa::CharDfa;
use crate::equivalence::refine;
use crate::ids::{DEAD, StateId, number};
use crate::rtn::network::{Call, CallTable, Network};
use crate::symbols::{Symbol, SymbolDfa, SymbolNfa};

impl Rules {
    /// Whether some rule that `top` needs calls itself, directly or through others.
    fn is_recursive(&self, top: usize) -> bool {
        let reached = self.reached(top);
        let mut callers = vec![0_usize; self.dfas.len()];
        let rules = || (0..self.dfas.len()).filter(|&rule| reached[rule]);
        rules().flat_map(|rule| self.callees(rule)).for_each(|callee| callers[callee] += 1);
        // Rules without callers are taken away, one after the other: what is left calls itself.
        let mut open: Vec<usize> = rules().filter(|&rule| callers[rule] == 0).collect();
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
    pub(in crate::rtn) fn assemble(&self, top: usize, budget: &Budget) -> Result<Network, CompileError> {
        let mut all = SymbolNfa::of(&SymbolDfa::empty());
        let mut offsets = vec![DEAD; self.dfas.len()];
        let mut accepting = vec![false];
        let mut of = vec![DEAD];
        for (rule, _) in self.reached(top).iter().enumerate().filter(|(_, reached)| **reached) {
            let dfa = &self.dfas[rule];
            offsets[rule] = all.append(dfa);
            accepting.extend(&dfa.accepting);
            of.resize(accepting.len(), number(rule));
        }
        budget.check_states(PHASE, accepting.len())?;
        let initial: Vec<u32> = (0..)
            .zip(&accepting)
            .map(|(state, &accepting)| if state == DEAD { 0 } else { 1 + u32::from(accepting) })
            .collect();
        let blocks = refine(&all, &initial, None, PHASE, budget)?;
        let dead = blocks.block(DEAD);
        let mut numbers = vec![DEAD; blocks.blocks()];
        let mut order = vec![DEAD];
        let mut visit = |state: StateId, order: &mut Vec<StateId>| {
            let known = &mut numbers[blocks.block(state) as usize];
            if *known == DEAD && blocks.block(state) != dead {
                *known = number(order.len());
                order.push(state);
            }
            *known
        };
        let entry = |rule: usize| offsets[rule] + self.dfas[rule].start;
        let mut chars = CharDfa::new(self.alphabet.ranges.clone(), self.alphabet.classes);
        let mut calls: Vec<Call> = Vec::new();
        let mut entries = vec![DEAD; self.dfas.len()];
        chars.symbols.start = visit(entry(top), &mut order);
        let mut row: Vec<(Symbol, StateId)> = Vec::new();
        while let Some(&state) = order.get(chars.len()) {
            row.clear();
            for &(symbol, next) in all.row(state) {
                match self.callee(symbol) {
                    None => row.push((symbol, visit(next, &mut order))),
                    Some(callee) => {
                        entries[callee] = visit(entry(callee), &mut order);
                        calls.push(Call {
                            state: number(chars.len()),
                            rule: number(callee),
                            to: visit(next, &mut order),
                            of: of[state as usize],
                        });
                    }
                }
            }
            budget.charge_steps(PHASE, 1 + row.len() as u64)?;
            chars.push(&row, accepting[state as usize]);
        }
        let calls = CallTable::new(calls, chars.len());
        let chars = chars.with_merged_classes(budget)?;
        Ok(Network { chars, calls, entries, names: self.names.clone(), is_recursive: self.is_recursive(top) })
    }
}
