//! Direct self-calls that need no stack: left recursion of one rule, and tail calls.

use gobo_types::{Budget, CompileError};

use super::Rules;
use crate::ids::{CharState, RuleId};
use crate::symbols::SymbolNfa;

impl Rules {
    /// Removes direct left recursion from a rule, and calls of itself whose return adds nothing.
    ///
    /// A call of the rule inside itself is no call where all that may follow its return may also follow wherever the rule
    /// ends, and where the rule may end at the return: then the inner text may as well be the end of the outer one. That
    /// covers right recursion, and `e = e "+" e`.
    pub(super) fn simplify(&mut self, rule: RuleId, budget: &Budget) -> Result<(), CompileError> {
        let own = self.call(rule);
        if self.left_corners(rule).any(|corner| corner == rule) {
            let dfa = self.dfas[rule].with_fresh_start();
            let mut nfa = SymbolNfa::of(&dfa);
            let returns: Vec<CharState> =
                nfa.take_edges(own, |from| from == dfa.start).into_iter().map(|(_, to)| to).collect();
            for end in dfa.ends() {
                returns.iter().for_each(|&to| nfa.add_epsilon(end, to));
            }
            self.dfas[rule] = self.settled(&nfa, rule, budget)?;
        }
        loop {
            let dfa = &self.dfas[rule];
            let mut tail_call = None;
            for (from, symbol, to) in dfa.edges().filter(|&(_, symbol, _)| symbol == own) {
                if dfa.accepting[to] && dfa.ends_read_all_of(to, budget)? {
                    tail_call = Some((from, symbol));
                    break;
                }
            }
            let Some((from, symbol)) = tail_call else { return Ok(()) };
            let mut nfa = SymbolNfa::of(dfa);
            nfa.take_edges(symbol, |state| state == from);
            nfa.add_epsilon(from, dfa.start);
            self.dfas[rule] = self.settled(&nfa, rule, budget)?;
        }
    }
}
