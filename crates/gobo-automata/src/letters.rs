use std::hash::{Hash, Hasher};

use gobo_types::{Budget, CompileError};

use crate::char_dfa::CharDfa;
use crate::dfa::{DEAD, StateId};
use crate::refine::{Edges, refine, useful};
use crate::slices::Slices;

const PHASE: &str = "lowering the grammar";

/// A class of characters, or a call of a rule.
pub(crate) type Letter = u32;

/// A deterministic automaton over letters: state 0 is dead, and an edge that is not there leads to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LetterDfa {
    /// `[states + 1]`: where the edges of each state begin.
    starts: Vec<u32>,
    /// Ascending by letter within a state.
    edges: Vec<(Letter, StateId)>,
    /// `[states]`.
    pub(crate) accepting: Vec<bool>,
    /// [`DEAD`] if there is no text.
    pub(crate) start: StateId,
}

/// In whole words, because every rule is looked up by it.
impl Hash for LetterDfa {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.starts.hash(hasher);
        for bits in self.accepting.chunks(64) {
            hasher.write_u64(bits.iter().fold(0, |word, &accepting| word << 1 | u64::from(accepting)));
        }
        self.edges.iter().for_each(|&(letter, to)| hasher.write_u64(u64::from(letter) << 32 | u64::from(to)));
    }
}

impl LetterDfa {
    /// Bytes of its tables.
    pub(crate) fn bytes(&self) -> u64 {
        (self.edges.len() * 8 + self.accepting.len() * 5) as u64
    }

    /// The automaton of no text.
    pub(crate) fn empty() -> Self {
        Self { starts: vec![0, 0], edges: Vec::new(), accepting: vec![false], start: DEAD }
    }

    pub(crate) fn of(dfa: CharDfa) -> Self {
        let CharDfa { starts, edges, accepting, start, .. } = dfa;
        Self { starts, edges, accepting, start }
    }

    /// Adds a state with edges ascending by letter, and returns its number.
    pub(crate) fn push(&mut self, row: &[(Letter, StateId)], accepting: bool) -> StateId {
        self.edges.extend_from_slice(row);
        self.starts.push(number(self.edges.len()));
        self.accepting.push(accepting);
        number(self.accepting.len() - 1)
    }

    /// Number of states, the dead one included.
    pub(crate) fn len(&self) -> usize {
        self.accepting.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.start == DEAD
    }

    /// States and edges.
    pub(crate) fn size(&self) -> u64 {
        (self.accepting.len() + self.edges.len()) as u64
    }

    /// The edges of a state, ascending by letter.
    pub(crate) fn row(&self, state: StateId) -> &[(Letter, StateId)] {
        &self.edges[self.starts[state as usize] as usize..self.starts[state as usize + 1] as usize]
    }

    /// All edges: from, letter, to.
    pub(crate) fn edges(&self) -> impl Iterator<Item = (StateId, Letter, StateId)> {
        (0..number(self.len()))
            .flat_map(|from| self.row(from).iter().map(move |&(letter, to)| (from, letter, to)))
    }

    /// The letters of all edges, a letter for each edge.
    pub(crate) fn letters(&self) -> impl Iterator<Item = Letter> {
        self.edges.iter().map(|edge| edge.0)
    }

    /// The states in which a word may end.
    pub(crate) fn ends(&self) -> impl Iterator<Item = StateId> {
        (0..).zip(&self.accepting).filter(|(_, accepting)| **accepting).map(|(state, _)| state)
    }

