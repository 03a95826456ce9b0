//! Families folded: the rules of a family that are called at one place become one rule with an exit for each of them.
//!
//! A caller that goes on in one way after texts of one rule of a family, and in another after texts of another one, would have to guess which of
//! them it reads. Instead it calls them as one: a *folded* rule is the union of some rules of a family, made deterministic (Rabin & Scott 1959),
//! and where it ends it says which of them has ended. The calls in it are folded in the same way, so that folded rules are found one
//! from the other, by the sets of rules that are called together somewhere. Only these are made, so that in each state of a folded rule
//! some text leads to an end after which the caller has a way on: a caller that goes on after fewer rules calls another folded rule.
//!
//! A state is a set of states of the rules, and has the same future in whatever folded rule it is. So all folded rules share one subset
//! construction, and the number of an exit is one for a rule of the family, whichever others it is folded with. Where one text is of
//! several rules, their set is an exit of its own, after which a caller is in all states in which it would be after one of them.
//! Which of these exits there are is known when all rules have been made; then those that may have been missing are made again.
//!
//! Cost: edges of the sets of states, which the budget bounds; and that once more for each round in which such an exit is found.

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError, DenseId as _, Table};

use super::PHASE;
use super::families::{Families, FamilyId};
use super::joined::Joined;
use crate::ids::{CharState, ExitId, RuleId, Symbol};
use crate::symbols::{Interner, SymbolDfa, SymbolNfa};

/// Sets of rules of a family that have a text in common.
type Common = Table<FamilyId, Vec<Vec<RuleId>>>;

/// The rules that `top` needs, those of each family that are called together as one; `None` if they have more than `most` states.
/// `classes`: the symbols before those of calls.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(super) fn folded(
    joined: &Joined,
    (families, most): (&Families, usize),
    top: RuleId,
    classes: usize,
    budget: &Budget,
) -> Result<Option<Joined>, CompileError> {
    let mut common: Common = Table::filled(Vec::new(), families.len());
    loop {
        let mut fold = Fold {
            joined,
            families,
            most,
            classes,
            common: &common,
            found: Vec::new(),
            sets: Interner::default(),
            folded: Interner::default(),
            symbols: HashMap::new(),
            made: Joined {
                all: SymbolNfa::of(&SymbolDfa::empty()),
                ends: Vec::new(),
                of: Vec::new(),
                calls: Vec::new(),
                entries: Table::new(),
                names: Table::new(),
                lengths: Table::new(),
            },
            budget,
        };
        if !fold.run(top)? {
            return Ok(None);
        }
        let Fold { found, made, .. } = fold;
        if found.is_empty() {
            return Ok(Some(made));
        }
        found.into_iter().for_each(|(family, rules)| common[family].push(rules));
    }
}

struct Fold<'a> {
    joined: &'a Joined,
    families: &'a Families,
    /// States beyond which folding ends.
    most: usize,
    classes: usize,
    common: &'a Common,
    /// Sets that are not in `common`.
    found: Vec<(FamilyId, Vec<RuleId>)>,
    /// The sets of states: the states of the folded rules.
    sets: Interner<CharState, CharState>,
    /// The rules that each folded rule is made of, ascending.
    folded: Interner<RuleId, RuleId>,
    symbols: HashMap<(RuleId, ExitId), Symbol>,
    made: Joined,
    budget: &'a Budget,
}

