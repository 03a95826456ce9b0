//! Computes rows: walks the tries of a vocabulary from one state, with the stacks that a token pushes and pops itself.
//!
//! A row is the set of tokens that can be read from the state without leaving its rule, and beside it the *residuals*: the blocks
//! of the trie at which the rule may end with bytes of the token left. Neither depends on what may follow the rule,
//! and the computer sees nothing of that: it has a [`RuleView`] and a budget. So a row may be kept by [`RuleView::key`], and
//! another compile that finds it there has the row that it would compute itself.
//!
//! What is found must then not depend on the way it is found. Blocks of tokens that are all in the row are left out of the residuals,
//! because a walk that takes them whole never enters them; the others are put in order ([`Residuals::settle`]).
//!
//! Where every text over the characters of a slice is alive up to some length, a block of its trie with no longer texts is
//! taken without a look. What is found below a large block is kept by the block and the configurations above it, and only so far
//! as texts that are no longer than the tokens below it tell these apart ([`RowComputer::stand_in`]): the keys of an object,
//! a position of a counted string differ from the next along few paths.
//!
//! O(trie nodes that no rule spares), over all rows.

use foldhash::{HashMap, HashMapExt};
use gobo_artifact::{Trie, TrieNode};
use gobo_automata::{KEquivalence, StateId};
use gobo_types::{Budget, CompileError};

use crate::configurations::{BYTES_PER_COUNT, DEAD_MACRO, DEAD_STATE, MacroId, Macros, UNKNOWN, number};
use crate::push_down::PHASE;
use crate::row_cache::{Cost, SharedRows};
use crate::rule_view::{Fate, Rooted, RuleView};
use crate::walk::{NODES_PER_CHARGE, RowTokens};

/// What is found below blocks with at least so many tokens is kept: the states of an object's keys differ along one path and
/// read the same below all others. Smaller ones are walked again in the time that looking them up takes.
const WORTH_KEEPING: u32 = 48;

/// Ranges and residuals of what was kept that are copied in the time of one step elsewhere.
const COPIES_PER_STEP: u64 = 8;

/// A state that so many bytes lead on from is compared with the one that was walked before it, byte by byte.
const MANY_BYTES: u32 = 64;

/// So many such blocks are looked at one inside the other, which bounds the stack that it takes.
const MAX_DEPTH: usize = 32;

/// Token prefixes that end a rule with bytes left.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Residuals {
    /// Whether the empty prefix is among them: the rule could end before the token.
    pub(crate) whole: bool,
    /// The blocks of tokens that go on, each with the end of its ids, ascending.
    pub(crate) blocks: Vec<(u32, u32)>,
}

impl Residuals {
    /// Leaves out what is in the row in any case, and puts the others in order: what is left does not depend on how it was found.
    fn settle(&mut self, tokens: &RowTokens, trie: &Trie<'_>) {
        self.blocks.retain(|&(block, end)| !tokens.has(trie.nodes[block as usize].first, end));
        self.blocks.sort_unstable();
        self.blocks.dedup();
    }
}

/// The row of a state, and what is left where its rule ends.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct StateRow {
    pub(crate) tokens: RowTokens,
    pub(crate) left: Residuals,
}

/// A child of a trie's root, the configurations there when it was walked last, and what was found at and below it.
#[derive(Debug, Clone, Copy)]
struct RootChild {
    number: usize,
    at: MacroId,
    found: Found,
}

/// What is found at or below a place of the trie: where it stands in the tables of all.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    ranges: (usize, usize),
    blocks: (usize, usize),
}

/// Where a row stood before something was walked.
struct Mark {
    ranges: usize,
    /// Where the last range ended.
    end: Option<u32>,
    blocks: usize,
}

impl Mark {
    fn new(tokens: &RowTokens, left: &Residuals) -> Self {
        let end = tokens.ranges.last().map(|range| range.1);
        Self { ranges: tokens.ranges.len(), end, blocks: left.blocks.len() }
    }
}

