//! An LALR(1) parser: the canonical LR(1) states (Knuth 1965), those with equal productions merged.

use std::collections::{BTreeMap, BTreeSet};

/// The mark of the text's end.
pub(super) const END: &str = "$END";

/// What follows a rule before one that has no text: no terminal. The rule's terminals are active all the same, as in LR(0) states.
const NOTHING: &str = "$NOTHING";

/// A production, how much of it was read, and a terminal that may follow.
type Item = (usize, usize, String);

/// What a state does before a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Action {
    Shift(usize),
    Reduce(usize),
}

/// The state before any text.
pub(super) const START: usize = 0;

/// The states of a parser, and all that they may do: nothing decides between conflicts.
#[derive(Debug)]
pub(super) struct Automaton {
    pub(super) productions: Vec<(String, Vec<String>)>,
    /// `[states]`: where terminals and rules lead.
    pub(super) shifts: Vec<BTreeMap<String, usize>>,
    pub(super) gotos: Vec<BTreeMap<String, usize>>,
    /// `[states]`: before each terminal, or [`END`], the productions that end.
    pub(super) ends: Vec<BTreeMap<String, BTreeSet<usize>>>,
}

/// A parser.
#[derive(Debug)]
pub(super) struct Parser {
    productions: Vec<(String, Vec<String>)>,
    actions: Vec<BTreeMap<String, Action>>,
    gotos: Vec<BTreeMap<String, usize>>,
}

impl Automaton {
    /// The states of a grammar. The first production is the start rule's.
    pub(super) fn of(productions: &[(String, Vec<String>)], is_terminal: &dyn Fn(&str) -> bool) -> Self {
        let mut productions = productions.to_vec();
        productions.sort_by_key(|of| of.0 != "start");
        productions.dedup();
        productions.insert(0, ("$root".to_owned(), vec!["start".to_owned()]));
        let first = Firsts::of(&productions, is_terminal);
        let closure = |kernel: BTreeSet<Item>| {
            let mut items: Vec<Item> = kernel.into_iter().collect();
            let mut at = 0;
            while at < items.len() {
                let (production, read, ahead) = items[at].clone();
                at += 1;
                let body = &productions[production].1;
                let Some(next) = body.get(read).filter(|next| !is_terminal(next)) else { continue };
                let mut follows = first.of_sequence(&body[read + 1..], &ahead);
                if follows.is_empty() {
                    follows.insert(NOTHING.to_owned());
                }
                for terminal in follows {
                    for (of, _) in productions.iter().enumerate().filter(|of| &of.1.0 == next) {
                        let item = (of, 0, terminal.clone());
                        if !items.contains(&item) {
                            items.push(item);
                        }
                    }
                }
            }
            items.into_iter().collect::<BTreeSet<Item>>()
        };
        let mut states = vec![closure(BTreeSet::from([(0, 0, END.to_owned())]))];
        let mut edges: Vec<BTreeMap<String, usize>> = Vec::new();
        let mut at = 0;
        while at < states.len() {
            let mut kernels: BTreeMap<String, BTreeSet<Item>> = BTreeMap::new();
            for (production, read, ahead) in &states[at] {
                if let Some(symbol) = productions[*production].1.get(*read) {
                    kernels.entry(symbol.clone()).or_default().insert((*production, read + 1, ahead.clone()));
                }
            }
            let mut of = BTreeMap::new();
            for (symbol, kernel) in kernels {
                let state = closure(kernel);
                let to = states.iter().position(|known| *known == state).unwrap_or_else(|| {
                    states.push(state);
                    states.len() - 1
                });
                of.insert(symbol, to);
            }
            edges.push(of);
            at += 1;
        }
        let core = |state: &BTreeSet<Item>| -> BTreeSet<(usize, usize)> {
            state.iter().map(|item| (item.0, item.1)).collect()
        };
        let mut cores: Vec<BTreeSet<(usize, usize)>> = Vec::new();
        let merged: Vec<usize> = (states.iter())
            .map(|state| {
                let core = core(state);
                cores.iter().position(|known| *known == core).unwrap_or_else(|| {
                    cores.push(core);
                    cores.len() - 1
                })
            })
            .collect();
        let mut shifts: Vec<BTreeMap<String, usize>> = vec![BTreeMap::new(); cores.len()];
        let mut gotos: Vec<BTreeMap<String, usize>> = vec![BTreeMap::new(); cores.len()];
        let mut ends: Vec<BTreeMap<String, BTreeSet<usize>>> = vec![BTreeMap::new(); cores.len()];
        for (state, edges) in edges.iter().enumerate() {
            for (symbol, to) in edges {
                let of = if is_terminal(symbol) { &mut shifts } else { &mut gotos };
                of[merged[state]].insert(symbol.clone(), merged[*to]);
            }
        }
        for (state, items) in states.iter().enumerate() {
            let is_end = |item: &&Item| productions[item.0].1.len() == item.1 && item.2 != NOTHING;
            for (production, _, ahead) in items.iter().filter(is_end) {
                ends[merged[state]].entry(ahead.clone()).or_default().insert(*production);
            }
        }
        Self { productions, shifts, gotos, ends }
    }
}

