use std::ops::Range;

use foldhash::{HashMap, HashMapExt};
use gobo_artifact::{MAX_SLICES, Slice, Trie, TrieNode, Vocabulary};
use gobo_automata::{ByteSet, Closure, Dfa, NO_STEP, StateId};
use gobo_types::{Budget, CompileError};

const PHASE: &str = "walking the vocabulary";

/// Most states that are walked together: enough to share the cost of a node, few enough that several threads find work.
const STATES_PER_BATCH: usize = 64;

/// From so many states on they are walked side by side; fewer one after the other, which costs each of them less.
const SIDE_BY_SIDE: usize = 4;

/// Nodes walked between two looks at the budget.
pub(crate) const NODES_PER_CHARGE: u64 = 4096;

/// Slices are looked at one by one where those that can be taken hold at least one in so many tokens; elsewhere one walk
/// of the trie over all tokens is cheaper: entering some thirty tries takes the time of walking some hundred tokens.
const WORTH_TAKING: usize = 256;

const _: () = assert!(MAX_SLICES <= u64::BITS as usize, "a bit for each slice");

/// The tokens of a row. Equal ones are equal rows; one row may be written in two ways.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct RowTokens {
    /// Slices taken whole, without a walk: bit `n` for part `n`, of which there are at most [`MAX_SLICES`].
    pub(crate) whole: u64,
    /// Slices of which only short tokens are taken, with the most characters that they may have.
    pub(crate) short: Vec<(usize, u32)>,
    /// Ranges of the trie order, ascending and not touching.
    pub(crate) ranges: Vec<(u32, u32)>,
}

impl RowTokens {
    pub(crate) fn is_empty(&self) -> bool {
        self.whole == 0 && self.short.is_empty() && self.ranges.is_empty()
    }

    /// Whether all tokens from `from` to `to` of the trie order are in the ranges.
    pub(crate) fn has(&self, from: u32, to: u32) -> bool {
        let behind = self.ranges.partition_point(|range| range.0 <= from);
        self.ranges[..behind].last().is_some_and(|range| to <= range.1)
    }

    /// Puts the ranges in order.
    pub(crate) fn settle(&mut self) {
        if self.ranges.is_sorted() {
            return;
        }
        self.ranges.sort_unstable();
        for (from, to) in std::mem::take(&mut self.ranges) {
            match self.ranges.last_mut() {
                Some(last) if last.1 >= from => last.1 = last.1.max(to),
                _ => self.ranges.push((from, to)),
            }
        }
    }

    pub(crate) fn add(&mut self, from: u32, to: u32) {
        match self.ranges.last_mut() {
            Some(last) if last.1 == from => last.1 = to,
            _ => self.ranges.push((from, to)),
        }
    }
}

/// A trie whose root block is found by byte: it is the largest, and the states of most constraints read few bytes.
pub(crate) struct Rooted<'a> {
    pub(crate) trie: Trie<'a>,
    /// `[256]`: the number of the root's child on each byte; `u32::MAX` for none.
    children: Box<[u32; 256]>,
}

impl<'a> Rooted<'a> {
    fn new(trie: Trie<'a>) -> Self {
        let mut children = Box::new([u32::MAX; 256]);
        let first = u32::try_from(trie.root).expect("23 bits number a node");
        for (number, node) in (first..).zip(&trie.nodes[trie.root..]) {
            children[usize::from(node.byte())] = number;
            if node.is_last() {
                break;
            }
        }
        Self { trie, children }
    }

    #[inline]
    pub(crate) fn child(&self, byte: u8) -> Option<usize> {
        let number = self.children[usize::from(byte)];
        (number != u32::MAX).then_some(number as usize)
    }
}

/// A slice beside an automaton.
pub(crate) struct Part<'a> {
    /// The number of the slice in the vocabulary.
    pub(crate) number: usize,
    pub(crate) slice: Slice<'a>,
    pub(crate) rooted: Rooted<'a>,
    /// Number of the closure under its characters; `None` where one of them leads nowhere from any state.
    pub(crate) closure: Option<usize>,
}

/// What becomes of a slice at a state.
pub(crate) enum Fate {
    /// No token of it leads on.
    Dropped,
    /// Exactly the tokens of at most so many characters lead on.
    Taken(u32),
    /// All tokens of at most so many characters lead on, and perhaps others.
    Walked(u32),
}

impl Fate {
    /// Up to how many characters all tokens lead on.
    pub(crate) fn alive_chars(&self) -> u32 {
        match self {
            Self::Dropped => 0,
            Self::Taken(chars) | Self::Walked(chars) => *chars,
        }
    }
}

