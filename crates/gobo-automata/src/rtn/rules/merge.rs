//! Equal rules: the first one is called in the place of the others, until no two are equal.

use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError, DenseId as _, LengthRange, Table};

use super::Rules;
use crate::ids::RuleId;
use crate::symbols::{SymbolDfa, SymbolNfa};

/// An automaton that is looked up more than once: it is hashed once.
#[derive(PartialEq, Eq)]
struct Digested<'a> {
    digest: u64,
    lengths: Option<LengthRange>,
    dfa: &'a SymbolDfa,
}

impl Hash for Digested<'_> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(self.digest);
    }
}

impl Rules {
    /// Calls the first of equal rules in the place of the others, until no two are equal.
    pub(in crate::rtn) fn merge_equal(&mut self, budget: &Budget) -> Result<(), CompileError> {
        let state = foldhash::fast::FixedState::default();
        let mut digests: Table<RuleId, u64> = self.dfas.iter().map(|dfa| state.hash_one(dfa)).collect();
        loop {
            let mut known: HashMap<Digested<'_>, RuleId> = HashMap::new();
            let of = self.dfas.iter().zip(&digests).zip(&self.lengths);
            let digested = of.map(|((dfa, &digest), &lengths)| Digested { digest, lengths, dfa });
            let same: Table<RuleId, RuleId> =
                RuleId::enumerate(digested).map(|(rule, dfa)| *known.entry(dfa).or_insert(rule)).collect();
            let is_renamed = |callee: RuleId| same[callee] != callee;
            let callers: Vec<RuleId> =
                self.dfas.ids().filter(|&rule| self.callees(rule).any(is_renamed)).collect();
            if callers.is_empty() {
                return Ok(());
            }
            for rule in callers {
                let mut nfa = SymbolNfa::of(&self.dfas[rule]);
                nfa.rename(|symbol| match self.callee(symbol) {
                    Some(callee) => self.call(same[callee]),
                    None => symbol,
                });
                self.dfas[rule] = self.settled(&nfa, rule, budget)?;
                digests[rule] = state.hash_one(&self.dfas[rule]);
            }
        }
    }
}
