//! Leaves: sets of texts that a tree takes whole, each its minimal automaton over minterms.
//!
//! A text of a leaf is read character by character, and after each character it ends or goes on. One that goes on has to read
//! another: so each text of a leaf at a place is read in one way.

use gobo_automata::{CharState, Language, Minterms, Symbol};
use gobo_types::{Budget, CompileError, DenseId as _, Table};

const PHASE: &str = "looking at terminals";

/// Bytes that an edge is charged.
const EDGE_BYTES: u64 = 8;

/// No text at all, in the place of a length.
pub(super) const NO_TEXT: u32 = u32::MAX;

/// The sum of two lengths; [`NO_TEXT`] if one of them is.
pub(super) fn plus(a: u32, b: u32) -> u32 {
    if a == NO_TEXT || b == NO_TEXT { NO_TEXT } else { a.saturating_add(b).min(NO_TEXT - 1) }
}

/// A set of texts.
pub(super) struct Leaf {
    start: CharState,
    /// `[states]`: the minterms that lead on, ascending, and the states after them.
    edges: Table<CharState, Vec<(Symbol, CharState)>>,
    accepting: Table<CharState, bool>,
    /// `[states]`: characters to the end of the shortest text, one at least.
    more: Table<CharState, u32>,
}

impl Leaf {
    /// The texts of a language, the one at `at` among those of the minterms. O(states × (minterms + the length of the longest of all
    /// shortest texts)).
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(super) fn of(
        language: &Language,
        at: usize,
        minterms: &Minterms,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        let mut edges = Table::new();
        let mut accepting = Table::new();
        for state in CharState::range(0..language.len()) {
            budget.charge_steps(PHASE, minterms.all().len() as u64)?;
            let mut row = Vec::new();
            if state != CharState::DEAD {
                let steps =
                    minterms.all().map(|minterm| (minterm, minterms.step(minterm, at, language, state)));
                row.extend(steps.filter(|(_, to)| *to != CharState::DEAD));
            }
            budget.charge_bytes(PHASE, row.len() as u64 * EDGE_BYTES)?;
            edges.push(row);
            accepting.push(state != CharState::DEAD && language.may_end(state));
        }
        let mut leaf =
            Self { start: language.start(), more: Table::filled(NO_TEXT, edges.len()), edges, accepting };
        leaf.measure(budget)?;
        Ok(leaf)
    }

    fn measure(&mut self, budget: &Budget) -> Result<(), CompileError> {
        loop {
            let mut has_changed = false;
            // Texts lead from lower states to higher ones, mostly.
            for state in self.edges.ids().rev() {
                budget.charge_steps(PHASE, 1 + self.edges[state].len() as u64)?;
                let after = self.edges[state].iter().map(|(_, to)| plus(1, self.to_end(*to)));
                let more = after.min().unwrap_or(NO_TEXT);
                has_changed |= more != self.more[state];
                self.more[state] = more;
            }
            if !has_changed {
                return Ok(());
            }
        }
    }

    /// The state in which texts begin.
    pub(super) fn start(&self) -> CharState {
        self.start
    }

    /// Whether texts may end in a state.
    pub(super) fn may_end(&self, state: CharState) -> bool {
        self.accepting[state]
    }

    /// Characters from a state to the end of the shortest text, one at least; [`NO_TEXT`] where it cannot go on.
    pub(super) fn more(&self, state: CharState) -> u32 {
        self.more[state]
    }

    /// Characters from a state to the end of the shortest text.
    fn to_end(&self, state: CharState) -> u32 {
        if self.accepting[state] { 0 } else { self.more[state] }
    }

    /// The length of the shortest text; [`NO_TEXT`] where there is none.
    pub(super) fn least(&self) -> u32 {
        self.to_end(self.start)
    }

    /// Whether there is a text that is not empty.
    pub(super) fn reads(&self) -> bool {
        self.more[self.start] != NO_TEXT
    }

    /// The minterms that lead on from a state, ascending, and the states after them.
    pub(super) fn edges(&self, state: CharState) -> &[(Symbol, CharState)] {
        &self.edges[state]
    }

    /// The state after a minterm.
    pub(super) fn step(&self, state: CharState, minterm: Symbol) -> Option<CharState> {
        let at = self.edges[state].binary_search_by_key(&minterm, |edge| edge.0).ok()?;
        Some(self.edges[state][at].1)
    }
}
