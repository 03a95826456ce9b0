use gobo_types::{Budget, CompileError};

use crate::dfa::{DEAD, StateId};

/// The labelled edges of a deterministic automaton. State 0 is dead: it has no edges, and none leads to it.
pub(crate) trait Edges {
    /// Number of states, the dead one included.
    fn states(&self) -> usize;

    /// The edges of a state, ascending by label: at most one for each.
    fn edges(&self, state: StateId) -> impl Iterator<Item = (u32, StateId)>;

    /// Number of all edges, or more.
    fn edge_count(&self) -> usize;
}

/// The states from which some edge leads to a state: compressed rows.
#[derive(Debug)]
struct Predecessors {
    starts: Vec<u32>,
    states: Vec<StateId>,
}

impl Predecessors {
    fn of(automaton: &impl Edges, phase: &str, budget: &Budget) -> Result<Self, CompileError> {
        let edges = automaton.edge_count() as u64;
        budget.charge_steps(phase, edges)?;
        budget.charge_bytes(phase, edges * 4)?;
        let states = automaton.states();
        // Each (state, successor) pair once: successors of one state are deduplicated by a stamp.
        let mut stamp = vec![DEAD; states];
        let mut each = |visit: &mut dyn FnMut(StateId, StateId)| {
            stamp.fill(DEAD);
            for state in 1..number(states) {
                for (_, next) in automaton.edges(state) {
                    if std::mem::replace(&mut stamp[next as usize], state) != state {
                        visit(state, next);
                    }
                }
            }
        };
        let mut starts = vec![0_u32; states + 1];
        each(&mut |_, next| starts[next as usize + 1] += 1);
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut before = vec![DEAD; *starts.last().unwrap_or(&0) as usize];
        let mut fill = starts.clone();
        each(&mut |state, next| {
            let slot = &mut fill[next as usize];
            before[*slot as usize] = state;
            *slot += 1;
        });
        Ok(Self { starts, states: before })
    }

    fn of_state(&self, state: StateId) -> &[StateId] {
        &self.states[self.starts[state as usize] as usize..self.starts[state as usize + 1] as usize]
    }
}

/// `[states]`: from which states one of `accepting`, `[states]`, is reached.
pub(crate) fn useful(
    automaton: &impl Edges,
    accepting: &[bool],
    budget: &Budget,
) -> Result<Vec<bool>, CompileError> {
    let predecessors = Predecessors::of(automaton, "trimming", budget)?;
    let mut useful = accepting.to_vec();
    let mut stack: Vec<StateId> =
        (0..).zip(accepting).filter(|(_, accepting)| **accepting).map(|(state, _)| state).collect();
    while let Some(state) = stack.pop() {
        for &before in predecessors.of_state(state) {
            if !std::mem::replace(&mut useful[before as usize], true) {
                stack.push(before);
            }
        }
    }
    Ok(useful)
}

fn number(n: usize) -> u32 {
    u32::try_from(n).expect("the budget keeps states below 2^32")
}

/// A partition of an automaton's states into blocks.
#[derive(Debug, Clone)]
pub(crate) struct Partition {
    /// `[states]`: the block of each state.
    block: Vec<u32>,
    /// States, the members of one block side by side.
    members: Vec<StateId>,
    /// `[states]`: where each state stands in `members`.
    place: Vec<u32>,
    /// `[blocks]`: where each block begins and ends in `members`.
    bounds: Vec<(u32, u32)>,
}

impl Partition {
    fn new(initial: &[u32]) -> Self {
        let mut members: Vec<StateId> = (0..number(initial.len())).collect();
        members.sort_by_key(|&state| initial[state as usize]);
        let mut partition = Self {
            block: vec![0; initial.len()],
            place: vec![0; initial.len()],
            bounds: Vec::new(),
            members,
        };
        let mut last = None;
        for at in 0..partition.members.len() {
            let state = partition.members[at] as usize;
            if last != Some(initial[state]) {
                last = Some(initial[state]);
                partition.bounds.push((number(at), number(at)));
            }
            let block = partition.bounds.len() - 1;
            partition.bounds[block].1 += 1;
            partition.block[state] = number(block);
            partition.place[state] = number(at);
        }
        partition
    }

    /// Every state in a block of its own.
    pub(crate) fn discrete(states: usize) -> Self {
        let all: Vec<u32> = (0..number(states)).collect();
        let bounds = all.iter().map(|&at| (at, at + 1)).collect();
        Self { block: all.clone(), members: all.clone(), place: all, bounds }
    }

    /// Number of blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.bounds.len()
    }

    /// The block of a state.
    pub(crate) fn block(&self, state: StateId) -> u32 {
        self.block[state as usize]
    }

    fn swap_to(&mut self, state: StateId, to: u32) {
        let from = self.place[state as usize];
        let other = self.members[to as usize];
        self.members.swap(from as usize, to as usize);
        self.place[other as usize] = from;
        self.place[state as usize] = to;
    }

    /// Makes `members[from..to]`, at an end of its block, a block of its own, and reports its states.
    fn split_off(&mut self, from: u32, to: u32, changed: &mut Vec<StateId>) {
        let number = u32::try_from(self.bounds.len()).expect("no more blocks than states");
        let old = self.block[self.members[from as usize] as usize] as usize;
        let bounds = &mut self.bounds[old];
        if bounds.0 == from {
            bounds.0 = to;
        } else {
            bounds.1 = from;
        }
        self.bounds.push((from, to));
        for at in from..to {
            let state = self.members[at as usize];
            self.block[state as usize] = number;
            changed.push(state);
        }
    }
}

