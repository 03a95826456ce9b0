//! Walks of the vocabulary's trie beside an automaton.

use gobo_artifact::layout::{Encoder, Trie};
use gobo_automata::Dfa;
use gobo_types::{Budget, CompileError, TokenId};

use super::product::Product;

pub(super) const PHASE: &str = "walking the vocabulary in canonical form";

/// What is walked.
pub(super) struct Walk<'a> {
    pub(super) dfa: &'a Dfa,
    pub(super) product: &'a Product,
    pub(super) encoder: &'a Encoder<'a>,
    pub(super) trie: Trie<'a>,
    /// Highest id + 1.
    pub(super) ids: usize,
    pub(super) budget: &'a Budget,
}

/// Calls `found` with each state that tokens lead to from `from`, and the ids of these tokens, node by node; `next` is the state after a byte, if there
/// is one. O(nodes on live paths and their siblings).
pub(super) fn reach<S: Copy>(
    trie: &Trie<'_>,
    from: S,
    budget: &Budget,
    next: impl Fn(S, u8) -> Option<S>,
    mut found: impl FnMut(S, &[TokenId]),
) -> Result<(), CompileError> {
    let mut open: Vec<(usize, u32, S)> = vec![(trie.root, trie.to, from)];
    let mut looked = 0;
    while let Some((first, to, state)) = open.pop() {
        for number in first.. {
            looked += 1;
            let node = trie.nodes[number];
            let end = trie.subtree_end(number, to);
            if let Some(next) = next(state, node.byte()) {
                let own_end = trie.own_end(number, end);
                if own_end > node.first {
                    found(next, &trie.order[node.first as usize..own_end as usize]);
                }
                if let Some(child) = node.children() {
                    open.push((child, end, next));
                }
            }
            if node.is_last() {
                break;
            }
        }
    }
    budget.charge_steps(PHASE, looked)
}
