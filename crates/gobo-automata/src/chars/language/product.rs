//! Operations of sets, by the product construction (Rabin & Scott 1959, section 4).
//!
//! A state of the product is the tuple of the states of its parts. A part whose answer is known, or on which the answer does not
//! depend any more, is put into its dead state: tuples that differ there alone are one state.

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError, DenseId as _, dense_id};

use super::Language;
use super::minterms::joint_classes;
use crate::chars::dfa::CharDfa;
use crate::equivalence::Edges as _;
use crate::ids::{CharState, Symbol};
use crate::symbols::Interner;

dense_id! {
    /// A tuple of states, one of each part.
    struct TupleId;
}

/// The state of the product that a tuple is: the dead state has none.
fn state_of(tuple: TupleId) -> CharState {
    CharState::new(tuple.index() + 1)
}

impl Language {
    /// The texts for which `accepts` says yes, told which of `parts` they belong to: any operation of sets. The states are
    /// those of the product; `accepts` must say the same for the same answer.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`]: states multiply.
    pub fn combine(
        parts: &[&Language],
        accepts: impl Fn(&[bool]) -> bool,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        Self::combine_open(parts, |is_in| Ok(accepts(is_in)), |_| Ok(vec![true; parts.len()]), budget)
    }

    /// As [`combine`](Self::combine), where `matters` is told which of the parts are decided, and how, whatever is read next,
    /// and says on which of the others the answer may still depend. What does not matter any more has no states.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`]: states multiply. O(states × classes × parts), one call of `accepts` for each state, and one
    /// of `matters` for each way in which parts are decided; these charge what they cost themselves. Errors of both.
    pub fn combine_open(
        parts: &[&Language],
        accepts: impl Fn(&[bool]) -> Result<bool, CompileError>,
        matters: impl FnMut(&[Option<bool>]) -> Result<Vec<bool>, CompileError>,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        Self::held(budget, || Self::product(parts, accepts, matters, budget))
    }

    fn product(
        parts: &[&Language],
        accepts: impl Fn(&[bool]) -> Result<bool, CompileError>,
        mut matters: impl FnMut(&[Option<bool>]) -> Result<Vec<bool>, CompileError>,
        budget: &Budget,
    ) -> Result<CharDfa, CompileError> {
        const PHASE: &str = "combining automata";
        let everything: Vec<Option<CharState>> = parts.iter().map(|part| part.everything()).collect();
        let mut known: HashMap<Vec<Option<bool>>, Vec<bool>> = HashMap::new();
        let mut decided: Vec<Option<bool>> = Vec::with_capacity(parts.len());
        // A part that does not matter is as good as in its dead state.
        let mut settle = |tuple: &mut [CharState]| {
            decided.clear();
            decided.extend(tuple.iter().zip(&everything).map(|(&state, &everything)| match state {
                CharState::DEAD => Some(false),
                state => (Some(state) == everything).then_some(true),
            }));
            if decided.iter().all(Option::is_none) {
                return Ok(());
            }
            if !known.contains_key(&decided) {
                budget.charge_bytes(PHASE, 96 + 2 * decided.len() as u64)?;
                known.insert(decided.clone(), matters(&decided)?);
            }
            let open = tuple.iter_mut().zip(&decided).zip(&known[&decided]);
            for ((state, decided), matters) in open {
                if decided.is_none() && !matters {
                    *state = CharState::DEAD;
                }
            }
            Ok::<_, CompileError>(())
        };
        let parts_ranges: Vec<_> = parts.iter().map(|part| part.dfa.ranges.as_slice()).collect();
        let (ranges, columns) = joint_classes(&parts_ranges, budget)?;
        let mut tuples: Interner<TupleId, CharState> = Interner::default();
        let mut start: Vec<CharState> = parts.iter().map(|part| part.dfa.start()).collect();
        budget.charge_steps(PHASE, 1 + parts.len() as u64)?;
        settle(&mut start)?;
        let first = state_of(tuples.intern(&start).0);
        let mut dfa = CharDfa::new(ranges, columns.len());
        let mut row: Vec<(Symbol, CharState)> = Vec::new();
        let mut tuple = start;
        let mut next = Vec::new();
        let mut unsettled = Vec::new();
        let mut is_in = Vec::new();
        let mut at = 0;
        while at < tuples.len() {
            tuple.copy_from_slice(tuples.get(TupleId::new(at)));
            is_in.clear();
            is_in.extend(parts.iter().zip(&tuple).map(|(part, state)| part.dfa.is_accepting(*state)));
            row.clear();
            for (class, column) in Symbol::enumerate(&columns) {
                budget.charge_steps(PHASE, 1 + parts.len() as u64)?;
                next.clear();
                let steps = parts.iter().zip(&tuple).zip(column);
                next.extend(steps.map(|((part, &state), &class)| part.step(state, class)));
                // Most classes lead where the one before them leads.
                if let Some(&(_, to)) = row.last()
                    && next == unsettled
                {
                    row.push((class, to));
                    continue;
                }
                unsettled.clone_from(&next);
                settle(&mut next)?;
                let (to, is_new) = tuples.intern(&next);
                if is_new {
                    budget.check_states(PHASE, tuples.len())?;
                    budget.charge_bytes(PHASE, next.len() as u64 * 4 + 16)?;
                }
                row.push((class, state_of(to)));
            }
            budget.charge_bytes(PHASE, row.len() as u64 * 8)?;
            dfa.push(&row, accepts(&is_in)?);
            at += 1;
        }
        dfa.symbols.start = first;
        dfa.canonical(budget)
    }

    /// All other texts. O(states × classes).
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn complement(&self, budget: &Budget) -> Result<Self, CompileError> {
        const PHASE: &str = "combining automata";
        Self::held(budget, || {
            let (ranges, columns) = joint_classes(&[self.dfa.ranges.as_slice()], budget)?;
            let mut dfa = CharDfa::new(ranges, columns.len());
            let everything = CharState::new(self.len());
            let mut row: Vec<(Symbol, CharState)> = Vec::new();
            for state in CharState::range(1..self.len()) {
                row.clear();
                // What led nowhere now leads to where all texts are accepted.
                row.extend(Symbol::enumerate(&columns).map(
                    |(class, column)| match self.step(state, column[0]) {
                        CharState::DEAD => (class, everything),
                        next => (class, next),
                    },
                ));
                dfa.push(&row, !self.may_end(state));
            }
            // Only what is reached may have a state.
            if self.is_empty() || dfa.symbols.edges().any(|(_, _, to)| to == everything) {
                row.clear();
                row.extend(Symbol::range(0..columns.len()).map(|class| (class, everything)));
                dfa.push(&row, true);
            }
            budget.charge_steps(PHASE, dfa.symbols.edge_count() as u64)?;
            budget.charge_bytes(PHASE, dfa.bytes())?;
            dfa.symbols.start = if self.is_empty() { everything } else { self.start() };
            dfa.canonical(budget)
        })
    }

    /// The texts of both.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`]: states multiply.
    pub fn intersection(&self, other: &Self, budget: &Budget) -> Result<Self, CompileError> {
        Self::combine(&[self, other], |is_in| is_in[0] && is_in[1], budget)
    }

    /// The texts of either.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`]: states multiply.
    pub fn union(&self, other: &Self, budget: &Budget) -> Result<Self, CompileError> {
        Self::combine(&[self, other], |is_in| is_in[0] || is_in[1], budget)
    }
}
