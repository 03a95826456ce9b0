//! Walks of the vocabulary's tries beside an automaton without calls, from one state or from several that the same bytes lead on from.
//!
//! A trie is walked in depth, with the states along the path. Two loops: one for a state alone, one for several, which look at a
//! node once; the second costs more for each of few states.

use std::ops::Range;

use foldhash::{HashMap, HashMapExt};
use gobo_artifact::layout::{Trie, TrieNode};
use gobo_automata::{Dfa, StateId};
use gobo_types::{Budget, ByteSet, CompileError, DenseId as _, NO_STEP};

use super::NODES_PER_CHARGE;
use super::row::RowTokens;
use super::view::{Rooted, RuleView};

const PHASE: &str = "walking the vocabulary";

/// Most states that are walked together: enough to share the cost of a node, few enough that several threads find work.
const STATES_PER_BATCH: usize = 64;

/// Minimum states that are walked side by side; fewer are walked one after the other, which costs each of them less.
const SIDE_BY_SIDE: usize = 4;

/// Computes rows of an automaton from its transitions alone.
pub(crate) struct Walker<'a> {
    dfa: &'a Dfa,
    view: &'a RuleView<'a>,
}

impl<'a> Walker<'a> {
    /// A walker over the automaton that the view was made of.
    pub(crate) fn new(dfa: &'a Dfa, view: &'a RuleView<'a>) -> Self {
        Self { dfa, view }
    }

    /// What rows that are not computed from transitions alone are computed from.
    pub(crate) fn view(&self) -> &'a RuleView<'a> {
        self.view
    }

    /// Divides `states` into batches that are best walked together: states that the same bytes lead on from. Positions in
    /// `states`, ascending within a batch.
    pub(crate) fn batches(&self, states: &[StateId]) -> Vec<Vec<usize>> {
        let mut batches: Vec<Vec<usize>> = Vec::new();
        let mut last: HashMap<ByteSet, usize> = HashMap::new();
        for (at, &state) in states.iter().enumerate() {
            let batch = last.entry(self.view.live(state)).or_insert(batches.len());
            if batches.get(*batch).is_none_or(|batch| batch.len() == STATES_PER_BATCH) {
                *batch = batches.len();
                batches.push(Vec::new());
            }
            batches[*batch].push(at);
        }
        batches
    }

    /// For each of `states` the tokens that lead from it to a useful state: one of `useful`, `[states]`, or any live one.
    ///
    /// All of them are walked at once: a trie in depth, with the states along the path. A subtree is dropped where all states
    /// are dead, and taken whole where a useful state leads to itself on every byte below: then each token there ends in
    /// that state. O(nodes that no rule spares).
    pub(crate) fn rows(
        &self,
        states: &[StateId],
        useful: Option<&[bool]>,
        budget: &Budget,
    ) -> Result<Vec<RowTokens>, CompileError> {
        let mut rows: Vec<RowTokens> = states.iter().map(|_| RowTokens::default()).collect();
        // Inside a character, only what continues it leads on.
        let walks = (0..).zip(states).map(|(row, &state)| Walk { row, state });
        let (inside, between): (Vec<Walk>, Vec<Walk>) =
            walks.partition(|walk| self.view.is_inside(walk.state));
        let walked = std::iter::once((self.view.all(), &between))
            .chain(self.view.pieces().iter().map(|rooted| (rooted, &inside)));
        for (rooted, walks) in walked.filter(|(_, walks)| !walks.is_empty()) {
            let found = |row: u32, from, to, state: StateId| {
                if useful.is_none_or(|useful| useful[state.index()]) {
                    rows[row as usize].add(from, to);
                }
            };
            self.visit(rooted, walks, budget, found, |node, state| {
                useful.is_none_or(|useful| useful[state.index()])
                    && self.view.stays(&rooted.trie, node, state)
            })?;
        }
        let ranges: usize = rows.iter().map(|row| row.ranges.len()).sum();
        budget.charge_bytes(PHASE, ranges as u64 * 8)?;
        Ok(rows)
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
        let found = |_, _, _, state: StateId| {
            if !std::mem::replace(&mut seen[state.index()], true) {
                targets.push(state);
            }
        };
        self.visit(self.view.all(), &[Walk { row: 0, state: from }], budget, found, |_, _| false)?;
        targets.iter().for_each(|&state| seen[state.index()] = false);
        budget.charge_bytes(PHASE, targets.len() as u64 * 4)?;
        Ok(targets)
    }

