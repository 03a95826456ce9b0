//! States, rows, rules and exits that nothing tells apart, merged.
//!
//! The coarsest partition, refined as bisimilarity is: two states are equal if they end at equal exits, push equal rules, and have equal
//! edges to equal states; two rows, if after equal exits they have equal states; two rules, if their rows are equal, and the states above them;
//! two exits, if equal rows go on after both in equal states, or after none. States are refined to the end between the rounds of
//! the others ([`refine`]).
//!
//! Invariant: what is equal at the end has the same texts, with equal stacks below. Cost: rounds, times edges and rows.

use std::hash::Hash;

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError, DenseId, Table, checked_u32};

use super::live::{Live, LiveRule, RowId};
use super::subset::PHASE;
use crate::equivalence::{Partition, refine};
use crate::ids::{CharState, ExitId, RuleId, Symbol};
use crate::symbols::SymbolDfa;

/// The classes of a round.
struct Classes {
    states: Partition<CharState>,
    of_row: Table<RowId, u32>,
    of_rule: Table<RuleId, u32>,
    of_exit: Table<ExitId, u32>,
}

/// Numbers for keys, equal ones for equal keys, in the order of first sight.
fn numbered<I: DenseId, K: Hash + Eq>(keys: impl Iterator<Item = K>) -> (Table<I, u32>, usize) {
    let mut known: HashMap<K, u32> = HashMap::new();
    let mut numbers = Table::new();
    for key in keys {
        let fresh = checked_u32(known.len());
        numbers.push(*known.entry(key).or_insert(fresh));
    }
    (numbers, known.len())
}

fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.sort_unstable();
    items.dedup();
    items
}

impl Live {
    /// One of all that nothing tells apart.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(super) fn merged(self, budget: &Budget) -> Result<Self, CompileError> {
        let mut classes = Classes {
            states: self.states(
                &Table::filled(0, self.rules.len()),
                &Table::filled(0, self.exits),
                budget,
            )?,
            of_row: Table::filled(0, self.rows.len()),
            of_rule: Table::filled(0, self.rules.len()),
            of_exit: Table::filled(0, self.exits),
        };
        let mut before = (0, 0);
        loop {
            let block = |state: CharState| classes.states.block(state).number();
            let mut columns: Table<ExitId, Vec<(u32, u32)>> = Table::filled(Vec::new(), self.exits);
            for (id, row) in self.rows.enumerate() {
                budget.charge_steps(PHASE, 1 + row.len() as u64)?;
                row.iter().for_each(|&(exit, to)| columns[exit].push((classes.of_row[id], block(to))));
            }
            // Those that end the whole text are like no other.
            let keys = columns
                .enumerate()
                .map(|(exit, column)| (self.wholes.contains(&exit), sorted(column.iter().copied())));
            let (of_exit, exits) = numbered(keys);
            let rows = self
                .rows
                .iter()
                .map(|row| sorted(row.iter().map(|&(exit, to)| (classes.of_exit[exit], block(to)))));
            let of_row = numbered(rows).0;
            let (of_rule, rules) =
                numbered(self.rules.iter().map(|rule| (block(rule.entry), of_row[rule.row])));
            let now = (rules, exits);
            let is_done = now == before;
            before = now;
            let states = if is_done { classes.states } else { self.states(&of_rule, &of_exit, budget)? };
            classes = Classes { states, of_row, of_rule, of_exit };
            if is_done {
                return self.quotient(&classes, budget);
            }
        }
    }

    /// The classes of states, where those of rules and exits are these.
    fn states(
        &self,
        of_rule: &Table<RuleId, u32>,
        of_exit: &Table<ExitId, u32>,
        budget: &Budget,
    ) -> Result<Partition<CharState>, CompileError> {
        let pushes: usize = self.pushes.iter().map(Vec::len).sum();
        budget.charge_steps(PHASE, (self.ends.len() + pushes) as u64)?;
        let keys = CharState::enumerate(&self.ends).map(|(state, end)| {
            let pushes = sorted(self.pushes[state.index()].iter().map(|&rule| of_rule[rule]));
            (state == CharState::DEAD, end.map(|end| of_exit[end]), pushes)
        });
        let initial: Table<CharState, u32> = numbered(keys).0;
        refine(&self.dfa, &initial, None, PHASE, budget)
    }

    /// One of each class that the start leads to.
    fn quotient(&self, classes: &Classes, budget: &Budget) -> Result<Self, CompileError> {
        let mut quotient = Quotient {
            of: self,
            classes,
            numbers: vec![CharState::DEAD; classes.states.blocks()],
            order: vec![CharState::DEAD],
            rules: HashMap::new(),
            rows: HashMap::new(),
            made: Self {
                dfa: SymbolDfa::empty(),
                ends: vec![None],
                pushes: vec![Vec::new()],
                rules: Table::new(),
                rows: Table::new(),
                exits: self.exits,
                wholes: Vec::new(),
            },
        };
        quotient.made.dfa.start = quotient.state(self.dfa.start);
        let mut row: Vec<(Symbol, CharState)> = Vec::new();
        while let Some(&state) = quotient.order.get(quotient.made.dfa.len()) {
            row.clear();
            row.extend(self.dfa.row(state).iter().map(|&(symbol, to)| (symbol, quotient.state(to))));
            let pushes = sorted(self.pushes[state.index()].iter().map(|&rule| quotient.rule(rule)));
            budget.charge_steps(PHASE, 1 + row.len() as u64)?;
            budget.charge_bytes(PHASE, row.len() as u64 * 8 + 32)?;
            let end = self.ends[state.index()].map(|end| quotient.exit(end));
            let made = &mut quotient.made;
            made.dfa.push(&row, end.is_some());
            made.ends.push(end);
            made.pushes.push(pushes);
        }
        let wholes = sorted(self.wholes.iter().map(|&exit| quotient.exit(exit)));
        quotient.made.wholes = wholes;
        Ok(quotient.made)
    }
}

/// One of each class, numbered in the order in which they are met.
struct Quotient<'a> {
    of: &'a Live,
    classes: &'a Classes,
    /// `[blocks]`.
    numbers: Vec<CharState>,
    /// A state of each block that was met.
    order: Vec<CharState>,
    rules: HashMap<u32, RuleId>,
    rows: HashMap<u32, RowId>,
    made: Live,
}

impl Quotient<'_> {
    fn state(&mut self, state: CharState) -> CharState {
        if state == CharState::DEAD {
            return state;
        }
        let known = &mut self.numbers[self.classes.states.block(state).index()];
        if *known == CharState::DEAD {
            *known = CharState::new(self.order.len());
            self.order.push(state);
        }
        *known
    }

    fn exit(&self, exit: ExitId) -> ExitId {
        ExitId::from_number(self.classes.of_exit[exit])
    }

    fn rule(&mut self, rule: RuleId) -> RuleId {
        let class = self.classes.of_rule[rule];
        if let Some(&known) = self.rules.get(&class) {
            return known;
        }
        let LiveRule { frame, entry, row } = self.of.rules[rule];
        let row_class = self.classes.of_row[row];
        let row = match self.rows.get(&row_class) {
            Some(&known) => known,
            None => {
                let of = self.of;
                let row = sorted(of.rows[row].iter().map(|&(exit, to)| (self.exit(exit), self.state(to))));
                let made = self.made.rows.push(row);
                self.rows.insert(row_class, made);
                made
            }
        };
        let entry = self.state(entry);
        let made = self.made.rules.push(LiveRule { frame, entry, row });
        self.rules.insert(class, made);
        made
    }
}
