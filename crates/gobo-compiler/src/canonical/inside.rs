//! The tokens that go on inside of a character.
//!
//! A constraint has such states for each of its strings, some seven each, and in product with those of chunks they are nearly all states of an index. They are told
//! apart by what follows the string, which few tokens that begin inside of a character reach. So of each state the tokens are walked without the chunks first, and
//! states from which the same tokens lead to the same pattern of states are of one *kind*: what is found with one of them, for a state of chunks, holds of all,
//! with the states renamed. O(kinds × states of chunks × tokens) instead of O(states × …).

use std::collections::hash_map::Entry;

use foldhash::{HashMap, HashMapExt};
use gobo_automata::StateId;
use gobo_types::{CompileError, TokenId, checked_u32};

use super::product::DEAD;
use super::walk::{PHASE, Walk, reach};

/// Tokens that lead to a state, and where they lie.
#[derive(Clone, Copy)]
pub(super) struct Found<S> {
    pub(super) to: S,
    pub(super) chunk: u16,
    pub(super) tokens: (u32, u32),
}

/// Where the tokens of each node lead: its first id, how many it has, and the number of the state by its first occurrence.
type Pattern = Vec<(TokenId, u32, u32)>;

/// The tokens from states inside of characters.
#[derive(Default)]
pub(super) struct Inside {
    /// The numbers of kinds.
    numbers: HashMap<Pattern, u32>,
    kinds: HashMap<StateId, Kind>,
    /// By kind and state of chunks, with the numbers of states.
    groups: HashMap<(u32, u16), Vec<Found<u32>>>,
}

struct Kind {
    number: u32,
    /// The states that tokens lead to, by their first occurrence.
    to: Vec<StateId>,
}

impl Inside {
    /// Where the tokens lead that go on from a pair of a state of the constraint and one of chunks; `keep` puts them somewhere.
    pub(super) fn groups(
        &mut self,
        walk: &Walk<'_>,
        (state, chunk): (StateId, u16),
        keep: &mut impl FnMut(&[TokenId]) -> Result<(u32, u32), CompileError>,
    ) -> Result<Vec<Found<StateId>>, CompileError> {
        let Self { numbers, kinds, groups } = self;
        let kind = match kinds.entry(state) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(Kind::new(walk, state, numbers)?),
        };
        let groups = match groups.entry((kind.number, chunk)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let mut groups = Vec::new();
                for (to, list) in found(walk, walk.product.state_of((state, chunk)))? {
                    let (to, chunk) = walk.product.pairs[to as usize];
                    let number = kind.to.iter().position(|of| *of == to);
                    let to = checked_u32(number.expect("chunks let no other tokens through"));
                    groups.push(Found { to, chunk, tokens: keep(&list)? });
                }
                new.insert(groups)
            }
        };
        let renamed =
            |of: &Found<u32>| Found { to: kind.to[of.to as usize], chunk: of.chunk, tokens: of.tokens };
        Ok(groups.iter().map(renamed).collect())
    }
}

impl Kind {
    /// The kind of a state of the constraint.
    fn new(walk: &Walk<'_>, from: StateId, kinds: &mut HashMap<Pattern, u32>) -> Result<Self, CompileError> {
        let (mut to, mut pattern): (Vec<StateId>, Pattern) = (Vec::new(), Vec::new());
        let mut numbers: HashMap<StateId, u32> = HashMap::new();
        reach(
            &walk.trie,
            from,
            walk.budget,
            |state, byte| Some(walk.dfa.next(state, byte)).filter(|&next| next != StateId::DEAD),
            |state, ids| {
                let number = *numbers.entry(state).or_insert_with(|| {
                    to.push(state);
                    checked_u32(to.len() - 1)
                });
                pattern.push((ids[0], checked_u32(ids.len()), number));
            },
        )?;
        walk.budget.charge_bytes(PHASE, pattern.len() as u64 * 12)?;
        let new = checked_u32(kinds.len());
        Ok(Self { number: *kinds.entry(pattern).or_insert(new), to })
    }
}

/// The proper tokens from a state inside of a character, by where they lead.
fn found(walk: &Walk<'_>, from: u32) -> Result<Vec<(u32, Vec<TokenId>)>, CompileError> {
    let Walk { product, encoder, trie, budget, .. } = walk;
    let mut found: Vec<(u32, Vec<TokenId>)> = Vec::new();
    let mut known: HashMap<u32, usize> = HashMap::new();
    reach(
        trie,
        from,
        budget,
        |state, byte| Some(product.next(state, byte)).filter(|&next| next != DEAD),
        |to, ids| {
            let ids = ids.iter().copied().filter(|&id| encoder.merges.is_proper(id));
            let number = *known.entry(to).or_insert_with(|| {
                found.push((to, Vec::new()));
                found.len() - 1
            });
            found[number].1.extend(ids);
        },
    )?;
    found.retain(|(_, list)| !list.is_empty());
    Ok(found)
}
