//! The tokens from each border, by where they lead.
//!
//! As in [`super::super::first`] a state of the constraint is walked once, and its tokens are told apart by what they do to chunks; inside of characters a state of each
//! kind is walked once for each state of chunks. A token that leaves the rule at hand goes on in whatever called it.

use std::collections::hash_map::Entry;

use foldhash::{HashMap, HashMapExt};
use gobo_artifact::Vocabulary;
use gobo_artifact::layout::NO_CHUNK;
use gobo_automata::{ExitId, StateId};
use gobo_types::{CompileError, TokenId, checked_u32};

use super::walk::{Rules, Stacks, Way};
use crate::canonical::first::{First, Group};
use crate::canonical::product::DEAD;
use crate::canonical::walk::{PHASE, Walk};

/// Bytes of a group.
const GROUP_BYTES: u64 = 48;

/// Tokens that leave the rule at hand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaving {
    pub(super) exit: ExitId,
    /// So many bytes are read in the rule.
    pub(super) read: u16,
    /// Where the chunks stand at the end of the tokens.
    pub(super) chunk: u16,
    tokens: (u32, u32),
}

/// The tokens from each border.
pub(super) struct Tokens {
    /// Those that end in a state of the rule at hand, or of one that it calls.
    pub(super) first: First,
    leaving: Vec<Leaving>,
    /// `[states]`.
    leaving_of: Vec<(u32, u32)>,
}

/// Tokens that do the same from a state of the constraint: to all states of chunks of a class, if it stands between characters.
struct Alike {
    way: Way,
    class: u16,
    /// Whether they are whole chunks, which follow a border of chunks alone.
    is_whole: bool,
    tokens: (u32, u32),
}

/// Where the tokens of each node lead: its first id, how many it has, and the number of the way by its first occurrence.
type Pattern = Vec<(TokenId, u32, u32)>;

/// What is known of states inside of characters.
#[derive(Default)]
struct Inside {
    numbers: HashMap<Pattern, u32>,
    /// The number of each state's kind, and its ways by their first occurrence.
    kinds: HashMap<StateId, (u32, Vec<Way>)>,
    /// By kind and state of chunks: way, state of chunks at the end, tokens.
    found: HashMap<(u32, u16), Vec<(u32, u16, (u32, u32))>>,
}

