//! Rows of an automaton with calls, and of such states without calls as share most of their walks.
//!
//! What a token may do at a configuration falls into two parts. Tokens that stay inside the rule at hand, and the rules that
//! they call themselves, depend on the state alone: its row. A token that ends the rule before its own end leaves a
//! *residual*, the rest of its bytes, to the return state on top of the stack. Residuals are nodes of the vocabulary's
//! tries, so a state has one set of them; and what a set may do at a return state is a row again, and a set of residuals
//! that end that rule too. Rows are so keyed by state and by (residual set, class of return states), and never by a path: the
//! mask of a configuration is the union along the top of its stack. After Willard & Louf 2023 (arXiv 2307.09702), section 4, and
//! Koo, Liu & He 2024 (arXiv 2407.08103), Algorithm 3, made finite by the sets: the stacks under which a token is allowed
//! form a regular language, and residual sets are states of an automaton that reads the stack from its top.
//!
//! Where every text over the characters of a slice is alive up to some length, a block of its trie with no longer texts is
//! taken without a look. Near the end of a counted string only long tokens are looked at then, and what they leave of
//! themselves is again taken at once where the next string has room for it.
//!
//! What is found below a block of the trie depends on the configurations above it alone, and only so far as texts that are no
//! longer than the tokens below it tell these apart. So it is kept for large blocks: the keys of an object, a position of a
//! counted string differ from the next along few paths.

use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};
use gobo_artifact::{Trie, TrieNode};
use gobo_automata::{Alike, ByteSet, Calls, Fragments, StateId};
use gobo_types::{Budget, CompileError, VocabularyDigest};

use crate::configurations::{BYTES_PER_COUNT, DEAD_MACRO, DEAD_STATE, MacroId, Macros, UNKNOWN, number};
use crate::row_cache::{Cost, KnownRow, RowKey, SharedRows};
use crate::walk::{Fate, NODES_PER_CHARGE, Rooted, RowTokens, Walker};

pub(crate) const PHASE: &str = "walking the vocabulary through calls";

/// What is found below blocks with at least so many tokens is kept: the states of an object's keys differ along one path and
/// read the same below all others. Smaller ones are walked again in the time that looking them up takes.
const WORTH_KEEPING: u32 = 48;

/// Ranges and residuals of what was kept that are copied in the time of one step elsewhere.
const COPIES_PER_STEP: u64 = 8;

/// A state that so many bytes lead on from is compared with the one that was walked before it, byte by byte.
const MANY_BYTES: u32 = 64;

/// So many such blocks are looked at one inside the other, which bounds the stack that it takes.
const MAX_DEPTH: usize = 32;

/// The number of a set of residuals; 0 for the empty one.
pub(crate) type ResidualId = u32;

/// What is computed of an automaton with calls.
#[derive(Debug, Default)]
pub(crate) struct PushDownRows {
    /// The tokens of each computed row.
    pub(crate) rows: Vec<RowTokens>,
    /// For each state that was asked for, its row, by its place in `rows`.
    pub(crate) of_states: Vec<usize>,
    /// For each state that was asked for, the residuals that end its rule.
    pub(crate) residuals: Vec<ResidualId>,
    /// By residual set, then by class of return states: the row, by its place in `rows`, and the residuals that end the rule of
    /// the return state too. A pair that is not there allows nothing.
    pub(crate) pairs: Vec<Vec<Pair>>,
}

/// What a set of residuals may do at the return states of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pair {
    /// The number of the class.
    pub(crate) class: u32,
    /// The place of its row.
    pub(crate) row: usize,
    /// What is left for the return state below.
    pub(crate) residual: ResidualId,
}