/// A vocabulary beside an automaton.
pub(crate) struct Walker<'a> {
    pub(crate) dfa: &'a Dfa,
    /// All ordinary tokens.
    pub(crate) all: Rooted<'a>,
    /// The slices of tokens that are not text: only they begin inside a character.
    pub(crate) pieces: Vec<Rooted<'a>>,
    pub(crate) vocabulary: &'a Vocabulary,
    /// `[classes]`: the bytes of each class.
    class_bytes: Vec<ByteSet>,
    /// The slices of which some token may lead on; empty where no slice can be taken whole.
    pub(crate) parts: Vec<Part<'a>>,
    closures: Vec<Closure>,
    /// The first node of each trie, ascending, and the number of the closure under its characters.
    closure_of_trie: Vec<(usize, Option<usize>)>,
    /// `[rows]`: number of the byte set on which states with this row lead to themselves; 0 for none.
    loop_of_row: Vec<u32>,
    loops: Vec<ByteSet>,
}

impl<'a> Walker<'a> {
    pub(crate) fn new(
        dfa: &'a Dfa,
        vocabulary: &'a Vocabulary,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        budget.charge_steps(PHASE, dfa.deltas.len() as u64)?;
        let mut loops = vec![ByteSet::default()];
        let mut known: HashMap<ByteSet, u32> = HashMap::new();
        let rows = dfa.deltas.chunks_exact(dfa.stride);
        let mut loop_of_row = vec![0; rows.len()];
        for (row, id) in rows.zip(&mut loop_of_row) {
            if row.contains(&0) {
                let set = dfa.bytes_of(|class| row[class] == 0);
                *id = *known.entry(set).or_insert_with(|| {
                    loops.push(set);
                    u32::try_from(loops.len() - 1).expect("no more sets than states")
                });
            }
        }
        let mut class_bytes = vec![ByteSet::default(); dfa.stride];
        for (byte, &class) in dfa.classes.iter().enumerate() {
            class_bytes[usize::from(class)][byte >> 5] |= 1 << (byte & 31);
        }
        let pieces = vocabulary.slices().filter(|slice| slice.max_chars == 0);
        Ok(Self {
            dfa,
            all: Rooted::new(vocabulary.trie()),
            pieces: pieces.map(|slice| Rooted::new(slice.trie)).collect(),
            vocabulary,
            class_bytes,
            parts: Vec::new(),
            closures: Vec::new(),
            closure_of_trie: Vec::new(),
            loop_of_row,
            loops,
        })
    }

    /// Finds out for each slice which states its characters close, so that rows take it whole. Every state but the dead
    /// one must be useful: then a token may end wherever its text is alive.
    pub(crate) fn close_slices(&mut self, budget: &Budget) -> Result<(), CompileError> {
        let Some(chars) = &self.dfa.chars else { return Ok(()) };
        let live = self.dfa.live_bytes();
        let mut known: HashMap<Vec<u32>, usize> = HashMap::new();
        // Asked for by all closures, if there are any.
        let mut targets = None;
        for (number, slice) in self.vocabulary.slices().enumerate() {
            if slice.needs.iter().zip(live).all(|(needs, live)| needs & live == 0) {
                continue;
            }
            let mut closure = None;
            if slice.max_chars > 0 {
                let ranges = slice.chars.len().min(chars.ranges());
                budget.charge_steps(PHASE, ranges as u64 + 1)?;
                if let Some(classes) = chars.classes_of(slice.chars) {
                    closure = Some(match known.get(&classes) {
                        Some(&number) => number,
                        None => {
                            let targets = match &mut targets {
                                Some(targets) => targets,
                                unknown => unknown.insert(chars.targets(budget)?),
                            };
                            let close = || chars.closure(targets, &classes, self.dfa.calls.as_ref(), budget);
                            self.closures.push(budget.holding(close, Closure::bytes)?);
                            known.insert(classes, self.closures.len() - 1);
                            self.closures.len() - 1
                        }
                    });
                }
            }
            self.parts.push(Part { number, slice, rooted: Rooted::new(slice.trie), closure });
        }
        if self.closures.is_empty() {
            self.parts.clear();
            return Ok(());
        }
        let others = std::iter::once(self.all.trie.root)
            .chain(self.vocabulary.slices().map(|slice| slice.trie.root))
            .map(|root| (root, None));
        let parts = self.parts.iter().map(|part| (part.slice.trie.root, part.closure));
        self.closure_of_trie = others.chain(parts).collect();
        // Of a trie's two entries that of its part is the last.
        self.closure_of_trie.sort_by_key(|&(root, _)| root);
        Ok(())
    }

