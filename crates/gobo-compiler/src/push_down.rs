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
//! [`crate::row_computer`] computes the row of a state, which sees nothing of what may follow its rule. This module decides which states
//! have a row of their own, and follows residuals to all return states that may lie below.

use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};
use gobo_artifact::Trie;
use gobo_automata::{ByteSet, Calls, KEquivalence, StateId};
use gobo_types::{Budget, CompileError};

use crate::configurations::number;
use crate::row_cache::SharedRows;
use crate::row_computer::{Residuals, RowComputer, StateRow};
use crate::rule_view::RuleView;
use crate::walk::RowTokens;

pub(crate) const PHASE: &str = "walking the vocabulary through calls";

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
/// A class holds the return states whose states are of one group ([`gobo_automata::Dfa::row_classes`]): from all of them or from none a token can be
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
            let tops = calls.stack_tops(state);
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
    view: &RuleView<'_>,
    calls: &Calls,
    classes: &ReturnClasses,
    alike: &[KEquivalence],
    states: &[Asked],
    shared: Option<&SharedRows<'_>>,
    budget: &Budget,
) -> Result<PushDownRows, CompileError> {
    let mut table = RowTable {
        computer: RowComputer::new(view, alike, shared, budget),
        trie: view.all().trie,
        stand_ins: RowStandIns::new(alike, states),
        of_state: HashMap::new(),
        tokens: Vec::new(),
        left: Vec::new(),
        sets: vec![Rc::default()],
        known_sets: HashMap::from_iter([(Rc::default(), 0)]),
        budget,
    };
    let mut residuals = Vec::with_capacity(states.len());
    let mut of_states = Vec::with_capacity(states.len());
    for &Asked { state, ref under } in states {
        let (row, left) = table.of_state(state)?;
        of_states.push(row);
        residuals.push(table.going_on(table.left[left].clone(), &under.follow)?);
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
            let (row, left) = table.of_pair(residual, state, &below.follow)?;
            open.extend(below.classes.iter().map(|&below| (left, below)));
            if table.tokens[row].is_empty() && left == 0 {
                continue;
            }
            pairs.resize(pairs.len().max(residual as usize + 1), Vec::new());
            pairs[residual as usize].push(Pair { class, row, residual: left });
        }
    }
    pairs.resize(table.sets.len(), Vec::new());
    pairs.iter_mut().for_each(|pairs| pairs.sort_unstable_by_key(|pair| pair.class));
    table.computer.charge()?;
    Ok(PushDownRows { of_states, rows: table.tokens, residuals, pairs })
}

/// Rows so far, and the sets of residuals.
struct RowTable<'a> {
    computer: RowComputer<'a>,
    trie: Trie<'a>,
    stand_ins: RowStandIns<'a>,
    /// The places of the row and of the residuals of each state that was asked for.
    of_state: HashMap<StateId, (usize, usize)>,
    tokens: Vec<RowTokens>,
    left: Vec<Residuals>,
    sets: Vec<Rc<Residuals>>,
    known_sets: HashMap<Rc<Residuals>, ResidualId>,
    budget: &'a Budget,
}

impl RowTable<'_> {
    /// The places of the row of a state and of the residuals that end its rule, whatever may follow.
    fn of_state(&mut self, state: StateId) -> Result<(usize, usize), CompileError> {
        let state = self.stand_ins.find(state, &mut self.computer)?;
        if let Some(&known) = self.of_state.get(&state) {
            return Ok(known);
        }
        let StateRow { tokens, left } = self.computer.row(state)?;
        self.budget.charge_bytes(PHASE, 32 + left.blocks.len() as u64 * 8)?;
        self.left.push(left);
        let known = (self.push(tokens)?, self.left.len() - 1);
        self.of_state.insert(state, known);
        Ok(known)
    }

    /// The set of those residuals that go on with a byte that may follow.
    fn going_on(&mut self, mut left: Residuals, follow: &ByteSet) -> Result<ResidualId, CompileError> {
        left.whole &= *follow != ByteSet::default();
        left.blocks.retain(|&(block, _)| goes_on(&self.trie, block as usize, follow));
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
        let mut row = StateRow::default();
        if set.whole {
            let (tokens, left) = self.of_state(state)?;
            row.left = self.left[left].clone();
            if set.blocks.is_empty() {
                return Ok((tokens, self.going_on(row.left, follow)?));
            }
            row.tokens = self.tokens[tokens].clone();
        }
        self.computer.read(&set.blocks, state, &mut row)?;
        Ok((self.push(row.tokens)?, self.going_on(row.left, follow)?))
    }

    fn push(&mut self, tokens: RowTokens) -> Result<usize, CompileError> {
        self.budget.charge_bytes(PHASE, tokens.ranges.len() as u64 * 8)?;
        self.tokens.push(tokens);
        Ok(self.tokens.len() - 1)
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
}

/// States whose row is that of another one: of a state that no short text tells apart from it, where no longer token is alive
/// beyond such a text.
struct RowStandIns<'a> {
    alike: &'a [KEquivalence],
    /// `[alike]`: the states that stand for several of those that were asked for.
    shared: Vec<foldhash::HashSet<StateId>>,
    /// [`RowComputer::is_bounded`], by level and state.
    bounded: HashMap<(usize, StateId), bool>,
}

impl<'a> RowStandIns<'a> {
    fn new(alike: &'a [KEquivalence], states: &[Asked]) -> Self {
        let shared = |alike: &KEquivalence| {
            let mut firsts: Vec<StateId> =
                states.iter().map(|asked| alike.first[asked.state as usize]).collect();
            firsts.sort_unstable();
            firsts.chunk_by(|a, b| a == b).filter(|alike| alike.len() > 1).map(|alike| alike[0]).collect()
        };
        Self { alike, shared: alike.iter().map(shared).collect(), bounded: HashMap::new() }
    }

    /// The state whose row a state shares.
    fn find(&mut self, state: StateId, computer: &mut RowComputer<'_>) -> Result<StateId, CompileError> {
        for (level, KEquivalence { chars, first }) in self.alike.iter().enumerate() {
            let first = first[state as usize];
            if !self.shared[level].contains(&first) {
                continue;
            }
            let is_bounded = match self.bounded.get(&(level, first)) {
                Some(&known) => known,
                None => {
                    let found = computer.is_bounded(first, *chars)?;
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