/// See the [module](self).
pub(crate) struct RowComputer<'a> {
    view: &'a RuleView<'a>,
    macros: Macros<'a>,
    shared: Option<&'a SharedRows<'a>>,
    budget: &'a Budget,
    /// Nodes since the last look at the budget.
    uncharged: u64,
    /// Nodes before that.
    charged: u64,
    alike: &'a [KEquivalence],
    /// `[sets of configurations, alike]`: what [`Self::stand_in`] answers; [`UNKNOWN`] where it was not asked.
    stand_ins: Vec<MacroId>,
    /// What was found below large blocks, by the block and the configurations above.
    found: HashMap<(usize, MacroId), Found>,
    found_ranges: Vec<(u32, u32)>,
    found_blocks: Vec<(u32, u32)>,
    /// What was found at children of roots, by their number and the configurations there.
    found_at: HashMap<(usize, MacroId), Found>,
    /// By the root block of each trie.
    root_children: HashMap<usize, Vec<RootChild>>,
    /// In how many large blocks a walk is.
    depth: usize,
    /// What a walk has left to look at; empty between walks.
    open: Vec<(usize, u32, MacroId)>,
    /// [`RuleView::heights`]; empty where nobody asks for them.
    heights: &'a [u8],
    /// The closure under the characters of the trie at hand.
    closure: Option<usize>,
    /// `[closures, sets of configurations]`: what [`Self::find_alive`] answers; [`UNKNOWN_CHARS`] where it was not asked.
    alive: Vec<Vec<u8>>,
}

/// A number of characters that was not asked for.
const UNKNOWN_CHARS: u8 = u8::MAX;

impl<'a> RowComputer<'a> {
    /// `alike` tells which states short texts do not tell apart.
    pub(crate) fn new(
        view: &'a RuleView<'a>,
        alike: &'a [KEquivalence],
        shared: Option<&'a SharedRows<'a>>,
        budget: &'a Budget,
    ) -> Self {
        Self {
            view,
            macros: Macros::new(view, budget),
            shared,
            budget,
            uncharged: 0,
            charged: 0,
            alike,
            stand_ins: Vec::new(),
            found: HashMap::new(),
            found_ranges: Vec::new(),
            found_blocks: Vec::new(),
            found_at: HashMap::new(),
            root_children: HashMap::new(),
            depth: 0,
            open: Vec::new(),
            heights: if alike.is_empty() && view.closures() == 0 { &[] } else { view.heights() },
            closure: None,
            alive: vec![Vec::new(); view.closures()],
        }
    }

    /// Steps and bytes so far, whether the budget knows of them or not.
    fn spent(&self) -> (u64, u64) {
        let (counted, bytes) = self.macros.spent();
        (self.charged + self.uncharged + counted, self.budget.bytes() + bytes)
    }

    /// Charges what was not charged yet.
    pub(crate) fn charge(&mut self) -> Result<(), CompileError> {
        if let Some(error) = self.macros.error.take() {
            return Err(error);
        }
        self.charged += self.uncharged;
        self.budget.charge_steps(PHASE, std::mem::take(&mut self.uncharged))
    }

    /// The row of a state, shared or computed.
    pub(crate) fn row(&mut self, state: StateId) -> Result<StateRow, CompileError> {
        let shared = self.shared.and_then(|shared| Some((shared, self.view.key(state)?)));
        let Some((shared, key)) = shared else { return self.compute(state) };
        if let Some((cost, row)) = shared.get(&key) {
            self.uncharged += cost.steps;
            self.budget.charge_bytes(PHASE, cost.bytes)?;
            self.look_at_budget()?;
            return Ok(row);
        }
        let before = self.spent();
        let row = self.compute(state)?;
        let (steps, bytes) = self.spent();
        shared.put(key, Cost { steps: steps - before.0, bytes: bytes - before.1 }, &row);
        Ok(row)
    }

