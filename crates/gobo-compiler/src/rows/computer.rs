//! Computes rows: walks the tries of a vocabulary from one state, with the stacks that a token pushes and pops itself.
//!
//! A row is the set of tokens that can be read from the state without leaving its rule, and beside it the *pending suffixes*: the
//! blocks of the trie at which the rule may end with bytes of the token left. Neither depends on what may follow the rule,
//! and the computer sees nothing of that: it has a [`RuleView`] and a budget. So a row may be kept by [`RuleView::key`], and
//! another compile that finds it there has the row that it would compute itself.
//!
//! What is found must then not depend on the way it is found. Blocks of tokens that are all in the row are left out of the suffixes,
//! because a walk that takes them whole never enters them; the others are put in order ([`PendingSuffixes::settle`]).
//!
//! The walk itself is here. Three machines save most of it, each in a module of its own: [`super::alive`] takes a block without a look
//! where every text over the characters of its slice is alive; [`super::memo`] keeps what was found below large blocks; and
//! [`super::representatives`] lets states share it that texts of that length do not tell apart.
//!
//! O(trie nodes that none of these spares), over all rows.

use gobo_artifact::layout::{Trie, TrieNode};
use gobo_automata::{ExitId, KEquivalence, Return, StateId};
use gobo_types::{Budget, CompileError, checked_u32};

use super::alive::AliveTexts;
use super::cache::{Cost, SharedRows};
use super::configuration_sets::{ConfigurationSetId, ConfigurationSets, DEAD_SET, NO_EXITS};
use super::levels::Levels;
use super::memo::{Found, Mark, Memo, RootChild};
use super::representatives::Representatives;
use super::row::{PendingSuffixes, RowTokens, StateRow, Suffix};
use super::view::{Fate, Rooted, RuleView};
use super::{NODES_PER_CHARGE, PHASE};

/// Minimum tokens of a block whose walk is memoised: the states of an object's keys differ along one path and
/// read the same below all others. Smaller ones are walked again in the time that looking them up takes.
const WORTH_KEEPING: u32 = 48;

/// Minimum live bytes of a state whose walk is compared, byte by byte, with the walk before it.
const MANY_BYTES: u32 = 64;

/// Maximum nesting of memoised subtrees; bounds recursion depth.
const MAX_DEPTH: usize = 32;

/// See the [module](self).
pub(crate) struct RowComputer<'a> {
    view: &'a RuleView<'a>,
    sets: ConfigurationSets<'a>,
    shared: Option<&'a SharedRows<'a>>,
    budget: &'a Budget,
    /// Nodes since the last look at the budget.
    uncharged: u64,
    /// Nodes before that.
    charged: u64,
    representatives: Representatives<'a>,
    memo: Memo,
    alive: AliveTexts<'a>,
    /// In how many large blocks a walk is.
    depth: usize,
    /// The work list of a walk; empty between walks.
    open: Vec<(usize, u32, ConfigurationSetId)>,
    /// [`RuleView::heights`]; empty where nobody asks for them.
    heights: &'a [u8],
}

impl<'a> RowComputer<'a> {
    /// `equivalences` tells which states short texts do not tell apart.
    pub(crate) fn new(
        view: &'a RuleView<'a>,
        equivalences: &'a [KEquivalence],
        shared: Option<&'a SharedRows<'a>>,
        levels: Option<&'a Levels>,
        budget: &'a Budget,
    ) -> Self {
        let heights: &[u8] =
            if equivalences.is_empty() && view.closures() == 0 { &[] } else { view.heights() };
        Self {
            view,
            sets: ConfigurationSets::new(view, levels, budget),
            shared,
            budget,
            uncharged: 0,
            charged: 0,
            representatives: Representatives::new(equivalences, heights),
            memo: Memo::new(levels.is_some()),
            alive: AliveTexts::new(view.closures(), heights),
            depth: 0,
            open: Vec::new(),
            heights,
        }
    }

    /// Steps and bytes so far, whether the budget knows of them or not.
    fn spent(&self) -> (u64, u64) {
        let (counted, bytes) = self.sets.spent();
        (self.charged + self.uncharged + counted, self.budget.bytes() + bytes)
    }