    /// The number of the closure under the characters of the trie that a block belongs to. O(log tries).
    pub(crate) fn closure_of_trie_at(&self, block: usize) -> Option<usize> {
        let behind = self.closure_of_trie.partition_point(|&(root, _)| root <= block);
        self.closure_of_trie[..behind].last().and_then(|&(_, closure)| closure)
    }

    /// Number of closures.
    pub(crate) fn closures(&self) -> usize {
        self.closures.len()
    }

    /// Up to how many characters every text over those of a closure is alive from a state, on transitions alone.
    pub(crate) fn depth(&self, closure: usize, state: StateId) -> u32 {
        let between = self.dfa.chars.as_ref().and_then(|chars| chars.at(state));
        between.map_or(0, |state| self.closures[closure].depth(state))
    }

    /// The bytes that lead on from a state.
    pub(crate) fn live(&self, state: StateId) -> ByteSet {
        let mut live = ByteSet::default();
        for (bytes, &delta) in self.class_bytes.iter().zip(self.dfa.row(state)) {
            if delta != NO_STEP {
                live.iter_mut().zip(bytes).for_each(|(live, bytes)| *live |= bytes);
            }
        }
        live
    }

    /// Divides `states` into batches that are best walked together: states that the same bytes lead on from. Positions in
    /// `states`, ascending within a batch.
    pub(crate) fn batches(&self, states: &[StateId]) -> Vec<Vec<usize>> {
        let mut batches: Vec<Vec<usize>> = Vec::new();
        let mut last: HashMap<ByteSet, usize> = HashMap::new();
        for (at, &state) in states.iter().enumerate() {
            let batch = last.entry(self.live(state)).or_insert(batches.len());
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
        let is_inside = |state| self.dfa.chars.as_ref().is_some_and(|chars| chars.at(state).is_none());
        let walks = (0..).zip(states).map(|(row, &state)| Walk { row, state });
        let (inside, between): (Vec<Walk>, Vec<Walk>) = walks.partition(|walk| is_inside(walk.state));
        let walked =
            std::iter::once((&self.all, &between)).chain(self.pieces.iter().map(|rooted| (rooted, &inside)));
        for (rooted, walks) in walked.filter(|(_, walks)| !walks.is_empty()) {
            let found = |row: u32, from, to, state: StateId| {
                if useful.is_none_or(|useful| useful[state as usize]) {
                    rows[row as usize].add(from, to);
                }
            };
            self.visit(rooted, walks, budget, found, |node, state| {
                useful.is_none_or(|useful| useful[state as usize]) && self.stays(&rooted.trie, node, state)
            })?;
        }
        let ranges: usize = rows.iter().map(|row| row.ranges.len()).sum();
        budget.charge_bytes(PHASE, ranges as u64 * 8)?;
        Ok(rows)
    }

    /// Whether the row of a state is made of slices, as far as its own transitions go.
    ///
    /// A slice is taken without a look at its tokens where every text over its characters is alive, up to some length, and
    /// no longer one is.
    pub(crate) fn takes_slices(&self, state: StateId) -> bool {
        let between = self.dfa.chars.as_ref().and_then(|chars| chars.at(state));
        between.is_some_and(|state| self.is_worth_it(&self.fates(state)))
    }

    /// What becomes of each slice at a state between characters, as far as its own transitions go.
    pub(crate) fn fates(&self, state: StateId) -> Vec<Fate> {
        let Some(chars) = &self.dfa.chars else { return Vec::new() };
        let fate = |Part { slice, closure, .. }: &Part<'_>| {
            let Some(closure) = closure.map(|number| &self.closures[number]) else {
                return Fate::Walked(0);
            };
            // The characters of a slice are those behind its lead, and there are some in every token.
            let behind = slice.lead.map_or(Some(state), |lead| chars.after(state, lead));
            let Some(behind) = behind else { return Fate::Dropped };
            let is_crossed = || self.dfa.calls.as_ref().is_some_and(|calls| calls.is_crossed(behind));
            let is_exact = closure.is_exact(behind) && !(slice.lead.is_some() && is_crossed());
            match closure.depth(behind) {
                0 if is_exact => Fate::Dropped,
                depth => {
                    let chars = depth.saturating_add(u32::from(slice.lead.is_some()));
                    if chars < slice.max_chars && !is_exact {
                        return Fate::Walked(if depth == 0 { 0 } else { chars });
                    }
                    Fate::Taken(chars.min(slice.max_chars))
                }
            }
        };
        self.parts.iter().map(fate).collect()
    }