/// Refines a partition of the states until two states share a block exactly if no string tells them apart by their
/// initial blocks; or, with `rounds`, no string of at most that many bytes.
///
/// Rounds are Moore's, done only where something can change: a state is looked at again when a successor got a new
/// block, and of the parts of a split block all but the largest get one. So a state changes its block at most
/// log2(states) times, and the whole costs O(edges × classes × log states); a chain of counted repetitions costs
/// O(states) and not O(states × rounds). Hopcroft 1971; Valmari 2012 for the bookkeeping.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn refine(
    automaton: &impl Edges,
    initial: &[u32],
    rounds: Option<u32>,
    phase: &str,
    budget: &Budget,
) -> Result<Partition, CompileError> {
    refine_watched(automaton, initial, rounds, phase, budget, |_, _| Ok(()))
}

/// [`refine`], showing the partition after each round, with its number from 1 on: what strings of so many bytes tell apart,
/// or more.
pub(crate) fn refine_watched(
    automaton: &impl Edges,
    initial: &[u32],
    rounds: Option<u32>,
    phase: &str,
    budget: &Budget,
    mut watch: impl FnMut(u32, &Partition) -> Result<(), CompileError>,
) -> Result<Partition, CompileError> {
    let states = automaton.states();
    budget.charge_bytes(phase, states as u64 * 24)?;
    let predecessors = Predecessors::of(automaton, phase, budget)?;
    let mut partition = Partition::new(initial);
    let mut dirty: Vec<StateId> = (1..number(states)).collect();
    let mut is_dirty = vec![false; states];
    let mut changed: Vec<StateId> = Vec::new();
    let mut round = 0;
    while !dirty.is_empty() && rounds.is_none_or(|rounds| round < rounds) {
        round += 1;
        let edges: usize = dirty.iter().map(|&state| automaton.edges(state).count()).sum();
        budget.charge_steps(phase, (dirty.len() + edges) as u64)?;
        changed.clear();
        split_round(automaton, &mut partition, &mut dirty, &mut changed);
        dirty.clear();
        for &state in &changed {
            // The dead state's predecessors are not kept: it is alone in its block from the start.
            for &before in predecessors.of_state(state) {
                if !std::mem::replace(&mut is_dirty[before as usize], true) {
                    dirty.push(before);
                }
            }
        }
        dirty.iter().for_each(|&state| is_dirty[state as usize] = false);
        watch(round, &partition)?;
    }
    Ok(partition)
}

/// One round over the states that may have changed. All signatures are taken before any block is split.
fn split_round(
    automaton: &impl Edges,
    partition: &mut Partition,
    dirty: &mut [StateId],
    changed: &mut Vec<StateId>,
) {
    let signature = |state: StateId| {
        automaton
            .edges(state)
            .map(|(label, next)| u64::from(label) << 32 | u64::from(partition.block[next as usize]))
    };
    // A fixed hash (FNV-1a over words), so that the order is the same in every process; equality decides, not the hash.
    let hash = |state: StateId| {
        signature(state).fold(0xcbf2_9ce4_8422_2325_u64, |hash, block| {
            (hash ^ block).wrapping_mul(0x0100_0000_01b3).rotate_left(23)
        })
    };
    let mut keyed: Vec<(u32, u64, StateId)> =
        dirty.iter().map(|&state| (partition.block(state), hash(state), state)).collect();
    keyed.sort_unstable();
    for run in keyed.chunk_by_mut(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let first = run[0].2;
        if !run.iter().all(|&(_, _, state)| signature(state).eq(signature(first))) {
            run.sort_unstable_by(|a, b| signature(a.2).cmp(signature(b.2)).then(a.2.cmp(&b.2)));
        }
    }
    let same = |a: &(u32, u64, StateId), b: &(u32, u64, StateId)| {
        (a.0, a.1) == (b.0, b.1) && signature(a.2).eq(signature(b.2))
    };
    let sizes: Vec<usize> = keyed.chunk_by(same).map(<[_]>::len).collect();
    let mut sizes = sizes.as_slice();
    // The groups of equal signature of one block after the other.
    for of_block in keyed.chunk_by(|a, b| a.0 == b.0) {
        let mut left = of_block.len();
        let groups = sizes.iter().take_while(|&&size| {
            let belongs = left > 0;
            left = left.saturating_sub(size);
            belongs
        });
        let (groups, rest) = sizes.split_at(groups.count());
        sizes = rest;
        split_block(partition, of_block, groups, changed);
    }
}

