use std::collections::HashMap;

use gobo_artifact::{Slice, Trie, TrieNode, Vocabulary};
use gobo_automata::{ByteSet, Closure, Dfa, NO_STEP, StateId};
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

/// A trie whose root block is found by byte: it is the largest, and the states of most constraints read few bytes.
struct Rooted<'a> {
    trie: Trie<'a>,
    /// `[256]`: the number of the root's child on each byte.
    children: Box<[Option<usize>; 256]>,
}

impl<'a> Rooted<'a> {
    fn new(trie: Trie<'a>) -> Self {
        let mut children = Box::new([None; 256]);
        for (number, node) in (trie.root..).zip(&trie.nodes[trie.root..]) {
            children[usize::from(node.byte())] = Some(number);
            if node.is_last() {
                break;
            }
        }
        Self { trie, children }
    }
}

/// A slice beside an automaton.
struct Part<'a> {
    slice: Slice<'a>,
    rooted: Rooted<'a>,
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
    /// All ordinary tokens.
    all: Rooted<'a>,
    /// The tokens that are not text: only they begin inside a character.
    pieces: Option<Rooted<'a>>,
    vocabulary: &'a Vocabulary,
    /// `[classes]`: the bytes of each class.
    class_bytes: Vec<ByteSet>,
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
        let mut class_bytes = vec![ByteSet::default(); dfa.stride];
        for (byte, &class) in dfa.classes.iter().enumerate() {
            class_bytes[usize::from(class)][byte >> 5] |= 1 << (byte & 31);
        }
        let pieces = vocabulary.slices().find(|slice| slice.max_chars == 0);
        Ok(Self {
            dfa,
            all: Rooted::new(vocabulary.trie()),
            pieces: pieces.map(|slice| Rooted::new(slice.trie)),
            vocabulary,
            class_bytes,
            parts: Vec::new(),
            closures: Vec::new(),
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
        for slice in self.vocabulary.slices() {
            if slice.needs.iter().zip(live).all(|(needs, live)| needs & live == 0) {
                continue;
            }
            let mut closure = None;
            // A slice with a lead is no text over its characters alone.
            if slice.max_chars > 0 && slice.lead.is_none() {
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
            self.parts.push(Part { slice, rooted: Rooted::new(slice.trie), closure });
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
        let add = |tokens: &mut RowTokens, rooted: &Rooted<'_>| {
            self.visit(rooted, from, budget, |node, [first, own_end, end], state| {
                if !useful[state as usize] {
                    return false;
                }
                let whole = self.stays(&rooted.trie, node, state);
                tokens.add(first, if whole { end } else { own_end });
                whole
            })
        };
        let between = self.dfa.chars.as_ref().map(|chars| chars.at(from));
        let fates = between.flatten().map_or_else(Vec::new, |state| self.fates(state));
        if between == Some(None) {
            // Inside a character, only what continues it leads on.
            self.pieces.iter().try_for_each(|pieces| add(&mut tokens, pieces))?;
        } else if fates.is_empty() {
            add(&mut tokens, &self.all)?;
        }
        for (number, (part, fate)) in self.parts.iter().zip(fates).enumerate() {
            match fate {
                Fate::Dropped => {}
                Fate::Taken(chars) => tokens.taken.push((number, chars)),
                Fate::Walked => add(&mut tokens, &part.rooted)?,
            }
        }
        budget.charge_bytes(PHASE, tokens.ranges.len() as u64 * 8)?;
        Ok(tokens)
    }

    /// What becomes of each slice at a state between characters; empty where too little would be taken.
    fn fates(&self, state: StateId) -> Vec<Fate> {
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
        let all = (self.all.trie.to - self.all.trie.from) as usize;
        if taken * WORTH_TAKING < all { Vec::new() } else { fates }
    }

    /// Sets the bits of a row. `words`: `[row words]`, overwritten.
    pub(crate) fn write(&self, tokens: &RowTokens, words: &mut [u32]) {
        words.fill(0);
        for &(number, chars) in &tokens.taken {
            let (row, long) = self.parts[number].slice.at_most(chars);
            words.iter_mut().zip(row).for_each(|(word, row)| *word |= row);
            long.iter().for_each(|&[_, id]| words[(id >> 5) as usize] |= 1 << (id & 31));
        }
        let order = self.all.trie.order;
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
        self.visit(&self.all, from, budget, |_, [first, own_end, _], state| {
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
        rooted: &Rooted<'_>,
        from: StateId,
        budget: &Budget,
        mut at: impl FnMut(usize, [u32; 3], StateId) -> bool,
    ) -> Result<(), CompileError> {
        let trie = &rooted.trie;
        let mut live = ByteSet::default();
        for (bytes, _) in
            self.class_bytes.iter().zip(self.dfa.row(from)).filter(|(_, delta)| **delta != NO_STEP)
        {
            live.iter_mut().zip(bytes).for_each(|(live, bytes)| *live |= bytes);
        }
        // Where to go on behind the blocks that were descended into: the next sibling, the end of its block's ids, the
        // state above.
        let mut open: Vec<(usize, u32, StateId)> = Vec::with_capacity(64);
        let mut uncharged = 0;
        for (word, mut bits) in (0_u8..).zip(live) {
            while bits != 0 {
                let byte = word << 5 | u8::try_from(bits.trailing_zeros()).expect("32 bits");
                bits &= bits - 1;
                uncharged += 1;
                let Some(number) = rooted.children[usize::from(byte)] else { continue };
                let end = trie.subtree_end(number, trie.to);
                let state = self.dfa.next(from, byte);
                let skip = at(number, [trie.nodes[number].first, trie.own_end(number, end), end], state);
                let Some(child) = trie.nodes[number].children().filter(|_| !skip) else { continue };
                open.push((child, end, state));
                while let Some(block) = open.pop() {
                    uncharged += self.visit_block(trie, block, &mut open, &mut at);
                    if uncharged >= NODES_PER_CHARGE {
                        budget.charge_steps(PHASE, uncharged)?;
                        uncharged = 0;
                    }
                }
            }
        }
        budget.charge_steps(PHASE, uncharged)
    }

    /// Goes through a block from one of its nodes on, up to the first node behind which something is alive: then the way on
    /// lies on the stack, and what is below it on top. Returns the number of nodes looked at.
    #[inline]
    fn visit_block(
        &self,
        trie: &Trie<'_>,
        (begin, to, state): (usize, u32, StateId),
        open: &mut Vec<(usize, u32, StateId)>,
        at: &mut impl FnMut(usize, [u32; 3], StateId) -> bool,
    ) -> u64 {
        let row = self.dfa.row(state);
        let delta_of = |node: TrieNode| row[usize::from(self.dfa.classes[usize::from(node.byte())])];
        let mut number = begin;
        loop {
            // Most siblings are dead: this loop does nothing else.
            let rest = &trie.nodes[number..];
            number += rest.iter().take_while(|&&node| !node.is_last() && delta_of(node) == NO_STEP).count();
            let node = trie.nodes[number];
            let delta = delta_of(node);
            if delta != NO_STEP {
                let next = state.wrapping_add_signed(delta);
                let end = trie.subtree_end(number, to);
                let skip = at(number, [node.first, trie.own_end(number, end), end], next);
                if let Some(child) = node.children().filter(|_| !skip) {
                    if !node.is_last() {
                        open.push((number + 1, to, state));
                    }
                    open.push((child, end, next));
                    return (number + 1 - begin) as u64;
                }
            }
            if node.is_last() {
                return (number + 1 - begin) as u64;
            }
            number += 1;
        }
    }
}
