//! The tokens that may come next, so that the tokenizer itself would write the text as it stands, and some text can be completed.
//!
//! Let First(q) be the tokens that begin a canonical way from state q to the end. Whether a token f may follow a token t in the same chunk depends on the two
//! alone, so that the mask behind t is First(q) without the tokens that t joins. So First has no column for the last token: a token f of q,
//! which leads to d, is in First(q) exactly if d is *live behind f*: the text may end at d; or First is not empty behind the border of two chunks; or it
//! holds, behind a border within a chunk, a token that f does not join. First is the least fixpoint of that.
//!
//! **Groups.** The tokens from one state to another live and die together where it does not matter which one it was: where the text may end, where a
//! chunk may begin, and nearly everywhere else, since few tokens join all that can follow. They are counted and asked one by one only while what can
//! follow is joined by some of them.
//!
//! **Cost.** A walk of the vocabulary's trie for each state at which a token can end; then a look at each group for each change of what it leads to,
//! and a test of neighbours for each token in groups that are not decided as a whole.

use std::collections::VecDeque;

use gobo_artifact::layout::{Encoder, Trie};
use gobo_types::{Budget, CompileError, TokenId, checked_u32};

use super::product::{DEAD, Product};

const PHASE: &str = "walking the vocabulary in canonical form";

/// The tokens that lead from one state to another.
pub(super) struct Group {
    pub(super) from: u32,
    to: u32,
    /// Where its tokens lie.
    tokens: (u32, u32),
    /// How many of them are live; they come first.
    live: u32,
}

/// First of all states at which a token can end.
pub(super) struct First {
    /// By the state from which they lead.
    pub(super) groups: Vec<Group>,
    /// `[states]`: its groups, for states at which a token can end.
    pub(super) of: Vec<Option<(u32, u32)>>,
    tokens: Vec<TokenId>,
}

impl First {
    pub(super) fn new(
        product: &Product,
        encoder: &Encoder<'_>,
        trie: &Trie<'_>,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        let mut first = Self { groups: Vec::new(), of: vec![None; product.len()], tokens: Vec::new() };
        first.walk(product, encoder, trie, budget)?;
        first.settle(product, encoder, budget)?;
        Ok(first)
    }

