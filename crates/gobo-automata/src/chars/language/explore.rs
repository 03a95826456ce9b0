//! Languages of deterministic procedures: their states are found breadth first, and the automaton is made minimal.

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError, DenseId as _};

use super::{Language, Minterms};
use crate::chars::dfa::CharDfa;
use crate::ids::{CharState, Symbol};

impl Language {
    /// The texts that a deterministic procedure accepts, which reads characters of `alphabet` alone.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`]: the procedure may have any number of states.
    pub fn explore<S: std::hash::Hash + Eq + Clone>(
        alphabet: &[char],
        start: S,
        mut next: impl FnMut(&S, char) -> Option<S>,
        accepts: impl Fn(&S) -> bool,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        let mut letters: Vec<char> = alphabet.to_vec();
        letters.sort_unstable();
        letters.dedup();
        let ranges = Symbol::enumerate(&letters)
            .map(|(class, &char)| (u32::from(char), u32::from(char), class))
            .collect();
        let dfa = CharDfa::new(ranges, letters.len());
        let expand = |state: &S, row: &mut Vec<(Symbol, S)>| {
            row.extend(
                Symbol::enumerate(&letters).filter_map(|(class, &char)| Some((class, next(state, char)?))),
            );
            Ok(accepts(state))
        };
        Self::held(budget, || Self::explore_rows(dfa, start, expand, budget))
    }

    /// The texts that a deterministic procedure accepts, which reads minterms: `expand` says whether texts
    /// may end in a state, and pushes the minterms that lead on from it, ascending, with the states after them.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`]: the procedure may have any number of states. Errors of `expand`.
    pub fn explore_minterms<S: std::hash::Hash + Eq + Clone>(
        minterms: &Minterms,
        start: S,
        expand: impl FnMut(&S, &mut Vec<(Symbol, S)>) -> Result<bool, CompileError>,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        let dfa = CharDfa::new(minterms.ranges.clone(), minterms.columns.len());
        Self::held(budget, || Self::explore_rows(dfa, start, expand, budget))
    }

    /// Fills `dfa` with the states that `expand` leads to.
    fn explore_rows<S: std::hash::Hash + Eq + Clone>(
        mut dfa: CharDfa,
        start: S,
        mut expand: impl FnMut(&S, &mut Vec<(Symbol, S)>) -> Result<bool, CompileError>,
        budget: &Budget,
    ) -> Result<CharDfa, CompileError> {
        const PHASE: &str = "exploring an automaton";
        let mut known: HashMap<S, CharState> = HashMap::new();
        known.insert(start.clone(), CharState::new(1));
        let mut order = vec![start];
        let mut after: Vec<(Symbol, S)> = Vec::new();
        let mut row = Vec::new();
        let mut at = 0;
        while let Some(state) = order.get(at) {
            row.clear();
            let accepting = expand(state, &mut after)?;
            for (class, state) in after.drain(..) {
                let to = *known.entry(state).or_insert_with_key(|state| {
                    order.push(state.clone());
                    CharState::new(order.len())
                });
                row.push((class, to));
            }
            budget.charge_steps(PHASE, dfa.classes as u64)?;
            budget.charge_bytes(PHASE, 32 + row.len() as u64 * 8)?;
            budget.check_states(PHASE, order.len())?;
            dfa.push(&row, accepting);
            at += 1;
        }
        dfa.symbols.start = CharState::new(1);
        dfa.canonical(budget)
    }
}
