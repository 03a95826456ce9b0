//! The tokens from each state, by where they lead.
//!
//! The states of chunks between characters are 23 to 46, and tokens do some hundred different things to them. So a state of the constraint is walked once, and its tokens are
//! divided by these classes, which the vocabulary's file has, and by where they lead; the groups of a pair of a state and one of chunks follow from a
//! look at each of these lists.
//!
//! **States alike.** Many states of a constraint are a string's, or the name of a property's, and differ in few first bytes: in the others all their tokens lead to the same
//! states. So of a state only the parts of the trie are walked below first bytes that lead elsewhere than those of some state before, and of its lists only those are
//! written anew that have tokens there. O(states × (first bytes + tokens that differ)).
//!
//! States **inside of characters** are divided by kinds ([`super::inside`]).
//!
//! A token that leaves the rule at hand goes on in whatever called it ([`crate::canonical::calls`]).

use std::collections::VecDeque;
use std::rc::Rc;

use gobo_automata::{ExitId, StateId};
use gobo_types::{CompileError, DenseId as _, TokenId, checked_u32};

use super::chains::{Chains, OfChunks};
use super::inside::{Inside, InsideList, Kind};
use super::numbers::Numbers;
use crate::canonical::lists::{ListId, Lists};
use crate::canonical::rules::{Block, StackId, Stacks, Step, Wanted, Way};
use crate::canonical::walk::{PHASE, UnderNodes, Walk};

/// Of so many states before, one is looked for that a state is like.
const BASES: usize = 16;

/// A state is like another one if first bytes lead elsewhere under so many nodes of the trie or fewer.
const FEW_NODES: usize = 32;

/// Tokens that leave the rule at hand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leaving {
    pub(crate) exit: ExitId,
    /// So many bytes are read in the rule.
    pub(crate) read: u16,
    /// Where the chunks stand at the end of the tokens.
    pub(crate) chunk: u16,
    pub(crate) tokens: ListId,
}

/// Where tokens lead that do the same: their way, and what they do to states of chunks between characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Alike {
    pub(super) way: Way,
    pub(super) of: OfChunks,
}

/// Lists of a state between characters.
type WayLists = Vec<(Alike, ListId)>;

/// The tokens of a state between characters.
pub(super) struct Ways {
    /// Those that are live by where they end.
    pub(super) sure: Vec<(OfChunks, ListId)>,
    pub(super) others: WayLists,
}

/// A list of a state, and the tokens under each node of the root: where they lie in it.
type BaseList = (Alike, ListId, UnderNodes<(u32, u32)>);

/// A state between characters whose lists others share.
struct Base {
    /// Where each node under the root of the trie leads.
    nodes: Vec<Option<(StateId, StackId)>>,
    lists: Vec<BaseList>,
}

/// The tokens from each state.
pub(super) struct Tokens {
    pub(super) lists: Lists,
    bases: VecDeque<Base>,
    chains: Chains,
    inside: Inside,
    /// `[ids]`: tokens that are whole chunks; empty where there are none.
    is_whole: Vec<bool>,
}

impl Tokens {
    pub(super) fn new(walk: &Walk<'_>) -> Self {
        let has_words = !walk.encoder.words.is_empty();
        let ids = 0..if has_words { walk.vocabulary.len() } else { 0 };
        Self {
            lists: Lists::default(),
            bases: VecDeque::new(),
            chains: Chains::default(),
            inside: Inside::default(),
            is_whole: ids.map(|id| walk.encoder.merges.is_whole(id)).collect(),
        }
    }

