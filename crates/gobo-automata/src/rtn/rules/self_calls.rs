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
            let mut tail_calls: Vec<CharState> = Vec::new();
            for (from, _, to) in dfa.edges().filter(|&(_, symbol, _)| symbol == own) {
                if dfa.accepting[to] && dfa.ends_read_all_of(to, budget)? {
                    tail_calls.push(from);
                }
            }
            if tail_calls.is_empty() {
                return Ok(());
            }
            // All at once: one that is left would be copied into each state of the subset construction.
            let mut nfa = SymbolNfa::of(dfa);
            nfa.take_edges(own, |from| tail_calls.binary_search(&from).is_ok());
            tail_calls.iter().for_each(|&from| nfa.add_epsilon(from, dfa.start));
            match self.small(&nfa, rule, budget)? {
                Some(dfa) => self.dfas[rule] = dfa,
                // They stay calls.
                None => return Ok(()),
            }
        }
    }
}
