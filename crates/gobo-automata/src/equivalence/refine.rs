//! Partition refinement: the coarsest partition of the states in which no string, or no string of a bounded length, tells two
//! states of a block apart by their initial blocks.
//!
//! Invariant: states of different blocks are told apart by a string no longer than the rounds so far. O(edges × log states)
//! comparisons of edges. Moore 1956 for the rounds, Hopcroft 1971 for the smaller parts, Valmari 2012 for the bookkeeping.

use gobo_types::{Budget, CompileError, DenseId as _, checked_u32, dense_id};

use crate::ids::{State, Symbol};

/// The labelled edges of a deterministic automaton. State 0 is dead: it has no edges, and none leads to it.
pub(crate) trait Edges {
    /// The states.
    type State: State;

    /// Number of states, the dead one included.
    fn states(&self) -> usize;

    /// The edges of a state, ascending by label: at most one for each.
    fn edges(&self, state: Self::State) -> impl Iterator<Item = (Symbol, Self::State)>;

    /// Number of all edges, or more.
    fn edge_count(&self) -> usize;
}

/// The states from which some edge leads to a state: compressed rows.
#[derive(Debug)]
struct Predecessors<S> {
    starts: Vec<u32>,
    states: Vec<S>,
}

impl<S: State> Predecessors<S> {
    fn of(automaton: &impl Edges<State = S>, phase: &str, budget: &Budget) -> Result<Self, CompileError> {
        let edges = automaton.edge_count() as u64;
        budget.charge_steps(phase, edges)?;
        budget.charge_bytes(phase, edges * 4)?;
        let states = automaton.states();
        // Each (state, successor) pair once: successors of one state are deduplicated by a stamp.
        let mut stamp = vec![S::DEAD; states];
        let mut each = |visit: &mut dyn FnMut(S, S)| {
            stamp.fill(S::DEAD);
            for state in S::range(1..states) {
                for (_, next) in automaton.edges(state) {
                    if std::mem::replace(&mut stamp[next.index()], state) != state {
                        visit(state, next);
                    }
                }
            }
        };
        let mut starts = vec![0_u32; states + 1];
        each(&mut |_, next| starts[next.index() + 1] += 1);
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut before = vec![S::DEAD; *starts.last().unwrap_or(&0) as usize];
        let mut fill = starts.clone();
        each(&mut |state, next| {
            let slot = &mut fill[next.index()];
            before[*slot as usize] = state;
            *slot += 1;
        });
        Ok(Self { starts, states: before })
    }

    fn of_state(&self, state: S) -> &[S] {
        &self.states[self.starts[state.index()] as usize..self.starts[state.index() + 1] as usize]
    }
}

/// `[states]`: from which states one of `accepting`, `[states]`, is reached.
pub(crate) fn useful<A: Edges>(
    automaton: &A,
    accepting: &[bool],
    budget: &Budget,
) -> Result<Vec<bool>, CompileError> {
    let mut useful = accepting.to_vec();
    // States are mostly numbered in the order in which they are reached: seen from the last one, nearly all are found useful
    // at once, those of loops the second time, and no more the third.
    budget.charge_steps("trimming", automaton.edge_count() as u64)?;
    for _ in 0..4 {
        let mut is_done = true;
        for state in A::State::range(1..useful.len()).rev() {
            if !useful[state.index()] && automaton.edges(state).any(|(_, next)| useful[next.index()]) {
                useful[state.index()] = true;
                is_done = false;
            }
        }
        if is_done {
            return Ok(useful);
        }
    }
    let predecessors = Predecessors::of(automaton, "trimming", budget)?;
    let mut stack: Vec<A::State> =
        A::State::enumerate(&useful).filter(|(_, useful)| **useful).map(|(state, _)| state).collect();
    while let Some(state) = stack.pop() {
        for &before in predecessors.of_state(state) {
            if !std::mem::replace(&mut useful[before.index()], true) {
                stack.push(before);
            }
        }
    }
    Ok(useful)
}

dense_id! {
    /// A block of a partition.
    pub(crate) struct BlockId;
}

/// A partition of an automaton's states into blocks.
#[derive(Debug, Clone)]
pub(crate) struct Partition<S> {
    /// `[states]`: the block of each state.
    block: Vec<BlockId>,
    /// States, the members of one block side by side.
    members: Vec<S>,
    /// `[states]`: where each state stands in `members`.
    place: Vec<u32>,
    /// `[blocks]`: where each block begins and ends in `members`.
    bounds: Vec<(u32, u32)>,
}

