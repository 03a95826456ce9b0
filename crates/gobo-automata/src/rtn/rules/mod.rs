//! The rules of a grammar while they are transformed: each is a minimal automaton whose symbols are classes of characters and calls.

mod assemble;
mod empty;
mod families;
mod first_follow;
mod fold;
mod inline;
mod joined;
mod leading_space;
mod left_recursion;
mod merge;
mod self_calls;

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError, DenseId as _, LengthRange, Table, TextStart};

pub(super) use self::joined::Joined;

use self::families::Families;
use super::grammar::{CalledRule, Grammar};
use crate::chars::Expr;
use crate::chars::alphabet::{Alphabet, CharSets, SetId};
use crate::chars::determinize::determinize;
use crate::chars::nfa::Nfa;
use crate::ids::{RuleId, Symbol};
use crate::symbols::{SymbolDfa, SymbolNfa};

/// The phase that verdicts name.
const PHASE: &str = "lowering the grammar";

/// The rules of a grammar, each an automaton whose symbols are classes of characters and calls.
pub(super) struct Rules {
    pub(super) alphabet: Alphabet,
    /// The class of the space, where it needs one of its own.
    pub(super) space: Option<Symbol>,
    pub(super) names: Table<RuleId, String>,
    /// [`Grammar::called`].
    called: Vec<CalledRule>,
    families: Families,
    /// `[rules]`: the lengths of those whose characters are counted. Their automata are nobody else's part.
    pub(super) lengths: Table<RuleId, Option<LengthRange>>,
    pub(super) dfas: Table<RuleId, SymbolDfa>,
}

impl Rules {
    pub(super) fn of(
        grammar: &Grammar,
        families: &[Vec<RuleId>],
        text_start: TextStart,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        let reached = reached(grammar);
        let mut sets = CharSets::default();
        let space = (text_start == TextStart::StripOneSpace).then(|| sets.single(' '));
        let mut nfas = Vec::with_capacity(grammar.rules.len());
        for (rule, is_reached) in grammar.rules.iter().zip(&reached) {
            let nothing = Expr::Alternate(Vec::new());
            let expr = if *is_reached { &rule.expr } else { &nothing };
            nfas.push(named(Nfa::of_expr(expr, &mut sets, budget), &rule.name)?);
        }
        let alphabet = Alphabet::of(&sets, budget)?;
        let mut dfas: Table<RuleId, SymbolDfa> = Table::new();
        // A tag has a schema for each tool, and each schema its own rule of strings.
        let mut known: HashMap<&Nfa, RuleId> = HashMap::new();
        for (rule, nfa) in grammar.rules.iter().zip(&nfas) {
            let build = || match known.get(nfa) {
                Some(&same) => Ok(dfas[same].clone()),
                None => determinize(nfa, &alphabet, budget)?.symbols.minimal(budget),
            };
            let dfa = named(budget.holding(build, SymbolDfa::bytes), &rule.name)?;
            known.entry(nfa).or_insert(dfas.push(dfa));
        }
        let space = space.map(|set: SetId| alphabet.of_set[set][0]);
        let names = grammar.rules.iter().map(|rule| rule.name.clone()).collect();
        let lengths: Table<RuleId, _> = grammar.rules.iter().map(|rule| rule.lengths).collect();
        let families = Families::new(grammar.rules.len(), families);
        let called = grammar.called.clone();
        let mut rules = Self { alphabet, space, names, called, families, lengths, dfas };
        rules.drop_empty_of_counted(budget)?;
        Ok(rules)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.dfas.iter().map(SymbolDfa::bytes).sum()
    }

    fn call(&self, rule: RuleId) -> Symbol {
        Symbol::new(self.alphabet.classes + rule.index())
    }

    /// The rule that a symbol calls.
    pub(super) fn callee(&self, symbol: Symbol) -> Option<RuleId> {
        symbol.index().checked_sub(self.alphabet.classes).map(RuleId::new)
    }

    /// The rules that `rule` calls, one for each call.
    fn callees(&self, rule: RuleId) -> impl Iterator<Item = RuleId> {
        self.dfas[rule].symbols().filter_map(|symbol| self.callee(symbol))
    }

    fn settled(&self, nfa: &SymbolNfa, rule: RuleId, budget: &Budget) -> Result<SymbolDfa, CompileError> {
        let build = || {
            let Some(dfa) = nfa.determinize(usize::MAX, budget)? else {
                unreachable!("no automaton has more states than can be counted")
            };
            dfa.minimal(budget)
        };
        named(budget.holding(build, SymbolDfa::bytes), &self.names[rule])
    }

    /// `[rules]`: which are called from `top`, itself among them.
    fn reached(&self, top: RuleId) -> Table<RuleId, bool> {
        let mut reached = Table::filled(false, self.dfas.len());
        let mut open = vec![top];
        while let Some(rule) = open.pop() {
            if !std::mem::replace(&mut reached[rule], true) {
                open.extend(self.callees(rule));
            }
        }
        reached
    }
}

/// `[rules]`: those that the start rule needs.
fn reached(grammar: &Grammar) -> Table<RuleId, bool> {
    fn calls(expr: &Expr, open: &mut Vec<RuleId>) {
        match expr {
            Expr::Text(_) | Expr::Chars(_) => {}
            Expr::Concat(parts) | Expr::Alternate(parts) => parts.iter().for_each(|part| calls(part, open)),
            Expr::Repeat { expr, .. } => calls(expr, open),
            Expr::Shared(expr) => calls(expr, open),
            Expr::Call(rule) => open.push(*rule),
            Expr::Machine(machine) => machine.edges.iter().flatten().for_each(|(expr, _)| calls(expr, open)),
        }
    }
    let mut reached = Table::filled(false, grammar.rules.len());
    let mut open = vec![grammar.start];
    while let Some(rule) = open.pop() {
        if !std::mem::replace(&mut reached[rule], true) {
            calls(&grammar.rules[rule.index()].expr, &mut open);
        }
    }
    reached
}

/// A budget that ran out names the rule that it ran out in.
fn named<T>(result: Result<T, CompileError>, rule: &str) -> Result<T, CompileError> {
    result.map_err(|error| match error {
        CompileError::OverBudget(mut over) => {
            over.phase = format!("{} (rule {rule:?})", over.phase).into();
            CompileError::OverBudget(over)
        }
        other => other,
    })
}
