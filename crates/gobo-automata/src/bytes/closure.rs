//! How far every text over a set of characters is alive, from each state: backward breadth-first search from the states where some
//! character of the set leads nowhere.

use gobo_types::{Budget, CompileError, DenseId as _, checked_u32};

use super::calls::Calls;
use super::char_states::CharStates;
use crate::equivalence::Edges as _;
use crate::ids::{CharState, Symbol};

/// The phase that verdicts name.
const CLOSING: &str = "closing states";

/// Where the states between characters lead, and by which classes of characters: few states lead to more than two or three
/// others, by however many classes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Targets {
    /// Words of a set of classes.
    words: usize,
    /// `[character states + 1]`: where the targets of each state begin.
    starts: Vec<u32>,
    next: Vec<CharState>,
    /// `[targets × words]`: the classes that lead there.
    classes: Vec<u64>,
    /// `[character states × words]`: the classes that lead anywhere.
    read: Vec<u64>,
}

impl Targets {
    /// Maximum targets of a state that are searched for a known one; a target may be listed twice beyond it.
    const NEAR: usize = 8;

    fn of_state(&self, state: CharState) -> impl Iterator<Item = (CharState, &[u64])> {
        let range = self.starts[state.index()] as usize..self.starts[state.index() + 1] as usize;
        let classes = self.classes[range.start * self.words..range.end * self.words].chunks_exact(self.words);
        self.next[range].iter().copied().zip(classes)
    }
}

/// What becomes of texts over some set of characters, from every state between characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closure {
    depth: Vec<u32>,
    exact: Vec<bool>,
}

impl Closure {
    /// No text over the set is alive everywhere for longer than this many characters: every shorter one is alive.
    /// `u32::MAX` where every text is.
    pub fn depth(&self, char_state: CharState) -> u32 {
        self.depth[char_state.index()]
    }

    /// Bytes of its tables.
    pub fn bytes(&self) -> u64 {
        self.depth.len() as u64 * 5
    }

    /// Whether no text over the set longer than the depth is alive, as far as the state's own transitions go; what called
    /// rules and returns read after it is taken into account.
    pub fn is_exact(&self, char_state: CharState) -> bool {
        self.exact[char_state.index()]
    }
}

impl CharStates {
    /// What [`Self::closure`] asks of the states, however often it is asked for. O(edges).
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn targets(&self, budget: &Budget) -> Result<Targets, CompileError> {
        budget.charge_steps(CLOSING, self.dfa.symbols.edge_count() as u64)?;
        let words = self.dfa.classes.div_ceil(64).max(1);
        budget.charge_bytes(CLOSING, (self.blocks.len() * (4 + words * 8)) as u64)?;
        let read = vec![0; self.blocks.len() * words];
        let mut targets = Targets { words, starts: vec![0], next: Vec::new(), classes: Vec::new(), read };
        for state in CharState::range(0..self.blocks.len()) {
            let first = targets.next.len();
            for &(class, next) in self.dfa.row(state) {
                let near = first.max(targets.next.len().saturating_sub(Targets::NEAR));
                let known = targets.next[near..].iter().rposition(|known| *known == next);
                let at = known.map_or(targets.next.len(), |at| near + at);
                if at == targets.next.len() {
                    targets.next.push(next);
                    targets.classes.resize(targets.classes.len() + words, 0);
                }
                let (word, bit) = (class.index() / 64, 1 << (class.index() % 64));
                targets.classes[at * words + word] |= bit;
                targets.read[state.index() * words + word] |= bit;
            }
            targets.starts.push(checked_u32(targets.next.len()));
        }
        budget.charge_bytes(CLOSING, (targets.next.len() * (4 + words * 8)) as u64)?;
        Ok(targets)
    }

    /// What becomes of texts over the characters of `classes`, as far as one rule reads them. O(targets × classes / 64).
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn closure(
        &self,
        targets: &Targets,
        classes: &[Symbol],
        calls: Option<&Calls>,
        budget: &Budget,
    ) -> Result<Closure, CompileError> {
        let states = self.blocks.len();
        let mut wanted = vec![0_u64; targets.words];
        classes.iter().for_each(|&class| wanted[class.index() / 64] |= 1 << (class.index() % 64));
        let edges = |state: CharState| {
            let leads =
                |classes: &[u64]| classes.iter().zip(&wanted).any(|(classes, wanted)| classes & wanted != 0);
            targets.of_state(state).filter(move |(_, classes)| leads(classes)).map(|edge| edge.0)
        };
        budget.charge_bytes(CLOSING, states as u64 * 9)?;
        budget.charge_steps(CLOSING, (states + targets.next.len() * targets.words) as u64)?;
        let mut closure = Closure { depth: vec![u32::MAX; states], exact: vec![false; states] };
        // Those that some character of the set leads nowhere from, then whatever leads to them.
        let mut queue: Vec<CharState> = Vec::new();
        // All others: few in most automata, and only what leads on from them has to be looked at.
        let mut open: Vec<CharState> = Vec::new();
        // `[states + 1]`: where those before each state begin.
        let mut starts = vec![0_u32; states + 1];
        for state in CharState::range(1..states) {
            let read = &targets.read[state.index() * targets.words..][..targets.words];
            if wanted.iter().zip(read).all(|(wanted, read)| wanted & !read == 0) {
                edges(state).for_each(|next| starts[next.index() + 1] += 1);
                open.push(state);
            } else {
                closure.depth[state.index()] = 0;
                closure.exact[state.index()] =
                    wanted.iter().zip(read).all(|(wanted, read)| wanted & read == 0);
                queue.push(state);
            }
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut before = vec![CharState::DEAD; starts[states] as usize];
        budget.charge_bytes(CLOSING, before.len() as u64 * 4)?;
        let mut ends = starts[1..].to_vec();
        for &state in open.iter().rev() {
            for next in edges(state) {
                ends[next.index()] -= 1;
                before[ends[next.index()] as usize] = state;
            }
        }
        let mut at = 0;
        while let Some(&state) = queue.get(at) {
            at += 1;
            let depth = closure.depth[state.index()];
            if depth > 0 {
                closure.exact[state.index()] = edges(state).all(|next| {
                    closure.depth[next.index()] == depth - 1
                        && closure.exact[next.index()]
                        && !calls.is_some_and(|calls| calls.is_call_boundary(next))
                });
            }
            for &before in &before[starts[state.index()] as usize..starts[state.index() + 1] as usize] {
                if closure.depth[before.index()] == u32::MAX {
                    closure.depth[before.index()] = depth + 1;
                    queue.push(before);
                }
            }
        }
        Ok(closure)
    }
}
