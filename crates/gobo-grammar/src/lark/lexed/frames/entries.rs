//! What lies on the stack: states of the parser, within brackets or outside of them, and levels of blocks.
//!
//! The states of a parser say neither: an expression within brackets has those of one outside, and a statement is read alike at each
//! level. But a newline is dropped within brackets, and the blanks of a line are those of its level.
//!
//! Brackets are closed by the production that opens them. A state whose kernel has open brackets is within them; what is remembered of it
//! is whether it will be once they are closed, so that one bit is enough. A state without open brackets is where it is remembered to be.
//!
//! A level is an entry of its own, below the state in which a block has begun or ended, and at the bottom of the stack. So all that stands above
//! is read alike at each level, and whoever has to know it *seeks* it below. Popping a production pops the levels among its states.
//!
//! Invariant: the topmost level of a stack is that of the place. It needs productions that end the blocks that they begin.

use std::collections::BTreeMap;

use gobo_types::{Budget, CompileError, DenseId as _, Table};

use super::super::grammar::{NonterminalId, ProductionId, Productions, Symbol, TerminalId};
use super::super::indentation::{Blocks, bracket};
use super::super::tables::{ParserState, START, Tables};

pub(super) const PHASE: &str = "reading texts by parser states";

/// The states after so many symbols of each production.
pub(super) type AfterSymbols = BTreeMap<(ProductionId, usize), Vec<ParserState>>;

/// A state of the parser where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Placed {
    pub(super) state: ParserState,
    /// Whether it stands within brackets, but for those that its productions have opened.
    is_within: bool,
}

/// What lies on the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Entry {
    State(Placed),
    /// So many blocks are open above it.
    Level(u8),
}

impl Entry {
    /// The state that it is.
    pub(super) fn state(self) -> Option<Placed> {
        if let Self::State(placed) = self { Some(placed) } else { None }
    }

    /// The level that it is.
    pub(super) fn level(self) -> Option<u8> {
        if let Self::Level(level) = self { Some(level) } else { None }
    }
}

/// What may lie on the stack of a grammar.
pub(in super::super) struct Entries {
    /// `[states]`: the brackets that productions have opened before them and not closed.
    open: Table<ParserState, u32>,
    /// `[terminals]`: whether it opens or closes a bracket.
    brackets: Table<TerminalId, Option<bool>>,
    /// `[states]`: whether a line or a block may begin in what follows them in a production.
    pub(super) has_lines: Table<ParserState, bool>,
    /// The levels that there are.
    levels: usize,
}

