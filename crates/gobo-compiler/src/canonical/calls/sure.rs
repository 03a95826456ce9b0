//! Tokens that are live whatever is on the stack, and those that may be live at all.
//!
//! A token that leads to a state t is surely live if behind it a chunk can end and some text goes on, whatever is on the stack; or if within its chunk a
//! byte can be read with which no token begins that it joins; or if a sure token can follow that it does not join: the least fixpoint of
//! [`First::settle`](crate::canonical::first::First::settle). Where the rule may end at t, it is also sure if the return states of all callers are so.
//! Few tokens are not sure and may be live all the same: mostly those that end a rule after which its callers go on with punctuation.

use std::cell::RefCell;

use foldhash::HashMap;
use gobo_types::{ByteSet, CompileError, TokenId, VocabularyDigest};

use super::links::Links;
use super::texts::Texts;
use crate::canonical::first::{Escapes, ListId, Seeds};
use crate::canonical::product::{Bottom, DEAD};
use crate::canonical::tokens::Tokens;
use crate::canonical::walk::{PHASE, Walk};
use crate::joined_bytes::JoinedBytes;

/// See the [module](self).
pub(super) struct Sure<'a> {
    walk: &'a Walk<'a>,
    texts: &'a Texts,
    joined: RefCell<JoinedBytes>,
    /// `[states]`: all tokens that lead there are live.
    pub(super) states: Vec<bool>,
    /// What can be read behind a border within the chunk so that some text goes on: by state before it.
    open_bytes: RefCell<HashMap<u32, ByteSet>>,
}

impl<'a> Sure<'a> {
    pub(super) fn new(
        walk: &'a Walk<'a>,
        bottom: &Bottom,
        links: &Links,
        texts: &'a Texts,
    ) -> Result<Self, CompileError> {
        let product = walk.product;
        let is_end = |state: usize| product.pairs[state].0 == bottom.end;
        let is_own = |state: usize| {
            is_end(state) || product.marked[state] != DEAD && texts.is_open[product.marked[state] as usize]
        };
        let mut states: Vec<bool> =
            (0..product.len()).map(|state| is_own(state) || links.exit[state].is_some()).collect();
        loop {
            let mut changed = false;
            for state in 1..product.len() {
                let Some(exit) = links.exit[state].filter(|_| states[state] && !is_own(state)) else {
                    continue;
                };
                let tops = &links.of_tops[links.tops[state]];
                walk.budget.charge_steps(PHASE, tops.len() as u64)?;
                let goes_on = |&top: &_| links.after(top, exit).is_some_and(|next| states[next as usize]);
                if !tops.iter().all(goes_on) {
                    states[state] = false;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        states[DEAD as usize] = false;
        let key = joined_key(walk);
        let joined = match walk.shared.and_then(|shared| shared.take_joined(&key)) {
            Some(known) => known,
            None => {
                let first_byte = |id| walk.vocabulary.bytes(id).first().copied();
                JoinedBytes::new(walk.encoder.merges, walk.vocabulary.len(), first_byte)
            }
        };
        walk.budget.charge_steps(PHASE, walk.encoder.merges.cuts().len() as u64 / 4)?;
        walk.budget.charge_bytes(PHASE, joined.bytes())?;
        let joined = RefCell::new(joined);
        Ok(Self { walk, texts, joined, states, open_bytes: RefCell::default() })
    }

    /// Whether a token that leads to a state is live by a byte that can be read within its chunk.
    pub(super) fn escapes(&self, state: u32, id: TokenId) -> bool {
        !self.open(state).is_subset(&self.joined_by(id))
    }

    /// What can be read within the chunk behind a border, by the state before it.
    fn open(&self, state: u32) -> ByteSet {
        *self.open_bytes.borrow_mut().entry(state).or_insert_with(|| self.open_bytes(state))
    }

    /// The bytes with which the tokens begin that a token joins.
    fn joined_by(&self, id: TokenId) -> ByteSet {
        self.joined.borrow_mut().by(self.walk.encoder.merges, id)
    }

    /// Leaves what was found of the vocabulary for other compiles.
    pub(super) fn share(self) {
        if let Some(shared) = self.walk.shared {
            shared.put_joined(joined_key(self.walk), self.joined.into_inner());
        }
    }

    fn open_bytes(&self, state: u32) -> ByteSet {
        let mut open = ByteSet::default();
        let Walk { product, rules, .. } = self.walk;
        let next = product.within[state as usize];
        if next == DEAD {
            return open;
        }
        let (of, chunk) = product.pairs[next as usize];
        let entries = rules.calls.push_transitions(of).iter();
        let entries = entries.map(|push| product.state_of((push.entry, chunk)));
        for from in std::iter::once(next).chain(entries).filter(|&from| from != DEAD) {
            for byte in 0..=u8::MAX {
                let to = product.next(from, byte);
                if to != DEAD && self.texts.is_open[to as usize] {
                    open.insert(byte);
                }
            }
        }
        open
    }

    /// The tokens of each group that are sure.
    pub(super) fn settle(&self, tokens: &mut Tokens) -> Result<Vec<ListId>, CompileError> {
        let (open, joined) = (|state| self.open(state), |id| self.joined_by(id));
        let escapes = Some(Escapes { open: &open, joined: &joined });
        tokens.first.settle(self.walk, Seeds { states: self.states.clone(), escapes, goes_on: false })
    }

    /// The tokens of each group that may be live, once those that are sure are known.
    pub(super) fn settle_open(
        &self,
        links: &Links,
        tokens: &mut Tokens,
    ) -> Result<Vec<ListId>, CompileError> {
        let product = self.walk.product;
        let may_leave = |state: u32| state != DEAD && tokens.leaving(state).next().is_some();
        let may_be = |state: usize| {
            let [within, marked] = product.borders(u32::try_from(state).unwrap_or(DEAD));
            self.states[state]
                || links.exit[state].is_some()
                || self.texts.can_end[marked as usize]
                || may_leave(within)
                || may_leave(marked)
        };
        let states = (0..product.len()).map(|state| state != DEAD as usize && may_be(state)).collect();
        tokens.first.settle(self.walk, Seeds { states, escapes: None, goes_on: true })
    }
}

/// What the bytes of joined tokens depend on.
fn joined_key(walk: &Walk<'_>) -> (VocabularyDigest, [u8; 32]) {
    (walk.vocabulary.digest(), walk.encoder.digest)
}