    fn compute(&mut self, state: StateId) -> Result<StateRow, CompileError> {
        let view = self.view;
        let mut tokens = RowTokens::default();
        let mut left = Residuals { whole: view.has_calls() && view.accepts(state), blocks: Vec::new() };
        if view.is_inside(state) {
            // Only what continues the character leads on.
            self.closure = None;
            for rooted in view.pieces() {
                self.walk_root(rooted, state, &mut tokens, &mut left)?;
            }
        } else {
            let fates = self.fates(state);
            if fates.is_empty() {
                self.closure = None;
                self.walk_root(view.all(), state, &mut tokens, &mut left)?;
            }
            for (part, fate) in view.parts().iter().zip(fates) {
                match fate {
                    Fate::Dropped => {}
                    Fate::Taken(chars) if chars >= part.slice.max_chars => tokens.whole.insert(part.number),
                    Fate::Taken(chars) => tokens.short.push((number(part.number), chars)),
                    Fate::Walked(_) => {
                        self.closure = part.closure;
                        self.walk_root(&part.rooted, state, &mut tokens, &mut left)?;
                    }
                }
            }
        }
        tokens.settle();
        left.settle(&tokens, &view.all().trie);
        Ok(StateRow { tokens, left })
    }

    /// Adds what can be read of some residuals from a state with nothing pushed, and what of them ends its rule too.
    pub(crate) fn read(
        &mut self,
        blocks: &[(u32, u32)],
        state: StateId,
        row: &mut StateRow,
    ) -> Result<(), CompileError> {
        let StateRow { tokens, left } = row;
        let trie = self.view.all().trie;
        let start = self.macros.start(state);
        for &(block, end) in blocks {
            // Where the rule may end at once, nothing of the residual has been read.
            if self.view.accepts(state) {
                left.blocks.push((block, end));
            }
            let block = block as usize;
            self.closure = self.view.closure_of_trie_at(block);
            if self.is_alive(block, start) {
                tokens.add(trie.nodes[block].first, end);
            } else {
                self.walk_block(&trie, block, end, start, tokens, left)?;
            }
        }
        tokens.settle();
        left.settle(tokens, &trie);
        Ok(())
    }

