//! Nondeterministic automata over symbols, with edges that read nothing, and the subset construction.
//!
//! Rules of a grammar are edited here: calls are removed, renamed or replaced by the automaton of the called rule, and the result
//! is made deterministic again (Rabin & Scott 1959). Exponential in the states at worst; the budget and a most number of states
//! bound it.

use gobo_types::{Budget, CompileError, DenseId as _, checked_u32};

use super::dfa::{PHASE, SymbolDfa};
use super::interner::Interner;
use crate::equivalence::Edges;
use crate::ids::{CharState, Symbol};

/// An automaton over symbols with edges that read nothing. State 0 has no edges.
#[derive(Debug, Clone)]
pub(crate) struct SymbolNfa {
    edges: Vec<(Symbol, CharState)>,
    /// `[states]`: where the edges of each state, ascending, begin and end.
    rows: Vec<(u32, u32)>,
    epsilons: Vec<Vec<CharState>>,
    pub(crate) accepting: Vec<bool>,
    pub(crate) start: CharState,
}

/// Where the states of an automaton stand among those of another one that it was appended to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offset(usize);

impl Offset {
    /// The state that an appended one has become.
    pub(crate) fn of(self, state: CharState) -> CharState {
        CharState::new(self.0 + state.index())
    }
}

impl SymbolNfa {
    /// The automaton of a deterministic one, with the same states.
    pub(crate) fn of(dfa: &SymbolDfa) -> Self {
        let mut nfa = Self {
            edges: Vec::new(),
            rows: Vec::new(),
            epsilons: Vec::new(),
            accepting: Vec::new(),
            start: dfa.start,
        };
        nfa.append(dfa);
        nfa
    }

    /// Adds the states of another automaton, which do not accept.
    pub(crate) fn append(&mut self, dfa: &SymbolDfa) -> Offset {
        let offset = Offset(self.rows.len());
        let first = checked_u32(self.edges.len());
        self.edges.extend(dfa.edges.iter().map(|&(symbol, to)| (symbol, offset.of(to))));
        self.rows.extend(dfa.starts.windows(2).map(|bounds| (first + bounds[0], first + bounds[1])));
        self.epsilons.resize(self.rows.len(), Vec::new());
        let accepts = offset.0 == 0;
        self.accepting.extend(dfa.accepting.iter().map(|&accepting| accepting && accepts));
        offset
    }

    /// The edges of a state that read a symbol.
    pub(crate) fn row(&self, state: CharState) -> &[(Symbol, CharState)] {
        let (from, to) = self.rows[state.index()];
        &self.edges[from as usize..to as usize]
    }

    pub(crate) fn add_epsilon(&mut self, from: CharState, to: CharState) {
        self.epsilons[from.index()].push(to);
    }

    /// Keeps the edges whose symbol satisfies `keep`.
    pub(crate) fn retain(&mut self, keep: impl Fn(Symbol) -> bool) {
        self.retain_edges(|_, (symbol, _)| keep(symbol));
    }

    /// Keeps the edges, each with the state that it begins in, that satisfy `keep`.
    fn retain_edges(&mut self, mut keep: impl FnMut(CharState, (Symbol, CharState)) -> bool) {
        for (from, row) in CharState::enumerate(&mut self.rows) {
            let mut kept = row.0;
            for at in row.0..row.1 {
                let edge = self.edges[at as usize];
                if keep(from, edge) {
                    self.edges[kept as usize] = edge;
                    kept += 1;
                }
            }
            row.1 = kept;
        }
    }

    pub(crate) fn rename(&mut self, rename: impl Fn(Symbol) -> Symbol) {
        self.edges.iter_mut().for_each(|edge| edge.0 = rename(edge.0));
        self.rows.iter().for_each(|row| self.edges[row.0 as usize..row.1 as usize].sort_unstable());
    }

    /// Removes the edges with this symbol that begin where `which` says, and returns them: from, to.
    pub(crate) fn take_edges(
        &mut self,
        symbol: Symbol,
        which: impl Fn(CharState) -> bool,
    ) -> Vec<(CharState, CharState)> {
        let mut taken = Vec::new();
        self.retain_edges(|from, (found, to)| {
            let is_taken = found == symbol && which(from);
            if is_taken {
                taken.push((from, to));
            }
            !is_taken
        });
        taken
    }

