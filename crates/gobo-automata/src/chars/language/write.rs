//! Languages as expressions of a grammar: the automaton as a machine, whose characters are spelled by the caller.

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError, DenseId as _, Utf8Place};

use super::Language;
use crate::chars::expr::{Expr, Machine, MachineState};
use crate::chars::set::CharSet;
use crate::ids::{CharState, Symbol};

impl Language {
    /// The language as an expression, in which `spell` says how the characters of a set are written. O(edges log edges), and
    /// one call of `spell` for each set that some edge reads.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn to_expr(
        &self,
        mut spell: impl FnMut(&CharSet) -> Expr,
        budget: &Budget,
    ) -> Result<Expr, CompileError> {
        const PHASE: &str = "writing an automaton";
        /// Steps of a range of a set that is spelled.
        const STEPS_PER_RANGE: u64 = 8;
        let mut machine = Machine::default();
        // The states of the machine are those of the automaton.
        let of = |state: CharState| MachineState::new(state.index());
        // Character sets are few, and each is written for every edge that reads it.
        let mut spelled: HashMap<Vec<Symbol>, Expr> = HashMap::new();
        for state in CharState::range(0..self.len()) {
            machine.add_state(self.dfa.is_accepting(state));
            budget.charge_steps(PHASE, 1 + self.dfa.row(state).len() as u64)?;
            let mut row: Vec<(CharState, Symbol)> =
                self.dfa.row(state).iter().map(|&(class, to)| (to, class)).collect();
            row.sort_unstable();
            for of_state in row.chunk_by(|a, b| a.0 == b.0) {
                let classes: Vec<Symbol> = of_state.iter().map(|edge| edge.1).collect();
                if !spelled.contains_key(&classes) {
                    budget.charge_steps(PHASE, self.dfa.ranges.len() as u64)?;
                    let chars = self.chars_of(&classes);
                    budget.charge_steps(PHASE, STEPS_PER_RANGE * (1 + chars.0.len() as u64))?;
                    spelled.insert(classes.clone(), spell(&chars));
                }
                machine.add_edge(of(state), spelled[&classes].clone(), of(of_state[0].0));
            }
        }
        machine.start = of(self.dfa.start());
        Ok(Expr::Machine(Box::new(machine)))
    }

    /// Whether its texts hold token sets ([`CharSet::token_set`]). O(ranges).
    pub fn has_token_sets(&self) -> bool {
        self.dfa.ranges.iter().any(|range| CharSet::is_token_set(range.0))
    }

    /// The language as an expression in which each token set that `token` is told is read by tokens of text, such that the tokens of each run, of as many
    /// as follow each other, are valid UTF-8 as a whole: `token` writes those that lead from one place inside of a character to another, if there can
    /// be any. O(edges × places).
    ///
    /// # Errors
    /// [`CompileError::OverBudget`]; those of `token`.
    pub fn with_text_tokens(
        &self,
        mut token: impl FnMut(usize, Utf8Place, Utf8Place) -> Result<Option<Expr>, CompileError>,
        budget: &Budget,
    ) -> Result<Expr, CompileError> {
        let Expr::Machine(plain) = self.to_expr(|chars| Expr::Chars(chars.clone()), budget)? else {
            unreachable!("an automaton is written as a machine")
        };
        let mut machine = Machine::default();
        let places = Utf8Place::all().count();
        let state_of = |state: MachineState, place: Utf8Place| {
            MachineState::new(state.index() * places + place.number())
        };
        for state in (0..plain.len()).map(CharState::new) {
            for place in Utf8Place::all() {
                machine.add_state(place == Utf8Place::BETWEEN && self.dfa.is_accepting(state));
            }
        }
        for (from, edges) in MachineState::enumerate(&plain.edges) {
            for (expr, to) in edges {
                let Expr::Chars(set) = expr else { unreachable!("each edge was written as a set") };
                let (sets, chars) = set.split_token_sets().unwrap_or((Vec::new(), set.clone()));
                if !chars.is_empty() {
                    let [from, to] = [from, *to].map(|state| state_of(state, Utf8Place::BETWEEN));
                    machine.add_edge(from, Expr::Chars(chars), to);
                }
                for number in sets {
                    for (one, next) in
                        Utf8Place::all().flat_map(|one| Utf8Place::all().map(move |next| (one, next)))
                    {
                        budget.charge_steps("reading tokens of text", 1)?;
                        if let Some(token) = token(number, one, next)? {
                            machine.add_edge(state_of(from, one), token, state_of(*to, next));
                        }
                    }
                }
            }
        }
        machine.start = state_of(plain.start, Utf8Place::BETWEEN);
        Ok(Expr::Machine(Box::new(machine)))
    }

    /// The language as an expression for a rule whose tokens are counted ([`gobo_types::LengthRange::tokens`]). `spent` is read where the budget
    /// is spent: from each state it leads to its *twin*, from which the text ends as soon as it can. So the texts without `spent` are those of the
    /// language, and behind it nothing comes where a text of the language has ended, else what leads to the next end. O(edges log edges).
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn spent(&self, spent: &Expr, budget: &Budget) -> Result<Expr, CompileError> {
        let Expr::Machine(mut machine) = self.to_expr(|chars| Expr::Chars(chars.clone()), budget)? else {
            unreachable!("an automaton is written as a machine")
        };
        let states = machine.len();
        let twin = |state: MachineState| MachineState::new(states + state.index());
        for state in (0..states).map(MachineState::new) {
            machine.add_state(self.dfa.is_accepting(CharState::new(state.index())));
        }
        for state in (0..states).map(MachineState::new) {
            if !self.dfa.is_accepting(CharState::new(state.index())) {
                let edges = machine.edges[state].clone();
                edges.into_iter().for_each(|(expr, to)| machine.add_edge(twin(state), expr, twin(to)));
            }
            machine.add_edge(state, spent.clone(), twin(state));
        }
        Ok(Expr::Machine(machine))
    }

    /// The edges from a state: sets of characters, and the states after them, each once. O(edges log edges + ranges × states after).
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn edges(
        &self,
        state: CharState,
        budget: &Budget,
    ) -> Result<Vec<(CharSet, CharState)>, CompileError> {
        let mut row: Vec<(CharState, Symbol)> =
            self.dfa.row(state).iter().map(|&(class, to)| (to, class)).collect();
        row.sort_unstable();
        let mut edges = Vec::new();
        for of_state in row.chunk_by(|a, b| a.0 == b.0) {
            budget.charge_steps("writing an automaton", (self.dfa.ranges.len() + of_state.len()) as u64)?;
            let classes: Vec<Symbol> = of_state.iter().map(|edge| edge.1).collect();
            edges.push((self.chars_of(&classes), of_state[0].0));
        }
        Ok(edges)
    }

    /// The characters of classes; `classes`: ascending.
    fn chars_of(&self, classes: &[Symbol]) -> CharSet {
        let is_in = |class: &Symbol| classes.binary_search(class).is_ok();
        let ranges = self.dfa.ranges.iter().filter(|range| is_in(&range.2));
        CharSet::of_codes(ranges.map(|&(first, last, _)| (first, last)))
    }
}