/// Return states at which every set of residuals may do the same.
///
/// A class holds the return states whose states are of one group ([`gobo_automata::Dfa::groups`]): from all of them or from none a token can be
/// read, as far as the rule at hand and the rules that it calls go, and where it ends the rule the same may follow. That is
/// all that a pair asks. A residual is what is left of a token, so it is no longer than one, and if it can be read at all it
/// begins between characters, as a return state does. It is read from the return state alone, with nothing on the stack. So
/// at two return states of a class the same residuals can be read to their end, and the same ones end the rule at the same
/// bytes, where the same may follow; and that is the row and the set of what is left.
///
/// Two details do not break this. Calls push nothing where their return can only end: a group sees that too wherever bytes
/// are left behind the call. And of tokens that are in the row already, a walk may skip what they leave: then one state
/// of a group leaves residuals that another does not, whose bits are set either way.
///
/// What may lie below differs within a class, so a pair is followed to all that may lie below one of its return states.
pub(crate) struct ReturnClasses {
    /// `[returns]`: the class of each, numbered as they are met.
    pub(crate) of: Vec<u32>,
    /// `[classes]`: the return states of each, ascending.
    members: Vec<Vec<u32>>,
}

impl ReturnClasses {
    /// By the groups of the automaton's states.
    pub(crate) fn new(calls: &Calls, groups: &[u32]) -> Self {
        let mut known: HashMap<u32, u32> = HashMap::new();
        let mut members: Vec<Vec<u32>> = Vec::new();
        let mut class_of = |(top, state): (u32, StateId)| {
            let class = *known.entry(groups[state as usize]).or_insert_with(|| {
                members.push(Vec::new());
                number(members.len() - 1)
            });
            members[class as usize].push(top);
            class
        };
        let of = (0..).zip(calls.returns.iter().map(|of| of.state)).map(&mut class_of).collect();
        Self { of, members }
    }

    /// Number of classes.
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// What may lie under any of `states`.
    pub(crate) fn under(&self, calls: &Calls, states: impl Iterator<Item = StateId>) -> Under {
        let mut is_under = vec![false; self.members.len()];
        let mut follow = ByteSet::default();
        let mut last: &[u32] = &[];
        for state in states {
            let tops = calls.tops(state);
            // States of one rule share their set.
            if !std::ptr::eq(tops, last) {
                tops.iter().for_each(|&top| is_under[self.of[top as usize] as usize] = true);
                follow.iter_mut().zip(calls.follow(state)).for_each(|(all, set)| *all |= set);
                last = tops;
            }
        }
        let classes = (0..).zip(is_under).filter(|(_, is_under)| *is_under).map(|(class, _)| class).collect();
        Under { classes, follow }
    }

    /// The states of the return states of a class: at least one.
    fn states<'a>(&'a self, calls: &'a Calls, class: u32) -> impl Iterator<Item = StateId> + 'a {
        self.members[class as usize].iter().map(|&top| calls.returns[top as usize].state)
    }
}

/// What may lie on top of the stack together with some states that share a row.
#[derive(Debug, Default)]
pub(crate) struct Under {
    /// The classes of the return states, ascending.
    classes: Vec<u32>,
    /// The bytes that a text can go on with when one of them is popped.
    follow: ByteSet,
}

/// A state that stands for all that share its row.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) state: StateId,
    /// What may lie under any of them.
    pub(crate) under: Under,
}

