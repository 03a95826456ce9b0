//! The subset construction over classes of characters (Rabin & Scott 1959), every alternative alive.
//!
//! Anchors are resolved here and never reach the automaton: an anchor at the start is passable only in the closure of
//! the empty text, an anchor at the end only when acceptance is decided, because a character after it makes it false.
//!
//! A node is dropped from a set that holds an earlier copy of it in the same counted repetition, because that copy reads
//! all that it reads: `(\w+\s?){1,50}` has as many states as counts and not as sets of counts.
//!
//! Calls are symbols after the classes: that of rule `n` is `classes + n`.

use gobo_types::{Budget, CompileError, DenseId as _, Table, dense_id};

use super::alphabet::Alphabet;
use super::dfa::CharDfa;
use super::nfa::{ACCEPT, LeafId, Nfa, Node, NodeId, UNREPEATED};
use crate::ids::{CharState, Symbol};
use crate::symbols::Interner;

const PHASE: &str = "determinising";

dense_id! {
    /// A set of nodes before its closure.
    struct TargetsId;
}

/// The automaton of all whole texts that `nfa` matches, not yet trimmed or minimal. The ranges of the classes are left to the
/// caller, who may need them for several automata.
///
/// # Errors
/// [`CompileError::OverBudget`]: the number of states may be exponential in the size of `nfa`.
pub(crate) fn determinize(nfa: &Nfa, alphabet: &Alphabet, budget: &Budget) -> Result<CharDfa, CompileError> {
    let mut builder = Builder {
        nfa,
        budget,
        seen: vec![0; nfa.nodes.len()],
        generation: 0,
        stack: Vec::new(),
        members: Vec::new(),
        ends: Vec::new(),
        sets: Interner::default(),
        targets: Interner::default(),
        after: Table::new(),
        alone: vec![None; nfa.nodes.len()],
    };
    builder.sets.intern(&[]);
    let start = builder.closure(&[nfa.start], true)?;
    let mut dfa = CharDfa::new(Vec::new(), alphabet.classes);
    let mut pairs: Vec<(Symbol, NodeId)> = Vec::new();
    let mut targets: Vec<NodeId> = Vec::new();
    let mut edges: Vec<(Symbol, CharState)> = Vec::new();
    while dfa.len() < builder.sets.len() {
        pairs.clear();
        edges.clear();
        let (accepting, members) = builder.state(CharState::new(dfa.len()));
        for &member in members {
            match nfa.nodes[member] {
                Node::Chars { set, next, .. } => {
                    pairs.extend(alphabet.of_set[set].iter().map(|&class| (class, next)));
                }
                Node::Call { rule, next, .. } => {
                    pairs.push((Symbol::new(alphabet.classes + rule.index()), next));
                }
                _ => {}
            }
        }
        budget.charge_steps(PHASE, pairs.len() as u64)?;
        // The classes of one member are ascending.
        if members.len() > 1 {
            pairs.sort_unstable();
            pairs.dedup();
        }
        let mut last = CharState::DEAD;
        for of_class in pairs.chunk_by(|a, b| a.0 == b.0) {
            let same = targets.iter().eq(of_class.iter().map(|(_, node)| node));
            if edges.is_empty() || !same {
                targets.clear();
                targets.extend(of_class.iter().map(|(_, node)| node));
                last = builder.after(&targets)?;
            }
            if last != CharState::DEAD {
                edges.push((of_class[0].0, last));
            }
        }
        targets.clear();
        budget.charge_bytes(PHASE, edges.len() as u64 * 8)?;
        dfa.push(&edges, accepting);
    }
    dfa.symbols.start = start;
    Ok(dfa)
}

struct Builder<'a> {
    nfa: &'a Nfa,
    budget: &'a Budget,
    /// `[nodes]`: the generation in which a node was last reached, so that a closure need not clear anything.
    seen: Vec<u32>,
    generation: u32,
    stack: Vec<NodeId>,
    /// What a closure has found.
    members: Vec<NodeId>,
    ends: Vec<NodeId>,
    /// The set of each state: [`ACCEPT`] if a text may end there, then the nodes that read, ascending. That of the dead state
    /// is empty.
    sets: Interner<CharState, NodeId>,
    /// Targets before their closure: most are seen again and again.
    targets: Interner<TargetsId, NodeId>,
    /// The state of the closure of each.
    after: Table<TargetsId, CharState>,
    /// `[nodes]`: the state of the closure of that node alone, which is what most characters lead to; `None` until it is asked for.
    alone: Vec<Option<CharState>>,
}

