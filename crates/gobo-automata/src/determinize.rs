use std::collections::HashMap;

use gobo_types::{Budget, CompileError};
use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::look::Look;
use regex_automata::util::primitives::StateID;

use crate::dfa::{DEAD, Dfa, StateId};

const PHASE: &str = "determinising";

/// The automaton of all whole texts that `nfa` matches, every alternative alive: the subset construction, without the
/// priorities that a search would keep. `nfa` may hold text anchors and no other look-around.
///
/// Anchors are resolved here and never reach the automaton: an anchor at the start is passable only in the closure of
/// the empty text, an anchor at the end only when acceptance is decided, because a byte behind it makes it false.
///
/// # Errors
/// [`CompileError::OverBudget`]: the number of states may be exponential in the size of `nfa`.
pub(crate) fn determinize(nfa: &NFA, budget: &Budget) -> Result<Dfa, CompileError> {
    let byte_classes = nfa.byte_classes();
    let mut classes = Box::new([0; 256]);
    for byte in 0..=u8::MAX {
        classes[usize::from(byte)] = byte_classes.get(byte);
    }
    // regex-automata numbers classes in the order of their bytes and keeps one more for the end of input.
    let stride = usize::from(classes[255]) + 1;
    let mut builder = Builder {
        nfa,
        budget,
        seen: vec![0; nfa.states().len()],
        generation: 0,
        stack: Vec::new(),
        sets: HashMap::new(),
        known_targets: HashMap::new(),
        members: vec![Box::default()],
        dfa: Dfa { classes, stride, transitions: vec![DEAD; stride], accepting: vec![false], start: DEAD },
    };
    let start = builder.closure(&[nfa.start_anchored()], true)?;
    builder.dfa.start = start;
    let mut targets: Vec<Vec<StateID>> = vec![Vec::new(); stride];
    let mut state = 1;
    while state < builder.members.len() {
        let members = std::mem::take(&mut builder.members[state]);
        let mut steps = stride as u64;
        for &member in &*members {
            steps += builder.add_targets(member, &mut targets);
        }
        budget.charge_steps(PHASE, steps)?;
        for (class, targets) in targets.iter_mut().enumerate() {
            if !targets.is_empty() {
                targets.sort_unstable();
                targets.dedup();
                let next = builder.after(targets)?;
                builder.dfa.transitions[state * stride + class] = next;
                targets.clear();
            }
        }
        state += 1;
    }
    builder.dfa.canonical(budget)
}

struct Builder<'a> {
    nfa: &'a NFA,
    budget: &'a Budget,
    /// `[nfa states]`: the generation in which a state was last reached, so that a closure need not clear anything.
    seen: Vec<u32>,
    generation: u32,
    stack: Vec<StateID>,
    /// Each set of byte-reading states, with whether a text may end there, to its number.
    sets: HashMap<(Box<[StateID]>, bool), StateId>,
    /// Targets before their closure: most are seen again and again.
    known_targets: HashMap<Box<[StateID]>, StateId>,
    /// `[states]`: the set of each state, taken once its transitions are built.
    members: Vec<Box<[StateID]>>,
    dfa: Dfa,
}

impl Builder<'_> {
    fn class(&self, byte: u8) -> usize {
        usize::from(self.dfa.classes[usize::from(byte)])
    }

    /// Adds what each class leads to from one byte-reading state; the number of entries added.
    fn add_targets(&self, member: StateID, targets: &mut [Vec<StateID>]) -> u64 {
        let mut added = 0;
        let mut add = |start: u8, end: u8, next: StateID| {
            for targets in &mut targets[self.class(start)..=self.class(end)] {
                targets.push(next);
                added += 1;
            }
        };
        match self.nfa.state(member) {
            State::ByteRange { trans } => add(trans.start, trans.end, trans.next),
            State::Sparse(sparse) => {
                sparse.transitions.iter().for_each(|trans| add(trans.start, trans.end, trans.next));
            }
            State::Dense(dense) => {
                (0..=u8::MAX)
                    .filter_map(|byte| Some((byte, dense.matches_byte(byte)?)))
                    .for_each(|(byte, next)| add(byte, byte, next));
            }
            _ => {}
        }
        added
    }

    /// The state after the byte that leads to `targets`.
    fn after(&mut self, targets: &[StateID]) -> Result<StateId, CompileError> {
        if let Some(&state) = self.known_targets.get(targets) {
            return Ok(state);
        }
        let state = self.closure(targets, false)?;
        self.budget.charge_bytes(PHASE, targets.len() as u64 * 4 + 32)?;
        self.known_targets.insert(targets.into(), state);
        Ok(state)
    }

    /// The state of everything reachable from `from` without reading a byte.
    fn closure(&mut self, from: &[StateID], at_start: bool) -> Result<StateId, CompileError> {
        let mut members = Vec::new();
        let mut accepting = false;
        let mut ends = Vec::new();
        self.reach(from, at_start, false, |builder, id| match builder.nfa.state(id) {
            State::Match { .. } => accepting = true,
            State::Look { look: Look::End, .. } => ends.push(id),
            State::ByteRange { .. } | State::Sparse(_) | State::Dense(_) => members.push(id),
            _ => {}
        })?;
        if !accepting && !ends.is_empty() {
            self.reach(&ends, at_start, true, |builder, id| {
                accepting |= matches!(builder.nfa.state(id), State::Match { .. });
            })?;
        }
        if members.is_empty() && !accepting {
            return Ok(DEAD);
        }
        members.sort_unstable();
        let key = (members.into_boxed_slice(), accepting);
        if let Some(&state) = self.sets.get(&key) {
            return Ok(state);
        }
        let number = self.members.len();
        self.budget.check_states(PHASE, number)?;
        self.budget.charge_bytes(PHASE, (key.0.len() * 8 + self.dfa.stride * 4 + 64) as u64)?;
        let state = StateId::try_from(number).expect("the budget keeps states below 2^32");
        self.members.push(key.0.clone());
        self.dfa.transitions.resize((number + 1) * self.dfa.stride, DEAD);
        self.dfa.accepting.push(accepting);
        self.sets.insert(key, state);
        Ok(state)
    }

    /// Visits every state reachable over edges that read nothing.
    fn reach(
        &mut self,
        from: &[StateID],
        at_start: bool,
        at_end: bool,
        mut visit: impl FnMut(&Self, StateID),
    ) -> Result<(), CompileError> {
        self.generation += 1;
        let mut stack = std::mem::take(&mut self.stack);
        stack.extend_from_slice(from);
        let mut steps = 0;
        while let Some(id) = stack.pop() {
            if std::mem::replace(&mut self.seen[id.as_usize()], self.generation) == self.generation {
                continue;
            }
            steps += 1;
            visit(self, id);
            match self.nfa.state(id) {
                State::Look { look, next } => {
                    if (*look == Look::Start && at_start) || (*look == Look::End && at_end) {
                        stack.push(*next);
                    }
                }
                State::Union { alternates } => stack.extend_from_slice(alternates),
                State::BinaryUnion { alt1, alt2 } => stack.extend([*alt1, *alt2]),
                State::Capture { next, .. } => stack.push(*next),
                State::ByteRange { .. }
                | State::Sparse(_)
                | State::Dense(_)
                | State::Fail
                | State::Match { .. } => {}
            }
        }
        self.stack = stack;
        self.budget.charge_steps(PHASE, steps)
    }
}