impl Tokens {
    /// `borders`: the states behind borders, ascending.
    pub(super) fn new(
        walk: &Walk<'_>,
        rules: &Rules<'_>,
        vocabulary: &Vocabulary,
        stacks: &mut Stacks,
        borders: &[u32],
    ) -> Result<Self, CompileError> {
        let states = walk.product.len();
        let mut tokens =
            Self { first: First::none(states), leaving: Vec::new(), leaving_of: vec![(0, 0); states] };
        let mut alike: HashMap<StateId, Vec<Alike>> = HashMap::new();
        let mut inside = Inside::default();
        for &border in borders {
            let (state, chunk) = walk.product.pairs[border as usize];
            let (groups, leaving) = (tokens.first.groups.len(), tokens.leaving.len());
            if walk.encoder.chunks.is_between(chunk) {
                let of_state = match alike.entry(state) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => new.insert(tokens.alike(walk, rules, stacks, state)?),
                };
                walk.budget.charge_steps(PHASE, of_state.len() as u64)?;
                for &Alike { way, class, is_whole, tokens: ids } in &*of_state {
                    if !is_whole || walk.encoder.chunks.begins(chunk) {
                        tokens.add(walk, border, way, walk.encoder.chunks.after(chunk, class), ids);
                    }
                }
            } else {
                tokens.inside(walk, rules, vocabulary, stacks, &mut inside, border)?;
            }
            let (groups_end, leaving_end) = (tokens.first.groups.len(), tokens.leaving.len());
            let fresh = groups_end - groups + leaving_end - leaving;
            walk.budget.charge_bytes(PHASE, fresh as u64 * GROUP_BYTES)?;
            tokens.first.of[border as usize] = Some((checked_u32(groups), checked_u32(groups_end)));
            tokens.leaving_of[border as usize] = (checked_u32(leaving), checked_u32(leaving_end));
        }
        Ok(tokens)
    }

    /// The tokens that leave the rule at hand from a border.
    pub(super) fn leaving(&self, border: u32) -> impl Iterator<Item = (Leaving, &[TokenId])> {
        let (from, to) = self.leaving_of[border as usize];
        let ids = |of: &Leaving| &self.first.tokens[of.tokens.0 as usize..of.tokens.1 as usize];
        self.leaving[from as usize..to as usize].iter().map(move |of| (*of, ids(of)))
    }

    fn add(&mut self, walk: &Walk<'_>, from: u32, way: Way, chunk: u16, tokens: (u32, u32)) {
        if chunk == NO_CHUNK {
            return;
        }
        match way {
            Way::Leaves(exit, read) => self.leaving.push(Leaving { exit, read, chunk, tokens }),
            Way::Ends(state, stack) => match walk.product.state_of((state, chunk)) {
                DEAD => {}
                to => self.first.groups.push(Group { from, to, stack, tokens }),
            },
        }
    }

    fn alike(
        &mut self,
        walk: &Walk<'_>,
        rules: &Rules<'_>,
        stacks: &mut Stacks,
        from: StateId,
    ) -> Result<Vec<Alike>, CompileError> {
        let Walk { encoder, trie, budget, .. } = walk;
        let mut lists: Lists<(Way, u16, bool)> = Lists::default();
        rules.reach(stacks, trie, from, None, budget, |way, _, ids| {
            for &id in ids {
                // Tokens of class 0 are no encodings, or are within no chunk.
                let class = encoder.chunks.class_of(id);
                if class != 0 {
                    lists.add((way, class, encoder.merges.is_whole(id)), id);
                }
            }
        })?;
        let keep = |((way, class, is_whole), ids): ((Way, u16, bool), Vec<TokenId>)| {
            let tokens = self.first.push(&ids, budget)?;
            Ok(Alike { way, class, is_whole, tokens })
        };
        lists.all.into_iter().map(keep).collect()
    }

    /// Adds the tokens of a state inside of a character.
    fn inside(
        &mut self,
        walk: &Walk<'_>,
        rules: &Rules<'_>,
        vocabulary: &Vocabulary,
        stacks: &mut Stacks,
        inside: &mut Inside,
        border: u32,
    ) -> Result<(), CompileError> {
        let Walk { encoder, trie, budget, .. } = walk;
        let (state, chunk) = walk.product.pairs[border as usize];
        let Inside { numbers, kinds, found } = inside;
        let (kind, ways) = match kinds.entry(state) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(kind(walk, rules, stacks, state, numbers)?),
        };
        let groups = match found.entry((*kind, chunk)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let mut lists: Lists<(Way, u16)> = Lists::default();
                rules.reach(
                    stacks,
                    trie,
                    state,
                    Some((&encoder.chunks, chunk)),
                    budget,
                    |way, at, ids| {
                        for &id in ids.iter().filter(|&&id| encoder.merges.is_proper(id)) {
                            let at = match way {
                                Way::Ends(..) => at,
                                Way::Leaves(_, read) => vocabulary.bytes(id)[usize::from(read)..]
                                    .iter()
                                    .fold(at, |at, &byte| encoder.chunks.next(at, byte)),
                            };
                            lists.add((way, at), id);
                        }
                    },
                )?;
                let keep = |((way, at), ids): ((Way, u16), Vec<TokenId>)| {
                    let number = ways.iter().position(|of| *of == way);
                    let number = checked_u32(number.expect("chunks let no other tokens through"));
                    Ok((number, at, self.first.push(&ids, budget)?))
                };
                new.insert(lists.all.into_iter().map(keep).collect::<Result<_, CompileError>>()?)
            }
        };
        budget.charge_steps(PHASE, groups.len() as u64)?;
        for &(number, at, tokens) in &*groups {
            self.add(walk, border, ways[number as usize], at, tokens);
        }
        Ok(())
    }
}

/// The kind of a state inside of a character, and its ways.
fn kind(
    walk: &Walk<'_>,
    rules: &Rules<'_>,
    stacks: &mut Stacks,
    from: StateId,
    numbers: &mut HashMap<Pattern, u32>,
) -> Result<(u32, Vec<Way>), CompileError> {
    let (mut ways, mut pattern): (Vec<Way>, Pattern) = (Vec::new(), Vec::new());
    let mut known: HashMap<Way, u32> = HashMap::new();
    rules.reach(stacks, &walk.trie, from, None, walk.budget, |way, _, ids| {
        let number = *known.entry(way).or_insert_with(|| {
            ways.push(way);
            checked_u32(ways.len() - 1)
        });
        pattern.push((ids[0], checked_u32(ids.len()), number));
    })?;
    walk.budget.charge_bytes(PHASE, pattern.len() as u64 * 12)?;
    let new = checked_u32(numbers.len());
    Ok((*numbers.entry(pattern).or_insert(new), ways))
}

/// Lists of tokens, in the order in which their keys are met.
struct Lists<K> {
    all: Vec<(K, Vec<TokenId>)>,
    known: HashMap<K, usize>,
}

impl<K> Default for Lists<K> {
    fn default() -> Self {
        Self { all: Vec::new(), known: HashMap::new() }
    }
}

impl<K: Copy + Eq + std::hash::Hash> Lists<K> {
    fn add(&mut self, key: K, id: TokenId) {
        let number = *self.known.entry(key).or_insert_with(|| {
            self.all.push((key, Vec::new()));
            self.all.len() - 1
        });
        self.all[number].1.push(id);
    }
}
