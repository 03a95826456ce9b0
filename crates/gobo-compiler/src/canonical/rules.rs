//! Walks of the vocabulary beside an automaton, whose rules may call others: where bytes lead from a state, whatever is below its rule on the stack.

use foldhash::HashMap;
use gobo_artifact::layout::Trie;
use gobo_automata::{Calls, Dfa, ExitId, ReturnId, StateId};
use gobo_types::{Budget, CompileError, DenseId as _, dense_id};

pub(super) const PHASE: &str = "walking the vocabulary in canonical form";

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

/// An automaton, and the calls of its rules.
#[derive(Clone, Copy)]
pub(super) struct Rules<'a> {
    pub(super) dfa: &'a Dfa,
    pub(super) calls: &'a Calls,
}

/// Nodes of the vocabulary's trie that stand side by side: the first one, the end of all ids below them, how many bytes were read, and where these led.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) first: usize,
    pub(super) to: u32,
    pub(super) read: u16,
    pub(super) at: (StateId, StackId),
}

/// The tokens that are looked for.
#[derive(Clone, Copy)]
pub(super) enum Wanted<'a> {
    All,
    /// Some, by how many of them stand before each place in the order of the trie: `[tokens + 1]`.
    Some(&'a [u32]),
}

impl Wanted<'_> {
    /// Whether one is from one place to another. O(1).
    #[inline]
    pub(super) fn is_any(self, from: u32, to: u32) -> bool {
        match self {
            Wanted::All => true,
            Wanted::Some(before) => before[from as usize] < before[to as usize],
        }
    }
}

impl Rules<'_> {
    /// One byte on. O(returns).
    #[inline]
    pub(super) fn step(&self, stacks: &mut Stacks, at: (StateId, StackId), byte: u8) -> Step {
        match self.dfa.next(at.0, byte) {
            StateId::DEAD => self.step_over(stacks, at, byte),
            next => Step::To(next, at.1),
        }
    }

    /// The same where a rule is called or ends.
    fn step_over(&self, stacks: &mut Stacks, at: (StateId, StackId), byte: u8) -> Step {
        let Self { dfa, calls } = self;
        let (mut state, mut stack) = at;
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

    /// Calls `found` with each way of the tokens in a block and below, and where their ids stand in the order of the trie: of tokens that end in a
    /// state these that end at a node, and of others all below one. Tokens that begin behind the end of the rule are left out, and so are places without one that is
    /// wanted. O(nodes on live paths and their siblings).
    pub(super) fn reach(
        &self,
        stacks: &mut Stacks,
        trie: &Trie<'_>,
        block: Block,
        wanted: Wanted<'_>,
        budget: &Budget,
        mut found: impl FnMut(Way, (u32, u32)),
    ) -> Result<(), CompileError> {
        let mut open = vec![block];
        let mut looked = 0;
        while let Some(Block { first, to, read, at }) = open.pop() {
            for number in first.. {
                looked += 1;
                let node = trie.nodes[number];
                let end = trie.subtree_end(number, to);
                if !wanted.is_any(node.first, end) {
                    if node.is_last() {
                        break;
                    }
                    continue;
                }
                match self.step(stacks, at, node.byte()) {
                    Step::Nowhere => {}
                    Step::Leaves(_) if read == 0 => {}
                    Step::Leaves(exit) => found(Way::Leaves(exit, read), (node.first, end)),
                    Step::To(state, stack) => {
                        let own_end = trie.own_end(number, end);
                        if own_end > node.first {
                            found(Way::Ends(state, stack), (node.first, own_end));
                        }
                        if let Some(first) = node.children() {
                            open.push(Block { first, to: end, read: read + 1, at: (state, stack) });
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