    /// The lists of a state between characters. `sure`: `[states]`, whether all tokens are live that end there.
    pub(super) fn ways(
        &mut self,
        walk: &Walk<'_>,
        stacks: &mut Stacks,
        from: StateId,
        sure: &[bool],
    ) -> Result<Ways, CompileError> {
        let trie = walk.vocabulary.trie();
        // The nodes under the root.
        let mut blocks: Vec<(usize, u32)> = Vec::new();
        for number in trie.root.. {
            blocks.push((number, trie.subtree_end(number, trie.to)));
            if trie.nodes[number].is_last() {
                break;
            }
        }
        let mut leads = |&(number, _): &(usize, u32)| match walk.rules.step(
            stacks,
            (from, StackId::EMPTY),
            trie.nodes[number].byte(),
        ) {
            Step::To(state, stack) => Some((state, stack)),
            Step::Leaves(_) | Step::Nowhere => None,
        };
        let nodes: Vec<Option<(StateId, StackId)>> = blocks.iter().map(&mut leads).collect();
        walk.budget.charge_steps(PHASE, nodes.len() as u64)?;
        let bytes: Vec<u8> = blocks.iter().map(|&(number, _)| trie.nodes[number].byte()).collect();
        let entries = Chains::entries(walk, from)?;
        let mut known = self.chains.known(&entries);
        let near = known.is_none().then(|| self.nearest(&nodes)).flatten();
        if known.is_none() && near.is_none() {
            known = self.chains.meet(walk, &mut self.lists, &self.is_whole, &entries)?;
        }
        let chain = match known {
            Some(known) => self.chains.chain(walk, &mut self.lists, from, known, &bytes, sure)?,
            None => None,
        };
        let is_walked = |&at: &usize| near.is_none_or(|number| nodes[at] != self.bases[number].nodes[at]);
        let walked: Vec<usize> = (0..nodes.len()).filter(is_walked).collect();
        let mut fresh = ByWay::default();
        for &at in &walked {
            let Some((state, stack)) = nodes[at] else { continue };
            let (number, to) = blocks[at];
            let node = trie.nodes[number];
            let wanted = chain.as_ref().map_or(Wanted::All, |chain| chain.others(at));
            let mut found = |way: Way, (from, to): (u32, u32)| {
                let ids =
                    (from..to).filter(|&at| wanted.is_any(at, at + 1)).map(|at| trie.order[at as usize]);
                fresh.add(walk, &self.is_whole, at, way, ids);
            };
            found(Way::Ends(state, stack), (node.first, trie.own_end(number, to)));
            if let Some(first) = node.children() {
                let block = Block { first, to, read: 1, at: (state, stack) };
                walk.rules.reach(stacks, &trie, block, wanted, walk.budget, found)?;
            }
        }
        let mut surely = Vec::new();
        let mut all = match (near, chain.map(|chain| (chain.sure, chain.lists))) {
            (Some(number), _) => self.derived(walk, number, &walked, fresh)?,
            (None, None) => self.based(walk, nodes, fresh)?,
            (None, Some((free_sure, free))) => {
                surely = free_sure;
                let mut lists: WayLists = free
                    .into_iter()
                    .map(|(state, of, list)| (Alike { way: Way::Ends(state, StackId::EMPTY), of }, list))
                    .collect();
                for (alike, parts) in fresh.all {
                    let ids: Vec<TokenId> = parts.into_iter().flat_map(|part| part.1).collect();
                    lists.push((alike, self.lists.of(&ids, walk.budget)?));
                }
                lists
            }
        };
        all.retain(|(Alike { way, of }, list)| {
            let is_sure = matches!(way, Way::Ends(state, _) if sure[state.index()]);
            surely.extend(is_sure.then_some((*of, *list)));
            !is_sure
        });
        Ok(Ways { sure: surely, others: all })
    }

    /// The base that leads most nodes under the root as these do, if nearly all.
    fn nearest(&self, nodes: &[Option<(StateId, StackId)>]) -> Option<usize> {
        let differ = |base: &Base| (0..nodes.len()).filter(|&at| nodes[at] != base.nodes[at]).count();
        let nearest = self.bases.iter().map(differ).enumerate().min_by_key(|of| of.1)?;
        (nearest.1 <= FEW_NODES).then_some(nearest.0)
    }

    /// The lists of a state that is like no other.
    fn based(
        &mut self,
        walk: &Walk<'_>,
        nodes: Vec<Option<(StateId, StackId)>>,
        fresh: ByWay,
    ) -> Result<WayLists, CompileError> {
        let mut base = Base { nodes, lists: Vec::new() };
        let mut lists = WayLists::new();
        for (alike, parts) in fresh.all {
            let (mut all, mut places) = (Vec::new(), Vec::with_capacity(parts.len()));
            for (node, ids) in parts {
                let from = checked_u32(all.len());
                all.extend(ids);
                places.push((node, (from, checked_u32(all.len()))));
            }
            walk.budget.charge_bytes(PHASE, places.len() as u64 * 12)?;
            let list = self.lists.of(&all, walk.budget)?;
            lists.push((alike, list));
            base.lists.push((alike, list, places));
        }
        if self.bases.len() == BASES {
            self.bases.pop_front();
        }
        self.bases.push_back(base);
        Ok(lists)
    }

