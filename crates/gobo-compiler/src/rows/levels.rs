//! One level of the stack: what states do there beside reading.
//!
//! A row is the union of what is read on each level of the stack that a token reaches. On a level a state reads, ends at its exit, or
//! calls rules; what it calls is told as one more exit, a *call exit*, beyond those of the rules. So a walk of the vocabulary on one level leaves
//! suffixes for both, and knows no stack.

use foldhash::{HashMap, HashMapExt};
use gobo_automata::{Calls, ExitId, PushTransition, ReturnId, StateId};
use gobo_types::{Budget, CompileError, DenseId as _};

use super::PHASE;
use super::view::RuleView;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Levels {
    /// `[states]`: the exit of its calls, if it has any.
    of_state: Vec<Option<ExitId>>,
    /// The first call exit.
    first: usize,
    /// `[call exits]`: a state with these calls.
    states: Vec<StateId>,
}

impl Levels {
    /// Those of an automaton. O(states + calls).
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn of(calls: &Calls, states: usize, budget: &Budget) -> Result<Self, CompileError> {
        let exits = StateId::range(0..states).map(|state| calls.exit(state).index() + 1).max().unwrap_or(1);
        let of_rows = calls.returns.iter().flat_map(|of| &of.row).map(|way| way.0.index() + 1).max();
        let first = exits.max(of_rows.unwrap_or(0));
        let mut known: HashMap<Vec<(StateId, &[ReturnId])>, ExitId> = HashMap::new();
        let mut levels = Self { of_state: vec![None; states], first, states: Vec::new() };
        budget.charge_bytes(PHASE, states as u64 * 8)?;
        for state in StateId::range(0..states) {
            let pushes = calls.push_transitions(state);
            if pushes.is_empty() {
                continue;
            }
            let pushed: usize = pushes.iter().map(|push| calls.pushed(push).len()).sum();
            budget.charge_steps(PHASE, (pushes.len() + pushed) as u64)?;
            let key: Vec<_> = pushes.iter().map(|push| (push.entry, calls.pushed(push))).collect();
            if !known.contains_key(&key) {
                budget.charge_bytes(PHASE, 48 + pushes.len() as u64 * 24)?;
            }
            let exit = *known.entry(key).or_insert_with(|| {
                levels.states.push(state);
                ExitId::new(first + levels.states.len() - 1)
            });
            levels.of_state[state.index()] = Some(exit);
        }
        Ok(levels)
    }

    /// The exits of a state, that of its calls among them.
    pub(super) fn ends(&self, view: &RuleView<'_>, state: StateId) -> impl Iterator<Item = ExitId> + use<> {
        let own = view.accepts(state).then(|| view.exit(state));
        own.into_iter().chain(self.of_state[state.index()])
    }

    /// The exit of the calls of a state.
    pub(crate) fn call_exit(&self, state: StateId) -> Option<ExitId> {
        self.of_state[state.index()]
    }

    /// The calls that a call exit stands for; `None` of an exit of a rule.
    pub(crate) fn calls<'a>(&self, view: &RuleView<'a>, exit: ExitId) -> Option<&'a [PushTransition]> {
        let at = exit.index().checked_sub(self.first)?;
        Some(view.push_transitions(self.states[at]))
    }
}
