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
use gobo_automata::{Calls, Dfa, PushTransition, ReturnId, StateId};
use gobo_types::{CompileError, DenseId, checked_u32};

use self::below::Below;
use self::links::{Links, PairExit};
use self::sets::{SetId, Sets};
use self::sure::Sure;
use self::texts::Texts;
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
    let mut product =
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
    let mut states: Vec<(Option<u32>, bool)> = (0..product.len())
        .map(|state| (None, links.exit[state].is_some() || product.pairs[state].0 == bottom.end))
        .collect();
    for &border in &borders {
        let lists: Vec<List<'_>> = lists_of(border).collect();
        if !lists.is_empty() || sets.of_border[border as usize] != SetId::new(0) {
            states[border as usize].0 = Some(rows.push(&lists)?);
        }
    }
    if states[product.start as usize].0.is_none() {
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
    let calls = call_parts(&rules, &product, &bottom, &links, &sets, &effects);
    let border = |next: u32| if states[next as usize].0.is_some() { next } else { DEAD };
    let of_states =
        product.within.iter().zip(&product.marked).map(|(&within, &marked)| [border(within), border(marked)]);
    let of_states = of_states.collect();
    let (classes, stride, start) = (product.classes, product.stride, product.start);
    let starts = std::mem::take(&mut product.starts);
    let (row_of, deltas) = product.into_steps();
    Ok(Some(Canonical {
        classes,
        stride,
        row_of,
        deltas,
        start,
        states,
        borders: of_states,
        starts,
        computed: rows.computed,
        rows: rows.all,
        spelled,
        calls: Some(calls),
    }))
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

/// The tables of calls as they are written. `effects` has by return state what sets do there: set, row, set that is left.
fn call_parts(
    rules: &Rules<'_>,
    product: &Product,
    bottom: &Bottom,
    links: &Links,
    sets: &Sets,
    effects: &[Vec<[u32; 3]>],
) -> CallParts {
    // Return states that nothing in the product returns to are never pushed.
    let used: Vec<Option<u32>> = (links.returns.iter())
        .scan(0, |count, row| {
            let number = (!row.is_empty()).then_some(*count);
            *count += u32::from(!row.is_empty());
            Some(number)
        })
        .collect();
    let mut known: HashMap<&[[u32; 3]], u32> = HashMap::default();
    let mut pairs: Vec<Vec<[u32; 3]>> = vec![Vec::new(); sets.all.len()];
    let mut returns = Vec::new();
    for (top, row) in ReturnId::enumerate(&links.returns).filter(|(top, _)| used[top.index()].is_some()) {
        let fresh = checked_u32(known.len());
        let of = effects[top.index()].as_slice();
        let class = *known.entry(of).or_insert(fresh);
        if class == fresh {
            of.iter().for_each(|&[set, row, left]| pairs[set as usize].push([class, row, left]));
        }
        let mut row: Vec<(u32, u32)> = row.iter().map(|(exit, &state)| (exit.number(), state)).collect();
        row.sort_unstable();
        let of = rules.calls.returns.get(top.index());
        returns.push(ReturnPart {
            row,
            class,
            caller: of.map_or_else(String::new, |of| of.caller.clone()),
            callee: of.map_or_else(|| "the whole text".to_owned(), |of| of.callee.clone()),
            lengths: None,
        });
    }
    let pushes_of = |&(state, chunk): &(StateId, u16)| {
        if state == bottom.end || state == StateId::DEAD {
            return Vec::new();
        }
        let push = |push: &PushTransition| {
            let entry = product.state_of((push.entry, chunk));
            let pushed: Option<Vec<u32>> =
                rules.calls.pushed(push).iter().map(|top| used[top.index()]).collect();
            pushed.filter(|_| entry != DEAD).map(|pushed| (entry, pushed))
        };
        rules.calls.push_transitions(state).iter().filter_map(push).collect()
    };
    let has_exits = links.number.len() > 1;
    let exit = |exit: &Option<PairExit>| exit.map_or(0, PairExit::number);
    CallParts {
        is_deterministic: true,
        exits: links.exit.iter().filter(|_| has_exits).map(exit).collect(),
        push_transitions: product.pairs.iter().map(pushes_of).collect(),
        returns,
        suffix_sets: sets.of_border.iter().map(|set| Some(set.number())).collect(),
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
