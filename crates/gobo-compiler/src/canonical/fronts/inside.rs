//! Tokens that begin inside of a character.
//!
//! Inside of characters a constraint has some seven states for each of its strings, and in product with those of chunks they are nearly all states of an
//! index. They are told apart by what follows the string, which few tokens that begin inside of a character reach. States from which the same tokens lead to the same
//! pattern of states are of one *kind*: what is found with one of them, for a state of chunks, holds of all, with the states renamed. Which tokens chunks let through
//! is found once for each of their states, as a list in the order of the trie, and so is the pattern of a kind: one look at both tells the lists of a pair.
//! O(kinds × states of chunks × tokens that begin inside of a character).
//!
//! These lists are what compiles share of canonical indices ([`crate::RowCache`]): they are a function of the vocabulary, the pattern and the state of chunks, and the
//! strings of a family of schemas have the same patterns.

use std::rc::Rc;

use foldhash::HashMap;
use gobo_artifact::Vocabulary;
use gobo_artifact::layout::{Encoder, NO_CHUNK};
use gobo_automata::StateId;
use gobo_types::{CompileError, Digest, TokenId, checked_u32};

use super::numbers::Numbers;
use crate::canonical::lists::ListId;
use crate::canonical::rules::{Block, StackId, Stacks, Wanted, Way};
use crate::canonical::walk::{PHASE, Walk};
use crate::rows::{Cost, InsideKey, InsideTokens};

/// Bytes of a list.
const LIST_BYTES: u64 = 32;

/// Tokens side by side in the order of the trie that lead the same way: the number of that, by its first occurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Run {
    from: u32,
    to: u32,
    way: u32,
}

/// States inside of characters from which the same tokens lead the same ways, as one of them has it.
pub(super) struct Kind {
    pub(super) number: u32,
    /// Ascending.
    pattern: Rc<[Run]>,
    pub(super) ways: Vec<Way>,
    /// What compiles share it by, if they share anything.
    digest: Option<[u8; 32]>,
}

/// Tokens from states inside of characters: the number of their way, the state of chunks at their end, and the list.
pub(super) type InsideList = (u32, u16, ListId);

/// What is known of states inside of characters.
#[derive(Default)]
pub(super) struct Inside {
    pub(super) numbers: HashMap<Rc<[Run]>, u32>,
    /// By kind and state of chunks.
    pub(super) found: HashMap<(u32, u16), Rc<[InsideList]>>,
}

impl Kind {
    pub(super) fn of(
        walk: &Walk<'_>,
        stacks: &mut Stacks,
        state: StateId,
        numbers: &mut HashMap<Rc<[Run]>, u32>,
    ) -> Result<Self, CompileError> {
        let trie = walk.vocabulary.trie();
        let block = Block { first: trie.root, to: trie.to, read: 0, at: (state, StackId::EMPTY) };
        let mut runs: Vec<((u32, u32), Way)> = Vec::new();
        walk.rules
            .reach(stacks, &trie, block, Wanted::All, walk.budget, |way, place| runs.push((place, way)))?;
        runs.sort_unstable_by_key(|run| run.0);
        let (mut ways, mut known) = (Vec::new(), Numbers::default());
        let pattern = runs.into_iter().map(|((from, to), of)| {
            let way = known.of(of);
            if way as usize == ways.len() {
                ways.push(of);
            }
            Run { from, to, way }
        });
        let pattern: Vec<Run> = pattern.collect();
        let (pattern, number) = match numbers.get_key_value(pattern.as_slice()) {
            Some((known, &number)) => (Rc::clone(known), number),
            None => {
                walk.budget.charge_bytes(PHASE, pattern.len() as u64 * 12)?;
                let (pattern, number) = (Rc::<[Run]>::from(pattern), checked_u32(numbers.len()));
                numbers.insert(Rc::clone(&pattern), number);
                (pattern, number)
            }
        };
        let digest = walk.shared.map(|_| {
            let mut bytes = [walk.vocabulary.digest().0.0, walk.encoder.digest].concat();
            let words = pattern.iter().flat_map(|run| [run.from, run.to, run.way]);
            bytes.extend(words.flat_map(u32::to_le_bytes));
            Digest::of(&bytes).0
        });
        Ok(Self { number, pattern, ways, digest })
    }

    /// The tokens that begin in a state of the kind where chunks stand at `chunk`: a function of the key by which compiles share it.
    pub(super) fn tokens(&self, walk: &Walk<'_>, chunk: u16) -> Result<InsideTokens, CompileError> {
        let shared = walk.shared.zip(self.digest).map(|(shared, kind)| (shared, InsideKey { kind, chunk }));
        let known = shared.and_then(|(shared, key)| shared.get_inside(&key));
        let (cost, tokens) = match known {
            Some(known) => known,
            None => {
                let (alive, looked) = alive_from(walk.vocabulary, walk.encoder, chunk);
                let steps = looked + (alive.len() + self.pattern.len()) as u64 / 4;
                let tokens = self.divide(&alive, walk.vocabulary.trie().order);
                let cost = Cost { steps, bytes: tokens.len() as u64 * LIST_BYTES };
                if let Some((shared, key)) = shared {
                    shared.put_inside(key, cost, &tokens);
                }
                (cost, tokens)
            }
        };
        walk.budget.charge_steps(PHASE, cost.steps)?;
        walk.budget.charge_bytes(PHASE, cost.bytes)?;
        Ok(tokens)
    }

    /// Tokens by where they lead. O(tokens + runs).
    fn divide(&self, alive: &[(u32, u16)], order: &[TokenId]) -> InsideTokens {
        let (mut lists, mut known) = (InsideTokens::new(), Numbers::default());
        let mut runs = self.pattern.iter().peekable();
        for &(place, at) in alive {
            while runs.next_if(|run| run.to <= place).is_some() {}
            let Some(run) = runs.peek().filter(|run| run.from <= place) else { continue };
            let list = known.of((run.way, at)) as usize;
            if list == lists.len() {
                lists.push(((run.way, at), Vec::new()));
            }
            lists[list].1.push(order[place as usize]);
        }
        lists
    }
}

/// The tokens that may begin where chunks stand inside of a character: their places in the order of the trie, ascending, and the states of chunks at their ends; and how many
/// nodes were looked at.
fn alive_from(vocabulary: &Vocabulary, encoder: &Encoder<'_>, chunk: u16) -> (Vec<(u32, u16)>, u64) {
    let (trie, chunks, merges) = (vocabulary.trie(), &encoder.chunks, &encoder.merges);
    let mut alive = Vec::new();
    let mut open = vec![(trie.root, trie.to, chunk)];
    let mut looked = 0;
    // Nodes before their siblings, and what is below a node before both.
    while let Some((mut number, to, chunk)) = open.pop() {
        loop {
            looked += 1;
            let node = trie.nodes[number];
            let next = chunks.next(chunk, node.byte());
            let is_last = node.is_last();
            if next != NO_CHUNK {
                let end = trie.subtree_end(number, to);
                for at in node.first..trie.own_end(number, end) {
                    if merges.is_proper(trie.order[at as usize]) {
                        alive.push((at, next));
                    }
                }
                if let Some(child) = node.children() {
                    if !is_last {
                        open.push((number + 1, to, chunk));
                    }
                    open.push((child, end, next));
                    break;
                }
            }
            if is_last {
                break;
            }
            number += 1;
        }
    }
    (alive, looked)
}