    /// The live tokens of a state.
    pub(super) fn tokens_of(&self, state: u32) -> impl Iterator<Item = TokenId> + '_ {
        let (from, to) = self.of[state as usize].unwrap_or_default();
        self.groups[from as usize..to as usize].iter().flat_map(|group| self.live(group)).copied()
    }

    fn live(&self, group: &Group) -> &[TokenId] {
        &self.tokens[group.tokens.0 as usize..(group.tokens.0 + group.live) as usize]
    }

    /// The groups of all states that tokens reach from the start.
    fn walk(
        &mut self,
        product: &Product,
        encoder: &Encoder<'_>,
        trie: &Trie<'_>,
        budget: &Budget,
    ) -> Result<(), CompileError> {
        let mut open = VecDeque::from([product.start]);
        let mut is_reached = vec![false; product.len()];
        is_reached[product.start as usize] = true;
        let mut found: Vec<(u32, TokenId)> = Vec::new();
        while let Some(state) = open.pop_front() {
            found.clear();
            reach(product, trie, state, budget, |to, ids| {
                found.extend(ids.iter().filter(|&&id| encoder.merges.is_proper(id)).map(|&id| (to, id)));
            })?;
            budget.charge_steps(PHASE, found.len() as u64)?;
            budget.charge_bytes(PHASE, found.len() as u64 * 4)?;
            // Tokens to one state lie together.
            found.sort_unstable();
            let begin = checked_u32(self.groups.len());
            for of in found.chunk_by(|one, other| one.0 == other.0) {
                let (to, from) = (of[0].0, checked_u32(self.tokens.len()));
                self.tokens.extend(of.iter().map(|&(_, id)| id));
                let tokens = (from, checked_u32(self.tokens.len()));
                self.groups.push(Group { from: state, to, tokens, live: 0 });
                for next in [product.within[to as usize], product.marked[to as usize]] {
                    if next != DEAD && !std::mem::replace(&mut is_reached[next as usize], true) {
                        open.push_back(next);
                    }
                }
            }
            self.of[state as usize] = Some((begin, checked_u32(self.groups.len())));
        }
        Ok(())
    }

    /// Finds the tokens that are live: the least fixpoint.
    fn settle(
        &mut self,
        product: &Product,
        encoder: &Encoder<'_>,
        budget: &Budget,
    ) -> Result<(), CompileError> {
        // Of each state the groups that lead to it; and the states from which a border leads to it.
        let mut groups_to: Vec<Vec<u32>> = vec![Vec::new(); product.len()];
        for (number, group) in (0..).zip(&self.groups) {
            groups_to[group.to as usize].push(number);
        }
        let mut borders_to: Vec<Vec<u32>> = vec![Vec::new(); product.len()];
        for state in 1..product.len() {
            for next in [product.within[state], product.marked[state]] {
                if next != DEAD {
                    borders_to[next as usize].push(checked_u32(state));
                }
            }
        }
        let mut is_sure = product.ends.clone();
        let mut is_open = vec![true; product.len()];
        let mut open: VecDeque<u32> =
            (1..checked_u32(product.len())).filter(|&at| is_sure[at as usize]).collect();
        is_open.iter_mut().zip(&is_sure).for_each(|(open, &sure)| *open = sure);
        while let Some(to) = open.pop_front() {
            is_open[to as usize] = false;
            for number in &groups_to[to as usize] {
                let group = &self.groups[*number as usize];
                let count = group.tokens.1 - group.tokens.0;
                if group.live == count {
                    continue;
                }
                let was_empty = self.of[group.from as usize].is_none_or(|(from, to)| {
                    self.groups[from as usize..to as usize].iter().all(|group| group.live == 0)
                });
                let from = group.from;
                let live = if is_sure[to as usize] {
                    count
                } else {
                    self.recheck(*number, product.within[to as usize], encoder, budget)?
                };
                let group = &mut self.groups[*number as usize];
                if live == group.live {
                    continue;
                }
                group.live = live;
                budget.charge_steps(PHASE, 1)?;
                // More can follow at `from`: what leads to a border before it is looked at again.
                for &state in &borders_to[from as usize] {
                    if was_empty && product.marked[state as usize] == from {
                        is_sure[state as usize] = true;
                    }
                    if !std::mem::replace(&mut is_open[state as usize], true) {
                        open.push_back(state);
                    }
                }
            }
        }
        Ok(())
    }

    /// How many tokens of a group are live, if what can follow within the chunk is First of `next`. Live ones are put first.
    fn recheck(
        &mut self,
        number: u32,
        next: u32,
        encoder: &Encoder<'_>,
        budget: &Budget,
    ) -> Result<u32, CompileError> {
        let Group { tokens: (from, to), mut live, .. } = self.groups[number as usize];
        if next == DEAD {
            return Ok(live);
        }
        for at in from + live..to {
            let id = self.tokens[at as usize];
            let mut tests = 0;
            let is_live = self.tokens_of(next).any(|follows| {
                tests += 1;
                !encoder.merges.joins(id, follows)
            });
            budget.charge_steps(PHASE, 1 + tests)?;
            if is_live {
                self.tokens.swap(at as usize, (from + live) as usize);
                live += 1;
            }
        }
        Ok(live)
    }
}

/// Calls `found` with each state that tokens lead to from `from`, and the ids of these tokens, node by node. O(nodes on live paths and their siblings).
fn reach(
    product: &Product,
    trie: &Trie<'_>,
    from: u32,
    budget: &Budget,
    mut found: impl FnMut(u32, &[TokenId]),
) -> Result<(), CompileError> {
    let mut open: Vec<(usize, u32, u32)> = vec![(trie.root, trie.to, from)];
    let mut looked = 0;
    while let Some((number, to, state)) = open.pop() {
        looked += 1;
        let node = trie.nodes[number];
        let end = trie.subtree_end(number, to);
        if !node.is_last() {
            open.push((number + 1, to, state));
        }
        let next = product.next(state, node.byte());
        if next == DEAD {
            continue;
        }
        let own_end = trie.own_end(number, end);
        if own_end > node.first {
            found(next, &trie.order[node.first as usize..own_end as usize]);
        }
        if let Some(child) = node.children() {
            open.push((child, end, next));
        }
    }
    budget.charge_steps(PHASE, looked)
}
