//! Canonical automata over bytes: those whose transitions were found one by one, and not by characters.

use gobo_types::{Budget, CompileError};

use super::byte_set::ByteSet;
use super::dfa::{Dfa, NO_STEP, RowTable, follow};
use crate::ids::{StateId, number};
use crate::symbols::SymbolDfa;

/// An automaton whose symbols are classes of bytes.
pub(super) struct ByteTable {
    pub(super) classes: Box<[u8; 256]>,
    /// Number of classes.
    pub(super) stride: usize,
    pub(super) symbols: SymbolDfa,
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
                row.iter_mut().for_each(|edge| edge.0 = u32::from(merged[edge.0 as usize]));
                row.sort_unstable();
                row.dedup();
                budget.charge_steps(PHASE, stride as u64)
            })?
        };
        let mut table = RowTable::new(stride);
        let mut row_of = vec![0];
        let mut deltas = vec![NO_STEP; stride];
        for state in 1..number(minimal.len()) {
            deltas.fill(NO_STEP);
            for &(class, next) in minimal.row(state) {
                let distance = i64::from(next) - i64::from(state);
                deltas[class as usize] = i32::try_from(distance).expect("states are below 2^31");
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
fn merge_classes(classes: &mut [u8; 256], stride: usize, symbols: &SymbolDfa) -> (Vec<u8>, usize) {
    let mut columns: Vec<Vec<(StateId, StateId)>> = vec![Vec::new(); stride];
    symbols.edges().for_each(|(from, class, to)| columns[class as usize].push((from, to)));
    let mut kept: Vec<usize> = Vec::new();
    let mut merged = vec![u8::MAX; stride];
    for class in classes {
        let old = usize::from(*class);
        if merged[old] == u8::MAX {
            let same = kept.iter().position(|&known| columns[known] == columns[old]).unwrap_or_else(|| {
                kept.push(old);
                kept.len() - 1
            });
            merged[old] = u8::try_from(same).expect("at most 256 classes");
        }
        *class = merged[old];
    }
    (merged, kept.len())
}

impl Dfa {
    /// The automaton without the edges on bytes outside `keep`: trimmed, minimal, numbered breadth first. It no longer
    /// knows its characters.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn restrict(&self, keep: &ByteSet, budget: &Budget) -> Result<Self, CompileError> {
        // Bytes of one class may now part ways: one class for each (old class, kept).
        let mut classes = Box::new([0; 256]);
        let mut columns: Vec<(usize, bool)> = Vec::new();
        for byte in 0..256 {
            let column = (usize::from(self.classes[byte]), keep[byte >> 5] >> (byte & 31) & 1 == 1);
            let class = columns.iter().position(|known| *known == column).unwrap_or_else(|| {
                columns.push(column);
                columns.len() - 1
            });
            classes[byte] = u8::try_from(class).expect("256 bytes make at most 256 columns");
        }
        let stride = columns.len();
        budget.charge_bytes("restricting to the vocabulary", (self.len() * stride * 4) as u64)?;
        let mut symbols = SymbolDfa::empty();
        let mut row = Vec::with_capacity(stride);
        for state in 1..number(self.len()) {
            let deltas = self.row(state);
            row.clear();
            let leads_on =
                (0..).zip(&columns).filter(|(_, (class, kept))| *kept && deltas[*class] != NO_STEP);
            row.extend(leads_on.map(|(column, &(class, _))| (column, follow(state, deltas[class]))));
            symbols.push(&row, self.accepting[state as usize]);
        }
        symbols.start = self.start;
        ByteTable { classes, stride, symbols }.canonical(budget)
    }
}
