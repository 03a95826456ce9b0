//! States from which some text can be completed, whatever is on the stack.
//!
//! Every text has an encoding, so where only texts matter, and not where their tokens end, rules that call each other are a push-down automaton as any: of
//! each state the exits are found that its rule can come to from there, by summaries (Sharir & Pnueli 1981), least fixpoint. A state is *open* if for
//! each return state that may be on top of the stack there is such an exit after which the text is at an open state again. That is the greatest
//! fixpoint, and no text has to go round for it: each return makes the stack smaller, so it is true of stacks of any depth by induction.

use foldhash::{HashMap, HashMapExt};
use gobo_automata::{PushTransition, ReturnId, StateId};
use gobo_types::{Budget, CompileError, DenseId as _, checked_u32};

use super::links::{Links, PairExit, TopsId};
use crate::canonical::product::{Bottom, DEAD, Product};
use crate::canonical::rules::Rules;
use crate::canonical::walk::PHASE;

/// See the [module](self).
pub(super) struct Texts {
    /// `[states]`: whether its rule can be ended from there at all.
    pub(super) can_end: Vec<bool>,
    /// `[states]`.
    pub(super) is_open: Vec<bool>,
}

/// What can be done at a state.
struct Ways {
    /// States of the rule at hand that follow.
    own: Vec<u32>,
    /// The first states of rules that are called, and what is pushed, outermost first.
    called: Vec<(u32, Vec<ReturnId>)>,
}

impl Texts {
    pub(super) fn new(
        rules: &Rules<'_>,
        product: &Product,
        bottom: &Bottom,
        links: &Links,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        let ways = ways(rules, product, bottom);
        let held =
            |of: &Ways| of.own.len() * 4 + of.called.iter().map(|call| 32 + call.1.len() * 4).sum::<usize>();
        budget.charge_bytes(PHASE, ways.iter().map(|of| 48 + held(of) as u64).sum())?;
        let exits = Exits::new(&ways, product, links, budget)?;
        // States with the same exits below the same return states are alike.
        let mut known: HashMap<(TopsId, &[u64]), usize> = HashMap::new();
        let mut classes: Vec<(TopsId, &[u64])> = Vec::new();
        let mut class_of = Vec::with_capacity(product.len());
        for state in 0..product.len() {
            let class = (links.tops[state], exits.of(state));
            class_of.push(*known.entry(class).or_insert_with(|| {
                classes.push(class);
                classes.len() - 1
            }));
        }
        let is_end = |state: u32| product.pairs[state as usize].0 == bottom.end;
        let mut is_open = vec![true; classes.len()];
        loop {
            let mut changed = false;
            for (class, &(tops, exits)) in classes.iter().enumerate() {
                if !is_open[class] {
                    continue;
                }
                let tops = &links.of_tops[tops];
                budget.charge_steps(PHASE, 1 + (tops.len() * links.number.len()) as u64 / 8)?;
                let goes_on = |&top: &ReturnId| {
                    numbers(exits)
                        .filter_map(|exit| links.after(top, exit))
                        .any(|state| is_end(state) || is_open[class_of[state as usize]])
                };
                if !tops.iter().all(goes_on) || tops.is_empty() {
                    is_open[class] = false;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        let can_end = (0..product.len()).map(|state| exits.of(state).iter().any(|&word| word != 0)).collect();
        let open = (0..checked_u32(product.len()))
            .map(|state| state != DEAD && (is_end(state) || is_open[class_of[state as usize]]))
            .collect();
        Ok(Self { can_end, is_open: open })
    }
}

fn numbers(set: &[u64]) -> impl Iterator<Item = PairExit> {
    set.iter().enumerate().flat_map(|(at, &word)| {
        (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| PairExit::new(at * 64 + bit))
    })
}

fn ways(rules: &Rules<'_>, product: &Product, bottom: &Bottom) -> Vec<Ways> {
    let of = |(number, &(state, chunk)): (usize, &(StateId, u16))| {
        if number == DEAD as usize || state == bottom.end {
            return Ways { own: Vec::new(), called: Vec::new() };
        }
        let number = checked_u32(number);
        let mut own: Vec<u32> = product.all_next(number).chain(product.borders(number)).collect();
        own.sort_unstable();
        own.dedup();
        own.retain(|&next| next != DEAD);
        let called = |push: &PushTransition| {
            let entry = product.state_of((push.entry, chunk));
            (entry != DEAD).then(|| (entry, rules.calls.pushed(push).to_vec()))
        };
        let called = rules.calls.push_transitions(state).iter().filter_map(called).collect();
        Ways { own, called }
    };
    product.pairs.iter().enumerate().map(of).collect()
}

/// The exits that each state can come to: `[states, words]`.
struct Exits {
    words: usize,
    flat: Vec<u64>,
}

impl Exits {
    fn new(ways: &[Ways], product: &Product, links: &Links, budget: &Budget) -> Result<Self, CompileError> {
        let words = links.number.len().div_ceil(64).max(1);
        budget.charge_bytes(PHASE, (product.len() * words * 8) as u64)?;
        let mut exits = Self { words, flat: vec![0; product.len() * words] };
        for (state, exit) in links.exit.iter().enumerate() {
            if let Some(exit) = exit {
                exits.flat[state * words + exit.index() / 64] |= 1 << (exit.index() % 64);
            }
        }
        let (mut set, mut through) = (vec![0; words], vec![0; words]);
        loop {
            let mut changed = false;
            for (state, of) in ways.iter().enumerate().rev() {
                let pushed: usize = of.called.iter().map(|call| 1 + call.1.len() * links.number.len()).sum();
                budget.charge_steps(PHASE, 1 + (of.own.len() * words + pushed) as u64 / 2)?;
                set.copy_from_slice(exits.of(state));
                for &next in &of.own {
                    unite(&mut set, exits.of(next as usize));
                }
                for (entry, pushed) in &of.called {
                    through.copy_from_slice(exits.of(*entry as usize));
                    for &top in pushed.iter().rev() {
                        let before = std::mem::replace(&mut through, vec![0; words]);
                        for next in numbers(&before).filter_map(|exit| links.after(top, exit)) {
                            unite(&mut through, exits.of(next as usize));
                        }
                    }
                    unite(&mut set, &through);
                }
                if set != exits.of(state) {
                    exits.flat[state * words..][..words].copy_from_slice(&set);
                    changed = true;
                }
            }
            if !changed {
                return Ok(exits);
            }
        }
    }

    fn of(&self, state: usize) -> &[u64] {
        &self.flat[state * self.words..][..self.words]
    }
}

fn unite(set: &mut [u64], more: &[u64]) {
    set.iter_mut().zip(more).for_each(|(word, more)| *word |= more);
}