    /// Whether enough is taken for slices to be looked at one by one.
    pub(crate) fn is_worth_it(&self, fates: &[Fate]) -> bool {
        let taken: usize = (self.parts.iter().zip(fates))
            .filter(|(_, fate)| fate.alive_chars() > 0)
            .map(|(part, _)| (part.slice.trie.to - part.slice.trie.from) as usize)
            .sum();
        let all = (self.all.trie.to - self.all.trie.from) as usize;
        taken * WORTH_TAKING >= all && taken > 0
    }

    /// The tokens of the given slices, as a row: `[row words]`.
    pub(crate) fn union(&self, whole: u64) -> Vec<u32> {
        let mut words = vec![0; self.vocabulary.row_words()];
        for part in
            (0..).zip(&self.parts).filter(|(number, _)| whole >> number & 1 == 1).map(|(_, part)| part)
        {
            words.iter_mut().zip(part.slice.all()).for_each(|(word, row)| *word |= row);
        }
        words
    }

    /// Sets the bits of those tokens of a row that do not belong to slices taken whole.
    pub(crate) fn add_bits(&self, tokens: &RowTokens, words: &mut [u32]) {
        for &(number, chars) in &tokens.short {
            let (row, long) = self.parts[number].slice.at_most(chars);
            words.iter_mut().zip(row).for_each(|(word, row)| *word |= row);
            long.iter().for_each(|&[_, id]| words[(id >> 5) as usize] |= 1 << (id & 31));
        }
        for &(from, to) in &tokens.ranges {
            for &id in &self.all.trie.order[from as usize..to as usize] {
                words[(id >> 5) as usize] |= 1 << (id & 31);
            }
        }
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
            if !std::mem::replace(&mut seen[state as usize], true) {
                targets.push(state);
            }
        };
        self.visit(&self.all, &[Walk { row: 0, state: from }], budget, found, |_, _| false)?;
        targets.iter().for_each(|&state| seen[state as usize] = false);
        budget.charge_bytes(PHASE, targets.len() as u64 * 4)?;
        Ok(targets)
    }

    /// Whether every token below `node` leads from `state` back to it.
    #[inline]
    pub(crate) fn stays(&self, trie: &Trie<'_>, node: usize, state: StateId) -> bool {
        // Few states have loops, and what is asked of them is near; the sets of the trie are far.
        let looped = self.loop_of_row[self.dfa.row_of[state as usize] as usize];
        if looped == 0 {
            return false;
        }
        let set = trie.set_ids[node];
        set != 0
            && trie.sets[usize::from(set)]
                .iter()
                .zip(&self.loops[looped as usize])
                .all(|(below, looped)| below & !looped == 0)
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
        // At a live node whose ids end at `end`: its own are found, and those below if they are taken whole. What is left
        // to look at: a block, the end of its ids, the state above.
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
        for (word, mut bits) in (0_u8..).zip(self.live(from)) {
            while bits != 0 {
                let byte = word << 5 | u8::try_from(bits.trailing_zeros()).expect("32 bits");
                bits &= bits - 1;
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
                            if let Some(below) = enter(begin + at, end, state.wrapping_add_signed(delta)) {
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
            live.iter_mut().zip(self.live(walk.state)).for_each(|(live, bytes)| *live |= bytes);
        }
        let mut uncharged = 0;
        let mut blocks: Vec<Block> = Vec::with_capacity(32);
        for byte in 0..=u8::MAX {
            let is_live = live[usize::from(byte >> 5)] >> (byte & 31) & 1 == 1;
            let Some(number) = rooted.child(byte).filter(|_| is_live) else { continue };
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

/// Walks one behind the other whose states share a row of transitions: they live and die together.
struct Run {
    /// The row of transitions.
    row: u32,
    /// Where the walks begin; they end where those of the next run begin.
    from: usize,
}

/// What is left of a block of siblings, and the runs that reach it.
struct Block {
    number: usize,
    /// The end of the ids of the block.
    to: u32,
    is_done: bool,
    runs: Range<usize>,
}

/// The live walks at each node from the root to the one at hand, one node behind the other.
struct Path<'a> {
    dfa: &'a Dfa,
    walks: Vec<Walk>,
    runs: Vec<Run>,
}

impl Path<'_> {
    /// Adds a walk behind the others; those from run `first` on are of the same node.
    #[inline]
    fn push(&mut self, walk: Walk, first: usize) {
        let row = self.dfa.row_of[walk.state as usize];
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
                let state = state.wrapping_add_signed(delta);
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
