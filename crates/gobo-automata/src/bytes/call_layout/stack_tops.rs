//! Which return states may lie on top of the stack at each state, and what can be read when one of them is popped.
//!
//! The sets are the least ones that are closed under the calls of the network: a callee begins with the return state of its call on
//! top, or, after a tail call, with what its caller has there; every edge and every return keeps what is on top. They are found by a
//! work list in sweeps (the k = 1 case of call strings: Sharir & Pnueli 1981). O(sweeps × (edges + calls) × returns / 64).

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, ByteSet, CompileError, DenseId as _, LengthRange};

use crate::bytes::calls::{Calls, PHASE, Return, TopSet, TopSetId};
use crate::bytes::char_states::CharStates;
use crate::bytes::dfa::Dfa;
use crate::ids::{CharState, ExitId, ReturnId, StateId};
use crate::rtn::{Call, Network};

/// What return states are told apart by: the state after each exit, and what is counted in the call.
type ReturnKey = (Vec<(ExitId, CharState)>, Option<LengthRange>);

/// The return states.
pub(super) type ReturnOf = HashMap<ReturnKey, ReturnId>;

/// The key of the return state of the calls of one rule in one state.
pub(super) fn return_key(network: &Network, calls: &[Call]) -> ReturnKey {
    let row = calls.iter().map(|call| (call.exit, call.to)).collect();
    (row, network.lengths[calls[0].rule])
}

/// Sets of return states while they grow: `[character states, words]`.
pub(super) struct Bits {
    words: usize,
    flat: Vec<u64>,
}

impl Bits {
    /// Empty sets of up to `returns` return states.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    fn new(sets: usize, returns: usize, budget: &Budget) -> Result<Self, CompileError> {
        let words = returns.div_ceil(64).max(1);
        budget.charge_bytes(PHASE, (sets * words * 8) as u64)?;
        Ok(Self { words, flat: vec![0; sets * words] })
    }

    fn get(&self, state: CharState) -> &[u64] {
        &self.flat[state.index() * self.words..][..self.words]
    }

    fn sets(&self) -> impl Iterator<Item = &[u64]> {
        self.flat.chunks_exact(self.words)
    }

    /// Adds what `others` has, and tells whether that was more than there was.
    fn unite(&mut self, state: CharState, others: &[u64]) -> bool {
        let words = self.flat[state.index() * self.words..][..self.words].iter_mut();
        let fresh = words.zip(others).fold(0, |fresh, (word, other)| {
            let before = std::mem::replace(word, *word | other);
            fresh | (before ^ *word)
        });
        fresh != 0
    }
}