impl<S: State> Partition<S> {
    fn new<K: Ord + Copy>(initial: &[K]) -> Self {
        let mut keyed: Vec<(K, S)> = S::enumerate(initial).map(|(state, &key)| (key, state)).collect();
        keyed.sort_unstable();
        let members: Vec<S> = keyed.into_iter().map(|(_, state)| state).collect();
        let mut partition = Self {
            block: vec![BlockId::new(0); initial.len()],
            place: vec![0; initial.len()],
            bounds: Vec::new(),
            members,
        };
        let mut last = None;
        for at in 0..partition.members.len() {
            let state = partition.members[at].index();
            if last != Some(initial[state]) {
                last = Some(initial[state]);
                partition.bounds.push((checked_u32(at), checked_u32(at)));
            }
            let block = partition.bounds.len() - 1;
            partition.bounds[block].1 += 1;
            partition.block[state] = BlockId::new(block);
            partition.place[state] = checked_u32(at);
        }
        partition
    }

    /// Every state in a block of its own.
    pub(crate) fn discrete(states: usize) -> Self {
        let place: Vec<u32> = (0..checked_u32(states)).collect();
        let bounds = place.iter().map(|&at| (at, at + 1)).collect();
        let (block, members) = (BlockId::range(0..states).collect(), S::range(0..states).collect());
        Self { block, members, place, bounds }
    }

