//! Lays the calls of a network out beside the automaton over bytes that its states were written out as.

mod look_ahead;
mod stack_tops;

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, ByteSet, CompileError, DenseId as _, checked_u32};

use self::stack_tops::{ReturnOf, return_key, stack_tops};
use super::calls::{Calls, PHASE, PushTransition, Return};
use super::char_states::CharStates;
use super::dfa::Dfa;
use crate::equivalence::Edges as _;
use crate::ids::{CharState, ExitId, ReturnId, RuleId, StateId};
use crate::rtn::{Call, Network};

impl Calls {
    /// The calls of a network whose character automaton was written out as `dfa`.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`]: a rule may begin with another in exponentially many ways.
    pub(crate) fn of(network: &Network, dfa: &Dfa, budget: &Budget) -> Result<Self, CompileError> {
        let Some(chars) = &dfa.chars else { unreachable!("a network's automaton knows its characters") };
        let root = |state: CharState| chars.blocks[state.index()].root;
        let states = chars.blocks.len();
        // Calls whose return can only be popped again, at the same exit, push nothing, unless it tells what is counted.
        let is_tail = |calls: &[Call]| {
            let only_ends = |call: &Call| {
                network.lengths[call.rule].is_none()
                    && chars.dfa.is_accepting(call.to)
                    && network.exits[call.to] == call.exit
                    && chars.dfa.row(call.to).is_empty()
                    && network.calls.at(call.to).is_empty()
            };
            calls.iter().all(only_ends)
        };
        let mut return_of = ReturnOf::new();
        let mut returns: Vec<Return> = Vec::new();
        for calls in network.calls.all_by_rule().filter(|calls| !is_tail(calls)) {
            return_of.entry(return_key(network, calls)).or_insert_with(|| {
                let name = |rule: RuleId| network.names[rule].clone();
                let (caller, callee) = (name(calls[0].of), name(calls[0].rule));
                let row = calls.iter().map(|call| (call.exit, root(call.to))).collect();
                returns.push(Return { row, caller, callee, lengths: network.lengths[calls[0].rule] });
                ReturnId::new(returns.len() - 1)
            });
        }
        let exits = if network.exits.iter().all(|&exit| exit == ExitId::FIRST) {
            Vec::new()
        } else {
            let mut exits = vec![ExitId::FIRST; dfa.len()];
            network.exits.enumerate().for_each(|(state, &exit)| exits[root(state).index()] = exit);
            exits
        };

        let mut calls = Self {
            returns,
            is_deterministic: false,
            is_recursive: network.is_recursive,
            starts: vec![0],
            push_transitions: Vec::new(),
            pushes: Vec::new(),
            exits,
            tops: Vec::new(),
            top_sets: Vec::new(),
            of_chars: network.calls.clone(),
            entries: network.entries.clone(),
            lengths: network.lengths.clone(),
            shortest: shortest(network, chars, budget)?,
            marks: Vec::new(),
            call_boundaries: CharState::range(0..states)
                .map(|state| chars.dfa.is_accepting(state) || !network.calls.at(state).is_empty())
                .collect(),
        };
        for state in CharState::range(0..states) {
            calls.add_push_transitions(network, state, root, &is_tail, &return_of, budget)?;
            // The states inside characters that follow have none.
            let end = chars.blocks.get(state.index() + 1).map_or(dfa.len(), |block| block.root.index());
            calls.starts.resize(end + 1, checked_u32(calls.push_transitions.len()));
        }
        let tops = stack_tops(network, chars, &is_tail, &return_of, calls.returns.len(), budget)?;
        calls.set_tops(dfa, chars, &tops, budget)?;
        calls.is_deterministic = CharState::range(1..states).all(|state| calls.is_single(dfa, root(state)));
        let mut known: HashMap<Option<(ExitId, ByteSet)>, u32> = HashMap::new();
        calls.marks = CharState::range(0..states)
            .map(|state| {
                let end = || (network.exits[state], calls.follow(root(state)));
                let follow = chars.dfa.is_accepting(state).then(end);
                let fresh = checked_u32(known.len()) + 1;
                if state == CharState::DEAD { 0 } else { *known.entry(follow).or_insert(fresh) }
            })
            .collect();
        Ok(calls)
    }

    /// Adds the push transitions of one state, nearest first.
    fn add_push_transitions(
        &mut self,
        network: &Network,
        state: CharState,
        root: impl Fn(CharState) -> StateId,
        is_tail: &impl Fn(&[Call]) -> bool,
        return_of: &ReturnOf,
        budget: &Budget,
    ) -> Result<(), CompileError> {
        if network.calls.at(state).is_empty() {
            return Ok(());
        }
        let mut open: Vec<(CharState, Vec<ReturnId>)> = vec![(state, Vec::new())];
        let mut known: foldhash::HashSet<(CharState, Vec<ReturnId>)> = foldhash::HashSet::default();
        let mut at = 0;
        while let Some((from, pushed)) = open.get(at).cloned() {
            at += 1;
            for calls in network.calls.by_rule(from) {
                let mut pushed = pushed.clone();
                if !is_tail(calls) {
                    pushed.push(return_of[&return_key(network, calls)]);
                }
                let entry = network.entries[calls[0].rule];
                budget.charge_steps(PHASE, 1 + pushed.len() as u64)?;
                if known.insert((entry, pushed.clone())) {
                    budget.charge_bytes(PHASE, 24 + pushed.len() as u64 * 12)?;
                    let begin = checked_u32(self.pushes.len());
                    self.pushes.extend_from_slice(&pushed);
                    let pushes = (begin, checked_u32(self.pushes.len()));
                    self.push_transitions.push(PushTransition { entry: root(entry), pushes });
                    open.push((entry, pushed));
                }
            }
        }
        Ok(())
    }
}

/// `[calls]`: characters of the shortest text of the rule that each of them calls.
fn shortest(network: &Network, chars: &CharStates, budget: &Budget) -> Result<Vec<u32>, CompileError> {
    let states = chars.blocks.len();
    // `[states]`: to the end of the rule. Every state has a way there.
    let mut left: Vec<u32> =
        chars.dfa.symbols.accepting.iter().map(|&accepting| if accepting { 0 } else { u32::MAX }).collect();
    let of_rule = |left: &[u32], rule: RuleId| left[network.entries[rule].index()];
    loop {
        budget.charge_steps(
            PHASE,
            (states + chars.dfa.symbols.edge_count() + network.calls.all.len()) as u64,
        )?;
        let mut changed = false;
        // States are numbered breadth first, so that backwards one round is nearly enough.
        for state in CharState::range(1..states).rev() {
            let read = chars.dfa.row(state).iter().map(|edge| left[edge.1.index()].saturating_add(1));
            let called = network
                .calls
                .at(state)
                .iter()
                .map(|call| of_rule(&left, call.rule).saturating_add(left[call.to.index()]));
            if let Some(least) = read.chain(called).min().filter(|least| *least < left[state.index()]) {
                left[state.index()] = least;
                changed = true;
            }
        }
        if !changed {
            return Ok(network.calls.all.iter().map(|call| of_rule(&left, call.rule)).collect());
        }
    }
}
