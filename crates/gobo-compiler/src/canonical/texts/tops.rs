//! What may lie on top of the stack. The whole text is as called from a return state at the bottom, and returns to its end.

use foldhash::HashMap;
use gobo_automata::{Calls, Dfa, ExitId, ReturnId, StateId, TopSetId};
use gobo_types::{Budget, CompileError, DenseId as _, Table, dense_id};

use crate::canonical::walk::PHASE;

dense_id! {
    /// The return states that may lie on top of the stack.
    pub(crate) struct TopsId;
}

/// Where a return state leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    To(StateId),
    /// The whole text ends.
    End,
}

/// See the [module](self).
pub(crate) struct Tops<'a> {
    calls: &'a Calls,
    /// `[states]`: whether the text may stand there with nothing on its stack.
    pub(crate) is_below: Vec<bool>,
    /// `[states]`.
    of: Vec<TopsId>,
    /// Ascending.
    all: Table<TopsId, Vec<ReturnId>>,
}

impl<'a> Tops<'a> {
    /// O(transitions).
    pub(super) fn new(dfa: &Dfa, calls: &'a Calls, budget: &Budget) -> Result<Self, CompileError> {
        let is_below = is_below(dfa, calls, budget)?;
        let bottom = ReturnId::new(calls.returns.len());
        let (mut all, mut known) = (Table::new(), HashMap::<Vec<ReturnId>, TopsId>::default());
        let mut of_set: HashMap<(TopSetId, bool), TopsId> = HashMap::default();
        let of = StateId::range(0..dfa.len()).map(|state| {
            let is_below = is_below[state.index()];
            *of_set.entry((calls.top_set(state), is_below)).or_insert_with(|| {
                let tops =
                    calls.stack_tops(state).iter().copied().chain(is_below.then_some(bottom)).collect();
                *known.entry(tops).or_insert_with_key(|tops| all.push(tops.clone()))
            })
        });
        let of = of.collect();
        Ok(Self { calls, is_below, of, all })
    }

    /// The return state at the bottom of each stack.
    pub(crate) fn bottom(&self) -> ReturnId {
        ReturnId::new(self.calls.returns.len())
    }

    /// What may be on top of the stack at a state.
    pub(crate) fn set(&self, state: StateId) -> TopsId {
        self.of[state.index()]
    }

    pub(crate) fn members(&self, tops: TopsId) -> &[ReturnId] {
        &self.all[tops]
    }

    pub(crate) fn at(&self, state: StateId) -> &[ReturnId] {
        &self.all[self.set(state)]
    }

    /// Where a return state leads behind an exit of the rule above it.
    pub(crate) fn after(&self, top: ReturnId, exit: ExitId) -> Option<After> {
        if top == self.bottom() {
            return Some(After::End);
        }
        self.calls.returns[top.index()].state(exit).map(After::To)
    }

    /// `[returns]`: what may be below each; the last one is at the bottom.
    pub(crate) fn below(&self) -> Vec<Vec<ReturnId>> {
        let of = |states: Vec<StateId>| {
            let mut all: Vec<ReturnId> =
                states.into_iter().flat_map(|state| self.at(state)).copied().collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        self.calls.returns.iter().map(|top| of(top.states().collect())).chain([Vec::new()]).collect()
    }
}

/// `[states]`: whether the text may stand there with nothing on its stack. O(transitions).
fn is_below(dfa: &Dfa, calls: &Calls, budget: &Budget) -> Result<Vec<bool>, CompileError> {
    let mut is_below = vec![false; dfa.len()];
    let mut open = vec![dfa.start];
    while let Some(state) = open.pop() {
        if std::mem::replace(&mut is_below[state.index()], true) {
            continue;
        }
        budget.charge_steps(PHASE, dfa.stride as u64)?;
        open.extend((0..dfa.stride).filter_map(|class| dfa.step(state, class)));
        for push in calls.push_transitions(state) {
            match calls.pushed(push) {
                [] => open.push(push.entry),
                [outermost, ..] => open.extend(calls.returns[outermost.index()].states()),
            }
        }
    }
    Ok(is_below)
}
