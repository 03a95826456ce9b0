//! Stacks of symbols that a derivation has still to read; equal ones are one.

use std::collections::HashMap;

use gobo_automata::{CharState, Symbol};
use gobo_types::{Budget, CompileError, Table, dense_id};

use super::leaf::{NO_TEXT, plus};
use super::symbols::{Form, LeafId, SymbolId, Symbols};

const PHASE: &str = "looking for two parse trees";

/// Bytes that a stack is charged.
const STACK_BYTES: u64 = 64;

dense_id! {
    /// A stack.
    pub(super) struct StackId;
}

/// The stack after a whole text.
pub(super) const EMPTY: StackId = StackId(0);

/// What is on top of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Top {
    Symbol(SymbolId),
    /// A leaf that was begun and has to read another character.
    Open(LeafId, CharState),
    /// So many copies of a symbol at most.
    UpTo(SymbolId, u32),
}

#[derive(Debug, Clone, Copy)]
struct Stack {
    /// `None` of the empty one.
    top: Option<Top>,
    below: StackId,
    /// The length of the shortest text.
    least: u32,
}

/// What a derivation can do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next {
    /// The text may end.
    End,
    /// It has to choose: the choice and the stack after it.
    Choose(Vec<(usize, StackId)>),
    /// It reads a character of these, ascending.
    Read(Vec<Symbol>),
}

/// Stacks of one grammar.
pub(super) struct Stacks<'a> {
    symbols: &'a Symbols,
    budget: &'a Budget,
    all: Table<StackId, Stack>,
    known: HashMap<(Top, StackId), StackId>,
    /// `[sets]`: their minterms, ascending.
    members: Vec<Vec<Symbol>>,
}