impl Builder<'_> {
    /// Whether a text may end in a state other than the dead one, and the nodes that read there.
    fn state(&self, state: CharState) -> (bool, &[NodeId]) {
        match self.sets.get(state) {
            [ACCEPT, reading @ ..] => (true, reading),
            reading => (false, reading),
        }
    }

    /// The state after the character that leads to `targets`.
    fn after(&mut self, targets: &[NodeId]) -> Result<CharState, CompileError> {
        if let [node] = *targets {
            if let Some(known) = self.alone[node.index()] {
                return Ok(known);
            }
            let state = self.closure(targets, false)?;
            self.alone[node.index()] = Some(state);
            return Ok(state);
        }
        let (known, is_new) = self.targets.intern(targets);
        if is_new {
            self.budget.charge_bytes(PHASE, targets.len() as u64 * 4 + 16)?;
            let state = self.closure(targets, false)?;
            self.after.push(state);
        }
        Ok(self.after[known])
    }

    /// The state of everything reachable from `from` without reading a character.
    fn closure(&mut self, from: &[NodeId], at_start: bool) -> Result<CharState, CompileError> {
        let mut members = std::mem::take(&mut self.members);
        let mut ends = std::mem::take(&mut self.ends);
        members.clear();
        ends.clear();
        let mut accepting = false;
        self.reach(from, at_start, false, |id, node| match node {
            Node::Accept => accepting = true,
            Node::End { .. } => ends.push(id),
            Node::Chars { .. } | Node::Call { .. } => members.push(id),
            _ => {}
        })?;
        if !accepting && !ends.is_empty() {
            self.reach(&ends, at_start, true, |_, node| accepting |= matches!(node, Node::Accept))?;
        }
        let mut state = CharState::DEAD;
        if accepting || !members.is_empty() {
            self.drop_covered(&mut members)?;
            let words = 1 + members.len();
            members.extend(accepting.then_some(ACCEPT));
            members.sort_unstable();
            let is_new;
            (state, is_new) = self.sets.intern(&members);
            if is_new {
                self.budget.check_states(PHASE, self.sets.len() - 1)?;
                self.budget.charge_bytes(PHASE, words as u64 * 4 + 16)?;
            }
        }
        (self.members, self.ends) = (members, ends);
        Ok(state)
    }

    fn drop_covered(&self, members: &mut Vec<NodeId>) -> Result<(), CompileError> {
        let position = |id: NodeId| match self.nfa.nodes[id] {
            Node::Chars { position, .. } | Node::Call { position, .. } => position,
            _ => unreachable!("members read"),
        };
        let mut counted: Vec<(LeafId, NodeId)> = members
            .iter()
            .filter(|&&id| position(id) != UNREPEATED)
            .map(|&id| (self.nfa.leaf(position(id)), id))
            .collect();
        if counted.len() < 2 {
            return Ok(());
        }
        counted.sort_unstable();
        let mut covered: Vec<NodeId> = Vec::new();
        for copies in counted.chunk_by(|a, b| a.0 == b.0).filter(|copies| copies.len() > 1) {
            self.budget.charge_steps(PHASE, (copies.len() * copies.len()) as u64)?;
            for &(_, other) in copies {
                let is_covered = |&(_, one): &(LeafId, NodeId)| {
                    one != other && self.nfa.covers(position(one), position(other))
                };
                if copies.iter().any(is_covered) {
                    covered.push(other);
                }
            }
        }
        if !covered.is_empty() {
            covered.sort_unstable();
            members.retain(|id| covered.binary_search(id).is_err());
        }
        Ok(())
    }

    /// Visits every node reachable over edges that read nothing.
    fn reach(
        &mut self,
        from: &[NodeId],
        at_start: bool,
        at_end: bool,
        mut visit: impl FnMut(NodeId, Node),
    ) -> Result<(), CompileError> {
        self.generation += 1;
        self.stack.extend_from_slice(from);
        let mut steps = 0;
        while let Some(id) = self.stack.pop() {
            if std::mem::replace(&mut self.seen[id.index()], self.generation) == self.generation {
                continue;
            }
            steps += 1;
            let node = self.nfa.nodes[id];
            visit(id, node);
            match node {
                Node::Union { from, to } => {
                    self.stack.extend_from_slice(&self.nfa.targets[from as usize..to as usize]);
                }
                Node::Start { next } if at_start => self.stack.push(next),
                Node::End { next } if at_end => self.stack.push(next),
                _ => {}
            }
        }
        self.budget.charge_steps(PHASE, steps)
    }
}