    /// Charges what was not charged yet.
    pub(crate) fn charge(&mut self) -> Result<(), CompileError> {
        if let Some(error) = self.sets.error.take() {
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
        self.memo.trim();
        let view = self.view;
        let mut tokens = RowTokens::default();
        let may_end = view.has_calls() && view.accepts(state);
        let mut pending = PendingSuffixes { whole: may_end.then(|| view.exit(state)), blocks: Vec::new() };
        if view.is_inside(state) {
            // Only what continues the character leads on.
            self.alive.closure = None;
            for rooted in view.pieces() {
                self.walk_root(rooted, state, &mut tokens, &mut pending)?;
            }
        } else {
            let fates = fates(view, state);
            if fates.is_empty() {
                self.alive.closure = None;
                self.walk_root(view.all(), state, &mut tokens, &mut pending)?;
            }
            for (part, fate) in view.parts().iter().zip(fates) {
                match fate {
                    Fate::Dropped => {}
                    Fate::Taken(chars) if chars >= part.slice.max_chars => tokens.whole.insert(part.number),
                    Fate::Taken(chars) => tokens.short.push((checked_u32(part.number), chars)),
                    Fate::Walked(_) => {
                        self.alive.closure = part.closure;
                        self.walk_root(&part.rooted, state, &mut tokens, &mut pending)?;
                    }
                }
            }
        }
        tokens.settle();
        pending.settle(&tokens, &view.all().trie);
        Ok(StateRow { tokens, pending })
    }

    /// The exit of the rule at a state, if it may end there.
    pub(crate) fn end(&self, state: StateId) -> Option<ExitId> {
        self.view.accepts(state).then(|| self.view.exit(state))
    }

    /// Adds the tokens whose pending suffixes can be read from a return state, at whichever exit, with nothing pushed, and the suffixes of
    /// these that end its rule too.
    pub(crate) fn read(
        &mut self,
        blocks: &[Suffix],
        at: &Return,
        row: &mut StateRow,
    ) -> Result<(), CompileError> {
        let StateRow { tokens, pending } = row;
        let trie = self.view.all().trie;
        for &Suffix { block, end, exit } in blocks {
            let Some(state) = at.state(exit) else { continue };
            let start = self.sets.start(state);
            // Where the rule may end at once, nothing of the suffix has been read.
            if let Some(exit) = self.end(state) {
                pending.blocks.push(Suffix { block, end, exit });
            }
            let block = block as usize;
            self.alive.closure = self.view.closure_of_trie_at(block);
            if self.alive.is_whole(block, start, self.view, &mut self.sets) {
                tokens.add(trie.nodes[block].first, end);
            } else {
                self.walk_block(&trie, block, end, start, tokens, pending)?;
            }
        }
        tokens.settle();
        pending.settle(tokens, &trie);
        Ok(())
    }

    /// Adds what can be read of blocks from a state, on its level of the stack; suffixes of whole blocks are left out.
    pub(crate) fn read_level(
        &mut self,
        blocks: &[(u32, u32)],
        state: StateId,
        row: &mut StateRow,
    ) -> Result<(), CompileError> {
        self.memo.trim();
        let StateRow { tokens, pending } = row;
        let trie = self.view.all().trie;
        let start = self.sets.start(state);
        for &(block, end) in blocks {
            let block = block as usize;
            self.alive.closure = self.view.closure_of_trie_at(block);
            if self.alive.is_whole(block, start, self.view, &mut self.sets) {
                tokens.add(trie.nodes[block].first, end);
            } else {
                self.walk_block(&trie, block, end, start, tokens, pending)?;
            }
        }
        tokens.settle();
        pending.settle(tokens, &trie);
        Ok(())
    }

    /// Whether no token is alive from a state beyond `bytes` bytes.
    pub(crate) fn is_bounded(&mut self, state: StateId, bytes: u32) -> Result<bool, CompileError> {
        let trie = self.view.all().trie;
        let start = self.sets.start(state);
        // What is read on other levels is not looked at.
        if self.sets.may_call(start) {
            return Ok(false);
        }
        let mut open = std::mem::take(&mut self.open);
        open.push((trie.root, 0, start));
        let mut is_bounded = true;
        'open: while let Some((block, depth, at)) = open.pop() {
            for number in block.. {
                let node = trie.nodes[number];
                self.uncharged += 1;
                if let Some(child) = node.children()
                    && depth + 1 + u32::from(self.heights[child]) > bytes
                {
                    let next = self.sets.step(at, self.view.classes()[usize::from(node.byte())]);
                    if next != DEAD_SET {
                        if depth + 1 >= bytes || self.sets.may_call(next) {
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

    /// Walks a whole trie from a state.
    fn walk_root(
        &mut self,
        rooted: &Rooted<'_>,
        state: StateId,
        tokens: &mut RowTokens,
        pending: &mut PendingSuffixes,
    ) -> Result<(), CompileError> {
        let trie = &rooted.trie;
        let start = self.sets.start(state);
        let mut live = self.view.live(state);
        for push in self.view.push_transitions(state) {
            live.insert_all(&self.view.live(push.entry));
        }
        if live.len() >= MANY_BYTES {
            return self.walk_all_of_root(trie, start, tokens, pending);
        }
        for byte in live.bytes() {
            // This node of the root block alone, and not its siblings.
            let Some(number) = rooted.child(byte) else { continue };
            let end = trie.subtree_end(number, trie.to);
            if let Some((child, next)) = self.enter(trie, number, end, start, tokens, pending) {
                self.walk_block(trie, child, end, next, tokens, pending)?;
            }
        }
        Ok(())
    }

    /// Walks a whole trie from a state that most bytes lead on from. The states of an object's keys differ along one path: most
    /// bytes lead to where they led from the state before, and what was found there is found again.
    fn walk_all_of_root(
        &mut self,
        trie: &Trie<'_>,
        start: ConfigurationSetId,
        tokens: &mut RowTokens,
        pending: &mut PendingSuffixes,
    ) -> Result<(), CompileError> {
        let mut children = self.memo.root_children.remove(&trie.root).unwrap_or_else(|| {
            let nodes = (trie.root..).zip(&trie.nodes[trie.root..]);
            let len = 1 + nodes.clone().take_while(|(_, node)| !node.is_last()).count();
            // Nothing leads on to a dead set, and nothing is found there.
            let child = |(number, _)| RootChild { number, at: DEAD_SET, found: Found::default() };
            nodes.take(len).map(child).collect()
        });
        for child in &mut children {
            let node = trie.nodes[child.number];
            self.uncharged += 1;
            let next = self.sets.step(start, self.view.classes()[usize::from(node.byte())]);
            if next == DEAD_SET {
                continue;
            }
            if next != child.at {
                child.at = next;
                child.found = match self.memo.at.get(&(child.number, next)) {
                    Some(&found) => found,
                    None => {
                        let mark = Mark::new(tokens, pending);
                        let end = trie.subtree_end(child.number, trie.to);
                        if let Some(block) = self.arrive(trie, child.number, node, end, next, tokens, pending)
                        {
                            self.walk_block(trie, block, end, next, tokens, pending)?;
                        }
                        let found = self.memo.keep(&mark, tokens, pending, self.budget)?;
                        self.memo.at.insert((child.number, next), found);
                        child.found = found;
                        continue;
                    }
                };
            }
            self.uncharged += self.memo.add(child.found, tokens, pending);
        }
        self.memo.root_children.insert(trie.root, children);
        self.look_at_budget()
    }

    /// Goes on to a node whose ids end at `end` from a set of configurations above it: its tokens are found, and those below
    /// if they are taken whole. Returns what remains to be looked at below: the block and the configurations.
    #[inline]
    fn enter(
        &mut self,
        trie: &Trie<'_>,
        number: usize,
        end: u32,
        from: ConfigurationSetId,
        tokens: &mut RowTokens,
        pending: &mut PendingSuffixes,
    ) -> Option<(usize, ConfigurationSetId)> {
        self.uncharged += 1;
        let node = trie.nodes[number];
        let next = self.sets.step(from, self.view.classes()[usize::from(node.byte())]);
        if next == DEAD_SET {
            return None;
        }
        self.arrive(trie, number, node, end, next, tokens, pending).map(|child| (child, next))
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
        at: ConfigurationSetId,
        tokens: &mut RowTokens,
        pending: &mut PendingSuffixes,
    ) -> Option<usize> {
        let info = self.sets.infos[at];
        let stays = || info.looped != StateId::DEAD && self.view.stays(trie, number, info.looped);
        let Some(child) = node
            .children()
            .filter(|_| !stays())
            .filter(|&child| !self.alive.is_whole(child, at, self.view, &mut self.sets))
        else {
            tokens.add(node.first, end);
            return None;
        };
        let own_end = trie.nodes[child].first;
        if node.first != own_end {
            tokens.add(node.first, own_end);
        }
        if info.ends != NO_EXITS {
            let exits = self.sets.exits(info.ends);
            pending.blocks.extend(exits.iter().map(|&exit| Suffix { block: checked_u32(child), end, exit }));
        }
        info.reads.then_some(child)
    }

    /// Walks a block of a trie, whose ids end at `end`, from a set of configurations.
    fn walk_block(
        &mut self,
        trie: &Trie<'_>,
        block: usize,
        end: u32,
        start: ConfigurationSetId,
        tokens: &mut RowTokens,
        pending: &mut PendingSuffixes,
    ) -> Result<(), CompileError> {
        if end - trie.nodes[block].first < WORTH_KEEPING || self.depth == MAX_DEPTH {
            return self.walk_small(trie, block, end, start, tokens, pending);
        }
        let start = self.representatives.of_set(start, block, &mut self.sets);
        if let Some(&found) = self.memo.below.get(&(block, start)) {
            self.uncharged += self.memo.add(found, tokens, pending);
            return Ok(());
        }
        let mark = Mark::new(tokens, pending);
        self.depth += 1;
        for number in block.. {
            let subtree_end = trie.subtree_end(number, end);
            if let Some((child, next)) = self.enter(trie, number, subtree_end, start, tokens, pending) {
                self.walk_block(trie, child, subtree_end, next, tokens, pending)?;
            }
            if trie.nodes[number].is_last() {
                break;
            }
        }
        self.depth -= 1;
        let found = self.memo.keep(&mark, tokens, pending, self.budget)?;
        self.memo.below.insert((block, start), found);
        self.look_at_budget()
    }

    /// As [`Self::walk_block`], keeping nothing of what is found on the way.
    fn walk_small(
        &mut self,
        trie: &Trie<'_>,
        block: usize,
        end: u32,
        start: ConfigurationSetId,
        tokens: &mut RowTokens,
        pending: &mut PendingSuffixes,
    ) -> Result<(), CompileError> {
        // What remains to be looked at: nodes of a block from one on, the end of its ids, the configurations above.
        let mut open = std::mem::take(&mut self.open);
        let classes = self.view.classes();
        let (mut number, mut to, mut at) = (block, end, start);
        'blocks: loop {
            loop {
                let node = trie.nodes[number];
                let is_last = node.is_last();
                self.uncharged += 1;
                let next = self.sets.step(at, classes[usize::from(node.byte())]);
                if next != DEAD_SET {
                    let end = if is_last { to } else { trie.nodes[number + 1].first };
                    if let Some(child) = self.arrive(trie, number, node, end, next, tokens, pending) {
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
        if self.uncharged >= NODES_PER_CHARGE || self.sets.error.is_some() {
            return self.charge();
        }
        Ok(())
    }
}

/// What becomes of each slice at a state between characters, and at the first states of the rules that it calls; empty
/// where too little would be taken.
fn fates(view: &RuleView<'_>, state: StateId) -> Vec<Fate> {
    let mut fates = view.fates(state);
    for push in view.push_transitions(state) {
        for (part, (fate, other)) in view.parts().iter().zip(fates.iter_mut().zip(view.fates(push.entry))) {
            // Of a rule whose characters are counted, no slice is taken without a look.
            let other = match other {
                Fate::Taken(_) | Fate::Walked(_) if view.is_counted(push) => Fate::Walked(0),
                other => other,
            };
            let is_whole = |fate: &Fate| matches!(fate, Fate::Taken(chars) if *chars >= part.slice.max_chars);
            *fate = match (&*fate, &other) {
                (Fate::Dropped, Fate::Dropped) => Fate::Dropped,
                (one, two) if is_whole(one) || is_whole(two) => Fate::Taken(part.slice.max_chars),
                (one, two) => Fate::Walked(one.alive_chars().max(two.alive_chars())),
            };
        }
    }
    if view.is_worth_it(&fates) { fates } else { Vec::new() }
}
