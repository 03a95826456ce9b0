//! What the parser does before a terminal, as far as that is known without the frames.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use gobo_types::{Budget, CompileError, DenseId as _, RefusalKind, Table};

use super::super::bits::Bits;
use super::super::grammar::{NonterminalId, ProductionId, Productions, Symbol, TerminalId};
use super::super::tables::{ParserState, START, Tables};
use crate::bnf::shown;

pub(super) const PHASE: &str = "reading texts by parser states";

/// Bytes of a node.
pub(super) const NODE_BYTES: u64 = 160;

/// States of the parser, the last one on top.
pub(super) type Stack = Vec<ParserState>;

/// What the parser does before a terminal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Action {
    /// It shifts, with these frames on the stack, to that state.
    Shift(Stack, ParserState),
    /// It reduces to a rule, and so many frames are to be popped before the one above which the rule is.
    Pop(NonterminalId, usize),
    /// It accepts.
    Accept,
}

/// See the fields.
pub(super) struct Actions {
    /// `[terminals + 1]`: what the parser does before each, and at the end of the text.
    pub(super) of: Vec<Vec<Action>>,
    /// Those before which it does nothing.
    pub(super) barred: Bits,
}

/// The parser.
pub(super) struct Parser<'a> {
    productions: &'a Productions,
    tables: &'a Tables,
    is_frame: Table<ParserState, bool>,
    /// `[productions][symbols + 1]`: how many of the states after its first symbols are frames.
    frames: Table<ProductionId, Vec<usize>>,
    known: HashMap<Stack, Rc<Actions>>,
    budget: &'a Budget,
}

impl<'a> Parser<'a> {
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(super) fn new(
        productions: &'a Productions,
        tables: &'a Tables,
        budget: &'a Budget,
    ) -> Result<Self, CompileError> {
        // The states after so many symbols of each production.
        let mut after: BTreeMap<(ProductionId, usize), Vec<ParserState>> = BTreeMap::new();
        let mut is_frame = Table::filled(false, tables.shifts.len());
        for (state, shifts) in tables.shifts.enumerate() {
            for &symbol in shifts.keys() {
                let Symbol::Rule(rule) = symbol else { continue };
                is_frame[state] = true;
                for &production in &productions.of[rule] {
                    let body = &productions.all[production].body;
                    budget.charge_steps(PHASE, 1 + body.len() as u64)?;
                    let mut at = state;
                    for (read, symbol) in (1..).zip(body) {
                        at = tables.shifts[at][symbol];
                        after.entry((production, read)).or_default().push(at);
                    }
                }
            }
        }
        let size: usize = after.values().map(Vec::len).sum();
        budget.charge_bytes(PHASE, size as u64 * 4)?;
        // What is popped is known of a production, whichever states it has led to.
        loop {
            budget.charge_steps(PHASE, size as u64)?;
            let mut has_changed = false;
            for states in after.values() {
                if !states.iter().any(|&state| is_frame[state]) {
                    continue;
                }
                for &state in states {
                    has_changed |= !std::mem::replace(&mut is_frame[state], true);
                }
            }
            if !has_changed {
                break;
            }
        }
        let frames = productions.all.enumerate().map(|(id, production)| {
            let of = |read| after.get(&(id, read)).is_some_and(|states| is_frame[states[0]]);
            let mut count = 0;
            let counts = (1..=production.body.len()).map(|read| {
                count += usize::from(of(read));
                count
            });
            std::iter::once(0).chain(counts).collect()
        });
        let frames = frames.collect();
        Ok(Self { productions, tables, is_frame, frames, known: HashMap::new(), budget })
    }

    /// What the parser does with these states above the frames.
    pub(super) fn actions(&mut self, stack: &Stack) -> Result<Rc<Actions>, CompileError> {
        if let Some(known) = self.known.get(stack) {
            return Ok(Rc::clone(known));
        }
        let terminals = self.productions.terminals.len();
        let mut barred = Bits::new(terminals + 1);
        let mut of = Vec::with_capacity(terminals + 1);
        for terminal in 0..=terminals {
            let actions = self.before(stack, terminal)?;
            if actions.is_empty() {
                barred.insert(terminal);
            }
            of.push(actions);
        }
        let frames = of.iter().flatten().map(|action| match action {
            Action::Shift(frames, _) => 48 + frames.len() * 4,
            Action::Pop(..) | Action::Accept => 48,
        });
        let held = frames.sum::<usize>() + 24 * terminals;
        self.budget.charge_bytes(PHASE, NODE_BYTES + held as u64)?;
        let actions = Rc::new(Actions { of, barred });
        self.known.insert(stack.clone(), Rc::clone(&actions));
        Ok(actions)
    }

    /// What the parser does before a terminal; the end of the text is the one after the last. Several things, where nothing decides between
    /// productions.
    fn before(&self, stack: &Stack, terminal: usize) -> Result<Vec<Action>, CompileError> {
        let end = self.productions.terminals.len();
        let whole = self.tables.shifts[START].get(&Symbol::Rule(self.productions.start));
        // Where a state comes again before anything is read, it comes without end.
        let most = stack.len() + self.tables.shifts.len();
        let mut found = Vec::new();
        let mut known: HashSet<Stack> = HashSet::from([stack.clone()]);
        let mut open = vec![stack.clone()];
        while let Some(stack) = open.pop() {
            let Some(&top) = stack.last() else { continue };
            self.budget.charge_steps(PHASE, 1 + stack.len() as u64)?;
            if terminal == end {
                if stack.first() == Some(&START) && whole == Some(&top) {
                    found.push(Action::Accept);
                }
            } else if let Some(to) = self.tables.shift(top, TerminalId::new(terminal)) {
                let frames = stack.iter().copied().filter(|&state| self.is_frame[state]);
                found.push(Action::Shift(frames.collect(), to));
            }
            for production in self.reduced(top, terminal) {
                let of = &self.productions.all[production];
                let Some(left) = stack.len().checked_sub(of.body.len()).filter(|left| *left > 0) else {
                    let frames = self.frames[production][of.body.len() - stack.len()];
                    found.push(Action::Pop(of.origin, frames));
                    continue;
                };
                let mut after = stack[..left].to_vec();
                let above = self.tables.shifts[after[left - 1]].get(&Symbol::Rule(of.origin));
                after.extend(above);
                if after.len() > most {
                    return Err(self.endless(of.origin));
                }
                self.budget.charge_bytes(PHASE, 32 + after.len() as u64 * 4)?;
                if above.is_some() && known.insert(after.clone()) {
                    open.push(after);
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    fn endless(&self, rule: NonterminalId) -> CompileError {
        let name = shown(&self.productions.names[rule]);
        let reason = "before one place it may be empty any number of times, which is not supported in a grammar that is read by the states \
                      of its parser";
        CompileError::refuse(RefusalKind::Unsupported, format!("the rule {name}"), reason)
            .advising("Let the rule have a text, or leave it out where it stands before itself.")
    }

    /// The productions that end in a state before a terminal.
    fn reduced(&self, state: ParserState, terminal: usize) -> impl Iterator<Item = ProductionId> {
        let first = (state, ProductionId::new(0));
        let last = (state, ProductionId::new(self.productions.all.len()));
        let ends = self.tables.ahead.range(first..last).filter(move |(key, ahead)| {
            let struck = self.tables.struck.get(key);
            ahead.contains(terminal) && !struck.is_some_and(|struck| struck.contains(terminal))
        });
        ends.map(|(key, _)| key.1)
    }
}
