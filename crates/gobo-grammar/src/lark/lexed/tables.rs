//! The parser's states, as Lark builds them: LALR(1) (`DeRemer` & Pennello, *Efficient Computation of LALR(1) Look-Ahead Sets*, 1982).
//!
//! What is needed of them is no parser: the terminals with an action in each state, which are those that the contextual lexer tries, and
//! the terminals that are *struck* where a production ends in a state: the parser shifts them there, or reduces another production, so
//! none of them may come next. All else about texts follows from the productions.
//!
//! Invariant: the look-ahead sets are Lark's, which are at places larger than those of the paper: a production that is under way in a
//! state counts as beginning there. Cost: states and edges of the relations, times the terminals by words.

use std::collections::{BTreeMap, HashMap};

use gobo_types::{Budget, CompileError, DenseId as _, Table, dense_id};

use super::bits::Bits;
use super::grammar::{NonterminalId, ProductionId, Productions, Symbol, TerminalId};

const PHASE: &str = "building the parser's states";

/// Bytes of a state, without its items.
const STATE_BYTES: u64 = 96;

dense_id! {
    /// A state of the parser.
    pub(super) struct ParserState;

    /// An edge of the parser that reads a text of a rule.
    struct GotoId;
}

/// A production and how much of it was read.
type Item = (ProductionId, usize);

/// The parser's states.
pub(super) struct Tables {
    pub(super) shifts: Table<ParserState, BTreeMap<Symbol, ParserState>>,
    /// The terminals with an action.
    pub(super) actions: Table<ParserState, Bits>,
    /// What may not come next where a production ends in a state; the end of the text is the terminal after the last.
    pub(super) struck: HashMap<(ParserState, ProductionId), Bits>,
    /// The terminals before which a production ends in a state, whatever decides against it.
    pub(super) ahead: BTreeMap<(ParserState, ProductionId), Bits>,
    /// The terminals with which texts of a rule begin.
    pub(super) first: Table<NonterminalId, Bits>,
    pub(super) nullable: Table<NonterminalId, bool>,
    /// The productions that end in a state, before a terminal for which nothing decides between them.
    pub(super) undecided: Vec<(ProductionId, ProductionId, usize)>,
    /// How often shifting decides.
    pub(super) shifted: usize,
}

/// The state in which texts begin.
pub(super) const START: ParserState = ParserState(0);

/// The states under construction.
struct Builder<'a> {
    productions: &'a Productions,
    budget: &'a Budget,
    items: Table<ParserState, Vec<Item>>,
    shifts: Table<ParserState, BTreeMap<Symbol, ParserState>>,
    nullable: Table<NonterminalId, bool>,
}

/// # Errors
/// [`CompileError::OverBudget`].
pub(super) fn tables(productions: &Productions, budget: &Budget) -> Result<Tables, CompileError> {
    let mut builder = Builder {
        productions,
        budget,
        items: Table::new(),
        shifts: Table::new(),
        nullable: nullable(productions, budget)?,
    };
    builder.states()?;
    builder.look_ahead()
}

fn nullable(productions: &Productions, budget: &Budget) -> Result<Table<NonterminalId, bool>, CompileError> {
    let mut nullable = Table::filled(false, productions.names.len());
    loop {
        budget.charge_steps(PHASE, productions.all.len() as u64)?;
        let mut has_changed = false;
        for production in &productions.all {
            let is_empty = |symbol: &Symbol| matches!(symbol, Symbol::Rule(rule) if nullable[*rule]);
            if !nullable[production.origin] && production.body.iter().all(is_empty) {
                nullable[production.origin] = true;
                has_changed = true;
            }
        }
        if !has_changed {
            return Ok(nullable);
        }
    }
}