    /// Walks a trie from some states. Calls `found(row, from, to, state)` with the ids of each node whose path is alive,
    /// if it has any, and `whole(node, state)` where more lie below; if that says so, they are found with the node's own
    /// and not looked at.
    fn visit(
        &self,
        rooted: &Rooted<'_>,
        walks: &[Walk],
        budget: &Budget,
        mut found: impl FnMut(u32, u32, u32, StateId),
        mut whole: impl FnMut(usize, StateId) -> bool,
    ) -> Result<(), CompileError> {
        if walks.len() >= SIDE_BY_SIDE {
            return self.visit_side_by_side(rooted, walks, budget, found, whole);
        }
        walks.iter().try_for_each(|&Walk { row, state }| {
            self.visit_alone(rooted, state, budget, |from, to, state| found(row, from, to, state), &mut whole)
        })
    }

    /// [`Self::visit`] from one state.
    fn visit_alone(
        &self,
        rooted: &Rooted<'_>,
        from: StateId,
        budget: &Budget,
        mut found: impl FnMut(u32, u32, StateId),
        mut whole: impl FnMut(usize, StateId) -> bool,
    ) -> Result<(), CompileError> {
        let trie = &rooted.trie;
        let mut uncharged = 0;
        // At a live node whose ids end at `end`: its own are found, and those below if they are taken whole. Returns what
        // remains to be looked at: a block, the end of its ids, the state above.
        let mut enter = |number: usize, end: u32, state: StateId| {
            let node: TrieNode = trie.nodes[number];
            let Some(child) = node.children().filter(|_| !whole(number, state)) else {
                found(node.first, end, state);
                return None;
            };
            let own_end = trie.nodes[child].first;
            if node.first != own_end {
                found(node.first, own_end, state);
            }
            Some((child, end, state))
        };
        let mut open: Vec<(usize, u32, StateId)> = Vec::with_capacity(64);
        for byte in self.view.live(from).bytes() {
            uncharged += 1;
            let Some(number) = rooted.child(byte) else { continue };
            let end = trie.subtree_end(number, trie.to);
            // This node of the root block alone, and not its siblings.
            open.extend(enter(number, end, self.dfa.next(from, byte)));
            while let Some((begin, to, state)) = open.pop() {
                let row = self.dfa.row(state);
                let block = &trie.nodes[begin..];
                for (at, &node) in block.iter().enumerate() {
                    uncharged += 1;
                    let delta = row[usize::from(self.dfa.classes[usize::from(node.byte())])];
                    if delta != NO_STEP {
                        let end = if node.is_last() { to } else { block[at + 1].first };
                        if let Some(below) = enter(begin + at, end, state.offset(delta)) {
                            if !node.is_last() {
                                open.push((begin + at + 1, to, state));
                            }
                            open.push(below);
                            break;
                        }
                    }
                    if node.is_last() {
                        break;
                    }
                }
                if uncharged >= NODES_PER_CHARGE {
                    budget.charge_steps(PHASE, uncharged)?;
                    uncharged = 0;
                }
            }
        }
        budget.charge_steps(PHASE, uncharged)
    }

