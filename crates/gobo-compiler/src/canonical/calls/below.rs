//! Tokens whose fate is decided by what called the rules at hand.
//!
//! A token that may be live and is not surely so leads, behind some tokens that are so, too, to the end of its rule: there it has *witnesses*, tokens that end there or go on
//! in the caller. It is live exactly if one of them is, and that is a question to the return state on top of the stack, which answers yes, or no, or with
//! other witnesses for the return state below. So the stacks below which a token is live are a regular language, and witnesses are what an
//! automaton keeps that reads them from the top. Each search goes on from one token to the next only as long as nothing is sure.

use foldhash::{HashMap, HashSet};
use gobo_artifact::Vocabulary;
use gobo_automata::{ExitId, ReturnId};
use gobo_types::{CompileError, DenseId as _, TokenId};

use super::links::Links;
use super::sure::Sure;
use crate::canonical::first::Live;
use crate::canonical::product::DEAD;
use crate::canonical::rules::{Rules, StackId, Stacks, Way};
use crate::canonical::tokens::Tokens;
use crate::canonical::walk::{PHASE, Walk};

/// A token that comes to the end of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Witness {
    pub(super) exit: ExitId,
    pub(super) token: TokenId,
    /// So many of its bytes are read in the rule: all, or its rest is read by the caller.
    pub(super) read: u16,
    /// Where the chunks stand at the end of the token.
    pub(super) chunk: u16,
}

/// Whether a token is live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fate {
    Live,
    /// If one of these is; if there is none, it is not. Ascending.
    If(Vec<Witness>),
}

/// A token that has ended in a state, or comes to the end of a rule, above a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    At { state: u32, token: TokenId, stack: StackId },
    Behind { witness: Witness, stack: StackId },
}

/// See the [module](self).
pub(super) struct Below<'a> {
    pub(super) walk: &'a Walk<'a>,
    pub(super) rules: Rules<'a>,
    pub(super) vocabulary: &'a Vocabulary,
    pub(super) links: &'a Links,
    pub(super) tokens: &'a Tokens,
    pub(super) sure: &'a Sure<'a>,
    /// The tokens of each group that may be live; those that are sure are [`First::live`](crate::canonical::first::First::live).
    pub(super) open: &'a [Live],
    pub(super) stacks: Stacks,
    /// By state, token and what was called.
    pub(super) known: HashMap<(u32, TokenId, StackId), Fate>,
    /// Tokens of borders that are live by what they have called, and not sure: by border.
    pub(super) live: HashMap<u32, Vec<TokenId>>,
}