/// The row and the residuals of each of `states`, and of every pair that can come up below them. `alike` tells which states short
/// texts do not tell apart.
///
/// O(trie nodes that no rule spares), over all rows.
pub(crate) fn rows(
    walker: &Walker<'_>,
    calls: &Calls,
    classes: &ReturnClasses,
    alike: &[Alike],
    states: &[Asked],
    known: Option<&KnownRows<'_>>,
    budget: &Budget,
) -> Result<PushDownRows, CompileError> {
    let mut computer = Computer {
        walker,
        calls,
        macros: Macros::new(walker.dfa, calls, budget),
        sets: vec![Rc::default()],
        known_sets: HashMap::from_iter([(Rc::default(), 0)]),
        of_state: HashMap::new(),
        left: Vec::new(),
        known,
        rows: Vec::new(),
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
        shared: (alike.iter())
            .map(|alike| {
                let mut firsts: Vec<StateId> =
                    states.iter().map(|asked| alike.first[asked.state as usize]).collect();
                firsts.sort_unstable();
                firsts.chunk_by(|a, b| a == b).filter(|alike| alike.len() > 1).map(|alike| alike[0]).collect()
            })
            .collect(),
        bounded: HashMap::new(),
        open: Vec::new(),
        heights: if alike.is_empty() && walker.closures() == 0 {
            &[]
        } else {
            walker.vocabulary.trie_heights()
        },
        closure: None,
        alive: vec![Vec::new(); walker.closures()],
    };
    let mut residuals = Vec::with_capacity(states.len());
    let mut of_states = Vec::with_capacity(states.len());
    for &Asked { state, ref under } in states {
        let (row, left) = computer.of_state(state)?;
        of_states.push(row);
        residuals.push(computer.going_on(computer.left[left].clone(), &under.follow)?);
    }
    let mut pairs: Vec<Vec<Pair>> = Vec::new();
    let mut below: Vec<Option<Under>> = (0..classes.len()).map(|_| None).collect();
    let mut asked: foldhash::HashSet<(ResidualId, u32)> = foldhash::HashSet::default();
    let mut open: Vec<(ResidualId, u32)> = Vec::new();
    for (&residual, Asked { under, .. }) in residuals.iter().zip(states) {
        open.extend(under.classes.iter().map(|&class| (residual, class)));
        while let Some((residual, class)) = open.pop() {
            if residual == 0 || !asked.insert((residual, class)) {
                continue;
            }
            let Some(state) = classes.states(calls, class).next() else { continue };
            let below = below[class as usize]
                .get_or_insert_with(|| classes.under(calls, classes.states(calls, class)));
            let (row, left) = computer.of_pair(residual, state, &below.follow)?;
            open.extend(below.classes.iter().map(|&below| (left, below)));
            if computer.rows[row].is_empty() && left == 0 {
                continue;
            }
            pairs.resize(pairs.len().max(residual as usize + 1), Vec::new());
            pairs[residual as usize].push(Pair { class, row, residual: left });
        }
    }
    pairs.resize(computer.sets.len(), Vec::new());
    pairs.iter_mut().for_each(|pairs| pairs.sort_unstable_by_key(|pair| pair.class));
    computer.charge()?;
    Ok(PushDownRows { of_states, rows: computer.rows, residuals, pairs })
}

/// Rows of other compiles, and which states they are of.
pub(crate) struct KnownRows<'a> {
    shared: &'a SharedRows<'a>,
    vocabulary: VocabularyDigest,
    fragments: Fragments,
}

impl<'a> KnownRows<'a> {
    pub(crate) fn new(
        shared: &'a SharedRows<'a>,
        vocabulary: VocabularyDigest,
        fragments: Fragments,
    ) -> Self {
        Self { shared, vocabulary, fragments }
    }

    fn key(&self, walker: &Walker<'_>, state: StateId) -> Option<RowKey> {
        let state = walker.dfa.chars.as_ref()?.at(state)?;
        Some(RowKey { vocabulary: self.vocabulary, state: *self.fragments.digest(state)? })
    }
}

/// The row of a state in terms of the vocabulary alone.
fn freeze(walker: &Walker<'_>, tokens: &RowTokens, left: &Residuals) -> KnownRow {
    let mut row = KnownRow {
        short: tokens.short.iter().map(|&(part, chars)| (number(walker.parts[part].number), chars)).collect(),
        ranges: tokens.ranges.clone(),
        ends: left.whole,
        blocks: left.blocks.clone(),
        whole: 0,
    };
    for (at, part) in walker.parts.iter().enumerate() {
        row.whole |= (tokens.whole >> at & 1) << part.number;
    }
    row
}

