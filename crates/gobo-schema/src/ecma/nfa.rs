//! Thompson's construction (Thompson, Regular expression search algorithm, 1968), with assertions as states that read nothing.
//!
//! The automaton is built backwards, each node before the state that follows it. Counted repetitions are written out.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use gobo_automata::CharSet;
use gobo_types::{Budget, CompileError, Table, dense_id};

use super::syntax::{LookId, Node};

const PHASE: &str = "looking ahead";

/// Bytes of a state.
const STATE_BYTES: u64 = 32;

/// States built between two charges.
const STATES_PER_CHARGE: usize = 256;

dense_id! {
    /// A state of the automaton.
    pub(super) struct NfaStateId;

    /// A set of characters.
    pub(super) struct SetId;
}

/// The state after a match.
pub(super) const ACCEPT: NfaStateId = NfaStateId(0);

/// A state of the automaton of a pattern. The first one is [`State::Accept`].
#[derive(Debug)]
pub(super) enum State {
    /// Reads one character of the set.
    Chars { set: SetId, next: NfaStateId },
    /// Goes on at each of these, reading nothing.
    Union(Vec<NfaStateId>),
    /// `^`.
    Start { next: NfaStateId },
    /// `$`.
    End { next: NfaStateId },
    /// `\b`, or `\B`.
    Boundary { is_negated: bool, next: NfaStateId },
    /// Goes on if the rest of the text belongs to the look-ahead.
    Look { look: LookId, next: NfaStateId },
    /// There was a match: reads anything.
    Accept,
}

/// The automaton under construction.
pub(super) struct Builder<'a> {
    pub(super) states: Table<NfaStateId, State>,
    pub(super) sets: Table<SetId, CharSet>,
    set_of: HashMap<CharSet, SetId, RandomState>,
    budget: &'a Budget,
}

impl<'a> Builder<'a> {
    pub(super) fn new(budget: &'a Budget) -> Self {
        Self { states: vec![State::Accept].into(), sets: Table::new(), set_of: HashMap::default(), budget }
    }

    pub(super) fn push(&mut self, state: State) -> Result<NfaStateId, CompileError> {
        if self.states.len().is_multiple_of(STATES_PER_CHARGE) {
            self.budget.charge_steps(PHASE, STATES_PER_CHARGE as u64)?;
            self.budget.charge_bytes(PHASE, STATES_PER_CHARGE as u64 * STATE_BYTES)?;
        }
        Ok(self.states.push(state))
    }

    fn union(&mut self, targets: Vec<NfaStateId>) -> Result<NfaStateId, CompileError> {
        self.budget.charge_bytes(PHASE, targets.len() as u64 * 4)?;
        self.push(State::Union(targets))
    }

    /// The set of characters that a leaf reads.
    pub(super) fn set(&mut self, leaf: &Node) -> SetId {
        let set = match leaf {
            Node::Char(char) => CharSet::new([(*char, *char)]),
            Node::Class(class) => class.clone(),
            _ => unreachable!("other nodes do not read"),
        };
        *self.set_of.entry(set).or_insert_with_key(|set| self.sets.push(set.clone()))
    }

    pub(super) fn concat(&mut self, parts: &[Node], next: NfaStateId) -> Result<NfaStateId, CompileError> {
        parts.iter().rev().try_fold(next, |next, part| self.build(part, next))
    }

    /// The state from which `node` is read, and then the rest from `next`.
    fn build(&mut self, node: &Node, next: NfaStateId) -> Result<NfaStateId, CompileError> {
        match node {
            Node::Empty => Ok(next),
            Node::Char(_) | Node::Class(_) => {
                let set = self.set(node);
                self.push(State::Chars { set, next })
            }
            Node::Concat(parts) => self.concat(parts, next),
            Node::Alternate(parts) => {
                let starts: Result<Vec<NfaStateId>, _> =
                    parts.iter().map(|part| self.build(part, next)).collect();
                self.union(starts?)
            }
            Node::Repeat { node, min, max } => self.repeat(node, *min, *max, next),
            Node::Start => self.push(State::Start { next }),
            Node::End => self.push(State::End { next }),
            &Node::Boundary { is_negated } => self.push(State::Boundary { is_negated, next }),
            &Node::Look(look) => self.push(State::Look { look, next }),
        }
    }

    fn repeat(
        &mut self,
        node: &Node,
        min: u32,
        max: Option<u32>,
        next: NfaStateId,
    ) -> Result<NfaStateId, CompileError> {
        let mut start = next;
        let mut mandatory = min;
        if let Some(max) = max {
            for _ in min..max {
                let body = self.copy(node, start)?;
                start = self.union(vec![body, next])?;
            }
        } else {
            mandatory = min.saturating_sub(1);
            start = self.repeat_forever(min, next, |builder, next| builder.build(node, next))?;
        }
        for _ in 0..mandatory {
            start = self.copy(node, start)?;
        }
        Ok(start)
    }

    /// One copy of the body of a counted repetition. An empty body adds no state, and is charged too.
    fn copy(&mut self, node: &Node, next: NfaStateId) -> Result<NfaStateId, CompileError> {
        self.budget.charge_steps(PHASE, 1)?;
        self.build(node, next)
    }

    /// A body that is followed by itself or by `next`; with `min` 0 it may be left out.
    pub(super) fn repeat_forever(
        &mut self,
        min: u32,
        next: NfaStateId,
        body: impl FnOnce(&mut Self, NfaStateId) -> Result<NfaStateId, CompileError>,
    ) -> Result<NfaStateId, CompileError> {
        let union = self.union(Vec::new())?;
        let body = body(self, union)?;
        self.states[union] = State::Union(vec![body, next]);
        Ok(if min == 0 { union } else { body })
    }
}