impl Below<'_> {
    /// The fate of a token that leads to a state, above what it has called.
    pub(super) fn fate(&mut self, state: u32, token: TokenId, stack: StackId) -> Result<Fate, CompileError> {
        if let Some(fate) = self.known.get(&(state, token, stack)) {
            return Ok(fate.clone());
        }
        let fate = self.search(Place::At { state, token, stack })?;
        let held = if let Fate::If(witnesses) = &fate { witnesses.len() } else { 0 };
        self.walk.budget.charge_bytes(PHASE, 48 + held as u64 * 12)?;
        self.known.insert((state, token, stack), fate.clone());
        Ok(fate)
    }

    /// What becomes of a witness at the return state on top of the stack.
    pub(super) fn fate_behind(&mut self, witness: Witness, top: ReturnId) -> Result<Fate, CompileError> {
        let stack = self.stacks.push(top, StackId::EMPTY);
        self.search(Place::Behind { witness, stack })
    }

    fn search(&mut self, from: Place) -> Result<Fate, CompileError> {
        let mut met: HashSet<Place> = HashSet::from_iter([from]);
        let mut open = vec![from];
        let mut witnesses = Vec::new();
        let mut next = Vec::new();
        while let Some(place) = open.pop() {
            next.clear();
            let is_live = match place {
                Place::At { state, token, stack } => self.at(state, token, stack, &mut next)?,
                Place::Behind { witness, stack } => match self.stacks.pop(stack) {
                    None => {
                        witnesses.push(witness);
                        false
                    }
                    Some((top, below)) => self.behind(witness, top, below, &mut next)?,
                },
            };
            if is_live {
                return Ok(Fate::Live);
            }
            open.extend(next.iter().filter(|&&place| met.insert(place)));
            self.walk.budget.charge_bytes(PHASE, next.len() as u64 / 4)?;
        }
        witnesses.sort_unstable();
        witnesses.dedup();
        Ok(Fate::If(witnesses))
    }

    /// What a witness does at a return state: whether it is live there, and else where it comes to.
    fn behind(
        &mut self,
        witness: Witness,
        top: ReturnId,
        below: StackId,
        next: &mut Vec<Place>,
    ) -> Result<bool, CompileError> {
        let Witness { exit, token, read, chunk } = witness;
        let rest = &self.vocabulary.bytes(token)[usize::from(read)..];
        self.walk.budget.charge_steps(PHASE, 1 + rest.len() as u64)?;
        if top == self.links.bottom() {
            return Ok(rest.is_empty() && self.walk.encoder.chunks.may_end(chunk));
        }
        let Some(state) = self.rules.calls.returns[top.index()].state(exit) else { return Ok(false) };
        match self.rules.walk(&mut self.stacks, state, rest) {
            None => {}
            Some(Way::Ends(state, above)) => {
                let stack = self.stacks.on(above, below);
                let state = self.walk.product.state_of((state, chunk));
                if state != DEAD {
                    next.push(Place::At { state, token, stack });
                }
            }
            Some(Way::Leaves(exit, more)) => {
                let witness = Witness { exit, token, read: read + more, chunk };
                next.push(Place::Behind { witness, stack: below });
            }
        }
        Ok(false)
    }

    /// Whether a token that leads to a state is live, and else what it depends on.
    fn at(
        &mut self,
        state: u32,
        token: TokenId,
        stack: StackId,
        next: &mut Vec<Place>,
    ) -> Result<bool, CompileError> {
        let Walk { product, encoder, budget, .. } = self.walk;
        let merges = &encoder.merges;
        budget.charge_steps(PHASE, 8)?;
        if self.sure.states[state as usize] || self.sure.escapes(state, token) {
            return Ok(true);
        }
        let (of, chunk) = product.pairs[state as usize];
        if self.links.exit[state as usize].is_some() {
            let exit = self.rules.calls.exit(of);
            let read = u16::try_from(self.vocabulary.bytes(token).len()).expect("tokens are shorter");
            next.push(Place::Behind { witness: Witness { exit, token, read, chunk }, stack });
        }
        let [within, marked] = product.borders(state);
        for (border, is_within) in [(within, true), (marked, false)] {
            if border == DEAD {
                continue;
            }
            let may_follow = |id: TokenId| !is_within || !merges.joins(token, id);
            let first = &self.tokens.first;
            let mut tests = 0;
            for number in first.groups_of(border) {
                let group = &first.groups[number];
                let surely = first.live(&first.live, number);
                tests += surely.len();
                if surely.iter().any(|&id| may_follow(id)) {
                    budget.charge_steps(PHASE, tests as u64)?;
                    return Ok(true);
                }
                for &id in first.live(self.open, number) {
                    tests += 1;
                    if may_follow(id) {
                        let stack = self.stacks.on(group.stack, stack);
                        next.push(Place::At { state: group.to, token: id, stack });
                    }
                }
            }
            for (leaving, ids) in self.tokens.leaving(border) {
                tests += ids.len();
                for &id in ids.iter().filter(|&&id| may_follow(id)) {
                    let witness =
                        Witness { exit: leaving.exit, token: id, read: leaving.read, chunk: leaving.chunk };
                    next.push(Place::Behind { witness, stack });
                }
            }
            budget.charge_steps(PHASE, tests as u64)?;
        }
        Ok(false)
    }
}