impl Entries {
    /// The entries of a grammar; `None` where they do not say enough: a production does not end its own blocks, or a state stands after different
    /// numbers of open brackets.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(in super::super) fn of(
        productions: &Productions,
        tables: &Tables,
        blocks: Option<&Blocks>,
        budget: &Budget,
    ) -> Result<Option<Self>, CompileError> {
        let states = tables.shifts.len();
        let mut entries = Self {
            open: Table::filled(0, states),
            brackets: Table::filled(None, productions.terminals.len()),
            has_lines: Table::filled(false, states),
            levels: 0,
        };
        let Some(blocks) = blocks else { return Ok(Some(entries)) };
        if !blocks.are_balanced(productions) {
            return Ok(None);
        }
        entries.brackets = productions.terminals.iter().map(bracket).collect();
        entries.levels = usize::from(blocks.indentation.depth()) + 1;
        let has_lines = with_lines(productions, blocks, budget)?;
        for ((production, read), states) in after_symbols(productions, tables, budget)? {
            let count = blocks.brackets(production, read);
            let follows = &productions.all[production].body[read..];
            let is_before_lines = follows.iter().any(|&symbol| has_lines(symbol));
            budget.charge_steps(PHASE, (states.len() + follows.len()) as u64)?;
            for state in states {
                entries.has_lines[state] |= is_before_lines;
                if count > 0 {
                    let before = std::mem::replace(&mut entries.open[state], count);
                    if before != 0 && before != count {
                        return Ok(None);
                    }
                }
            }
        }
        entries.has_lines[START] = true;
        Ok(Some(entries))
    }

    /// All entries, in the order of their numbers.
    pub(super) fn all(&self) -> impl Iterator<Item = Entry> {
        let sides = [false, true].into_iter().take(self.sides());
        let states = self.open.ids().flat_map(move |state| {
            sides.clone().map(move |is_within| Entry::State(Placed { state, is_within }))
        });
        states.chain((0..self.levels).map(|level| Entry::Level(u8::try_from(level).unwrap_or(u8::MAX))))
    }

    /// Within brackets and outside of them, or outside alone where that does not matter.
    fn sides(&self) -> usize {
        if self.levels > 0 { 2 } else { 1 }
    }

    /// How many entries there are.
    pub(super) fn count(&self) -> usize {
        self.sides() * self.open.len() + self.levels
    }

    /// The number of an entry.
    pub(super) fn number(&self, of: Entry) -> usize {
        match of {
            Entry::State(Placed { state, is_within }) => {
                self.sides() * state.index() + usize::from(is_within)
            }
            Entry::Level(level) => self.sides() * self.open.len() + usize::from(level),
        }
    }

    /// Whether a state stands within brackets.
    pub(super) fn is_inside(&self, of: Placed) -> bool {
        of.is_within || self.open[of.state] > 0
    }

    /// The stack where texts begin.
    pub(super) fn start(&self) -> Vec<Entry> {
        let start = Entry::State(Placed { state: START, is_within: false });
        if self.levels > 0 { vec![Entry::Level(0), start] } else { vec![start] }
    }

    /// The state to which a symbol leads from another one.
    pub(super) fn after(&self, from: Placed, symbol: Symbol, to: ParserState) -> Placed {
        let open = self.open[from.state];
        let bracket = match symbol {
            Symbol::Terminal(terminal) => self.brackets[terminal],
            Symbol::Rule(_) => None,
        };
        let counted = match bracket {
            Some(true) => open + 1,
            Some(false) => open.saturating_sub(1),
            None => open,
        };
        // The brackets of a production that goes on are as they were; one that begins does so within those that are open.
        let goes_on = open > 0 && self.open[to] == counted;
        let is_within = if goes_on { from.is_within } else { self.is_inside(from) };
        Placed { state: to, is_within }
    }
}

/// The states after so many symbols of each production, wherever it may begin.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(super) fn after_symbols(
    productions: &Productions,
    tables: &Tables,
    budget: &Budget,
) -> Result<AfterSymbols, CompileError> {
    let mut after = AfterSymbols::new();
    for (state, shifts) in tables.shifts.enumerate() {
        for &symbol in shifts.keys() {
            let Symbol::Rule(rule) = symbol else { continue };
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
    Ok(after)
}

/// Whether texts of a symbol may have newlines, or blocks.
///
/// # Errors
/// [`CompileError::OverBudget`].
fn with_lines(
    productions: &Productions,
    blocks: &Blocks,
    budget: &Budget,
) -> Result<impl Fn(Symbol) -> bool, CompileError> {
    let terminals = blocks.terminals();
    let mut rules: Table<NonterminalId, bool> = Table::filled(false, productions.names.len());
    let has_lines = move |symbol, rules: &Table<NonterminalId, bool>| match symbol {
        Symbol::Terminal(terminal) => terminals.contains(&terminal),
        Symbol::Rule(rule) => rules[rule],
    };
    loop {
        let mut has_changed = false;
        for production in &productions.all {
            budget.charge_steps(PHASE, 1 + production.body.len() as u64)?;
            if !rules[production.origin] && production.body.iter().any(|&of| has_lines(of, &rules)) {
                rules[production.origin] = true;
                has_changed = true;
            }
        }
        if !has_changed {
            return Ok(move |symbol| has_lines(symbol, &rules));
        }
    }
}
