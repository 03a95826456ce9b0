//! Left recursion: Paull's algorithm (Aho & Ullman 1972, Algorithm 2.13), on automata.
//!
//! The rules of each cycle of left corners are taken in order: the earlier ones are inlined where they stand first, and then
//! `A = A α | β` becomes `β α*`. Exponential in the rules of a cycle at worst, which the budget ends.

use gobo_types::{Budget, CompileError, Table};

use super::Rules;
use crate::ids::RuleId;
use crate::symbols::SymbolNfa;

impl Rules {
    /// The rules that texts of `rule` may begin with a text of.
    pub(super) fn left_corners(&self, rule: RuleId) -> impl Iterator<Item = RuleId> {
        let dfa = &self.dfas[rule];
        dfa.row(dfa.start).iter().filter_map(|&(symbol, _)| self.callee(symbol))
    }

    /// Makes no rule begin with itself, through whatever others: for the rules of each cycle in order, the earlier ones are
    /// inlined where they stand first, and then `A = A α | β` becomes `β α*` (Paull's algorithm, on automata).
    pub(in crate::rtn) fn break_left_recursion(&mut self, budget: &Budget) -> Result<(), CompileError> {
        for rule in self.dfas.ids() {
            self.simplify(rule, budget)?;
        }
        let component = self.left_components();
        let mut members: Vec<Vec<RuleId>> = vec![Vec::new(); self.dfas.len()];
        for (rule, &of) in component.enumerate() {
            for &earlier in &members[of] {
                if self.left_corners(rule).any(|corner| corner == earlier) {
                    let mut nfa = SymbolNfa::of(&self.dfas[rule].with_fresh_start());
                    self.substitute(&mut nfa, earlier, |from, start| from == start);
                    self.dfas[rule] = self.settled(&nfa, rule, budget)?;
                }
            }
            if !members[of].is_empty() {
                self.simplify(rule, budget)?;
            }
            members[of].push(rule);
        }
        Ok(())
    }

    /// `[rules]`: the strongly connected component of left corners that a rule lies in. Tarjan 1972, without recursion.
    fn left_components(&self) -> Table<RuleId, usize> {
        const UNSEEN: usize = usize::MAX;
        let corners: Table<RuleId, Vec<RuleId>> =
            self.dfas.ids().map(|rule| self.left_corners(rule).collect()).collect();
        let mut component = Table::filled(UNSEEN, corners.len());
        let (mut order, mut low) = (component.clone(), component.clone());
        let (mut next, mut components) = (0, 0);
        let mut stack: Vec<RuleId> = Vec::new();
        // Rules on the path, each with the index of its next corner.
        let mut path: Vec<(RuleId, usize)> = Vec::new();
        for root in corners.ids() {
            if order[root] != UNSEEN {
                continue;
            }
            path.push((root, 0));
            while let Some((rule, at)) = path.last_mut() {
                let rule = *rule;
                if *at == 0 {
                    (order[rule], low[rule]) = (next, next);
                    next += 1;
                    stack.push(rule);
                }
                if let Some(&corner) = corners[rule].get(*at) {
                    *at += 1;
                    if order[corner] == UNSEEN {
                        path.push((corner, 0));
                    } else if component[corner] == UNSEEN {
                        low[rule] = low[rule].min(order[corner]);
                    }
                    continue;
                }
                path.pop();
                if let Some(&(caller, _)) = path.last() {
                    low[caller] = low[caller].min(low[rule]);
                }
                if low[rule] == order[rule] {
                    while let Some(member) = stack.pop() {
                        component[member] = components;
                        if member == rule {
                            break;
                        }
                    }
                    components += 1;
                }
            }
        }
        component
    }
}