    /// Number of blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.bounds.len()
    }

    /// The block of a state.
    pub(crate) fn block(&self, state: S) -> BlockId {
        self.block[state.index()]
    }

    /// Whether a state has its block to itself.
    fn is_alone(&self, state: S) -> bool {
        let (from, to) = self.bounds[self.block(state).index()];
        from + 1 == to
    }

    fn swap_to(&mut self, state: S, to: u32) {
        let from = self.place[state.index()];
        let other = self.members[to as usize];
        self.members.swap(from as usize, to as usize);
        self.place[other.index()] = from;
        self.place[state.index()] = to;
    }

    /// Makes `members[from..to]`, at an end of its block, a block of its own, and reports its states.
    fn split_off(&mut self, from: u32, to: u32, changed: &mut Vec<S>) {
        let fresh = BlockId::new(self.bounds.len());
        let old = self.block(self.members[from as usize]);
        let bounds = &mut self.bounds[old.index()];
        if bounds.0 == from {
            bounds.0 = to;
        } else {
            bounds.1 = from;
        }
        self.bounds.push((from, to));
        for at in from..to {
            let state = self.members[at as usize];
            self.block[state.index()] = fresh;
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
pub(crate) fn refine<A: Edges>(
    automaton: &A,
    initial: &[u32],
    rounds: Option<u32>,
    phase: &str,
    budget: &Budget,
) -> Result<Partition<A::State>, CompileError> {
    match rounds {
        Some(_) => refine_watched(automaton, initial, rounds, phase, budget, |_, _| Ok(())),
        None => match presorted(automaton, initial, phase, budget)? {
            Some(initial) => refine_watched(automaton, &initial, None, phase, budget, |_, _| Ok(())),
            None => Ok(Partition::discrete(automaton.states())),
        },
    }
}

/// Maximum rounds of hashing before a refinement without limit: after them, only long strings tell states apart.
const HASHED_ROUNDS: u32 = 24;

/// `[states]`: initial blocks beside hashes of what is read in the first rounds. States that end in one block share them, so
/// that nothing is split that belongs together; nearly all others do not, and hashing is cheaper than splitting blocks. `None`
/// where no two states share them.
fn presorted<A: Edges>(
    automaton: &A,
    initial: &[u32],
    phase: &str,
    budget: &Budget,
) -> Result<Option<Vec<(u32, u64)>>, CompileError> {
    let mut hashes: Vec<u64> = initial.iter().map(|&block| u64::from(block)).collect();
    // States that share their hash with others. Once it is alone, a state keeps its hash.
    let mut open: Vec<(u64, A::State)> = A::State::range(1..hashes.len()).map(|state| (0, state)).collect();
    let (mut alone, mut blocks) = (0, 0);
    for round in 0..HASHED_ROUNDS {
        let mut edges = 0;
        for (hash, state) in &mut open {
            // Mixed first: a state and its successor that change places would cancel out.
            let own = mixed(HASH_START, hashes[state.index()]);
            *hash = automaton.edges(*state).fold(own, |hash, (label, next)| {
                edges += 1;
                mixed(hash, hashes[next.index()].wrapping_add(u64::from(label.number()) << 32))
            });
        }
        // Four edges are hashed while one is compared.
        budget.charge_steps(phase, (open.len() as u64 + edges) / 4)?;
        open.iter().for_each(|&(hash, state)| hashes[state.index()] = hash);
        if round == 0 {
            // Hardly any is alone yet.
            continue;
        }
        open.sort_unstable();
        let mut shared = Vec::with_capacity(open.len());
        let mut groups = 0;
        for group in open.chunk_by(|a, b| a.0 == b.0) {
            if group.len() > 1 {
                groups += 1;
                shared.extend_from_slice(group);
            } else {
                alone += 1;
            }
        }
        if shared.is_empty() {
            return Ok(None);
        }
        // Little or nothing more is told apart by longer strings. Where hashes of different states meet, it may be less.
        if (alone + groups) * 16 < blocks * 16 + open.len() {
            break;
        }
        blocks = alone + groups;
        open = shared;
    }
    Ok(Some(initial.iter().copied().zip(hashes).collect()))
}

/// What a hash begins with (FNV-1a's basis).
const HASH_START: u64 = 0xcbf2_9ce4_8422_2325;

/// A fixed hash (FNV-1a over words), so that the order is the same in every process; equality decides, not the hash.
fn mixed(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(23)
}

/// [`refine`], which shows `watch` the partition after each round. Round `n`, from 1 on, tells apart at least the states that
/// strings of `n` symbols tell apart.
pub(crate) fn refine_watched<A: Edges, K: Ord + Copy>(
    automaton: &A,
    initial: &[K],
    rounds: Option<u32>,
    phase: &str,
    budget: &Budget,
    mut watch: impl FnMut(u32, &Partition<A::State>) -> Result<(), CompileError>,
) -> Result<Partition<A::State>, CompileError> {
    let states = automaton.states();
    budget.charge_bytes(phase, states as u64 * 24)?;
    // Not needed where nothing is split.
    let mut predecessors = None;
    let mut partition = Partition::new(initial);
    // Of a state that is alone nothing can be split off.
    let mut dirty: Vec<A::State> =
        A::State::range(1..states).filter(|&state| !partition.is_alone(state)).collect();
    let mut is_dirty = vec![false; states];
    let mut changed: Vec<A::State> = Vec::new();
    let mut round = 0;
    while !dirty.is_empty() && rounds.is_none_or(|rounds| round < rounds) {
        round += 1;
        changed.clear();
        let edges = split_round(automaton, &mut partition, &dirty, &mut changed);
        budget.charge_steps(phase, dirty.len() as u64 + edges)?;
        dirty.clear();
        if !changed.is_empty() && predecessors.is_none() {
            predecessors = Some(Predecessors::of(automaton, phase, budget)?);
        }
        let before = |state: A::State| predecessors.as_ref().map_or(&[][..], |of| of.of_state(state));
        for &state in &changed {
            // The dead state's predecessors are not kept: it is alone in its block from the start.
            for &before in before(state) {
                if !partition.is_alone(before) && !std::mem::replace(&mut is_dirty[before.index()], true) {
                    dirty.push(before);
                }
            }
        }
        dirty.iter().for_each(|&state| is_dirty[state.index()] = false);
        watch(round, &partition)?;
    }
    Ok(partition)
}

/// One round over the states that may have changed; returns how many edges they have. All signatures are taken before any
/// block is split.
fn split_round<A: Edges>(
    automaton: &A,
    partition: &mut Partition<A::State>,
    dirty: &[A::State],
    changed: &mut Vec<A::State>,
) -> u64 {
    let signature = |state: A::State| {
        automaton
            .edges(state)
            .map(|(label, next)| u64::from(label.number()) << 32 | u64::from(partition.block(next).number()))
    };
    let mut edges = 0;
    let mut hash = |state: A::State| signature(state).inspect(|_| edges += 1).fold(HASH_START, mixed);
    let mut keyed: Vec<(BlockId, u64, A::State)> =
        dirty.iter().map(|&state| (partition.block(state), hash(state), state)).collect();
    keyed.sort_unstable();
    let mut sizes: Vec<usize> = Vec::with_capacity(keyed.len());
    for run in keyed.chunk_by_mut(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let same = |a: A::State, b: A::State| signature(a).eq(signature(b));
        let (first, others) = run.split_first().expect("runs are not empty");
        if others.iter().all(|other| same(first.2, other.2)) {
            sizes.push(run.len());
        } else {
            run.sort_unstable_by(|a, b| signature(a.2).cmp(signature(b.2)).then(a.2.cmp(&b.2)));
            sizes.extend(run.chunk_by(|a, b| same(a.2, b.2)).map(<[_]>::len));
        }
    }
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
    edges
}

/// Splits one block into groups, which stand one after the other in `members` and have the given sizes, and the rest.
/// States that were not looked at have the successors' blocks they had, which at least one successor of every other
/// state has left: they are one group. The largest keeps the number.
fn split_block<S: State>(
    partition: &mut Partition<S>,
    members: &[(BlockId, u64, S)],
    sizes: &[usize],
    changed: &mut Vec<S>,
) {
    let (from, to) = partition.bounds[members[0].0.index()];
    if sizes.len() == 1 && members.len() == (to - from) as usize {
        return;
    }
    // Groups go to the front of the block, in order; the rest stays after them.
    for (at, &(_, _, state)) in (from..).zip(members) {
        partition.swap_to(state, at);
    }
    let mut parts: Vec<(u32, u32)> = Vec::with_capacity(sizes.len() + 1);
    let mut at = from;
    for &size in sizes {
        parts.push((at, at + checked_u32(size)));
        at += checked_u32(size);
    }
    if at < to {
        parts.push((at, to));
    }
    let Some(largest) = (0..parts.len()).max_by_key(|&part| parts[part].1 - parts[part].0) else { return };
    // Cut from both ends, so that the largest part remains in the middle.
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
    use crate::ids::StateId;

    struct Table {
        stride: usize,
        cells: Vec<StateId>,
    }

    impl Table {
        fn row(&self, state: StateId) -> &[StateId] {
            &self.cells[state.index() * self.stride..][..self.stride]
        }
    }

    impl Edges for Table {
        type State = StateId;

        fn states(&self) -> usize {
            self.cells.len() / self.stride
        }

        fn edges(&self, state: StateId) -> impl Iterator<Item = (Symbol, StateId)> {
            Symbol::enumerate(self.row(state).iter().copied()).filter(|(_, next)| *next != StateId::DEAD)
        }

        fn edge_count(&self) -> usize {
            self.cells.len()
        }
    }

    /// Moore's algorithm as in a textbook: every state in every round.
    fn naive(dfa: &Table, initial: &[u32], rounds: Option<u32>) -> Vec<u32> {
        let mut block = initial.to_vec();
        for _ in 0..rounds.unwrap_or(u32::MAX) {
            let signatures: Vec<Vec<u32>> = StateId::range(0..dfa.states())
                .map(|state| {
                    let next = dfa.row(state).iter().map(|&next| block[next.index()]);
                    std::iter::once(block[state.index()]).chain(next).collect()
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

    fn same_partition(dfa: &Table, ours: &Partition<StateId>, theirs: &[u32]) -> bool {
        let all = StateId::range(0..dfa.states());
        all.clone().all(|a| {
            all.clone().all(|b| (ours.block(a) == ours.block(b)) == (theirs[a.index()] == theirs[b.index()]))
        })
    }

    proptest! {
        #[test]
        fn agrees_with_textbook_moore_in_every_round(
            stride in 1_usize..4,
            cells in prop_oneof![
                prop::collection::vec(0_u32..24, 3 * 24),
                // Most steps missing: a tail of long strings has to tell what is left apart.
                prop::collection::vec(prop_oneof![2 => Just(0), 1 => 1_u32..24], 3 * 24),
            ],
            marks in prop::collection::vec(prop_oneof![3 => Just(1_u32), 1 => Just(2)], 24),
            rounds in 0_u32..8,
        ) {
            let len = 24;
            let mut transitions: Vec<StateId> =
                cells[..len * stride].iter().map(|&next| StateId::from_number(next)).collect();
            transitions[..stride].fill(StateId::DEAD);
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

    /// A ring in which every state changes places with its successor as far as a plain exclusive-or could see.
    #[test]
    fn states_whose_hashes_meet_are_told_apart() {
        let dfa = Table { stride: 1, cells: [0, 2, 4, 1, 3].map(StateId::new).into() };
        let initial = [0, 1, 2, 1, 1];
        let budget = Budget::new(CompileLimits::default());
        let ours = refine(&dfa, &initial, None, "test", &budget).unwrap();
        assert!(same_partition(&dfa, &ours, &naive(&dfa, &initial, None)));
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