/// Splits one block into groups, which stand one behind the other in `members` and have the given sizes, and the rest.
/// States that were not looked at have the successors' blocks they had, which at least one successor of every other
/// state has left: they are one group. The largest keeps the number.
fn split_block(
    partition: &mut Partition,
    members: &[(u32, u64, StateId)],
    sizes: &[usize],
    changed: &mut Vec<StateId>,
) {
    let (from, to) = partition.bounds[members[0].0 as usize];
    if sizes.len() == 1 && members.len() == (to - from) as usize {
        return;
    }
    // Groups to the front of the block, in order; the rest stays behind them.
    for (at, &(_, _, state)) in (from..).zip(members) {
        partition.swap_to(state, at);
    }
    let mut parts: Vec<(u32, u32)> = Vec::with_capacity(sizes.len() + 1);
    let mut at = from;
    for &size in sizes {
        parts.push((at, at + number(size)));
        at += number(size);
    }
    if at < to {
        parts.push((at, to));
    }
    let Some(largest) = (0..parts.len()).max_by_key(|&part| parts[part].1 - parts[part].0) else { return };
    // Cut from both ends, so that what is left in the middle is the largest part.
    for &(begin, end) in &parts[..largest] {
        partition.split_off(begin, end, changed);
    }
    for &(begin, end) in parts[largest + 1..].iter().rev() {
        partition.split_off(begin, end, changed);
    }
}

#[cfg(test)]
mod tests {
    use gobo_types::{CompileLimits, MatchMode, TextStart};
    use proptest::prelude::*;

    use super::*;

    struct Table {
        stride: usize,
        cells: Vec<StateId>,
    }

    impl Table {
        fn row(&self, state: StateId) -> &[StateId] {
            &self.cells[state as usize * self.stride..][..self.stride]
        }
    }

    impl Edges for Table {
        fn states(&self) -> usize {
            self.cells.len() / self.stride
        }

        fn edges(&self, state: StateId) -> impl Iterator<Item = (u32, StateId)> {
            (0..).zip(self.row(state).iter().copied()).filter(|(_, next)| *next != DEAD)
        }

        fn edge_count(&self) -> usize {
            self.cells.len()
        }
    }

    /// Moore's algorithm as in a textbook: every state in every round.
    fn naive(dfa: &Table, initial: &[u32], rounds: Option<u32>) -> Vec<u32> {
        let mut block = initial.to_vec();
        for _ in 0..rounds.unwrap_or(u32::MAX) {
            let signatures: Vec<Vec<u32>> = (0..u32::try_from(dfa.states()).unwrap())
                .map(|state| {
                    let next = dfa.row(state).iter().map(|&next| block[next as usize]);
                    std::iter::once(block[state as usize]).chain(next).collect()
                })
                .collect();
            let mut distinct = signatures.clone();
            distinct.sort();
            distinct.dedup();
            let new: Vec<u32> = signatures
                .iter()
                .map(|signature| u32::try_from(distinct.binary_search(signature).unwrap()).unwrap())
                .collect();
            let blocks = |block: &[u32]| block.iter().collect::<std::collections::HashSet<_>>().len();
            if blocks(&new) == blocks(&block) {
                return new;
            }
            block = new;
        }
        block
    }

    fn same_partition(dfa: &Table, ours: &Partition, theirs: &[u32]) -> bool {
        let all = 0..u32::try_from(dfa.states()).unwrap();
        all.clone().all(|a| {
            all.clone()
                .all(|b| (ours.block(a) == ours.block(b)) == (theirs[a as usize] == theirs[b as usize]))
        })
    }

    proptest! {
        #[test]
        fn agrees_with_textbook_moore_in_every_round(
            stride in 1_usize..4,
            cells in prop::collection::vec(0_u32..24, 3 * 24),
            marks in prop::collection::vec(1_u32..3, 24),
            rounds in 0_u32..8,
        ) {
            let len = 24;
            let mut transitions = cells[..len * stride].to_vec();
            transitions[..stride].fill(DEAD);
            let dfa = Table { stride, cells: transitions };
            let mut initial = marks;
            initial[0] = 0;
            let budget = Budget::new(CompileLimits::default());
            for rounds in [Some(rounds), None] {
                let ours = refine(&dfa, &initial, rounds, "test", &budget).unwrap();
                prop_assert!(same_partition(&dfa, &ours, &naive(&dfa, &initial, rounds)));
            }
        }
    }

    /// 10,000 counted repetitions are told apart by strings of at most 16 bytes in far fewer steps than states × rounds.
    #[test]
    fn a_long_chain_costs_its_length_not_its_length_times_the_rounds() {
        let budget = Budget::new(CompileLimits::default());
        let dfa = crate::Dfa::regex("a{0,10000}", MatchMode::Full, TextStart::Exact, &budget).unwrap();
        let before = budget.steps();
        let initial: Vec<u32> = (0..dfa.states()).map(|state| u32::from(state != 0)).collect();
        let partition = refine(&dfa, &initial, Some(16), "test", &budget).unwrap();
        assert_eq!(partition.blocks(), 1 + 17);
        assert!(budget.steps() - before < 10 * dfa.edge_count() as u64);
    }
}
