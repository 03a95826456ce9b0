//! Equal rules: the first one is called in the place of the others, until no two are equal; those of a family as a whole.

use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError, LengthRange, Table};

use super::Rules;
use super::families::FamilyId;
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
            let mut known: HashMap<Vec<Digested<'_>>, FamilyId> = HashMap::new();
            let digested = |&rule: &RuleId| Digested {
                digest: digests[rule],
                lengths: self.lengths[rule],
                dfa: &self.dfas[rule],
            };
            let mut same: Table<RuleId, RuleId> = self.dfas.ids().collect();
            for (family, members) in self.families.all() {
                let first = *known.entry(members.iter().map(digested).collect()).or_insert(family);
                let firsts = self.families.members(first).iter();
                members.iter().zip(firsts).for_each(|(&rule, &first)| same[rule] = first);
            }
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