    /// Whether some word of letters that are `allowed` is accepted.
    pub(crate) fn accepts_over(&self, allowed: impl Fn(Letter) -> bool) -> bool {
        let mut seen = vec![false; self.len()];
        let mut open = vec![self.start];
        while let Some(state) = open.pop() {
            if self.accepting[state as usize] {
                return true;
            }
            if !std::mem::replace(&mut seen[state as usize], true) {
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
            fresh.start = fresh.push(&row, self.accepting[self.start as usize]);
        }
        fresh
    }

    /// The language without the empty word.
    pub(crate) fn without_empty(&self) -> Self {
        let mut fresh = self.with_fresh_start();
        fresh.accepting[fresh.start as usize] = false;
        fresh
    }

    /// Adds a start with these edges: what was the start is a state like others.
    pub(crate) fn replace_start(&mut self, row: &[(Letter, StateId)], accepting: bool) {
        self.start = self.push(row, accepting);
    }

    /// Whether every word that may follow `state` may also follow every end. A search through pairs of states for each end.
    pub(crate) fn ends_read_all_of(&self, state: StateId, budget: &Budget) -> Result<bool, CompileError> {
        let mut known = foldhash::HashSet::default();
        let mut open: Vec<(StateId, StateId)> = self.ends().map(|end| (state, end)).collect();
        while let Some((left, right)) = open.pop() {
            if left == right || !known.insert((left, right)) {
                continue;
            }
            budget.charge_steps(PHASE, 1 + self.row(left).len() as u64)?;
            if self.accepting[left as usize] && !self.accepting[right as usize] {
                return Ok(false);
            }
            let mut row = self.row(right).iter();
            for &(letter, next) in self.row(left) {
                match row.find(|edge| edge.0 >= letter) {
                    Some(&(found, other)) if found == letter => open.push((next, other)),
                    _ => return Ok(false),
                }
            }
        }
        Ok(true)
    }

    /// Whether states are numbered in the order in which a search breadth first reaches them.
    fn is_breadth_first(&self) -> bool {
        let mut next = 2;
        for state in 1..number(self.len()) {
            if state >= next {
                return false;
            }
            for &(_, to) in self.row(state) {
                if to > next {
                    return false;
                }
                next += u32::from(to == next);
            }
        }
        self.start == 1
    }

    /// The same automaton without edges to states that are not useful, `[states]`.
    fn trimmed(&self, useful: &[bool]) -> Self {
        let mut trimmed = Self { start: self.start, ..Self::empty() };
        let mut row: Vec<(Letter, StateId)> = Vec::new();
        for state in 1..number(self.len()) {
            row.clear();
            row.extend(self.row(state).iter().filter(|edge| useful[edge.1 as usize]));
            trimmed.push(&row, self.accepting[state as usize]);
        }
        trimmed
    }

    /// The trimmed, minimal automaton of the same language, numbered breadth first: equal languages give equal automata.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn minimal(mut self, budget: &Budget) -> Result<Self, CompileError> {
        let useful = useful(&self, &self.accepting, budget)?;
        if !useful[self.start as usize] {
            return Ok(Self::empty());
        }
        if !useful.iter().skip(1).all(|&useful| useful) {
            self = self.trimmed(&useful);
        }
        let initial: Vec<u32> = (0..)
            .zip(&self.accepting)
            .map(|(state, &accepting)| if state == DEAD { 0 } else { 1 + u32::from(accepting) })
            .collect();
        let blocks = refine(&self, &initial, None, PHASE, budget)?;
        if blocks.blocks() == self.len() && self.is_breadth_first() {
            return Ok(self);
        }
        let mut numbers = vec![DEAD; blocks.blocks()];
        let mut order = vec![DEAD, self.start];
        numbers[blocks.block(self.start) as usize] = 1;
        let mut out = Self::empty();
        let mut row: Vec<(Letter, StateId)> = Vec::new();
        while let Some(&state) = order.get(out.len()) {
            row.clear();
            for &(letter, next) in self.row(state) {
                let known = &mut numbers[blocks.block(next) as usize];
                if *known == DEAD {
                    *known = number(order.len());
                    order.push(next);
                }
                row.push((letter, *known));
            }
            out.push(&row, self.accepting[state as usize]);
        }
        out.start = 1;
        Ok(out)
    }
}

impl Edges for LetterDfa {
    fn states(&self) -> usize {
        self.len()
    }

    fn edges(&self, state: StateId) -> impl Iterator<Item = (u32, StateId)> {
        self.row(state).iter().copied()
    }

    fn edge_count(&self) -> usize {
        self.edges.len()
    }
}

/// An automaton over letters with edges that read nothing. State 0 has no edges.
#[derive(Debug, Clone)]
pub(crate) struct LetterNfa {
    edges: Vec<(Letter, StateId)>,
    /// `[states]`: where the edges of each state, ascending, begin and end.
    rows: Vec<(u32, u32)>,
    epsilons: Vec<Vec<StateId>>,
    pub(crate) accepting: Vec<bool>,
    pub(crate) start: StateId,
}