impl Calls {
    /// Numbers the distinct sets of tops, and finds out what can follow each.
    pub(super) fn set_tops(
        &mut self,
        dfa: &Dfa,
        chars: &CharStates,
        tops: &Bits,
        budget: &Budget,
    ) -> Result<(), CompileError> {
        let mut known: HashMap<Vec<u64>, TopSetId> = HashMap::new();
        let mut sets: Vec<Vec<u64>> = Vec::new();
        let mut intern = |set: &[u64]| {
            if let Some(&known) = known.get(set) {
                return known;
            }
            let fresh = TopSetId::new(sets.len());
            sets.push(set.to_vec());
            known.insert(set.to_vec(), fresh);
            fresh
        };
        // States inside characters may belong to several blocks.
        let mut inner: HashMap<StateId, Vec<u64>> = HashMap::new();
        for (block, set) in chars.blocks.iter().zip(tops.sets()).filter(|(block, _)| block.inner_states > 0) {
            let all = inner.entry(block.inner).or_insert_with(|| vec![0; set.len()]);
            all.iter_mut().zip(set).for_each(|(all, set)| *all |= set);
        }
        self.tops = vec![intern(&vec![0; tops.words]); dfa.len()];
        for (block, set) in chars.blocks.iter().zip(tops.sets()) {
            self.tops[block.root.index()] = intern(set);
            if block.has_own_inner_states() {
                let of_inner = intern(&inner[&block.inner]);
                self.tops[block.inner_indices()].fill(of_inner);
            }
        }
        budget.charge_bytes(PHASE, (sets.len() * tops.words * 8 + dfa.len() * 4) as u64)?;
        self.top_sets = sets
            .iter()
            .map(|set| TopSet {
                returns: ReturnId::range(0..self.returns.len())
                    .filter(|top| set[top.index() / 64] >> (top.index() % 64) & 1 == 1)
                    .collect(),
                follow: Vec::new(),
            })
            .collect();
        // What a return state reads is known; where it accepts, what follows it is read too.
        let firsts = |of: &Return| of.states().map(|state| self.first(dfa, state)).collect();
        let first: Vec<Vec<ByteSet>> = self.returns.iter().map(firsts).collect();
        let exits =
            self.returns.iter().flat_map(|of| &of.row).map(|way| way.0.index() + 1).max().unwrap_or(0);
        budget.charge_bytes(
            PHASE,
            (self.top_sets.len() * exits.saturating_sub(1) * size_of::<ByteSet>()) as u64,
        )?;
        self.top_sets.iter_mut().for_each(|set| set.follow = vec![ByteSet::default(); exits]);
        loop {
            let mut changed = false;
            for at in 0..self.top_sets.len() {
                let mut follow = self.top_sets[at].follow.clone();
                budget.charge_steps(PHASE, 1 + self.top_sets[at].returns.len() as u64)?;
                for &top in &self.top_sets[at].returns {
                    for (&(exit, state), first) in
                        self.returns[top.index()].row.iter().zip(&first[top.index()])
                    {
                        follow[exit.index()].insert_all(first);
                        if dfa.accepting[state] {
                            follow[exit.index()].insert_all(&self.follow(state));
                        }
                    }
                }
                changed |= follow != self.top_sets[at].follow;
                self.top_sets[at].follow = follow;
            }
            if !changed {
                return Ok(());
            }
        }
    }
}

/// `[character states]`: the return states that may lie on top of the stack.
pub(super) fn stack_tops(
    network: &Network,
    chars: &CharStates,
    is_tail: &impl Fn(&[Call]) -> bool,
    return_of: &ReturnOf,
    returns: usize,
    budget: &Budget,
) -> Result<Bits, CompileError> {
    let states = chars.blocks.len();
    let mut tops = Bits::new(states, returns, budget)?;
    let words = tops.words;
    let mut is_open = vec![true; states];
    let (mut set, mut one) = (vec![0; words], vec![0; words]);
    // In sweeps: many callers of a rule have added their return states by the time that its states are looked at again.
    let mut is_done = false;
    while !std::mem::replace(&mut is_done, true) {
        budget.charge_steps(PHASE, states as u64 / 8)?;
        for state in CharState::range(1..states) {
            if !std::mem::take(&mut is_open[state.index()]) {
                continue;
            }
            let calls = network.calls.at(state);
            set.copy_from_slice(tops.get(state));
            if calls.is_empty() && set.iter().all(|&word| word == 0) {
                continue;
            }
            let row = chars.dfa.row(state);
            budget.charge_steps(PHASE, ((1 + row.len() + calls.len()) * (1 + words)) as u64)?;
            let mut add = |to: CharState, set: &[u64]| {
                if tops.unite(to, set) {
                    is_open[to.index()] = true;
                    is_done &= to > state;
                }
            };
            row.chunk_by(|a, b| a.1 == b.1).for_each(|edges| add(edges[0].1, &set));
            for calls in network.calls.by_rule(state) {
                calls.iter().for_each(|call| add(call.to, &set));
                let entry = network.entries[calls[0].rule];
                if is_tail(calls) {
                    add(entry, &set);
                } else {
                    let top = return_of[&return_key(network, calls)].index();
                    one[top / 64] = 1 << (top % 64);
                    add(entry, &one);
                    one[top / 64] = 0;
                }
            }
        }
    }
    Ok(tops)
}