impl Parser {
    /// The parser of a grammar; `None` if two productions end at one place before one terminal.
    pub(super) fn of(
        productions: &[(String, Vec<String>)],
        is_terminal: &dyn Fn(&str) -> bool,
    ) -> Option<Self> {
        let Automaton { productions, shifts, gotos, ends } = Automaton::of(productions, is_terminal);
        let mut actions = Vec::new();
        for (shifts, ends) in shifts.into_iter().zip(ends) {
            let mut of: BTreeMap<String, Action> =
                shifts.into_iter().map(|(terminal, to)| (terminal, Action::Shift(to))).collect();
            for (ahead, productions) in ends {
                // Where shifting decides, two productions may be in conflict all the same.
                let [production] = productions.into_iter().collect::<Vec<_>>()[..] else { return None };
                of.entry(ahead).or_insert(Action::Reduce(production));
            }
            actions.push(of);
        }
        Some(Self { productions, actions, gotos })
    }

    /// Whether a state has an action before a terminal.
    pub(super) fn acts(&self, state: usize, terminal: &str) -> bool {
        self.actions[state].contains_key(terminal)
    }

    /// Reads a terminal, after all reductions before it; whether that is possible.
    pub(super) fn shift(&self, stack: &mut Vec<usize>, terminal: &str) -> bool {
        match self.reduce(stack, terminal) {
            Some(Action::Shift(to)) => {
                stack.push(to);
                true
            }
            _ => false,
        }
    }

    /// Whether the text may end.
    pub(super) fn ends(&self, stack: &mut Vec<usize>) -> bool {
        self.reduce(stack, END) == Some(Action::Reduce(0))
    }

    fn reduce(&self, stack: &mut Vec<usize>, terminal: &str) -> Option<Action> {
        loop {
            let state = *stack.last()?;
            let action = self.actions[state].get(terminal)?.clone();
            let Action::Reduce(production) = action else { return Some(action) };
            if production == 0 {
                return Some(action);
            }
            let (name, body) = &self.productions[production];
            stack.truncate(stack.len() - body.len());
            stack.push(*self.gotos[*stack.last()?].get(name)?);
        }
    }
}

/// The terminals with which texts of rules begin, and the rules with the empty text.
struct Firsts<'a> {
    first: BTreeMap<String, BTreeSet<String>>,
    empty: BTreeSet<String>,
    is_terminal: &'a dyn Fn(&str) -> bool,
}

impl<'a> Firsts<'a> {
    fn of(productions: &[(String, Vec<String>)], is_terminal: &'a dyn Fn(&str) -> bool) -> Self {
        let mut firsts = Self { first: BTreeMap::new(), empty: BTreeSet::new(), is_terminal };
        loop {
            let before = (firsts.first.values().map(BTreeSet::len).sum::<usize>(), firsts.empty.len());
            for (name, body) in productions {
                if body.iter().all(|symbol| firsts.empty.contains(symbol)) {
                    firsts.empty.insert(name.clone());
                }
                let begins = firsts.of_sequence(body, "");
                firsts
                    .first
                    .entry(name.clone())
                    .or_default()
                    .extend(begins.into_iter().filter(|of| !of.is_empty()));
            }
            if before == (firsts.first.values().map(BTreeSet::len).sum::<usize>(), firsts.empty.len()) {
                return firsts;
            }
        }
    }

    /// The terminals with which a sequence begins before another one.
    fn of_sequence(&self, symbols: &[String], after: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for symbol in symbols {
            if (self.is_terminal)(symbol) {
                found.insert(symbol.clone());
                return found;
            }
            found.extend(self.first.get(symbol).into_iter().flatten().cloned());
            if !self.empty.contains(symbol) {
                return found;
            }
        }
        found.insert(after.to_owned());
        found
    }
}