    /// The deterministic automaton of the same language: the subset construction. `None` if it needs more than `most`
    /// states.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn determinize(
        &self,
        most: usize,
        budget: &Budget,
    ) -> Result<Option<SymbolDfa>, CompileError> {
        let mut sets: Interner<CharState, CharState> = Interner::with_capacity(self.rows.len());
        sets.intern(&[]);
        let mut reach = Reach { nfa: self, seen: vec![0; self.rows.len()], generation: 0, open: Vec::new() };
        let mut members = Vec::new();
        reach.closure([self.start], &mut members, budget)?;
        let mut dfa = SymbolDfa::empty();
        dfa.start = sets.intern(&members).0;
        let mut pairs: Vec<(Symbol, CharState)> = Vec::new();
        let mut row: Vec<(Symbol, CharState)> = Vec::new();
        // `[states]`: the set after an edge that leads to that state alone, as nearly all do.
        let mut alone: Vec<Option<CharState>> = vec![None; self.rows.len()];
        while dfa.len() < sets.len() {
            let set = sets.get(CharState::new(dfa.len()));
            let accepting = set.iter().any(|&state| self.accepting[state.index()]);
            pairs.clear();
            set.iter().for_each(|&state| pairs.extend_from_slice(self.row(state)));
            if set.len() > 1 {
                pairs.sort_unstable();
                pairs.dedup();
            }
            budget.charge_steps(PHASE, 1 + pairs.len() as u64)?;
            row.clear();
            for of_symbol in pairs.chunk_by(|a, b| a.0 == b.0) {
                let symbol = of_symbol[0].0;
                if let [(_, to)] = *of_symbol
                    && let Some(known) = alone[to.index()].filter(|&known| known != CharState::DEAD)
                {
                    row.push((symbol, known));
                    continue;
                }
                reach.closure(of_symbol.iter().map(|edge| edge.1), &mut members, budget)?;
                let (next, is_new) = sets.intern(&members);
                if is_new {
                    budget.charge_bytes(PHASE, members.len() as u64 * 4 + 16)?;
                    budget.check_states(PHASE, sets.len() - 1)?;
                    if sets.len() > most {
                        return Ok(None);
                    }
                }
                if let [(_, to)] = *of_symbol {
                    alone[to.index()] = Some(next);
                }
                if next != CharState::DEAD {
                    row.push((symbol, next));
                }
            }
            budget.charge_bytes(PHASE, row.len() as u64 * 8)?;
            dfa.push(&row, accepting);
        }
        Ok(Some(dfa))
    }
}

/// Of what reads a symbol; only for automata whose states have one edge for each symbol, ascending.
impl Edges for SymbolNfa {
    type State = CharState;

    fn states(&self) -> usize {
        self.rows.len()
    }

    fn edges(&self, state: CharState) -> impl Iterator<Item = (Symbol, CharState)> {
        self.row(state).iter().copied()
    }

    fn edge_count(&self) -> usize {
        self.edges.len()
    }
}

/// Closures over edges that read nothing.
struct Reach<'a> {
    nfa: &'a SymbolNfa,
    /// `[states]`: the closure that a state was last reached in.
    seen: Vec<u32>,
    generation: u32,
    open: Vec<CharState>,
}

impl Reach<'_> {
    /// Everything reachable from `from`, ascending, without states that neither read nor accept.
    fn closure(
        &mut self,
        from: impl IntoIterator<Item = CharState>,
        members: &mut Vec<CharState>,
        budget: &Budget,
    ) -> Result<(), CompileError> {
        self.generation += 1;
        members.clear();
        self.open.extend(from);
        let mut steps = 0;
        while let Some(state) = self.open.pop() {
            if std::mem::replace(&mut self.seen[state.index()], self.generation) == self.generation {
                continue;
            }
            steps += 1;
            if self.nfa.accepting[state.index()] || !self.nfa.row(state).is_empty() {
                members.push(state);
            }
            self.open.extend(&self.nfa.epsilons[state.index()]);
        }
        members.sort_unstable();
        budget.charge_steps(PHASE, steps)
    }
}
