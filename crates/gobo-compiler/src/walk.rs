use std::collections::HashMap;

use gobo_artifact::{Slice, Trie, Vocabulary};
use gobo_automata::{ByteSet, Closure, DEAD, Dfa, NO_STEP, StateId};
use gobo_types::{Budget, CompileError};

const PHASE: &str = "walking the vocabulary";

/// Nodes walked between two looks at the budget.
const NODES_PER_CHARGE: u64 = 4096;

/// Slices are looked at one by one where those that can be taken hold at least one in so many tokens; elsewhere one walk
/// of the trie over all tokens is cheaper.
const WORTH_TAKING: usize = 16;

/// The tokens of a row. Equal ones are equal rows; one row may be written in two ways.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RowTokens {
    /// Slices taken without a walk, with the most characters that a token of them may have.
    pub(crate) taken: Vec<(usize, u32)>,
    /// Ranges of the trie order, ascending and not touching.
    pub(crate) ranges: Vec<(u32, u32)>,
}

impl RowTokens {
    fn add(&mut self, from: u32, to: u32) {
        match self.ranges.last_mut() {
            _ if from == to => {}
            Some(last) if last.1 == from => last.1 = to,
            _ => self.ranges.push((from, to)),
        }
    }
}

/// A slice beside an automaton.
struct Part<'a> {
    slice: Slice<'a>,
    /// Number of the closure under its characters; `None` where one of them leads nowhere from any state.
    closure: Option<usize>,
}

/// What becomes of a slice at a state.
enum Fate {
    /// No token of it leads on.
    Dropped,
    /// Exactly the tokens of at most so many characters lead on.
    Taken(u32),
    Walked,
}