impl LetterNfa {
    /// The automaton of a deterministic one, with the same states.
    pub(crate) fn of(dfa: &LetterDfa) -> Self {
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

    /// Adds the states of another automaton, which do not accept; returns how much higher their numbers are.
    pub(crate) fn append(&mut self, dfa: &LetterDfa) -> StateId {
        let offset = number(self.rows.len());
        let first = number(self.edges.len());
        self.edges.extend(dfa.edges.iter().map(|&(letter, to)| (letter, to + offset)));
        self.rows.extend(dfa.starts.windows(2).map(|bounds| (first + bounds[0], first + bounds[1])));
        self.epsilons.resize(self.rows.len(), Vec::new());
        let accepts = offset == 0;
        self.accepting.extend(dfa.accepting.iter().map(|&accepting| accepting && accepts));
        offset
    }

    /// The edges of a state that read a letter.
    pub(crate) fn row(&self, state: StateId) -> &[(Letter, StateId)] {
        let (from, to) = self.rows[state as usize];
        &self.edges[from as usize..to as usize]
    }

    pub(crate) fn add_epsilon(&mut self, from: StateId, to: StateId) {
        self.epsilons[from as usize].push(to);
    }

    /// Keeps the edges whose letter satisfies `keep`.
    pub(crate) fn retain(&mut self, keep: impl Fn(Letter) -> bool) {
        self.retain_edges(|_, (letter, _)| keep(letter));
    }

    /// Keeps the edges, each with the state that it begins in, that satisfy `keep`.
    fn retain_edges(&mut self, mut keep: impl FnMut(StateId, (Letter, StateId)) -> bool) {
        for (from, row) in (0..).zip(&mut self.rows) {
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

    pub(crate) fn rename(&mut self, rename: impl Fn(Letter) -> Letter) {
        self.edges.iter_mut().for_each(|edge| edge.0 = rename(edge.0));
        self.rows.iter().for_each(|row| self.edges[row.0 as usize..row.1 as usize].sort_unstable());
    }

    /// Removes the edges with this letter that begin where `which` says, and returns them: from, to.
    pub(crate) fn take_edges(
        &mut self,
        letter: Letter,
        which: impl Fn(StateId) -> bool,
    ) -> Vec<(StateId, StateId)> {
        let mut taken = Vec::new();
        self.retain_edges(|from, (found, to)| {
            let is_taken = found == letter && which(from);
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
    ) -> Result<Option<LetterDfa>, CompileError> {
        const UNKNOWN: StateId = StateId::MAX;
        let mut sets = Slices::with_capacity(self.rows.len());
        sets.intern(&[]);
        let mut reach = Reach { nfa: self, seen: vec![0; self.rows.len()], generation: 0, open: Vec::new() };
        let mut members = Vec::new();
        reach.closure([self.start], &mut members, budget)?;
        let mut dfa = LetterDfa::empty();
        dfa.start = sets.intern(&members).0;
        let mut pairs: Vec<(Letter, StateId)> = Vec::new();
        let mut row: Vec<(Letter, StateId)> = Vec::new();
        // `[states]`: the set behind an edge that leads to that state alone, as nearly all do.
        let mut alone = vec![UNKNOWN; self.rows.len()];
        while dfa.len() < sets.len() {
            let set = sets.get(number(dfa.len()));
            let accepting = set.iter().any(|&state| self.accepting[state as usize]);
            pairs.clear();
            set.iter().for_each(|&state| pairs.extend_from_slice(self.row(state)));
            if set.len() > 1 {
                pairs.sort_unstable();
                pairs.dedup();
            }
            budget.charge_steps(PHASE, 1 + pairs.len() as u64)?;
            row.clear();
            for of_letter in pairs.chunk_by(|a, b| a.0 == b.0) {
                let letter = of_letter[0].0;
                if let [(_, to)] = *of_letter
                    && !matches!(alone[to as usize], UNKNOWN | DEAD)
                {
                    row.push((letter, alone[to as usize]));
                    continue;
                }
                reach.closure(of_letter.iter().map(|edge| edge.1), &mut members, budget)?;
                let (next, is_new) = sets.intern(&members);
                if is_new {
                    budget.charge_bytes(PHASE, members.len() as u64 * 4 + 16)?;
                    budget.check_states(PHASE, sets.len() - 1)?;
                    if sets.len() > most {
                        return Ok(None);
                    }
                }
                if let [(_, to)] = *of_letter {
                    alone[to as usize] = next;
                }
                if next != DEAD {
                    row.push((letter, next));
                }
            }
            budget.charge_bytes(PHASE, row.len() as u64 * 8)?;
            dfa.push(&row, accepting);
        }
        Ok(Some(dfa))
    }
}

/// Of what reads a letter; only for automata whose states have one edge for each letter, ascending.
impl Edges for LetterNfa {
    fn states(&self) -> usize {
        self.rows.len()
    }

    fn edges(&self, state: StateId) -> impl Iterator<Item = (u32, StateId)> {
        self.row(state).iter().copied()
    }

    fn edge_count(&self) -> usize {
        self.edges.len()
    }
}

/// Closures over edges that read nothing.
struct Reach<'a> {
    nfa: &'a LetterNfa,
    /// `[states]`: the closure that a state was last reached in.
    seen: Vec<u32>,
    generation: u32,
    open: Vec<StateId>,
}

impl Reach<'_> {
    /// Everything reachable from `from`, ascending, without states that neither read nor accept.
    fn closure(
        &mut self,
        from: impl IntoIterator<Item = StateId>,
        members: &mut Vec<StateId>,
        budget: &Budget,
    ) -> Result<(), CompileError> {
        self.generation += 1;
        members.clear();
        self.open.extend(from);
        let mut steps = 0;
        while let Some(state) = self.open.pop() {
            if std::mem::replace(&mut self.seen[state as usize], self.generation) == self.generation {
                continue;
            }
            steps += 1;
            if self.nfa.accepting[state as usize] || !self.nfa.row(state).is_empty() {
                members.push(state);
            }
            self.open.extend(&self.nfa.epsilons[state as usize]);
        }
        members.sort_unstable();
        budget.charge_steps(PHASE, steps)
    }
}

fn number(n: usize) -> u32 {
    u32::try_from(n).expect("the budget keeps counts below 2^32")
}
