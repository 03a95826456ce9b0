//! Canonical indices of constraints whose rules call themselves.
//!
//! The product of rules and chunks is one of push-down automata: a state of a rule with a state of chunks, and a stack that knows nothing of chunks
//! ([`links`]). The tokens of a border fall into three parts. Those that are live whatever called the rule are its row ([`texts`], [`sure`]). Those that leave the rule
//! before their end, and those that are live only if what called it lets some other token follow, are left to the return states on the
//! stack, as sets of witnesses ([`below`], [`sets`]); and what a set does at a return state is again a row and a set, which is computed once for the two. So a mask is a union of
//! rows down the stack, as it is without the option (`crate::pairs`), and nothing is searched for when it is asked for.
//!
//! Willard & Louf 2023 (arXiv 2307.09702), section 4, and Koo, Liu & He 2024 (arXiv 2407.08103) have rows down a stack; that liveness fits into them is found here.

mod below;
mod links;
mod sets;
mod sure;
mod texts;

use foldhash::{HashMap, HashSet};
use gobo_artifact::write::{CallParts, ReturnPart, RowEncoder};
use gobo_automata::{Calls, Dfa, PushTransition, StateId};
use gobo_types::{CompileError, DenseId, checked_u32};

use self::below::Below;
use self::links::Links;
use self::sets::{SetId, Sets};
use self::sure::Sure;
use self::texts::Texts;
use super::borders::{Behind, Borders};
use super::first::List;
use super::parts::{Canonical, Over, Rows};
use super::product::{Bottom, DEAD, Product};
use super::rules::{Rules, Stacks, Way};
use super::tokens::Tokens;
use super::walk::{PHASE, Walk};
use super::words::Spellings;

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

/// The parts of the index, or `None` if no text can be written in canonical form.
pub(super) fn canonical<'v>(
    dfa: &Dfa,
    calls: &Calls,
    over: Over<'_, 'v>,
) -> Result<Option<Canonical<'v>>, CompileError> {
    let Over { vocabulary, encoder, tokenization, shared, budget } = over;
    let rules = Rules { dfa, calls };
    let bottom = Bottom::new(dfa, calls, budget)?;
    let product =
        Product::new(dfa, &encoder.chunks, tokenization.is_behind_prompt(), Some(&bottom), budget)?;
    let walk = Walk { rules, product: &product, encoder, vocabulary, shared, budget };
    let links = Links::new(&rules, &product, &bottom, &encoder.chunks, budget)?;
    let texts = Texts::new(&rules, &product, &bottom, &links, budget)?;
    let borders = borders(&product, &bottom, &links, &texts);
    let mut stacks = Stacks::default();
    let mut tokens = Tokens::of(&walk, &mut stacks, &borders)?;
    let sure = Sure::new(&walk, &bottom, &links, &texts)?;
    tokens.first.live = sure.settle(&mut tokens)?;
    let maybe = sure.settle_open(&links, &mut tokens)?;
    let after = |border: u32, id| {
        let ((state, chunk), bytes) = (product.pairs[border as usize], vocabulary.bytes(id));
        let chunk = bytes.iter().fold(chunk, |at, &byte| encoder.chunks.next(at, byte));
        let ends = ends(&rules, &mut stacks, state, bytes);
        budget.charge_steps(PHASE, (bytes.len() + ends.len()) as u64)?;
        let states = ends.into_iter().map(|state| product.state_of((state, chunk)));
        Ok(states.filter(|&state| state != DEAD).collect())
    };
    let has_any = |border: u32| {
        let mut groups = tokens.first.groups_of(border);
        groups.any(|number| !tokens.first.lists.get(maybe[number]).is_empty())
            || tokens.leaving(border).next().is_some()
    };
    let depends = |state: u32| {
        let [within, marked] = product.borders(state);
        links.exit[state as usize].is_some() || has_any(within) || has_any(marked)
    };
    let begins = |&&border: &&u32| encoder.chunks.begins(product.pairs[border as usize].1);
    let spelled = Spellings::new(&walk, &tokens.first, Some(depends), after)
        .find(borders.iter().filter(begins).copied())?;
    let mut below = Below::new(&walk, &links, &tokens, &sure, &maybe, stacks);
    let sets = Sets::new(&mut below, &borders)?;
    let more = below.live;
    sure.share();
    let mut rows =
        Rows::new(RowEncoder::with_calls(vocabulary.shared_rows()), vocabulary.row_words(), budget);
    let lists_of = |border: u32| {
        let more = more.get(&border).map(|ids| List { ids, number: None });
        tokens.first.lists_of(border).filter(|list| !list.ids.is_empty()).chain(more)
    };
    let mut behind = Vec::new();
    for &pair in &borders {
        let (lists, set) = (lists_of(pair).collect::<Vec<List<'_>>>(), sets.of_border[pair as usize].number());
        if !lists.is_empty() || set != 0 {
            behind.push(Behind { pair, row: rows.push(&lists)?, set });
        }
    }
    if behind.iter().all(|of| of.pair != product.start) {
        return Ok(None);
    }
    // Of each return state what all sets do there.
    let mut effects: Vec<Vec<[u32; 3]>> = vec![Vec::new(); links.returns.len()];
    for (set, of_set) in SetId::enumerate(&sets.effects) {
        for effect in of_set {
            let mut lists: Vec<List<'_>> = effect.border.into_iter().flat_map(lists_of).collect();
            lists.extend((!effect.live.is_empty()).then_some(List { ids: &effect.live, number: None }));
            if !lists.is_empty() || effect.left != SetId::new(0) {
                let row = rows.push(&lists)?;
                effects[effect.top.index()].push([set.number(), row, effect.left.number()]);
            }
        }
    }
    let borders = Borders::new(dfa.len() + 1, &product, &behind, &spelled);
    let calls = call_parts(dfa, calls, &bottom, borders.sets.clone(), sets.all.len(), &effects);
    Ok(Some(Canonical { borders, computed: rows.computed, rows: rows.all, calls: Some(calls) }))
}

