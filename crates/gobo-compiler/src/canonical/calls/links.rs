//! The product with calls, as numbers: exits, return states, and what may be on top of the stack.
//!
//! A rule ends at an exit of the constraint, and its chunks stand somewhere: the two together are an exit of the product. What is on the stack knows nothing of
//! chunks, so a return state of the constraint is a return state of the product, with a state after each of its exits. One more of them is at the
//! bottom of each stack: the whole text returns to it, to a state behind the end.

use foldhash::HashMap;
use gobo_artifact::layout::Chunks;
use gobo_automata::{ExitId, ReturnId, TopSetId};
use gobo_types::{Budget, CompileError, DenseId as _, Table, dense_id};

use crate::canonical::product::{Bottom, DEAD, Product};
use crate::canonical::rules::Rules;
use crate::canonical::walk::PHASE;

dense_id! {
    /// An exit of the product.
    pub(super) struct PairExit;

    /// The return states that may lie on top of the stack.
    pub(super) struct TopsId;
}

/// See the [module](self).
pub(super) struct Links {
    /// By exit and state of chunks.
    pub(super) number: HashMap<(ExitId, u16), PairExit>,
    /// `[states]`: the exit of those at which a rule may end.
    pub(super) exit: Vec<Option<PairExit>>,
    /// The states after exits, by return state; the last one is at the bottom.
    pub(super) returns: Table<ReturnId, HashMap<PairExit, u32>>,
    /// `[states]`.
    pub(super) tops: Vec<TopsId>,
    /// Ascending.
    pub(super) of_tops: Table<TopsId, Vec<ReturnId>>,
}

impl Links {
    pub(super) fn new(
        rules: &Rules<'_>,
        product: &Product,
        bottom: &Bottom,
        chunks: &Chunks<'_>,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        let Rules { dfa, calls } = rules;
        let mut links = Self {
            number: HashMap::default(),
            exit: vec![None; product.len()],
            returns: Table::new(),
            tops: Vec::with_capacity(product.len()),
            of_tops: Table::new(),
        };
        let at_bottom = ReturnId::new(calls.returns.len());
        let mut known: HashMap<Vec<ReturnId>, TopsId> = HashMap::default();
        let mut of_set: HashMap<(TopSetId, bool), TopsId> = HashMap::default();
        let mut intern = |tops: Vec<ReturnId>, all: &mut Table<TopsId, Vec<ReturnId>>| {
            *known.entry(tops).or_insert_with_key(|tops| all.push(tops.clone()))
        };
        for (number, &(state, chunk)) in product.pairs.iter().enumerate() {
            if number == DEAD as usize || state == bottom.end {
                let none = intern(Vec::new(), &mut links.of_tops);
                links.tops.push(none);
                continue;
            }
            let is_below = bottom.is_below[state.index()];
            let tops = *of_set.entry((calls.top_set(state), is_below)).or_insert_with(|| {
                let tops = calls.stack_tops(state).iter().copied().chain(is_below.then_some(at_bottom));
                intern(tops.collect(), &mut links.of_tops)
            });
            links.tops.push(tops);
            if dfa.accepting[state] {
                let fresh = PairExit::new(links.number.len());
                links.exit[number] = Some(*links.number.entry((calls.exit(state), chunk)).or_insert(fresh));
            }
        }
        let cells = links.number.len() as u64 * (calls.returns.len() + 1) as u64;
        budget.charge_steps(PHASE, product.len() as u64 + cells)?;
        for of in &calls.returns {
            let row = links.number.iter().filter_map(|(&(exit, chunk), &number)| {
                let state = product.state_of((of.state(exit)?, chunk));
                (state != DEAD).then_some((number, state))
            });
            links.returns.push(row.collect());
        }
        let end = |(&(_, chunk), &number): (&(ExitId, u16), &PairExit)| {
            let state = product.state_of((bottom.end, chunk));
            (chunks.may_end(chunk) && state != DEAD).then_some((number, state))
        };
        links.returns.push(links.number.iter().filter_map(end).collect());
        links.keep_met();
        let held: usize = links.returns.iter().map(|of| of.len() * 12).sum();
        budget.charge_bytes(PHASE, held as u64 + product.len() as u64 * 12)?;
        Ok(links)
    }

    /// Forgets the exits after which no return state goes on.
    fn keep_met(&mut self) {
        let mut met: Vec<PairExit> = self.returns.iter().flat_map(HashMap::keys).copied().collect();
        met.sort_unstable();
        met.dedup();
        let fresh = |exit: &PairExit| met.binary_search(exit).ok().map(PairExit::new);
        self.number = self.number.iter().filter_map(|(&of, exit)| Some((of, fresh(exit)?))).collect();
        self.exit.iter_mut().for_each(|exit| *exit = exit.as_ref().and_then(fresh));
        for row in self.returns.iter_mut() {
            *row = row.iter().filter_map(|(exit, &state)| Some((fresh(exit)?, state))).collect();
        }
    }

    /// The return state at the bottom of each stack.
    pub(super) fn bottom(&self) -> ReturnId {
        ReturnId::new(self.returns.len() - 1)
    }

    /// The state after an exit of the rule above a return state.
    pub(super) fn after(&self, top: ReturnId, exit: PairExit) -> Option<u32> {
        self.returns[top].get(&exit).copied()
    }

    /// The return states that may be on top of the stack at a state.
    pub(super) fn tops(&self, state: u32) -> &[ReturnId] {
        &self.of_tops[self.tops[state as usize]]
    }

    /// `[returns]`: what may be below each.
    pub(super) fn below(&self) -> Vec<Vec<ReturnId>> {
        let of = |row: &HashMap<PairExit, u32>| {
            let mut all: Vec<ReturnId> = row.values().flat_map(|&state| self.tops(state)).copied().collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        self.returns.iter().map(of).collect()
    }
}
