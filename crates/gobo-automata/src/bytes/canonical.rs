//! Canonical automata over bytes: those whose transitions were found one by one, and not by characters.

use gobo_types::{Budget, ByteSet, CompileError, DenseId as _, NO_STEP};

use super::dfa::{Dfa, RowTable, follow};
use crate::ids::{StateId, Symbol};
use crate::symbols::SymbolDfa;

/// An automaton whose symbols are classes of bytes.
pub(super) struct ByteTable {
    pub(super) classes: Box<[u8; 256]>,
    /// Number of classes.
    pub(super) stride: usize,
    pub(super) symbols: SymbolDfa<StateId>,
}

impl ByteTable {
    /// The trimmed, minimal automaton of the same language with states numbered breadth first and classes by their
    /// first byte.
    pub(super) fn canonical(mut self, budget: &Budget) -> Result<Dfa, CompileError> {
        const PHASE: &str = "minimising";
        let symbols = self.symbols.trim(budget)?;
        let blocks = symbols.equivalent(PHASE, budget)?;
        let (merged, stride) = merge_classes(&mut self.classes, self.stride, &symbols);
        let minimal = if symbols.is_empty() {
            symbols
        } else {
            symbols.quotient(&blocks, |row| {
                row.iter_mut().for_each(|edge| edge.0 = merged[edge.0.index()]);
                row.sort_unstable();
                row.dedup();
                budget.charge_steps(PHASE, stride as u64)
            })?
        };
        let mut table = RowTable::new(stride);
        let mut row_of = vec![0];
        let mut deltas = vec![NO_STEP; stride];
        for state in StateId::range(1..minimal.len()) {
            deltas.fill(NO_STEP);
            for &(class, next) in minimal.row(state) {
                deltas[class.index()] = state.distance(next);
            }
            row_of.push(table.intern(&deltas));
        }
        budget.charge_bytes(PHASE, (minimal.len() * 4 + table.rows() * stride * 4) as u64)?;
        Ok(Dfa {
            start: minimal.start,
            accepting: minimal.accepting,
            classes: self.classes,
            stride,
            row_of,
            deltas: table.into_deltas(),
            chars: None,
            calls: None,
        })
    }
}

/// Merges classes on which all states lead to the same states, numbering them by their first byte. `[old classes]`: the new ones,
/// and their number.
fn merge_classes(
    classes: &mut [u8; 256],
    stride: usize,
    symbols: &SymbolDfa<StateId>,
) -> (Vec<Symbol>, usize) {
    let mut columns: Vec<Vec<(StateId, StateId)>> = vec![Vec::new(); stride];
    symbols.edges().for_each(|(from, class, to)| columns[class.index()].push((from, to)));
    let mut kept: Vec<usize> = Vec::new();
    let mut merged: Vec<Option<u8>> = vec![None; stride];
    for class in classes {
        let old = usize::from(*class);
        *class = *merged[old].get_or_insert_with(|| {
            let same = kept.iter().position(|&known| columns[known] == columns[old]).unwrap_or_else(|| {
                kept.push(old);
                kept.len() - 1
            });
            u8::try_from(same).expect("at most 256 classes")
        });
    }
    let new = |class: Option<u8>| Symbol::new(class.expect("every class has a byte").into());
    (merged.into_iter().map(new).collect(), kept.len())
}

impl Dfa {
    /// Whether every accepted text has a byte, as far as is seen without a stack: `true` is certain, and of an automaton without
    /// calls `false` is too. A called rule is taken to have a text without the byte if one can begin without it.
    ///
    /// O(transitions).
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn needs(&self, byte: u8, budget: &Budget) -> Result<bool, CompileError> {
        let of_byte = usize::from(self.classes[usize::from(byte)]);
        let is_alone = self.classes.iter().filter(|&&class| usize::from(class) == of_byte).count() == 1;
        let others = |state: StateId| {
            let deltas = self.row(state).iter().enumerate();
            deltas.filter(move |&(class, &delta)| delta != NO_STEP && !(is_alone && class == of_byte))
        };
        let mut reached = vec![false; self.len()];
        reached[self.start.index()] = true;
        let mut open = vec![self.start];
        while let Some(state) = open.pop() {
            if self.accepting[state] {
                return Ok(false);
            }
            budget.charge_steps("restricting to the vocabulary", 1 + self.stride as u64)?;
            let mut next: Vec<StateId> = others(state).map(|(_, &delta)| follow(state, delta)).collect();
            if let Some(calls) = &self.calls {
                for push in calls.push_transitions(state) {
                    budget.charge_steps("restricting to the vocabulary", 1 + self.stride as u64)?;
                    match calls.pushed(push).first() {
                        // A call after which nothing is left to read.
                        None => next.push(push.entry),
                        Some(outermost) if others(push.entry).next().is_some() => {
                            next.extend(calls.returns[outermost.index()].states());
                        }
                        Some(_) => {}
                    }
                }
            }
            for state in next {
                if !std::mem::replace(&mut reached[state.index()], true) {
                    open.push(state);
                }
            }
        }
        Ok(true)
    }

    /// The automaton without the edges on bytes outside `keep`: trimmed, minimal, numbered breadth first. It no longer
    /// knows its characters.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn restrict(&self, keep: &ByteSet, budget: &Budget) -> Result<Self, CompileError> {
        // Bytes of one class may now part ways: one class for each (old class, kept).
        let mut classes = Box::new([0; 256]);
        let mut columns: Vec<(usize, bool)> = Vec::new();
        for (byte, class) in (0..=u8::MAX).zip(classes.iter_mut()) {
            let column = (usize::from(self.classes[usize::from(byte)]), keep.contains(byte));
            let known = columns.iter().position(|known| *known == column).unwrap_or_else(|| {
                columns.push(column);
                columns.len() - 1
            });
            *class = u8::try_from(known).expect("256 bytes make at most 256 columns");
        }
        let stride = columns.len();
        budget.charge_bytes("restricting to the vocabulary", (self.len() * stride * 4) as u64)?;
        let mut symbols = SymbolDfa::empty();
        let mut row = Vec::with_capacity(stride);
        for state in StateId::range(1..self.len()) {
            let deltas = self.row(state);
            row.clear();
            let leads_on =
                Symbol::enumerate(&columns).filter(|(_, (class, kept))| *kept && deltas[*class] != NO_STEP);
            row.extend(leads_on.map(|(column, &(class, _))| (column, follow(state, deltas[class]))));
            symbols.push(&row, self.accepting[state]);
        }
        symbols.start = self.start;
        ByteTable { classes, stride, symbols }.canonical(budget)
    }
}
