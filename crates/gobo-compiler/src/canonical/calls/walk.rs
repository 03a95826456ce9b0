//! Walks beside rules that call others: where bytes lead from a state of a rule, whatever is below it on the stack.

use foldhash::HashMap;
use gobo_artifact::layout::{Chunks, NO_CHUNK, Trie};
use gobo_automata::{Calls, Dfa, ExitId, ReturnId, StateId};
use gobo_types::{Budget, CompileError, DenseId as _, dense_id};

use crate::canonical::walk::PHASE;

dense_id! {
    /// What has been called and not returned from, above what was there before.
    pub(crate) struct StackId;
}

impl StackId {
    /// Nothing.
    pub(crate) const EMPTY: Self = Self(0);
}

/// Stacks, each once.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    /// Of each but the empty one: its top, and what is below.
    frames: Vec<(ReturnId, StackId)>,
    known: HashMap<(ReturnId, StackId), StackId>,
}

impl Stacks {
    pub(super) fn push(&mut self, top: ReturnId, below: StackId) -> StackId {
        let Self { frames, known } = self;
        *known.entry((top, below)).or_insert_with(|| {
            frames.push((top, below));
            StackId::new(frames.len())
        })
    }

    /// The top, and what is below; `None` of the empty one.
    pub(super) fn pop(&self, stack: StackId) -> Option<(ReturnId, StackId)> {
        (stack != StackId::EMPTY).then(|| self.frames[stack.index() - 1])
    }

    /// A stack on another one.
    pub(super) fn on(&mut self, above: StackId, below: StackId) -> StackId {
        match self.pop(above) {
            None => below,
            Some((top, rest)) => {
                let below = self.on(rest, below);
                self.push(top, below)
            }
        }
    }
}

/// Where a byte leads.
pub(super) enum Step {
    To(StateId, StackId),
    /// The rule at hand ends before the byte, at an exit.
    Leaves(ExitId),
    Nowhere,
}

/// Where the bytes of a token lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Way {
    /// It ends in a state.
    Ends(StateId, StackId),
    /// The rule at hand ends at an exit, after so many of its bytes.
    Leaves(ExitId, u16),
}

/// The rules that are walked.
#[derive(Clone, Copy)]
pub(super) struct Rules<'a> {
    pub(super) dfa: &'a Dfa,
    pub(super) calls: &'a Calls,
}

impl Rules<'_> {
    /// One byte on. O(returns).
    pub(super) fn step(&self, stacks: &mut Stacks, (state, stack): (StateId, StackId), byte: u8) -> Step {
        let Self { dfa, calls } = self;
        let (mut state, mut stack) = (state, stack);
        loop {
            let next = dfa.next(state, byte);
            if next != StateId::DEAD {
                return Step::To(next, stack);
            }
            for push in calls.push_transitions(state) {
                let next = dfa.next(push.entry, byte);
                if next != StateId::DEAD {
                    let above = calls.pushed(push).iter().fold(stack, |stack, &top| stacks.push(top, stack));
                    return Step::To(next, above);
                }
            }
            if !dfa.accepting[state] {
                return Step::Nowhere;
            }
            let exit = calls.exit(state);
            let Some((top, below)) = stacks.pop(stack) else {
                let follows = calls.follow(state).contains(byte);
                return if follows { Step::Leaves(exit) } else { Step::Nowhere };
            };
            match calls.returns[top.index()].state(exit) {
                Some(next) => (state, stack) = (next, below),
                None => return Step::Nowhere,
            }
        }
    }

    /// Where bytes lead from a state with nothing known below it.
    pub(super) fn walk(&self, stacks: &mut Stacks, state: StateId, bytes: &[u8]) -> Option<Way> {
        let mut at = (state, StackId::EMPTY);
        for (read, &byte) in (0..).zip(bytes) {
            match self.step(stacks, at, byte) {
                Step::To(state, stack) => at = (state, stack),
                Step::Leaves(exit) => return Some(Way::Leaves(exit, read)),
                Step::Nowhere => return None,
            }
        }
        Some(Way::Ends(at.0, at.1))
    }

    /// Calls `found` with each way of the tokens from a state, the state of chunks at its end, and the ids of tokens, node by node: of tokens that end in a
    /// state these that end at a node, and of others all below one. Chunks begin at `chunk`, or are not looked at where there are none.
    /// Tokens that begin behind the end of the rule are left out.
    pub(super) fn reach(
        &self,
        stacks: &mut Stacks,
        trie: &Trie<'_>,
        from: StateId,
        chunks: Option<(&Chunks<'_>, u16)>,
        budget: &Budget,
        mut found: impl FnMut(Way, u16, &[u32]),
    ) -> Result<(), CompileError> {
        let chunk = chunks.map_or(NO_CHUNK, |chunks| chunks.1);
        let mut open = vec![(trie.root, trie.to, 0_u16, (from, StackId::EMPTY), chunk)];
        let mut looked = 0;
        while let Some((first, to, read, at, chunk)) = open.pop() {
            for number in first.. {
                looked += 1;
                let node = trie.nodes[number];
                let end = trie.subtree_end(number, to);
                let next_chunk = chunks.map_or(NO_CHUNK, |(chunks, _)| chunks.next(chunk, node.byte()));
                if chunks.is_none() || next_chunk != NO_CHUNK {
                    match self.step(stacks, at, node.byte()) {
                        Step::Nowhere => {}
                        Step::Leaves(_) if read == 0 => {}
                        Step::Leaves(exit) => {
                            let ids = &trie.order[node.first as usize..end as usize];
                            found(Way::Leaves(exit, read), chunk, ids);
                        }
                        Step::To(state, stack) => {
                            let own_end = trie.own_end(number, end);
                            if own_end > node.first {
                                let ids = &trie.order[node.first as usize..own_end as usize];
                                found(Way::Ends(state, stack), next_chunk, ids);
                            }
                            if let Some(child) = node.children() {
                                open.push((child, end, read + 1, (state, stack), next_chunk));
                            }
                        }
                    }
                }
                if node.is_last() {
                    break;
                }
            }
        }
        budget.charge_steps(PHASE, looked)
    }
}