    /// Whether no token is alive from a state beyond so many bytes.
    pub(crate) fn is_bounded(&mut self, state: StateId, bytes: u32) -> Result<bool, CompileError> {
        let trie = self.view.all().trie;
        let mut open = std::mem::take(&mut self.open);
        open.push((trie.root, 0, self.macros.start(state)));
        let mut is_bounded = true;
        'open: while let Some((block, depth, at)) = open.pop() {
            for number in block.. {
                let node = trie.nodes[number];
                self.uncharged += 1;
                if let Some(child) = node.children()
                    && depth + 1 + u32::from(self.heights[child]) > bytes
                {
                    let next = self.macros.step(at, self.view.classes()[usize::from(node.byte())]);
                    if next != DEAD_MACRO {
                        if depth + 1 >= bytes {
                            is_bounded = false;
                            break 'open;
                        }
                        open.push((child, depth + 1, next));
                    }
                }
                if node.is_last() {
                    break;
                }
            }
        }
        open.clear();
        self.open = open;
        self.look_at_budget()?;
        Ok(is_bounded)
    }

    /// What becomes of each slice at a state between characters, and at the first states of the rules that it calls; empty
    /// where too little would be taken.
    fn fates(&self, state: StateId) -> Vec<Fate> {
        let view = self.view;
        let mut fates = view.fates(state);
        for push in view.push_transitions(state) {
            for (part, (fate, other)) in view.parts().iter().zip(fates.iter_mut().zip(view.fates(push.entry)))
            {
                let is_whole =
                    |fate: &Fate| matches!(fate, Fate::Taken(chars) if *chars >= part.slice.max_chars);
                *fate = match (&*fate, &other) {
                    (Fate::Dropped, Fate::Dropped) => Fate::Dropped,
                    (one, two) if is_whole(one) || is_whole(two) => Fate::Taken(part.slice.max_chars),
                    (one, two) => Fate::Walked(one.alive_chars().max(two.alive_chars())),
                };
            }
        }
        if view.is_worth_it(&fates) { fates } else { Vec::new() }
    }

    /// Walks a whole trie from a state.
    fn walk_root(
        &mut self,
        rooted: &Rooted<'_>,
        state: StateId,
        tokens: &mut RowTokens,
        left: &mut Residuals,
    ) -> Result<(), CompileError> {
        let trie = &rooted.trie;
        let start = self.macros.start(state);
        let mut live = self.view.live(state);
        for push in self.view.push_transitions(state) {
            live.iter_mut().zip(self.view.live(push.entry)).for_each(|(live, more)| *live |= more);
        }
        if live.iter().map(|word| word.count_ones()).sum::<u32>() >= MANY_BYTES {
            return self.walk_all_of_root(trie, start, tokens, left);
        }
        for (word, mut bits) in (0_u8..).zip(live) {
            while bits != 0 {
                let byte = word << 5 | u8::try_from(bits.trailing_zeros()).expect("32 bits");
                bits &= bits - 1;
                // This node of the root block alone, and not its siblings.
                let Some(number) = rooted.child(byte) else { continue };
                let end = trie.subtree_end(number, trie.to);
                if let Some((child, next)) = self.enter(trie, number, end, start, tokens, left) {
                    self.walk_block(trie, child, end, next, tokens, left)?;
                }
            }
        }
        Ok(())
    }

    /// Walks a whole trie from a state that most bytes lead on from. The states of an object's keys differ along one path: most
    /// bytes lead to where they led from the state before, and what was found there is found again.
    fn walk_all_of_root(
        &mut self,
        trie: &Trie<'_>,
        start: MacroId,
        tokens: &mut RowTokens,
        left: &mut Residuals,
    ) -> Result<(), CompileError> {
        let mut children = self.root_children.remove(&trie.root).unwrap_or_else(|| {
            let nodes = (trie.root..).zip(&trie.nodes[trie.root..]);
            let len = 1 + nodes.clone().take_while(|(_, node)| !node.is_last()).count();
            // Nothing leads on to a dead set, and nothing is found there.
            let child = |(number, _)| RootChild { number, at: DEAD_MACRO, found: Found::default() };
            nodes.take(len).map(child).collect()
        });
        for child in &mut children {
            let node = trie.nodes[child.number];
            self.uncharged += 1;
            let next = self.macros.step(start, self.view.classes()[usize::from(node.byte())]);
            if next == DEAD_MACRO {
                continue;
            }
            if next != child.at {
                child.at = next;
                child.found = match self.found_at.get(&(child.number, next)) {
                    Some(&found) => found,
                    None => {
                        let mark = Mark::new(tokens, left);
                        let end = trie.subtree_end(child.number, trie.to);
                        if let Some(block) = self.arrive(trie, child.number, node, end, next, tokens, left) {
                            self.walk_block(trie, block, end, next, tokens, left)?;
                        }
                        let found = self.keep(&mark, tokens, left)?;
                        self.found_at.insert((child.number, next), found);
                        child.found = found;
                        continue;
                    }
                };
            }
            self.find_again(child.found, tokens, left);
        }
        self.root_children.insert(trie.root, children);
        self.look_at_budget()
    }

    /// Keeps what was found since the mark.
    fn keep(&mut self, mark: &Mark, tokens: &RowTokens, left: &Residuals) -> Result<Found, CompileError> {
        let (ranges, blocks) = (self.found_ranges.len(), self.found_blocks.len());
        // What was found first may have been joined to the range before.
        let joined = mark.end.map(|end| (end, tokens.ranges[mark.ranges - 1].1));
        self.found_ranges.extend(joined.filter(|(from, to)| from != to));
        self.found_ranges.extend_from_slice(&tokens.ranges[mark.ranges..]);
        self.found_blocks.extend_from_slice(&left.blocks[mark.blocks..]);
        let found =
            Found { ranges: (ranges, self.found_ranges.len()), blocks: (blocks, self.found_blocks.len()) };
        let kept = self.found_ranges.len() - ranges + self.found_blocks.len() - blocks;
        self.budget.charge_bytes(PHASE, (kept * 8 + size_of::<((usize, MacroId), Found)>()) as u64)?;
        Ok(found)
    }

    /// Adds what was kept.
    fn find_again(&mut self, found: Found, tokens: &mut RowTokens, left: &mut Residuals) {
        let Found { ranges, blocks } = found;
        let (ranges, blocks) =
            (&self.found_ranges[ranges.0..ranges.1], &self.found_blocks[blocks.0..blocks.1]);
        self.uncharged += (ranges.len() + blocks.len()) as u64 / COPIES_PER_STEP;
        ranges.iter().for_each(|&(from, to)| tokens.add(from, to));
        left.blocks.extend_from_slice(blocks);
    }

    /// Goes on to a node whose ids end at `end` from a set of configurations above it: its tokens are found, and those below
    /// if they are taken whole. What is left to look at below: the block and the configurations.
    #[inline]
    fn enter(
        &mut self,
        trie: &Trie<'_>,
        number: usize,
        end: u32,
        from: MacroId,
        tokens: &mut RowTokens,
        left: &mut Residuals,
    ) -> Option<(usize, MacroId)> {
        self.uncharged += 1;
        let node = trie.nodes[number];
        let next = self.macros.step(from, self.view.classes()[usize::from(node.byte())]);
        if next == DEAD_MACRO {
            return None;
        }
        self.arrive(trie, number, node, end, next, tokens, left).map(|child| (child, next))
    }

    /// At a node whose ids end at `end` with the configurations there, at least one: its tokens are found, and those below if
    /// they are taken whole. The block below, if it has to be looked at.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "one instruction in twenty-five of a compile")]
    #[expect(clippy::too_many_arguments, reason = "what a walk has at hand, in registers")]
    fn arrive(
        &mut self,
        trie: &Trie<'_>,
        number: usize,
        node: TrieNode,
        end: u32,
        at: MacroId,
        tokens: &mut RowTokens,
        left: &mut Residuals,
    ) -> Option<usize> {
        let info = self.macros.infos[at as usize];
        let stays = || info.looped != DEAD_STATE && self.view.stays(trie, number, info.looped);
        let Some(child) = node.children().filter(|_| !stays()).filter(|&child| !self.is_alive(child, at))
        else {
            tokens.add(node.first, end);
            return None;
        };
        let own_end = trie.nodes[child].first;
        if node.first != own_end {
            tokens.add(node.first, own_end);
        }
        if info.ends {
            left.blocks.push((u32::try_from(child).expect("23 bits number a node"), end));
        }
        info.reads.then_some(child)
    }

    /// Whether every token below a block is alive, whatever it reads: its characters are those of a slice, and any text over
    /// these is alive that is as long. What such tokens leave where the rule ends need not be known, because they are in
    /// the row.
    #[inline]
    fn is_alive(&mut self, block: usize, at: MacroId) -> bool {
        let Some(closure) = self.closure else { return false };
        let known = self.alive[closure].get(at as usize).copied().unwrap_or(UNKNOWN_CHARS);
        let chars = if known == UNKNOWN_CHARS { self.find_alive(closure, at) } else { known };
        chars >= self.heights[block]
    }

    /// Up to how many characters every text over those of the closure is alive from a set of configurations, on the
    /// transitions of one rule. A block has no longer texts in characters than in bytes.
    #[cold]
    fn find_alive(&mut self, closure: usize, at: MacroId) -> u8 {
        let of = |state: StateId| self.view.depth(closure, state);
        let entries = |state: StateId| self.view.push_transitions(state).iter().map(|push| of(push.entry));
        let set = &self.macros.sets[at as usize];
        let depths = set.iter().flat_map(|&(state, _)| entries(state).chain([of(state)]));
        let chars = depths.max().unwrap_or(0).min(u32::from(UNKNOWN_CHARS) - 1);
        let chars = u8::try_from(chars).expect("less than what stands for unknown");
        let (asked, len) = (set.len(), self.macros.sets.len());
        let fresh = len.saturating_sub(self.alive[closure].len());
        self.macros.count(asked + fresh / BYTES_PER_COUNT);
        let alive = &mut self.alive[closure];
        alive.resize(alive.len().max(len), UNKNOWN_CHARS);
        alive[at as usize] = chars;
        chars
    }

    /// Walks a block of a trie, whose ids end at `end`, from a set of configurations.
    fn walk_block(
        &mut self,
        trie: &Trie<'_>,
        block: usize,
        end: u32,
        start: MacroId,
        tokens: &mut RowTokens,
        left: &mut Residuals,
    ) -> Result<(), CompileError> {
        if end - trie.nodes[block].first < WORTH_KEEPING || self.depth == MAX_DEPTH {
            return self.walk_small(trie, block, end, start, tokens, left);
        }
        let start = self.stand_in(start, block);
        if let Some(&found) = self.found.get(&(block, start)) {
            self.find_again(found, tokens, left);
            return Ok(());
        }
        let mark = Mark::new(tokens, left);
        self.depth += 1;
        for number in block.. {
            let subtree_end = trie.subtree_end(number, end);
            if let Some((child, next)) = self.enter(trie, number, subtree_end, start, tokens, left) {
                self.walk_block(trie, child, subtree_end, next, tokens, left)?;
            }
            if trie.nodes[number].is_last() {
                break;
            }
        }
        self.depth -= 1;
        let found = self.keep(&mark, tokens, left)?;
        self.found.insert((block, start), found);
        self.look_at_budget()
    }

    /// The set of configurations to walk a block from in place of another: one for many that no text below the block tells
    /// apart. States inside counted repetitions are told apart by the few long tokens only, and so they share the walk
    /// of all others.
    fn stand_in(&mut self, from: MacroId, block: usize) -> MacroId {
        if self.alike.is_empty() {
            return from;
        }
        let longest = u32::from(self.heights[block]);
        let Some(level) = self.alike.iter().position(|alike| alike.chars >= longest) else { return from };
        let at = from as usize * self.alike.len() + level;
        if self.stand_ins.len() <= at {
            self.stand_ins.resize(self.macros.sets.len() * self.alike.len(), UNKNOWN);
        }
        if self.stand_ins[at] == UNKNOWN {
            self.stand_ins[at] = match *self.macros.sets[from as usize] {
                [(state, stacks)] => self.macros.intern(&[(self.alike[level].first[state as usize], stacks)]),
                _ => from,
            };
        }
        self.stand_ins[at]
    }

    /// As [`Self::walk_block`], keeping nothing of what is found on the way.
    fn walk_small(
        &mut self,
        trie: &Trie<'_>,
        block: usize,
        end: u32,
        start: MacroId,
        tokens: &mut RowTokens,
        left: &mut Residuals,
    ) -> Result<(), CompileError> {
        // What is left to look at: nodes of a block from one on, the end of its ids, the configurations above.
        let mut open = std::mem::take(&mut self.open);
        let classes = self.view.classes();
        let (mut number, mut to, mut at) = (block, end, start);
        'blocks: loop {
            loop {
                let node = trie.nodes[number];
                let is_last = node.is_last();
                self.uncharged += 1;
                let next = self.macros.step(at, classes[usize::from(node.byte())]);
                if next != DEAD_MACRO {
                    let end = if is_last { to } else { trie.nodes[number + 1].first };
                    if let Some(child) = self.arrive(trie, number, node, end, next, tokens, left) {
                        if !is_last {
                            open.push((number + 1, to, at));
                        }
                        (number, to, at) = (child, end, next);
                        continue 'blocks;
                    }
                }
                if is_last {
                    break;
                }
                number += 1;
            }
            self.look_at_budget()?;
            let Some(rest) = open.pop() else { break };
            (number, to, at) = rest;
        }
        self.open = open;
        Ok(())
    }

    /// Looks at the budget every now and then.
    #[inline]
    fn look_at_budget(&mut self) -> Result<(), CompileError> {
        if self.uncharged >= NODES_PER_CHARGE || self.macros.error.is_some() {
            return self.charge();
        }
        Ok(())
    }
}
