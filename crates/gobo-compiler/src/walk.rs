use std::collections::HashMap;

use gobo_artifact::Trie;
use gobo_automata::{ByteSet, DEAD, Dfa, StateId};
use gobo_types::{Budget, CompileError};

const PHASE: &str = "walking the vocabulary";

/// Nodes walked between two looks at the budget.
const NODES_PER_CHARGE: u64 = 4096;

/// The ids of a row as ranges of the trie order, ascending and not touching: one row, one list.
pub(crate) type Ranges = Vec<(u32, u32)>;

/// The trie beside an automaton.
pub(crate) struct Walker<'a> {
    dfa: &'a Dfa,
    trie: Trie<'a>,
    /// `[states]`: number of the byte set on which the state leads to itself; 0 for none.
    loop_ids: Vec<u32>,
    loops: Vec<ByteSet>,
}

impl<'a> Walker<'a> {
    pub(crate) fn new(dfa: &'a Dfa, trie: Trie<'a>, budget: &Budget) -> Result<Self, CompileError> {
        budget.charge_steps(PHASE, dfa.transitions.len() as u64)?;
        budget.charge_bytes(PHASE, dfa.len() as u64 * 4)?;
        let mut loops = vec![ByteSet::default()];
        let mut known: HashMap<ByteSet, u32> = HashMap::new();
        let mut loop_ids = vec![0; dfa.len()];
        for (state, id) in (0..).zip(&mut loop_ids).skip(1) {
            let row = dfa.row(state);
            if row.contains(&state) {
                let set = dfa.bytes_of(|class| row[class] == state);
                *id = *known.entry(set).or_insert_with(|| {
                    loops.push(set);
                    u32::try_from(loops.len() - 1).expect("no more sets than states")
                });
            }
        }
        Ok(Self { dfa, trie, loop_ids, loops })
    }

    /// The tokens that lead from `from` to a state that satisfies `useful`, `[states]`.
    ///
    /// The trie is walked in depth, with the states along the path. A subtree is dropped at the dead state, and taken
    /// whole where a useful state leads to itself on every byte below: then each token there ends in that state.
    /// O(nodes that neither rule spares).
    pub(crate) fn row(
        &self,
        from: StateId,
        useful: &[bool],
        budget: &Budget,
    ) -> Result<Ranges, CompileError> {
        let mut ranges = Ranges::new();
        self.visit(from, budget, |walker, node, own_end, end, state| {
            if !useful[state as usize] {
                return false;
            }
            let whole = walker.stays(node, state);
            let behind = if whole { end } else { own_end };
            let first = walker.trie.nodes[node].first;
            match ranges.last_mut() {
                _ if first == behind => {}
                Some(last) if last.1 == first => last.1 = behind,
                _ => ranges.push((first, behind)),
            }
            whole
        })?;
        budget.charge_bytes(PHASE, ranges.len() as u64 * 8)?;
        Ok(ranges)
    }

    /// The states that some token leads to from `from`, each once, in the order of the walk. `seen` is `[states]` and
    /// all false, before and after.
    pub(crate) fn targets(
        &self,
        from: StateId,
        seen: &mut [bool],
        budget: &Budget,
    ) -> Result<Vec<StateId>, CompileError> {
        let mut targets = Vec::new();
        self.visit(from, budget, |walker, node, own_end, _, state| {
            let is_token = walker.trie.nodes[node].first != own_end;
            if is_token && !std::mem::replace(&mut seen[state as usize], true) {
                targets.push(state);
            }
            false
        })?;
        targets.iter().for_each(|&state| seen[state as usize] = false);
        budget.charge_bytes(PHASE, targets.len() as u64 * 4)?;
        Ok(targets)
    }

    /// Whether every token below `node` leads from `state` back to it.
    fn stays(&self, node: usize, state: StateId) -> bool {
        let (set, looped) = (self.trie.set_ids[node], self.loop_ids[state as usize]);
        set != 0
            && looped != 0
            && self.trie.sets[usize::from(set)]
                .iter()
                .zip(&self.loops[looped as usize])
                .all(|(below, looped)| below & !looped == 0)
    }

    /// Calls `at(self, node, own_end, end, state)` at every node whose path is alive, with the ends of its own ids and of
    /// those of its subtree; it says whether to skip what is below.
    fn visit(
        &self,
        from: StateId,
        budget: &Budget,
        mut at: impl FnMut(&Self, usize, u32, u32, StateId) -> bool,
    ) -> Result<(), CompileError> {
        let trie = &self.trie;
        // Where to go on behind the blocks that were descended into: the next sibling, the end of its block's ids, the
        // state above.
        let mut open: Vec<(usize, u32, StateId)> = Vec::with_capacity(64);
        let (mut number, mut to, mut state) = (trie.root, trie.to, from);
        let mut uncharged = 0;
        loop {
            uncharged += 1;
            if uncharged == NODES_PER_CHARGE {
                budget.charge_steps(PHASE, uncharged)?;
                uncharged = 0;
            }
            let node = trie.nodes[number];
            let next = self.dfa.next(state, node.byte());
            let mut below = None;
            if next != DEAD {
                let end = trie.subtree_end(number, to);
                if !at(self, number, trie.own_end(number, end), end, next) {
                    below = node.children().map(|child| (child, end, next));
                }
            }
            match below {
                Some(below) => {
                    if !node.is_last() {
                        open.push((number + 1, to, state));
                    }
                    (number, to, state) = below;
                }
                None if node.is_last() => match open.pop() {
                    Some(above) => (number, to, state) = above,
                    None => break,
                },
                None => number += 1,
            }
        }
        budget.charge_steps(PHASE, uncharged)
    }
}
