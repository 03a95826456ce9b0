//! Deterministic automata over symbols, and the one minimisation of this crate.
//!
//! Rows are compressed: a state has its edges and nothing for the symbols that lead nowhere. Minimising is trimming to the
//! co-accessible states, partition refinement ([`crate::equivalence`]), and the quotient, numbered breadth first by symbol: the
//! canonical automaton of a language, so that equal languages are equal values. O(edges × log states) at worst, and linear where
//! refinement settles within a few rounds (Hopcroft & Ullman 1979, section 3.4).

use std::hash::{Hash, Hasher};

use gobo_types::{Budget, CompileError, DenseId as _, Table, checked_u32};

use crate::equivalence::{Edges, Partition, refine, useful};
use crate::ids::{CharState, State, Symbol};

/// The phase that a verdict names.
pub(super) const PHASE: &str = "lowering the grammar";

/// A deterministic automaton over symbols: state 0 is dead, and an edge that is not there leads to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SymbolDfa<S = CharState> {
    /// `[states + 1]`: where the edges of each state begin.
    pub(super) starts: Vec<u32>,
    /// Ascending by symbol within a state.
    pub(super) edges: Vec<(Symbol, S)>,
    pub(crate) accepting: Table<S, bool>,
    /// [`State::DEAD`] if there is no text.
    pub(crate) start: S,
}

/// In whole words, because every rule is looked up by it.
impl<S: State> Hash for SymbolDfa<S> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.starts.hash(hasher);
        for bits in self.accepting.chunks(64) {
            hasher.write_u64(bits.iter().fold(0, |word, &accepting| word << 1 | u64::from(accepting)));
        }
        for &(symbol, to) in &self.edges {
            hasher.write_u64(u64::from(symbol.number()) << 32 | u64::from(to.number()));
        }
    }
}

impl<S: State> SymbolDfa<S> {
    /// Bytes of its tables.
    pub(crate) fn bytes(&self) -> u64 {
        (self.edges.len() * 8 + self.accepting.len() * 5) as u64
    }

    /// The automaton of no text.
    pub(crate) fn empty() -> Self {
        Self { starts: vec![0, 0], edges: Vec::new(), accepting: Table::filled(false, 1), start: S::DEAD }
    }

    /// Adds a state with edges ascending by symbol.
    pub(crate) fn push(&mut self, row: &[(Symbol, S)], accepting: bool) -> S {
        self.edges.extend_from_slice(row);
        self.starts.push(checked_u32(self.edges.len()));
        self.accepting.push(accepting)
    }

    /// Number of states, the dead one included.
    pub(crate) fn len(&self) -> usize {
        self.accepting.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.start == S::DEAD
    }

    /// States and edges.
    pub(crate) fn size(&self) -> u64 {
        (self.accepting.len() + self.edges.len()) as u64
    }

    /// The edges of a state, ascending by symbol.
    pub(crate) fn row(&self, state: S) -> &[(Symbol, S)] {
        &self.edges[self.starts[state.index()] as usize..self.starts[state.index() + 1] as usize]
    }

    /// All edges: from, symbol, to.
    pub(crate) fn edges(&self) -> impl Iterator<Item = (S, Symbol, S)> {
        S::range(0..self.len())
            .flat_map(|from| self.row(from).iter().map(move |&(symbol, to)| (from, symbol, to)))
    }

    /// The symbols of all edges, a symbol for each edge.
    pub(crate) fn symbols(&self) -> impl Iterator<Item = Symbol> {
        self.edges.iter().map(|edge| edge.0)
    }

    /// The states in which a word may end.
    pub(crate) fn ends(&self) -> impl Iterator<Item = S> {
        S::enumerate(&self.accepting).filter(|(_, accepting)| **accepting).map(|(state, _)| state)
    }

    /// Whether some word of symbols that are `allowed` is accepted.
    pub(crate) fn accepts_over(&self, allowed: impl Fn(Symbol) -> bool) -> bool {
        let mut seen = vec![false; self.len()];
        let mut open = vec![self.start];
        while let Some(state) = open.pop() {
            if self.accepting[state] {
                return true;
            }
            if !std::mem::replace(&mut seen[state.index()], true) {
                open.extend(self.row(state).iter().filter(|edge| allowed(edge.0)).map(|edge| edge.1));
            }
        }
        false
    }

    /// The same language, with a start that nothing leads into.
    pub(crate) fn with_fresh_start(&self) -> Self {
        let mut fresh = self.clone();
        if self.edges.iter().any(|edge| edge.1 == self.start) {
            let row = self.row(self.start).to_vec();
            fresh.start = fresh.push(&row, self.accepting[self.start]);
        }
        fresh
    }

    /// The language without the empty word.
    pub(crate) fn without_empty(&self) -> Self {
        let mut fresh = self.with_fresh_start();
        fresh.accepting[fresh.start] = false;
        fresh
    }