/// A vocabulary beside an automaton.
pub(crate) struct Walker<'a> {
    dfa: &'a Dfa,
    vocabulary: &'a Vocabulary,
    /// The slices of which some token may lead on; empty where no slice can be taken whole.
    parts: Vec<Part<'a>>,
    closures: Vec<Closure>,
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
        Ok(Self { dfa, vocabulary, parts: Vec::new(), closures: Vec::new(), loop_of_row, loops })
    }

    /// Finds out for each slice which states its characters close, so that rows take it whole. Every state but the dead
    /// one must be useful: then a token may end wherever its text is alive.
    pub(crate) fn close_slices(&mut self, budget: &Budget) -> Result<(), CompileError> {
        let Some(chars) = &self.dfa.chars else { return Ok(()) };
        let live = self.dfa.live_bytes();
        let mut known: HashMap<Vec<u32>, usize> = HashMap::new();
        for slice in self.vocabulary.slices() {
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
                            self.closures.push(chars.closure(&classes, budget)?);
                            known.insert(classes, self.closures.len() - 1);
                            self.closures.len() - 1
                        }
                    });
                }
            }
            self.parts.push(Part { slice, closure });
        }
        if self.closures.is_empty() {
            self.parts.clear();
        }
        Ok(())
    }

    /// The tokens that lead from `from` to a state that satisfies `useful`, `[states]`.
    ///
    /// A slice is taken without a look at its tokens where every text over its characters is alive, up to some length,
    /// and no longer one is. What is left is walked: a trie in depth, with the states along the path. A subtree is
    /// dropped at the dead state, and taken whole where a useful state leads to itself on every byte below: then each
    /// token there ends in that state. O(nodes that no rule spares).
    pub(crate) fn row(
        &self,
        from: StateId,
        useful: &[bool],
        budget: &Budget,
    ) -> Result<RowTokens, CompileError> {
        let mut tokens = RowTokens::default();
        let add = |tokens: &mut RowTokens, trie: &Trie<'_>| {
            self.visit(trie, from, budget, |node, [first, own_end, end], state| {
                if !useful[state as usize] {
                    return false;
                }
                let whole = self.stays(trie, node, state);
                tokens.add(first, if whole { end } else { own_end });
                whole
            })
        };
        let fates = self.fates(from);
        if fates.is_empty() {
            add(&mut tokens, &self.vocabulary.trie())?;
        }
        for (number, (part, fate)) in self.parts.iter().zip(fates).enumerate() {
            match fate {
                Fate::Dropped => {}
                Fate::Taken(chars) => tokens.taken.push((number, chars)),
                Fate::Walked => add(&mut tokens, &part.slice.trie)?,
            }
        }
        budget.charge_bytes(PHASE, tokens.ranges.len() as u64 * 8)?;
        Ok(tokens)
    }

    /// What becomes of each slice at `from`; empty where too little would be taken.
    fn fates(&self, from: StateId) -> Vec<Fate> {
        let chars = self.dfa.chars.as_ref().filter(|_| !self.parts.is_empty());
        let Some(state) = chars.and_then(|chars| chars.at(from)) else { return Vec::new() };
        let mut taken = 0;
        let fate = |part: &Part<'_>| {
            let Some(closure) = part.closure.map(|number| &self.closures[number]) else {
                return Fate::Walked;
            };
            let depth = closure.depth(state);
            match depth {
                _ if depth >= part.slice.max_chars => {}
                0 if closure.is_exact(state) => return Fate::Dropped,
                _ if closure.is_exact(state) => {}
                _ => return Fate::Walked,
            }
            taken += (part.slice.trie.to - part.slice.trie.from) as usize;
            Fate::Taken(depth.min(part.slice.max_chars))
        };
        let fates: Vec<Fate> = self.parts.iter().map(fate).collect();
        let all = self.vocabulary.trie();
        if taken * WORTH_TAKING < (all.to - all.from) as usize { Vec::new() } else { fates }
    }

    /// Sets the bits of a row. `words`: `[row words]`, overwritten.
    pub(crate) fn write(&self, tokens: &RowTokens, words: &mut [u32]) {
        words.fill(0);
        for &(number, chars) in &tokens.taken {
            let (row, long) = self.parts[number].slice.at_most(chars);
            words.iter_mut().zip(row).for_each(|(word, row)| *word |= row);
            long.iter().for_each(|&[_, id]| words[(id >> 5) as usize] |= 1 << (id & 31));
        }
        let order = self.vocabulary.trie().order;
        for &(from, to) in &tokens.ranges {
            for &id in &order[from as usize..to as usize] {
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
        self.visit(&self.vocabulary.trie(), from, budget, |_, [first, own_end, _], state| {
            if first != own_end && !std::mem::replace(&mut seen[state as usize], true) {
                targets.push(state);
            }
            false
        })?;
        targets.iter().for_each(|&state| seen[state as usize] = false);
        budget.charge_bytes(PHASE, targets.len() as u64 * 4)?;
        Ok(targets)
    }

    /// Whether every token below `node` leads from `state` back to it.
    #[inline]
    fn stays(&self, trie: &Trie<'_>, node: usize, state: StateId) -> bool {
        let (set, looped) = (trie.set_ids[node], self.loop_of_row[self.dfa.row_of[state as usize] as usize]);
        set != 0
            && looped != 0
            && trie.sets[usize::from(set)]
                .iter()
                .zip(&self.loops[looped as usize])
                .all(|(below, looped)| below & !looped == 0)
    }

    /// Calls `at(node, [first, own end, end], state)` at every node whose path is alive, with the bounds of its own ids
    /// and of those of its subtree; it says whether to skip what is below.
    fn visit(
        &self,
        trie: &Trie<'_>,
        from: StateId,
        budget: &Budget,
        mut at: impl FnMut(usize, [u32; 3], StateId) -> bool,
    ) -> Result<(), CompileError> {
        let classes = &self.dfa.classes;
        // Where to go on behind the blocks that were descended into: the next sibling, the end of its block's ids, the
        // state above.
        let mut open: Vec<(usize, u32, StateId)> = Vec::with_capacity(64);
        let (mut number, mut to, mut state) = (trie.root, trie.to, from);
        let mut row = self.dfa.row(state);
        let mut uncharged = 0;
        loop {
            uncharged += 1;
            if uncharged == NODES_PER_CHARGE {
                budget.charge_steps(PHASE, uncharged)?;
                uncharged = 0;
            }
            let node = trie.nodes[number];
            let delta = row[usize::from(classes[usize::from(node.byte())])];
            if delta != NO_STEP {
                let next = state.wrapping_add_signed(delta);
                debug_assert_ne!(next, DEAD);
                let end = trie.subtree_end(number, to);
                let skip = at(number, [node.first, trie.own_end(number, end), end], next);
                if let Some(child) = node.children().filter(|_| !skip) {
                    if !node.is_last() {
                        open.push((number + 1, to, state));
                    }
                    (number, to, state) = (child, end, next);
                    row = self.dfa.row(state);
                    continue;
                }
            }
            if !node.is_last() {
                number += 1;
                continue;
            }
            let Some(back) = open.pop() else { break };
            (number, to, state) = back;
            row = self.dfa.row(state);
        }
        budget.charge_steps(PHASE, uncharged)
    }
}