impl Builder<'_> {
    /// The symbol after what was read; `None` at the end.
    fn next(&self, (production, read): Item) -> Option<Symbol> {
        self.productions.all[production].body.get(read).copied()
    }

    /// The items of a state whose kernel this is, and the rule that is read first in it.
    fn closure(&self, kernel: &[Item], first: Option<NonterminalId>) -> Result<Vec<Item>, CompileError> {
        let mut is_open = Table::filled(false, self.productions.names.len());
        let mut items = kernel.to_vec();
        let add = |rule: NonterminalId, items: &mut Vec<Item>, is_open: &mut Table<NonterminalId, bool>| {
            if !std::mem::replace(&mut is_open[rule], true) {
                items.extend(self.productions.of[rule].iter().map(|&production| (production, 0)));
            }
        };
        if let Some(first) = first {
            add(first, &mut items, &mut is_open);
        }
        let mut at = 0;
        while let Some(&item) = items.get(at) {
            if let Some(Symbol::Rule(rule)) = self.next(item) {
                add(rule, &mut items, &mut is_open);
            }
            at += 1;
        }
        items.sort_unstable();
        items.dedup();
        self.budget.charge_steps(PHASE, items.len() as u64 * 2)?;
        self.budget.charge_bytes(PHASE, STATE_BYTES + items.len() as u64 * 16)?;
        Ok(items)
    }

    fn states(&mut self) -> Result<(), CompileError> {
        let start = self.closure(&[], Some(self.productions.start))?;
        self.items.push(start);
        self.shifts.push(BTreeMap::new());
        let mut known: HashMap<Vec<Item>, ParserState> = HashMap::new();
        let mut at = 0;
        while at < self.items.len() {
            let state = ParserState::new(at);
            let mut kernels: BTreeMap<Symbol, Vec<Item>> = BTreeMap::new();
            for &item in &self.items[state] {
                if let Some(symbol) = self.next(item) {
                    kernels.entry(symbol).or_default().push((item.0, item.1 + 1));
                }
            }
            if state == START {
                // The state after the whole text, which no item stands for.
                kernels.entry(Symbol::Rule(self.productions.start)).or_default();
            }
            for (symbol, kernel) in kernels {
                let is_end = state == START && symbol == Symbol::Rule(self.productions.start);
                let to = match known.get(&kernel).filter(|_| !is_end) {
                    Some(&known) => known,
                    None => {
                        let items = self.closure(&kernel, None)?;
                        self.shifts.push(BTreeMap::new());
                        let to = self.items.push(items);
                        self.budget.check_states(PHASE, self.items.len())?;
                        if !is_end {
                            known.insert(kernel, to);
                        }
                        to
                    }
                };
                self.shifts[state].insert(symbol, to);
            }
            at += 1;
        }
        Ok(())
    }

    /// The look-ahead sets, and what follows from them.
    fn look_ahead(self) -> Result<Tables, CompileError> {
        let terminals = self.productions.terminals.len();
        let mut gotos: Table<GotoId, (ParserState, NonterminalId)> = Table::new();
        let mut goto_of: HashMap<(ParserState, NonterminalId), GotoId> = HashMap::new();
        for (state, shifts) in self.shifts.enumerate() {
            for &symbol in shifts.keys() {
                if let Symbol::Rule(rule) = symbol {
                    goto_of.insert((state, rule), gotos.push((state, rule)));
                }
            }
        }
        let mut sets: Table<GotoId, Bits> = Table::filled(Bits::new(terminals + 1), gotos.len());
        let mut reads: Table<GotoId, Vec<GotoId>> = Table::filled(Vec::new(), gotos.len());
        for (id, &(state, rule)) in gotos.enumerate() {
            let next = self.shifts[state][&Symbol::Rule(rule)];
            if (state, rule) == (START, self.productions.start) {
                sets[id].insert(terminals);
            }
            for &symbol in self.shifts[next].keys() {
                match symbol {
                    Symbol::Terminal(terminal) => sets[id].insert(terminal.index()),
                    Symbol::Rule(rule) if self.nullable[rule] => reads[id].push(goto_of[&(next, rule)]),
                    Symbol::Rule(_) => {}
                }
            }
        }
        self.spread(&mut sets, &reads)?;
        let mut includes: Table<GotoId, Vec<GotoId>> = Table::filled(Vec::new(), gotos.len());
        let mut look_back: HashMap<(ParserState, ProductionId), Vec<GotoId>> = HashMap::new();
        for (id, &(state, rule)) in gotos.enumerate() {
            for &(production, read) in &self.items[state] {
                let of = &self.productions.all[production];
                if of.origin != rule {
                    continue;
                }
                self.budget.charge_steps(PHASE, 1 + of.body.len() as u64)?;
                let mut at = state;
                for (place, &symbol) in of.body.iter().enumerate().skip(read) {
                    if let Symbol::Rule(inner) = symbol {
                        let is_empty =
                            |symbol: &Symbol| matches!(symbol, Symbol::Rule(rule) if self.nullable[*rule]);
                        if of.body[place + 1..].iter().all(is_empty) {
                            includes[goto_of[&(at, inner)]].push(id);
                        }
                    }
                    at = self.shifts[at][&symbol];
                }
                if read == 0 {
                    look_back.entry((at, production)).or_default().push(id);
                }
            }
        }
        self.spread(&mut sets, &includes)?;
        let mut ahead: BTreeMap<(ParserState, ProductionId), Bits> = BTreeMap::new();
        for (&of, gotos) in &look_back {
            let set = ahead.entry(of).or_insert_with(|| Bits::new(terminals + 1));
            for &goto in gotos {
                set.unite(&sets[goto]);
            }
        }
        self.decide(ahead)
    }

    /// The terminals with which texts of rules begin.
    fn first(&self) -> Result<Table<NonterminalId, Bits>, CompileError> {
        let terminals = self.productions.terminals.len();
        let mut first: Table<NonterminalId, Bits> =
            Table::filled(Bits::new(terminals + 1), self.productions.names.len());
        loop {
            let mut has_changed = false;
            for production in &self.productions.all {
                for symbol in &production.body {
                    self.budget.charge_steps(PHASE, 1)?;
                    match *symbol {
                        Symbol::Terminal(terminal) => {
                            let of = &mut first[production.origin];
                            has_changed |= !of.contains(terminal.index());
                            of.insert(terminal.index());
                            break;
                        }
                        Symbol::Rule(rule) => {
                            let of_rule = first[rule].clone();
                            self.budget.charge_steps(PHASE, of_rule.words() as u64)?;
                            has_changed |= first[production.origin].unite(&of_rule);
                            if !self.nullable[rule] {
                                break;
                            }
                        }
                    }
                }
            }
            if !has_changed {
                return Ok(first);
            }
        }
    }

    /// Adds to each set those that it is related to, until nothing changes.
    fn spread(
        &self,
        sets: &mut Table<GotoId, Bits>,
        related: &Table<GotoId, Vec<GotoId>>,
    ) -> Result<(), CompileError> {
        let mut users: Table<GotoId, Vec<GotoId>> = Table::filled(Vec::new(), sets.len());
        for (id, related) in related.enumerate() {
            related.iter().for_each(|&of| users[of].push(id));
        }
        let mut open: Vec<GotoId> = sets.ids().collect();
        while let Some(id) = open.pop() {
            let set = sets[id].clone();
            for &user in &users[id] {
                self.budget.charge_steps(PHASE, 1 + set.words() as u64)?;
                if sets[user].unite(&set) {
                    open.push(user);
                }
            }
        }
        Ok(())
    }

    /// Actions, and what is struck: shifting goes before reducing, and among productions the one of the highest priority.
    fn decide(self, ahead: BTreeMap<(ParserState, ProductionId), Bits>) -> Result<Tables, CompileError> {
        let terminals = self.productions.terminals.len();
        let mut actions: Table<ParserState, Bits> =
            Table::filled(Bits::new(terminals + 1), self.shifts.len());
        let mut struck: HashMap<(ParserState, ProductionId), Bits> = HashMap::new();
        let (mut undecided, mut shifted) = (Vec::new(), 0);
        for (state, shifts) in self.shifts.enumerate() {
            let mut shifts_of = Bits::new(terminals + 1);
            for symbol in shifts.keys() {
                if let Symbol::Terminal(terminal) = symbol {
                    shifts_of.insert(terminal.index());
                }
            }
            actions[state].unite(&shifts_of);
            let first = (state, ProductionId::new(0));
            let last = (state, ProductionId::new(self.productions.all.len()));
            let ends: Vec<(ProductionId, &Bits)> =
                ahead.range(first..last).map(|(of, set)| (of.1, set)).collect();
            let priority = |production: ProductionId| {
                self.productions.priorities[self.productions.all[production].origin]
            };
            for &(production, set) in &ends {
                self.budget.charge_steps(PHASE, (ends.len() * set.words()) as u64)?;
                actions[state].unite(set);
                let mut strikes = set.clone();
                strikes.intersect(&shifts_of);
                shifted += strikes.len();
                for &(other, other_set) in ends.iter().filter(|end| end.0 != production) {
                    let mut both = set.clone();
                    both.intersect(other_set);
                    for terminal in both.iter() {
                        // The winner is above all others, or there is none.
                        let rivals = || ends.iter().filter(|end| end.1.contains(terminal));
                        let best = rivals().map(|end| priority(end.0)).max().unwrap_or_default();
                        let winners = rivals().filter(|end| priority(end.0) == best).count();
                        if winners == 1 && priority(production) < best {
                            strikes.insert(terminal);
                        } else if winners > 1 && production < other {
                            undecided.push((production, other, terminal));
                        }
                    }
                }
                if !strikes.is_empty() {
                    struck.insert((state, production), strikes);
                }
            }
        }
        let first = self.first()?;
        let Self { shifts, nullable, .. } = self;
        Ok(Tables { shifts, actions, struck, ahead, first, nullable, undecided, shifted })
    }
}

impl Tables {
    /// Lets all ways of conflicts stay.
    pub(super) fn settle_nothing(&mut self) {
        self.struck.clear();
        self.undecided.clear();
        self.shifted = 0;
    }

    /// The state after a shift; `None` where the parser has none.
    pub(super) fn shift(&self, state: ParserState, terminal: TerminalId) -> Option<ParserState> {
        self.shifts[state].get(&Symbol::Terminal(terminal)).copied()
    }
}