/// The row of a state in terms of this compile; `None` if it has a slice that leads nowhere here, which no state with its key has.
fn thaw(walker: &Walker<'_>, row: KnownRow) -> Option<(RowTokens, Residuals)> {
    let part = |number: u32| walker.parts.binary_search_by_key(&(number as usize), |part| part.number).ok();
    let mut tokens = RowTokens { whole: 0, short: Vec::with_capacity(row.short.len()), ranges: row.ranges };
    let mut whole = 0;
    for (at, part) in walker.parts.iter().enumerate() {
        let bit = row.whole >> part.number & 1;
        tokens.whole |= bit << at;
        whole |= bit << part.number;
    }
    for (number, chars) in row.short {
        tokens.short.push((part(number)?, chars));
    }
    (whole == row.whole).then_some((tokens, Residuals { whole: row.ends, blocks: row.blocks }))
}

/// Token prefixes that end a rule with bytes left.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Residuals {
    /// Whether the empty prefix is among them: the rule could end before the token.
    whole: bool,
    /// The blocks of tokens that go on, each with the end of its ids, ascending.
    blocks: Vec<(u32, u32)>,
}

impl Residuals {
    /// Leaves out what is in the row in any case, and puts the others in order: what is left does not depend on how it was found.
    fn settle(&mut self, tokens: &RowTokens, trie: &Trie<'_>) {
        self.blocks.retain(|&(block, end)| !tokens.has(trie.nodes[block as usize].first, end));
        self.blocks.sort_unstable();
        self.blocks.dedup();
    }
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

struct Computer<'a> {
    walker: &'a Walker<'a>,
    calls: &'a Calls,
    macros: Macros<'a>,
    sets: Vec<Rc<Residuals>>,
    known_sets: HashMap<Rc<Residuals>, ResidualId>,
    /// The places of the row and of the residuals of each state that was asked for.
    of_state: HashMap<StateId, (usize, usize)>,
    left: Vec<Residuals>,
    known: Option<&'a KnownRows<'a>>,
    rows: Vec<RowTokens>,
    budget: &'a Budget,
    /// Nodes since the last look at the budget.
    uncharged: u64,
    /// Nodes before that.
    charged: u64,
    alike: &'a [Alike],
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
    /// `[alike]`: the states that stand for several of those that were asked for.
    shared: Vec<foldhash::HashSet<StateId>>,
    /// [`Self::is_bounded`], by level and state.
    bounded: HashMap<(usize, StateId), bool>,
    /// What a walk has left to look at; empty between walks.
    open: Vec<(usize, u32, MacroId)>,
    /// [`gobo_artifact::Vocabulary::trie_heights`]; empty where nobody asks for them.
    heights: &'a [u8],
    /// The closure under the characters of the trie at hand.
    closure: Option<usize>,
    /// `[closures, sets of configurations]`: what [`Self::find_alive`] answers; [`UNKNOWN_CHARS`] where it was not asked.
    alive: Vec<Vec<u8>>,
}

/// A number of characters that was not asked for.
const UNKNOWN_CHARS: u8 = u8::MAX;