    /// The lists of a state that is like another one, but for the tokens under some nodes, ascending.
    fn derived(
        &mut self,
        walk: &Walk<'_>,
        number: usize,
        others: &[usize],
        mut fresh: ByWay,
    ) -> Result<WayLists, CompileError> {
        let mut lists = WayLists::new();
        let mut ids = Vec::new();
        for (alike, list, parts) in &self.bases[number].lists {
            let is_other = |node: u16| others.binary_search(&usize::from(node)).is_ok();
            let more = fresh.take(alike);
            if more.is_empty() && !parts.iter().any(|part| is_other(part.0)) {
                lists.push((*alike, *list));
                continue;
            }
            ids.clear();
            let all = self.lists.get(*list);
            for &(_, (from, to)) in parts.iter().filter(|part| !is_other(part.0)) {
                ids.extend_from_slice(&all[from as usize..to as usize]);
            }
            ids.extend(more.into_iter().flat_map(|part| part.1));
            if !ids.is_empty() {
                lists.push((*alike, self.lists.of(&ids, walk.budget)?));
            }
        }
        for (alike, parts) in fresh.all.into_iter().filter(|of| !of.1.is_empty()) {
            let ids: Vec<TokenId> = parts.into_iter().flat_map(|part| part.1).collect();
            lists.push((alike, self.lists.of(&ids, walk.budget)?));
        }
        Ok(lists)
    }

    /// What is known of a state inside of a character. O(nodes on live paths and their siblings).
    pub(super) fn kind(
        &mut self,
        walk: &Walk<'_>,
        stacks: &mut Stacks,
        state: StateId,
    ) -> Result<Kind, CompileError> {
        Kind::of(walk, stacks, state, &mut self.inside.numbers)
    }

    /// The lists of a state inside of a character where chunks stand at `chunk`.
    pub(super) fn inside(
        &mut self,
        walk: &Walk<'_>,
        kind: &Kind,
        chunk: u16,
    ) -> Result<Rc<[InsideList]>, CompileError> {
        if let Some(known) = self.inside.found.get(&(kind.number, chunk)) {
            return Ok(Rc::clone(known));
        }
        let mut lists = Vec::new();
        for ((way, at), ids) in kind.tokens(walk, chunk)? {
            lists.push((way, at, self.lists.of(&ids, walk.budget)?));
        }
        let lists: Rc<[InsideList]> = lists.into();
        self.inside.found.insert((kind.number, chunk), Rc::clone(&lists));
        Ok(lists)
    }
}

/// Lists of tokens while they are found, in the order in which they are met.
#[derive(Default)]
struct ByWay {
    /// Each with its tokens under each node.
    all: Vec<(Alike, UnderNodes<Vec<TokenId>>)>,
    numbers: Numbers<Way>,
    /// By number of the way, then by class and whether they are whole chunks: the number of the list, and one more.
    slots: Vec<Vec<u32>>,
}

impl ByWay {
    fn add(
        &mut self,
        walk: &Walk<'_>,
        is_whole: &[bool],
        node: usize,
        way: Way,
        ids: impl Iterator<Item = TokenId>,
    ) {
        let node = u16::try_from(node).expect("there are 256 first bytes");
        let number = self.numbers.of(way) as usize;
        if number == self.slots.len() {
            self.slots.push(Vec::new());
        }
        let slots = &mut self.slots[number];
        for id in ids {
            // Tokens of class 0 are no encodings, or are within no chunk.
            let class = walk.encoder.chunks.class_of(id);
            if class == 0 {
                continue;
            }
            let is_whole = is_whole.get(id as usize).is_some_and(|&is_whole| is_whole);
            let slot = usize::from(class) * 2 + usize::from(is_whole);
            if slots.len() <= slot {
                slots.resize(slot + 1, 0);
            }
            if slots[slot] == 0 {
                self.all.push((Alike { way, of: OfChunks { class, is_whole } }, Vec::new()));
                slots[slot] = checked_u32(self.all.len());
            }
            let parts = &mut self.all[slots[slot] as usize - 1].1;
            match parts.last_mut().filter(|part| part.0 == node) {
                Some(part) => part.1.push(id),
                None => parts.push((node, vec![id])),
            }
        }
    }

    /// Takes the tokens of a list out, if there are any.
    fn take(&mut self, alike: &Alike) -> UnderNodes<Vec<TokenId>> {
        let slot = usize::from(alike.of.class) * 2 + usize::from(alike.of.is_whole);
        let number = self.numbers.get(&alike.way).and_then(|number| self.slots[number as usize].get(slot));
        match number {
            Some(&number) if number > 0 => std::mem::take(&mut self.all[number as usize - 1].1),
            _ => Vec::new(),
        }
    }
}