    /// Adds a start with these edges: what was the start is a state like others.
    pub(crate) fn replace_start(&mut self, row: &[(Symbol, S)], accepting: bool) {
        self.start = self.push(row, accepting);
    }

    /// Whether every word that may follow `state` may also follow every end. A search through pairs of states for each end.
    pub(crate) fn ends_read_all_of(&self, state: S, budget: &Budget) -> Result<bool, CompileError> {
        let mut known = foldhash::HashSet::default();
        let mut open: Vec<(S, S)> = self.ends().map(|end| (state, end)).collect();
        while let Some((left, right)) = open.pop() {
            if left == right || !known.insert((left, right)) {
                continue;
            }
            budget.charge_steps(PHASE, 1 + self.row(left).len() as u64)?;
            if self.accepting[left] && !self.accepting[right] {
                return Ok(false);
            }
            let mut row = self.row(right).iter();
            for &(symbol, next) in self.row(left) {
                match row.find(|edge| edge.0 >= symbol) {
                    Some(&(found, other)) if found == symbol => open.push((next, other)),
                    _ => return Ok(false),
                }
            }
        }
        Ok(true)
    }

    /// Whether states are numbered in the order in which a search breadth first reaches them.
    fn is_breadth_first(&self) -> bool {
        let mut next = 2;
        for state in S::range(1..self.len()) {
            if state.index() >= next {
                return false;
            }
            for &(_, to) in self.row(state) {
                if to.index() > next {
                    return false;
                }
                next += usize::from(to.index() == next);
            }
        }
        self.start.index() == 1
    }

    /// Removes every edge to a state that cannot reach acceptance (a state that is not *co-accessible*). The empty automaton if the
    /// start is one.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn trim(self, budget: &Budget) -> Result<Self, CompileError> {
        let useful = useful(&self, &self.accepting, budget)?;
        if !useful[self.start.index()] {
            return Ok(Self::empty());
        }
        if useful.iter().skip(1).all(|&useful| useful) {
            return Ok(self);
        }
        let mut trimmed = Self { start: self.start, ..Self::empty() };
        let mut row: Vec<(Symbol, S)> = Vec::new();
        for state in S::range(1..self.len()) {
            row.clear();
            row.extend(self.row(state).iter().filter(|edge| useful[edge.1.index()]));
            trimmed.push(&row, self.accepting[state]);
        }
        Ok(trimmed)
    }

    /// The blocks of states that accept the same words.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`], which names `phase`.
    pub(crate) fn equivalent(&self, phase: &str, budget: &Budget) -> Result<Partition<S>, CompileError> {
        let initial: Vec<u32> = S::enumerate(&self.accepting)
            .map(|(state, &accepting)| if state == S::DEAD { 0 } else { 1 + u32::from(accepting) })
            .collect();
        refine(self, &initial, None, phase, budget)
    }

    /// The automaton of the blocks that the start reaches, numbered breadth first. `prepare` is given each row with the states of
    /// this automaton, and may rename its symbols: it leaves them ascending, at most one edge for each.
    ///
    /// # Errors
    /// Those of `prepare`.
    pub(crate) fn quotient(
        &self,
        blocks: &Partition<S>,
        mut prepare: impl FnMut(&mut Vec<(Symbol, S)>) -> Result<(), CompileError>,
    ) -> Result<Self, CompileError> {
        let mut numbers = vec![S::DEAD; blocks.blocks()];
        let mut order = vec![S::DEAD, self.start];
        numbers[blocks.block(self.start).index()] = S::new(1);
        let mut out = Self::empty();
        let mut row: Vec<(Symbol, S)> = Vec::new();
        while let Some(&state) = order.get(out.len()) {
            row.clear();
            row.extend_from_slice(self.row(state));
            prepare(&mut row)?;
            for (_, next) in &mut row {
                let known = &mut numbers[blocks.block(*next).index()];
                if *known == S::DEAD {
                    *known = S::new(order.len());
                    order.push(*next);
                }
                *next = *known;
            }
            out.push(&row, self.accepting[state]);
        }
        out.start = S::new(1);
        Ok(out)
    }

    /// The trimmed, minimal automaton of the same language, numbered breadth first: equal languages give equal automata.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn minimal(self, budget: &Budget) -> Result<Self, CompileError> {
        let trimmed = self.trim(budget)?;
        if trimmed.is_empty() {
            return Ok(trimmed);
        }
        let blocks = trimmed.equivalent(PHASE, budget)?;
        if blocks.blocks() == trimmed.len() && trimmed.is_breadth_first() {
            return Ok(trimmed);
        }
        trimmed.quotient(&blocks, |_| Ok(()))
    }
}

impl<S: State> Edges for SymbolDfa<S> {
    type State = S;

    fn states(&self) -> usize {
        self.len()
    }

    fn edges(&self, state: S) -> impl Iterator<Item = (Symbol, S)> {
        self.row(state).iter().copied()
    }

    fn edge_count(&self) -> usize {
        self.edges.len()
    }
}