impl<'a> Stacks<'a> {
    /// No stack but the empty one.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(super) fn new(symbols: &'a Symbols, budget: &'a Budget) -> Result<Self, CompileError> {
        let mut all = Table::new();
        all.push(Stack { top: None, below: EMPTY, least: 0 });
        let minterms = symbols.minterms.all().len();
        budget.charge_steps(PHASE, (symbols.sets * minterms) as u64)?;
        let members = (0..symbols.sets)
            .map(|set| {
                symbols.minterms.all().filter(|minterm| symbols.minterms.is_in(*minterm, set)).collect()
            })
            .collect();
        Ok(Self { symbols, budget, all, known: HashMap::new(), members })
    }

    /// The stack of a symbol alone; `None` if it has no text.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(super) fn start(&mut self, symbol: SymbolId) -> Result<Option<StackId>, CompileError> {
        self.with(symbol, EMPTY)
    }

    /// The length of the shortest text.
    pub(super) fn least(&self, stack: StackId) -> u32 {
        self.all[stack].least
    }

    fn push(&mut self, top: Top, below: StackId) -> Result<StackId, CompileError> {
        if let Some(&known) = self.known.get(&(top, below)) {
            return Ok(known);
        }
        self.budget.charge_bytes(PHASE, STACK_BYTES)?;
        let of_top = match top {
            Top::Symbol(symbol) => self.symbols.least[symbol],
            Top::Open(leaf, state) => self.symbols.leaves[leaf].more(state),
            Top::UpTo(..) => 0,
        };
        let least = plus(of_top, self.all[below].least);
        let id = self.all.push(Stack { top: Some(top), below, least });
        self.known.insert((top, below), id);
        Ok(id)
    }

    /// A symbol on a stack. What has no choice is taken apart at once: rules and sequences. `None` if the symbol has no text; one
    /// that has is never taken apart without end, because its derivations have ends.
    fn with(&mut self, symbol: SymbolId, below: StackId) -> Result<Option<StackId>, CompileError> {
        if self.symbols.least[symbol] == NO_TEXT {
            return Ok(None);
        }
        let stack = self.push(Top::Symbol(symbol), below)?;
        self.taken_apart(stack).map(Some)
    }

    fn taken_apart(&mut self, mut stack: StackId) -> Result<StackId, CompileError> {
        loop {
            self.budget.charge_steps(PHASE, 1)?;
            let Stack { top: Some(Top::Symbol(symbol)), below, .. } = self.all[stack] else {
                return Ok(stack);
            };
            stack = match &self.symbols.forms[symbol] {
                Form::Rule(rule) => self.push(Top::Symbol(self.symbols.body(*rule)), below)?,
                Form::Sequence(parts) => {
                    self.budget.charge_steps(PHASE, parts.len() as u64)?;
                    let mut stack = below;
                    for &part in parts.iter().rev() {
                        stack = self.push(Top::Symbol(part), stack)?;
                    }
                    stack
                }
                Form::UpTo(part, most) => self.push(Top::UpTo(*part, *most), below)?,
                Form::Char(_) | Form::Leaf(_) | Form::Choice(_) | Form::Repeat(_) => return Ok(stack),
            };
        }
    }

    /// What can be done next.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(super) fn next(&mut self, stack: StackId) -> Result<Next, CompileError> {
        let symbols = self.symbols;
        let Stack { top: Some(top), below, .. } = self.all[stack] else { return Ok(Next::End) };
        let symbol = match top {
            Top::Symbol(symbol) => symbol,
            Top::Open(leaf, state) => {
                let edges = symbols.leaves[leaf].edges(state);
                return Ok(Next::Read(edges.iter().map(|(minterm, _)| *minterm).collect()));
            }
            Top::UpTo(part, most) => {
                let again = if most > 1 { self.push(Top::UpTo(part, most - 1), below)? } else { below };
                return self.once_more(part, again, below);
            }
        };
        match &symbols.forms[symbol] {
            Form::Char(set) => Ok(Next::Read(self.members[*set].clone())),
            Form::Leaf(leaf) => {
                let texts = &symbols.leaves[*leaf];
                let mut after = Vec::new();
                if texts.may_end(texts.start()) {
                    after.push((0, self.taken_apart(below)?));
                }
                if texts.reads() {
                    after.push((1, self.push(Top::Open(*leaf, texts.start()), below)?));
                }
                Ok(Next::Choose(after))
            }
            Form::Choice(parts) => {
                self.budget.charge_steps(PHASE, parts.len() as u64)?;
                let mut after = Vec::new();
                for (at, &part) in parts.iter().enumerate() {
                    after.extend(self.with(part, below)?.map(|stack| (at, stack)));
                }
                Ok(Next::Choose(after))
            }
            Form::Repeat(part) => self.once_more(*part, stack, below),
            Form::Rule(_) | Form::Sequence(_) | Form::UpTo(..) => {
                unreachable!("they were taken apart when they came to the top")
            }
        }
    }

    /// The end of a repetition, or one copy more.
    fn once_more(&mut self, part: SymbolId, again: StackId, below: StackId) -> Result<Next, CompileError> {
        let mut after = vec![(0, self.taken_apart(below)?)];
        after.extend(self.with(part, again)?.map(|stack| (1, stack)));
        Ok(Next::Choose(after))
    }

    /// What follows a character that the top reads: the stacks, with the choices where there were some.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(super) fn read(
        &mut self,
        stack: StackId,
        minterm: Symbol,
    ) -> Result<Vec<(Option<usize>, StackId)>, CompileError> {
        let symbols = self.symbols;
        let Stack { top, below, .. } = self.all[stack];
        match top {
            Some(Top::Open(leaf, state)) => {
                let texts = &symbols.leaves[leaf];
                let Some(to) = texts.step(state, minterm) else { return Ok(Vec::new()) };
                let mut after = Vec::new();
                if texts.may_end(to) {
                    after.push((Some(0), self.taken_apart(below)?));
                }
                if texts.more(to) != NO_TEXT {
                    after.push((Some(1), self.push(Top::Open(leaf, to), below)?));
                }
                Ok(after)
            }
            Some(Top::Symbol(symbol)) => match symbols.forms[symbol] {
                Form::Char(set) if self.members[set].binary_search(&minterm).is_ok() => {
                    Ok(vec![(None, self.taken_apart(below)?)])
                }
                _ => Ok(Vec::new()),
            },
            Some(Top::UpTo(..)) | None => Ok(Vec::new()),
        }
    }
}
