//! Canonical indices of constraints whose rules call themselves.
//!
//! A text stands in a state of a rule, its chunks in one of theirs, and the stack knows nothing of chunks. The tokens of a border fall into three parts. Those that are live whatever
//! called the rule are its front ([`super::fronts`]). Those that leave the rule
//! before their end, and those that are live only if what called it lets some other token follow, are left to the return states on the
//! stack, as sets of witnesses ([`below`], [`sets`]); and what a set does at a return state is again a row and a set, which is computed once for the two. So a mask is a union of
//! rows down the stack, as it is without the option (`crate::pairs`), and nothing is searched for when it is asked for.
//!
//! Willard & Louf 2023 (arXiv 2307.09702), section 4, and Koo, Liu & He 2024 (arXiv 2407.08103) have rows down a stack; that liveness fits into them is found here.

mod below;
mod sets;

use foldhash::{HashMap, HashSet};
use gobo_artifact::write::{CallParts, ReturnPart};
use gobo_automata::{Calls, Dfa, PushTransition, StateId};
use gobo_types::{DenseId as _, checked_u32};

pub(super) use self::below::Below;
pub(super) use self::sets::{SetId, Sets};
use super::rules::{Rules, Stacks, Way};

/// Why an automaton has no canonical index, if it has none.
pub(super) fn unsupported(calls: &Calls) -> Option<&'static str> {
    if !calls.is_deterministic {
        return Some(
            "rules that nest without end, and can be read in several ways, have no canonical tokenization yet",
        );
    }
    if calls.returns.iter().any(|of| of.lengths.is_some()) {
        return Some(
            "rules that nest without end, beside lengths that are counted, have no canonical tokenization yet",
        );
    }
    None
}

/// The tables of calls as they are written. `sets`: `[borders]`, of as many sets as are counted; `effects` has by return state what these do there: set, row, set that is left.
pub(super) fn call_parts(
    dfa: &Dfa,
    calls: &Calls,
    is_below: &[bool],
    sets: Vec<Option<u32>>,
    set_count: usize,
    effects: &[Vec<[u32; 3]>],
) -> CallParts {
    let mut known: HashMap<&[[u32; 3]], u32> = HashMap::default();
    let mut pairs: Vec<Vec<[u32; 3]>> = vec![Vec::new(); set_count];
    let mut class_of = |effects| {
        let fresh = checked_u32(known.len());
        let class = *known.entry(effects).or_insert(fresh);
        if class == fresh {
            effects.iter().for_each(|&[set, row, left]| pairs[set as usize].push([class, row, left]));
        }
        class
    };
    let states = || StateId::range(0..dfa.len());
    // The whole text returns to the bottom, at each exit at which it may end.
    let may_end = |state: &StateId| dfa.accepting[*state] && is_below[state.index()];
    let mut last: Vec<u32> = states().filter(may_end).map(|state| calls.exit(state).number()).collect();
    last.sort_unstable();
    last.dedup();
    let last = ReturnPart {
        row: last.into_iter().map(|exit| (exit, checked_u32(dfa.len()))).collect(),
        class: 0,
        caller: String::new(),
        callee: "the whole text".to_owned(),
        lengths: None,
    };
    let of_rules = calls.returns.iter().map(|of| ReturnPart {
        row: of.row.iter().map(|&(exit, state)| (exit.number(), state.number())).collect(),
        class: 0,
        caller: of.caller.clone(),
        callee: of.callee.clone(),
        lengths: None,
    });
    let returns = of_rules.chain([last]).zip(effects);
    let returns =
        returns.map(|(of, effects)| ReturnPart { class: class_of(effects.as_slice()), ..of }).collect();
    let pushed = |push: &PushTransition| calls.pushed(push).iter().map(|top| top.number()).collect();
    let pushes_of = |state: StateId| {
        calls.push_transitions(state).iter().map(|push| (push.entry.number(), pushed(push))).collect()
    };
    let exits = states().map(|state| calls.exit(state).number()).chain([0]);
    CallParts {
        is_deterministic: true,
        exits: if calls.has_exits() { exits.collect() } else { Vec::new() },
        push_transitions: states().map(pushes_of).chain([Vec::new()]).collect(),
        returns,
        suffix_sets: sets,
        pairs,
        distances: Vec::new(),
        head_distances: Vec::new(),
    }
}

/// The states in which some bytes may end that begin in a state, whatever called its rule. O(bytes × return states) at worst.
pub(super) fn ends(rules: &Rules<'_>, stacks: &mut Stacks, from: StateId, bytes: &[u8]) -> Vec<StateId> {
    let mut met = HashSet::from_iter([(from, 0)]);
    let (mut open, mut found) = (vec![(from, 0)], Vec::new());
    while let Some((state, read)) = open.pop() {
        match rules.walk(stacks, state, &bytes[read..]) {
            None => {}
            Some(Way::Ends(state, _)) => found.push(state),
            Some(Way::Leaves(exit, more)) => {
                let read = read + usize::from(more);
                // The rule keeps what is on top of the stack to its end.
                let tops = rules.calls.stack_tops(state).iter();
                let next = tops.filter_map(|top| rules.calls.returns[top.index()].state(exit));
                open.extend(next.map(|state| (state, read)).filter(|&place| met.insert(place)));
            }
        }
    }
    found
}