    /// [`Self::visit`] from many states at once: a node is looked at once for all of them, and states that share a row of
    /// transitions live and die together.
    fn visit_side_by_side(
        &self,
        rooted: &Rooted<'_>,
        walks: &[Walk],
        budget: &Budget,
        mut found: impl FnMut(u32, u32, u32, StateId),
        mut whole: impl FnMut(usize, StateId) -> bool,
    ) -> Result<(), CompileError> {
        let trie = &rooted.trie;
        let mut live = ByteSet::default();
        let mut path = Path { dfa: self.dfa, walks: Vec::new(), runs: Vec::new() };
        for &walk in walks {
            path.push(walk, 0);
            live.insert_all(&self.view.live(walk.state));
        }
        let mut uncharged = 0;
        let mut blocks: Vec<Block> = Vec::with_capacity(32);
        for byte in live.bytes() {
            let Some(number) = rooted.child(byte) else { continue };
            // This node of the root block alone, and not its siblings.
            let to = trie.subtree_end(number, trie.to);
            let root = Block { number, to, is_done: false, runs: 0..path.runs.len() };
            blocks.extend(path.enter(trie, &root, to, &mut found, &mut whole));
            while let Some(block) = blocks.last_mut() {
                if block.is_done {
                    path.truncate(block.runs.start);
                    blocks.pop();
                    continue;
                }
                uncharged += block.runs.len() as u64;
                let end = trie.subtree_end(block.number, block.to);
                let below = path.enter(trie, block, end, &mut found, &mut whole);
                block.is_done = trie.nodes[block.number].is_last();
                block.number += 1;
                if let Some(below) = below {
                    uncharged += (path.walks.len() - path.runs[below.runs.start].from) as u64;
                    blocks.push(below);
                }
                if uncharged >= NODES_PER_CHARGE {
                    budget.charge_steps(PHASE, uncharged)?;
                    uncharged = 0;
                }
            }
        }
        budget.charge_steps(PHASE, uncharged)
    }
}

/// A row that is being computed, and the state at some node for it.
#[derive(Clone, Copy)]
struct Walk {
    row: u32,
    state: StateId,
}

/// Consecutive walks whose states share a row of transitions: they live and die together.
struct Run {
    /// The row of transitions.
    row: u32,
    /// Where the walks begin; they end where those of the next run begin.
    from: usize,
}

/// The rest of a block of siblings, and the runs that reach it.
struct Block {
    number: usize,
    /// The end of the ids of the block.
    to: u32,
    is_done: bool,
    runs: Range<usize>,
}

/// The live walks at each node from the root to the one at hand, node after node.
struct Path<'a> {
    dfa: &'a Dfa,
    walks: Vec<Walk>,
    runs: Vec<Run>,
}

impl Path<'_> {
    /// Adds a walk after the others; those from run `first` on are of the same node.
    #[inline]
    fn push(&mut self, walk: Walk, first: usize) {
        let row = self.dfa.row_of[walk.state.index()];
        if self.runs[first..].last().is_none_or(|run| run.row != row) {
            self.runs.push(Run { row, from: self.walks.len() });
        }
        self.walks.push(walk);
    }

    /// Forgets all runs from `first` on.
    fn truncate(&mut self, first: usize) {
        self.walks.truncate(self.runs[first].from);
        self.runs.truncate(first);
    }

    /// Goes on to the node at hand in `block`, whose ids end at `end`: for each live walk the node's own ids are found, and
    /// those below if they are taken whole. Returns the block below if some walk goes on there.
    #[inline]
    fn enter(
        &mut self,
        trie: &Trie<'_>,
        block: &Block,
        end: u32,
        found: &mut impl FnMut(u32, u32, u32, StateId),
        whole: &mut impl FnMut(usize, StateId) -> bool,
    ) -> Option<Block> {
        let node = trie.nodes[block.number];
        let class = usize::from(self.dfa.classes[usize::from(node.byte())]);
        let child = node.children();
        let own_end = child.map_or(end, |child| trie.nodes[child].first);
        let (walks_end, runs_end) = (self.walks.len(), self.runs.len());
        for at in block.runs.clone() {
            let Run { row, from } = self.runs[at];
            let delta = self.dfa.deltas[row as usize * self.dfa.stride + class];
            if delta == NO_STEP {
                continue;
            }
            let to = if at + 1 < runs_end { self.runs[at + 1].from } else { walks_end };
            for at in from..to {
                let Walk { row, state } = self.walks[at];
                let state = state.offset(delta);
                if child.is_none() || whole(block.number, state) {
                    found(row, node.first, end, state);
                    continue;
                }
                if node.first != own_end {
                    found(row, node.first, own_end, state);
                }
                self.push(Walk { row, state }, runs_end);
            }
        }
        let runs = runs_end..self.runs.len();
        child.filter(|_| !runs.is_empty()).map(|number| Block { number, to: end, is_done: false, runs })
    }
}