impl Fold<'_> {
    /// Makes the rules that `top` needs; whether it has come to the end.
    fn run(&mut self, top: RuleId) -> Result<bool, CompileError> {
        self.sets.intern(&[]);
        self.rule(&[top])?;
        let mut dfa = SymbolDfa::empty();
        self.made.ends.push(None);
        self.made.of.push(RuleId::of(0));
        let mut edges: Vec<(Symbol, CharState)> = Vec::new();
        let mut row: Vec<(Symbol, CharState)> = Vec::new();
        while dfa.len() < self.sets.len() {
            if self.sets.len() > self.most {
                return Ok(false);
            }
            let set = self.sets.get(CharState::new(dfa.len())).to_vec();
            edges.clear();
            set.iter().for_each(|&state| edges.extend_from_slice(self.joined.all.row(state)));
            edges.sort_unstable();
            edges.dedup();
            self.budget.charge_steps(PHASE, 1 + edges.len() as u64)?;
            row.clear();
            let calls = edges.partition_point(|edge| edge.0.index() < self.classes);
            for of_symbol in edges[..calls].chunk_by(|one, next| one.0 == next.0) {
                row.push((of_symbol[0].0, self.set(of_symbol.iter().map(|edge| edge.1))?));
            }
            self.add_calls(&edges[calls..], &mut row)?;
            row.sort_unstable();
            let end = self.end(&set)?;
            self.budget.charge_bytes(PHASE, row.len() as u64 * 8)?;
            dfa.push(&row, end.is_some());
            self.made.ends.push(end);
            self.made.of.push(self.joined.of[set[0].index()]);
        }
        self.made.all = SymbolNfa::of(&dfa);
        // The rules of the grammar have their names after those that were made.
        let made = self.made.names.len();
        self.made.of.iter_mut().for_each(|rule| *rule = RuleId::new(made + rule.index()));
        for name in &self.joined.names {
            self.made.names.push(name.clone());
        }
        Ok(true)
    }

    /// The number of a set of states.
    fn set(&mut self, states: impl Iterator<Item = CharState>) -> Result<CharState, CompileError> {
        let mut states: Vec<CharState> = states.collect();
        states.sort_unstable();
        states.dedup();
        let (set, is_new) = self.sets.intern(&states);
        if is_new {
            self.budget.charge_bytes(PHASE, states.len() as u64 * 4 + 24)?;
            self.budget.check_states(PHASE, self.sets.len() - 1)?;
        }
        Ok(set)
    }

    /// The rule that is made of some rules of a family, ascending.
    fn rule(&mut self, of: &[RuleId]) -> Result<RuleId, CompileError> {
        let (rule, is_new) = self.folded.intern(of);
        if is_new {
            let entries = self.joined;
            let entry = self.set(of.iter().map(|&rule| entries.entries[rule]))?;
            self.made.entries.push(entry);
            self.made.names.push(self.joined.names[of[0]].clone());
            self.made.lengths.push(self.joined.lengths[of[0]]);
        }
        Ok(rule)
    }

    /// Adds the calls among the edges of a set of states: `edges`, ascending by symbol.
    fn add_calls(
        &mut self,
        edges: &[(Symbol, CharState)],
        row: &mut Vec<(Symbol, CharState)>,
    ) -> Result<(), CompileError> {
        let joined = self.joined;
        let mut calls: Vec<(FamilyId, RuleId, CharState)> = edges
            .iter()
            .map(|&(symbol, to)| {
                let (rule, _) = joined.calls[symbol.index() - self.classes];
                (self.families.of(rule), rule, to)
            })
            .collect();
        calls.sort_unstable();
        for of_family in calls.chunk_by(|one, next| one.0 == next.0) {
            let family = of_family[0].0;
            let mut rules: Vec<RuleId> = of_family.iter().map(|call| call.1).collect();
            rules.dedup();
            let folded = self.rule(&rules)?;
            let common = self.common;
            let several = common[family].iter().filter(|set| is_part(set, &rules));
            let ends = rules.iter().map(std::slice::from_ref).chain(several.map(Vec::as_slice));
            for ended in ends {
                self.budget.charge_steps(PHASE, of_family.len() as u64)?;
                let after = of_family.iter().filter(|call| ended.binary_search(&call.1).is_ok());
                let to = self.set(after.map(|call| call.2))?;
                let exit = self.exit(ended);
                row.push((self.symbol(folded, exit), to));
            }
        }
        Ok(())
    }

    fn symbol(&mut self, rule: RuleId, exit: ExitId) -> Symbol {
        let calls = &mut self.made.calls;
        *self.symbols.entry((rule, exit)).or_insert_with(|| {
            calls.push((rule, exit));
            Symbol::new(self.classes + calls.len() - 1)
        })
    }

    /// Where a folded rule ends in a set of states.
    fn end(&mut self, set: &[CharState]) -> Result<Option<ExitId>, CompileError> {
        let ending = set.iter().filter(|state| self.joined.ends[state.index()].is_some());
        let mut rules: Vec<RuleId> = ending.map(|state| self.joined.of[state.index()]).collect();
        rules.sort_unstable();
        rules.dedup();
        self.budget.charge_steps(PHASE, rules.len() as u64)?;
        Ok((!rules.is_empty()).then(|| self.exit(&rules)))
    }

    /// The exit of texts that some rules of a family have in common, and no other one.
    fn exit(&mut self, rules: &[RuleId]) -> ExitId {
        let family = self.families.of(rules[0]);
        let members = self.families.members(family);
        if let [rule] = rules {
            return ExitId::new(members.iter().position(|member| member == rule).unwrap_or_default());
        }
        let known = self.common[family].iter().position(|known| known == rules).unwrap_or_else(|| {
            if !self.found.iter().any(|(_, found)| found == rules) {
                self.found.push((family, rules.to_vec()));
            }
            self.common[family].len()
        });
        ExitId::new(members.len() + known)
    }
}

/// Whether all of some rules are among others, both ascending.
fn is_part(some: &[RuleId], others: &[RuleId]) -> bool {
    some.iter().all(|rule| others.binary_search(rule).is_ok())
}