/// The states behind borders, ascending: where a token may begin, and some text goes on.
fn borders(product: &Product, bottom: &Bottom, links: &Links, texts: &Texts) -> Vec<u32> {
    let mut is_border = vec![false; product.len()];
    let states = || 1..checked_u32(product.len());
    let mut open = vec![product.start];
    open.extend(
        states().filter(|&state| texts.can_end[state as usize]).flat_map(|state| product.borders(state)),
    );
    while let Some(state) = open.pop() {
        let at = state as usize;
        let is_text = state != DEAD && texts.can_end[at] && product.pairs[at].0 != bottom.end;
        if !is_text || std::mem::replace(&mut is_border[at], true) {
            continue;
        }
        // The rule may end before the token begins.
        if let Some(exit) = links.exit[at] {
            open.extend(links.tops(state).iter().filter_map(|&top| links.after(top, exit)));
        }
    }
    states().filter(|&state| is_border[state as usize]).collect()
}

/// The tables of calls as they are written. `sets`: `[borders]`, of as many sets as are counted; `effects` has by return state what these do there: set, row, set that is left.
fn call_parts(
    dfa: &Dfa,
    calls: &Calls,
    bottom: &Bottom,
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
    let may_end = |state: &StateId| dfa.accepting[*state] && bottom.is_below[state.index()];
    let mut last: Vec<u32> = states().filter(may_end).map(|state| calls.exit(state).number()).collect();
    last.sort_unstable();
    last.dedup();
    let last = ReturnPart {
        row: last.into_iter().map(|exit| (exit, bottom.end.number())).collect(),
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
    let returns = returns.map(|(of, effects)| ReturnPart { class: class_of(effects.as_slice()), ..of }).collect();
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
fn ends(rules: &Rules<'_>, stacks: &mut Stacks, from: StateId, bytes: &[u8]) -> Vec<StateId> {
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