impl Computer<'_> {
    /// Steps and bytes so far, whether the budget knows of them or not.
    fn spent(&self) -> (u64, u64) {
        let (counted, bytes) = self.macros.spent();
        (self.charged + self.uncharged + counted, self.budget.bytes() + bytes)
    }

    fn charge(&mut self) -> Result<(), CompileError> {
        if let Some(error) = self.macros.error.take() {
            return Err(error);
        }
        self.charged += self.uncharged;
        self.budget.charge_steps(PHASE, std::mem::take(&mut self.uncharged))
    }

    /// The places of the row of a state and of the residuals that end its rule, whatever may follow.
    fn of_state(&mut self, state: StateId) -> Result<(usize, usize), CompileError> {
        let state = self.row_stand_in(state)?;
        if let Some(&known) = self.of_state.get(&state) {
            return Ok(known);
        }
        let walker = self.walker;
        let has_follow = *self.calls.follow(state) != ByteSet::default();
        let key = self.known.filter(|_| has_follow).and_then(|known| known.key(walker, state));
        if let Some(key) = &key
            && let Some((cost, found)) = self.known.and_then(|known| known.shared.get(key))
            && let Some((tokens, left)) = thaw(walker, found)
        {
            self.uncharged += cost.steps;
            self.budget.charge_bytes(PHASE, cost.bytes)?;
            self.look_at_budget()?;
            return self.finish(state, tokens, left);
        }
        let before = self.spent();
        let mut tokens = RowTokens::default();
        let mut left =
            Residuals { whole: has_follow && walker.dfa.accepting[state as usize], blocks: Vec::new() };
        let between = walker.dfa.chars.as_ref().map(|chars| chars.at(state));
        if between == Some(None) {
            // Inside a character, only what continues it leads on.
            self.closure = None;
            for rooted in &walker.pieces {
                self.walk_root(rooted, state, &mut tokens, &mut left)?;
            }
        } else {
            let fates = self.fates(state);
            if fates.is_empty() {
                self.closure = None;
                self.walk_root(&walker.all, state, &mut tokens, &mut left)?;
            }
            for (number, (part, fate)) in walker.parts.iter().zip(fates).enumerate() {
                match fate {
                    Fate::Dropped => {}
                    Fate::Taken(chars) if chars >= part.slice.max_chars => tokens.whole |= 1 << number,
                    Fate::Taken(chars) => tokens.short.push((number, chars)),
                    Fate::Walked(_) => {
                        self.closure = part.closure;
                        self.walk_root(&part.rooted, state, &mut tokens, &mut left)?;
                    }
                }
            }
        }
        tokens.settle();
        left.settle(&tokens, &walker.all.trie);
        if let (Some(key), Some(known)) = (key, self.known) {
            let (steps, bytes) = self.spent();
            let cost = Cost { steps: steps - before.0, bytes: bytes - before.1 };
            known.shared.put(key, cost, || freeze(walker, &tokens, &left));
        }
        self.finish(state, tokens, left)
    }

    /// Keeps the row of a state and what is left of it.
    fn finish(
        &mut self,
        state: StateId,
        tokens: RowTokens,
        left: Residuals,
    ) -> Result<(usize, usize), CompileError> {
        self.budget.charge_bytes(PHASE, 32 + left.blocks.len() as u64 * 8)?;
        self.left.push(left);
        let known = (self.push(tokens)?, self.left.len() - 1);
        self.of_state.insert(state, known);
        Ok(known)
    }

    /// The set of those residuals that go on with a byte that may follow.
    fn going_on(&mut self, mut left: Residuals, follow: &ByteSet) -> Result<ResidualId, CompileError> {
        let trie = self.walker.all.trie;
        left.blocks.retain(|&(block, _)| goes_on(&trie, block as usize, follow));
        self.intern(left)
    }

    /// The row of a set of residuals at the return states of a class, one of which is `state`, and what of it ends that rule too
    /// and goes on with a byte that may follow.
    fn of_pair(
        &mut self,
        residual: ResidualId,
        state: StateId,
        follow: &ByteSet,
    ) -> Result<(usize, ResidualId), CompileError> {
        let set = Rc::clone(&self.sets[residual as usize]);
        let (mut tokens, mut left) = Default::default();
        if set.whole {
            let (row, below) = self.of_state(state)?;
            left = self.left[below].clone();
            if set.blocks.is_empty() {
                return Ok((row, self.going_on(left, follow)?));
            }
            tokens = self.rows[row].clone();
        }
        let trie = self.walker.all.trie;
        let start = self.macros.start(state);
        for &(block, end) in &set.blocks {
            // Where the return state's rule may end at once, nothing of the residual has been read.
            if self.walker.dfa.accepting[state as usize] {
                left.blocks.push((block, end));
            }
            let block = block as usize;
            self.closure = self.walker.closure_of_trie_at(block);
            if self.is_alive(block, start) {
                tokens.add(trie.nodes[block].first, end);
            } else {
                self.walk_block(&trie, block, end, start, &mut tokens, &mut left)?;
            }
        }
        tokens.settle();
        left.settle(&tokens, &trie);
        Ok((self.push(tokens)?, self.going_on(left, follow)?))
    }

    /// The state whose row a state shares: one that no short text tells apart from it, where no longer token is alive beyond
    /// such a text.
    fn row_stand_in(&mut self, state: StateId) -> Result<StateId, CompileError> {
        for level in 0..self.alike.len() {
            let Alike { chars, first } = &self.alike[level];
            let first = first[state as usize];
            if !self.shared[level].contains(&first) {
                continue;
            }
            let is_bounded = match self.bounded.get(&(level, first)) {
                Some(&known) => known,
                None => {
                    let found = self.is_bounded(first, *chars)?;
                    self.bounded.insert((level, first), found);
                    found
                }
            };
            if is_bounded {
                return Ok(first);
            }
        }
        Ok(state)
    }

    /// Whether no token is alive from a state beyond so many bytes.
    fn is_bounded(&mut self, state: StateId, bytes: u32) -> Result<bool, CompileError> {
        let trie = self.walker.all.trie;
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
                    let next = self.macros.step(at, self.walker.dfa.classes[usize::from(node.byte())]);
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

    fn push(&mut self, tokens: RowTokens) -> Result<usize, CompileError> {
        self.budget.charge_bytes(PHASE, tokens.ranges.len() as u64 * 8)?;
        self.rows.push(tokens);
        Ok(self.rows.len() - 1)
    }

    fn intern(&mut self, set: Residuals) -> Result<ResidualId, CompileError> {
        if let Some(&known) = self.known_sets.get(&set) {
            return Ok(known);
        }
        self.budget.charge_bytes(PHASE, 32 + set.blocks.len() as u64 * 16)?;
        let fresh = number(self.sets.len());
        let set = Rc::new(set);
        self.sets.push(Rc::clone(&set));
        self.known_sets.insert(set, fresh);
        Ok(fresh)
    }

    /// What becomes of each slice at a state between characters, and at the first states of the rules that it calls; empty
    /// where too little would be taken.
    fn fates(&self, state: StateId) -> Vec<Fate> {
        let walker = self.walker;
        let Some(chars) = &walker.dfa.chars else { return Vec::new() };
        let of = |state| chars.at(state).map_or_else(Vec::new, |state| walker.fates(state));
        let mut fates = of(state);
        for opening in self.calls.openings(state) {
            for (part, (fate, other)) in walker.parts.iter().zip(fates.iter_mut().zip(of(opening.entry))) {
                let is_whole =
                    |fate: &Fate| matches!(fate, Fate::Taken(chars) if *chars >= part.slice.max_chars);
                *fate = match (&*fate, &other) {
                    (Fate::Dropped, Fate::Dropped) => Fate::Dropped,
                    (one, two) if is_whole(one) || is_whole(two) => Fate::Taken(part.slice.max_chars),
                    (one, two) => Fate::Walked(one.alive_chars().max(two.alive_chars())),
                };
            }
        }
        if walker.is_worth_it(&fates) { fates } else { Vec::new() }
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
        let mut live = self.walker.live(state);
        for opening in self.calls.openings(state) {
            live.iter_mut().zip(self.walker.live(opening.entry)).for_each(|(live, more)| *live |= more);
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
            let next = self.macros.step(start, self.walker.dfa.classes[usize::from(node.byte())]);
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
        let next = self.macros.step(from, self.walker.dfa.classes[usize::from(node.byte())]);
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
        let stays = || info.looped != DEAD_STATE && self.walker.stays(trie, number, info.looped);
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
        let of = |state: StateId| self.walker.depth(closure, state);
        let entries = |state: StateId| self.calls.openings(state).iter().map(|opening| of(opening.entry));
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
        let classes = &self.walker.dfa.classes;
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

/// Whether some byte of a block is in the set.
fn goes_on(trie: &Trie<'_>, block: usize, follow: &ByteSet) -> bool {
    let has = |byte: u8| follow[usize::from(byte >> 5)] >> (byte & 31) & 1 == 1;
    for node in &trie.nodes[block..] {
        if has(node.byte()) {
            return true;
        }
        if node.is_last() {
            break;
        }
    }
    false
}
