//! What the parser does before a terminal, as far as that is known without the frames.

use std::collections::HashMap;
use std::rc::Rc;

use gobo_types::{Budget, CompileError, DenseId as _, RefusalKind, Table};

use super::super::bits::Bits;
use super::super::grammar::{NonterminalId, ProductionId, Productions, Symbol, TerminalId};
use super::super::tables::{ParserState, START, Tables};
use super::entries::{Entries, Entry, PHASE, after_symbols};
use crate::bnf::shown;

/// Bytes of a node.
pub(super) const NODE_BYTES: u64 = 160;

/// What is on top of the stack, the last entry uppermost, which is a state.
pub(super) type Stack = Vec<Entry>;

/// What the parser does before a terminal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Action {
    /// It shifts above this stack.
    Shift(Stack),
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
    entries: &'a Entries,
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
        entries: &'a Entries,
        budget: &'a Budget,
    ) -> Result<Self, CompileError> {
        let after = after_symbols(productions, tables, budget)?;
        let size: usize = after.values().map(Vec::len).sum();
        let mut is_frame = entries.has_lines.clone();
        for (state, shifts) in tables.shifts.enumerate() {
            is_frame[state] |= shifts.keys().any(|symbol| matches!(symbol, Symbol::Rule(_)));
        }
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
        Ok(Self { productions, tables, entries, is_frame, frames, known: HashMap::new(), budget })
    }

    /// What is pushed of a stack: levels, and states that are frames.
    pub(super) fn frames(&self, stack: &[Entry]) -> Stack {
        let is_pushed = |of: &Entry| of.state().is_none_or(|of| self.is_frame[of.state]);
        stack.iter().copied().filter(is_pushed).collect()
    }

    /// What the parser does with this above the frames.
    pub(super) fn actions(&mut self, stack: &Stack) -> Result<Rc<Actions>, CompileError> {
        if let Some(known) = self.known.get(stack) {
            return Ok(Rc::clone(known));
        }
        let terminals = self.productions.terminals.len();
        let of = self.before(stack)?;
        let mut barred = Bits::new(terminals + 1);
        for (terminal, _) in of.iter().enumerate().filter(|of| of.1.is_empty()) {
            barred.insert(terminal);
        }
        let frames = of.iter().flatten().map(|action| match action {
            Action::Shift(stack) => 48 + stack.len() * size_of::<Entry>(),
            Action::Pop(..) | Action::Accept => 48,
        });
        let held = frames.sum::<usize>() + 24 * terminals;
        self.budget.charge_bytes(PHASE, NODE_BYTES + held as u64)?;
        let actions = Rc::new(Actions { of, barred });
        self.known.insert(stack.clone(), Rc::clone(&actions));
        Ok(actions)
    }

    /// `[terminals + 1]`: what the parser does before each terminal; the end of the text is the one after the last. Several things, where nothing
    /// decides between productions. Terminals before which the same is reduced go the same way.
    fn before(&self, stack: &Stack) -> Result<Vec<Vec<Action>>, CompileError> {
        let end = self.productions.terminals.len();
        let whole = self.tables.shifts[START].get(&Symbol::Rule(self.productions.start));
        // Where a state comes again before anything is read, it comes without end.
        let most = stack.len() + self.tables.shifts.len();
        let mut found = vec![Vec::new(); end + 1];
        let mut all = Bits::new(end + 1);
        (0..=end).for_each(|terminal| all.insert(terminal));
        let mut known: HashMap<Stack, Bits> = HashMap::from([(stack.clone(), all.clone())]);
        let mut open = vec![(stack.clone(), all)];
        while let Some((stack, terminals)) = open.pop() {
            let Some(top) = stack.last().and_then(|top| top.state()) else { continue };
            let shifts = &self.tables.shifts[top.state];
            self.budget.charge_steps(PHASE, 1 + (stack.len() + shifts.len()) as u64)?;
            let first = stack.iter().find_map(|entry| entry.state());
            let is_whole = first.is_some_and(|of| of.state == START) && whole == Some(&top.state);
            if is_whole && terminals.contains(end) {
                found[end].push(Action::Accept);
            }
            for symbol in shifts.keys() {
                if let Symbol::Terminal(terminal) = symbol
                    && terminals.contains(terminal.index())
                {
                    found[terminal.index()].push(Action::Shift(stack.clone()));
                }
            }
            for (production, mut before) in self.ends(top.state) {
                before.intersect(&terminals);
                if before.is_empty() {
                    continue;
                }
                let origin = self.productions.all[production].origin;
                let left = match self.popped(&stack, production) {
                    Ok(left) => left,
                    Err(frames) => {
                        before.iter().for_each(|at| found[at].push(Action::Pop(origin, frames)));
                        continue;
                    }
                };
                let mut after = stack[..left].to_vec();
                let Some(above) = self.goto(&after, origin) else { continue };
                after.push(above);
                if after.len() > most {
                    return Err(self.endless(origin));
                }
                self.budget.charge_bytes(PHASE, 32 + (after.len() * size_of::<Entry>()) as u64)?;
                let known = known.entry(after.clone()).or_insert_with(|| Bits::new(end + 1));
                before.intersect(&known.complement());
                if known.unite(&before) {
                    open.push((after, before));
                }
            }
        }
        for actions in &mut found {
            actions.sort_unstable();
            actions.dedup();
        }
        Ok(found)
    }

    /// How much of a stack is left, with a state on top, when the states of a production are popped; how many frames are to be popped besides,
    /// before that state, if it is not there. Levels are popped with what is above them.
    fn popped(&self, stack: &[Entry], production: ProductionId) -> Result<usize, usize> {
        let mut symbols = self.productions.all[production].body.len();
        for (at, entry) in stack.iter().enumerate().rev() {
            match entry {
                Entry::State(_) if symbols == 0 => return Ok(at + 1),
                Entry::State(_) => symbols -= 1,
                Entry::Level(_) => {}
            }
        }
        Err(self.frames[production][symbols])
    }

    /// The state above a stack after a rule.
    fn goto(&self, stack: &[Entry], rule: NonterminalId) -> Option<Entry> {
        let (below, rule) = (stack.last()?.state()?, Symbol::Rule(rule));
        let &to = self.tables.shifts[below.state].get(&rule)?;
        Some(Entry::State(self.entries.after(below, rule, to)))
    }

    /// Reduces a stack as long as the same is reduced before each of some terminals.
    pub(super) fn reduce(&self, stack: &mut Stack, next: &Bits) -> Result<(), CompileError> {
        let end = self.productions.terminals.len();
        let most = stack.len() + self.tables.shifts.len();
        while let Some(top) = stack.last().and_then(|top| top.state()) {
            self.budget.charge_steps(PHASE, next.words() as u64)?;
            let mut only = None;
            for terminal in next.iter() {
                let is_shifted =
                    terminal != end && self.tables.shift(top.state, TerminalId::new(terminal)).is_some();
                let mut reduced = self.reduced(top.state, terminal);
                let (Some(production), None, false) = (reduced.next(), reduced.next(), is_shifted) else {
                    return Ok(());
                };
                if *only.get_or_insert(production) != production {
                    return Ok(());
                }
            }
            let Some(production) = only else { return Ok(()) };
            let Ok(left) = self.popped(stack, production) else { return Ok(()) };
            let origin = self.productions.all[production].origin;
            let Some(above) = self.goto(&stack[..left], origin) else { return Ok(()) };
            stack.truncate(left);
            stack.push(above);
            if stack.len() > most {
                return Err(self.endless(origin));
            }
        }
        Ok(())
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
        let (first, last) = self.productions_in(state);
        let ends = self.tables.ahead.range(first..last).filter(move |(key, ahead)| {
            let struck = self.tables.struck.get(key);
            ahead.contains(terminal) && !struck.is_some_and(|struck| struck.contains(terminal))
        });
        ends.map(|(key, _)| key.1)
    }

    /// The productions that end in a state, and the terminals before which they do.
    fn ends(&self, state: ParserState) -> impl Iterator<Item = (ProductionId, Bits)> {
        let (first, last) = self.productions_in(state);
        self.tables.ahead.range(first..last).map(|(key, ahead)| {
            let mut before = ahead.clone();
            if let Some(struck) = self.tables.struck.get(key) {
                before.intersect(&struck.complement());
            }
            (key.1, before)
        })
    }

    /// The keys of what the tables say of a state's productions.
    fn productions_in(
        &self,
        state: ParserState,
    ) -> ((ParserState, ProductionId), (ParserState, ProductionId)) {
        ((state, ProductionId::new(0)), (state, ProductionId::new(self.productions.all.len())))
    }
}
