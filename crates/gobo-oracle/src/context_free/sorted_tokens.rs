//! Masks of a grammar: every token of a vocabulary is tried at an Earley set.
//!
//! Tokens are taken in the order of their bytes, and a token begins where its prefix in common with the token before it
//! ended, so each prefix is walked once: the depth-first walk of the vocabulary's trie without the trie. O(bytes of the
//! vocabulary) steps of the recogniser for one mask.

use std::collections::BTreeSet;

use gobo_types::TokenId;

use crate::{Earley, SetId, Tokens};

/// Ordinary tokens in the order of their bytes: those with a common beginning stand together.
#[derive(Debug)]
pub struct SortedTokens {
    /// Bytes, id, and how many bytes it has in common with the token before it.
    tokens: Vec<(Vec<u8>, TokenId, usize)>,
    single: BTreeSet<u8>,
}

impl SortedTokens {
    /// O(n log n) in the bytes of the vocabulary.
    pub fn new(tokens: &Tokens) -> Self {
        let mut sorted: Vec<(Vec<u8>, TokenId, usize)> =
            tokens.ordinary().map(|(id, bytes)| (bytes.to_vec(), id, 0)).collect();
        sorted.sort_unstable();
        for at in 1..sorted.len() {
            let (before, here) = (&sorted[at - 1].0, &sorted[at].0);
            sorted[at].2 = before.iter().zip(here).take_while(|(x, y)| x == y).count();
        }
        let single =
            tokens.ordinary().filter_map(|(_, bytes)| <[u8; 1]>::try_from(bytes).ok()).map(|[byte]| byte);
        Self { single: single.collect(), tokens: sorted }
    }

    /// Whether each of `bytes` is a token by itself: then what they can write, tokens can.
    pub fn have_each_of(&self, bytes: &BTreeSet<u8>) -> bool {
        self.single.is_superset(bytes)
    }

    /// The ids of which `earley` takes all bytes at `set`, ascending. Where each live byte is a token by itself (which the
    /// caller has to see to), these are the allowed ones: what bytes can finish, tokens can.
    pub fn allowed(&self, earley: &mut Earley, set: SetId) -> Vec<TokenId> {
        let mut allowed = Vec::new();
        // The sets after the first bytes of the present token, as far as it lives.
        let mut path = vec![set];
        for (bytes, id, common) in &self.tokens {
            path.truncate(common + 1);
            // Shorter than that: the common bytes are dead already.
            if path.len() == common + 1 {
                for &byte in &bytes[*common..] {
                    let last = *path.last().expect("a path has its start");
                    let Some(next) = earley.step(last, byte) else { break };
                    path.push(next);
                }
            }
            if path.len() == bytes.len() + 1 {
                allowed.push(*id);
            }
        }
        allowed.sort_unstable();
        allowed
    }
}
