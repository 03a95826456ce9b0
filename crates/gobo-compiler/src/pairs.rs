//! Rows of an automaton with calls, and of such states without calls as share most of their walks.
//!
//! What a token may do at a configuration falls into two parts. Tokens that stay inside the rule at hand, and the rules that
//! they call themselves, depend on the state alone: its row. A token that ends the rule before its own end leaves a
//! *pending suffix*, the rest of its bytes, to the return state on top of the stack. Pending suffixes are blocks of the vocabulary's
//! trie, so a state has one set of them; and what a set may do at a return state is a row again, and a set of suffixes
//! that end that rule too. Rows are so keyed by state and by (suffix set, class of return states), and never by a path: the
//! mask of a configuration is the union along the top of its stack. After Willard & Louf 2023 (arXiv 2307.09702), section 4, and
//! Koo, Liu & He 2024 (arXiv 2407.08103), Algorithm 3, made finite by the sets: the stacks under which a token is allowed
//! form a regular language, and suffix sets are states of an automaton that reads the stack from its top.
//!
//! [`crate::rows`] computes the row of a state, which sees nothing of what may follow its rule. This module is the work list: it decides
//! which states have a row of their own, and follows suffix sets to all return states that may lie below.

use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};
use gobo_artifact::layout::Trie;
use gobo_automata::{Calls, KEquivalence, StateId};
use gobo_types::{Budget, ByteSet, CompileError, DenseId as _, Table, dense_id};

use crate::return_classes::{ReturnClassId, ReturnClasses, Under};
use crate::rows::{PHASE, PendingSuffixes, RowComputer, RowTokens, RuleView, SharedRows, StateRow};

dense_id! {
    /// A set of pending suffixes.
    pub(crate) struct SuffixSetId;
}

impl SuffixSetId {
    /// The empty set.
    pub(crate) const EMPTY: Self = Self(0);
}

/// What is computed of an automaton with calls.
#[derive(Debug, Default)]
pub(crate) struct PushDownRows {
    /// The tokens of each computed row.
    pub(crate) rows: Vec<RowTokens>,
    /// For each state that was asked for, its row, by its place in `rows`.
    pub(crate) of_states: Vec<usize>,
    /// For each state that was asked for, the set of suffixes pending at the end of its rule.
    pub(crate) pending: Vec<SuffixSetId>,
    /// By suffix set, then by class of return states: the row, by its place in `rows`, and the suffixes that are pending at the end
    /// of the return state's rule too. A missing pair allows nothing.
    pub(crate) pairs: Vec<Vec<Pair>>,
}

/// The effect of a suffix set at the return states of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pair {
    /// The class.
    pub(crate) class: ReturnClassId,
    /// The place of its row.
    pub(crate) row: usize,
    /// The suffixes pending for the return state below.
    pub(crate) suffixes: SuffixSetId,
}

/// A state that stands for all that share its row.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) state: StateId,
    /// What may lie under any of them.
    pub(crate) under: Under,
}

/// The row and the pending suffixes of each of `states`, and of every pair that can come up below them. `equivalences` tells which states short
/// texts do not tell apart.
///
/// O(trie nodes that no rule spares), over all rows.
pub(crate) fn rows(
    view: &RuleView<'_>,
    calls: &Calls,
    classes: &ReturnClasses,
    equivalences: &[KEquivalence],
    states: &[Asked],
    shared: Option<&SharedRows<'_>>,
    budget: &Budget,
) -> Result<PushDownRows, CompileError> {
    let mut table = RowTable {
        computer: RowComputer::new(view, equivalences, shared, budget),
        trie: view.all().trie,
        representatives: RowRepresentatives::new(equivalences, states),
        of_state: HashMap::new(),
        tokens: Vec::new(),
        pending: Vec::new(),
        sets: vec![Rc::default()].into(),
        known_sets: HashMap::from_iter([(Rc::default(), SuffixSetId::EMPTY)]),
        budget,
    };
    let mut pending = Vec::with_capacity(states.len());
    let mut of_states = Vec::with_capacity(states.len());
    for &Asked { state, ref under } in states {
        let (row, left) = table.of_state(state)?;
        of_states.push(row);
        pending.push(table.going_on(table.pending[left].clone(), &under.follow)?);
    }
    let mut pairs: Vec<Vec<Pair>> = Vec::new();
    let mut below: Vec<Option<Under>> = (0..classes.len()).map(|_| None).collect();
    let mut asked: foldhash::HashSet<(SuffixSetId, ReturnClassId)> = foldhash::HashSet::default();
    let mut open: Vec<(SuffixSetId, ReturnClassId)> = Vec::new();
    for (&suffixes, Asked { under, .. }) in pending.iter().zip(states) {
        open.extend(under.classes.iter().map(|&class| (suffixes, class)));
        while let Some((suffixes, class)) = open.pop() {
            if suffixes == SuffixSetId::EMPTY || !asked.insert((suffixes, class)) {
                continue;
            }
            let Some(state) = classes.states(calls, class).next() else { continue };
            let below = below[class.index()]
                .get_or_insert_with(|| classes.under(calls, classes.states(calls, class)));
            let (row, left) = table.of_pair(suffixes, state, &below.follow)?;
            open.extend(below.classes.iter().map(|&below| (left, below)));
            if table.tokens[row].is_empty() && left == SuffixSetId::EMPTY {
                continue;
            }
            pairs.resize(pairs.len().max(suffixes.index() + 1), Vec::new());
            pairs[suffixes.index()].push(Pair { class, row, suffixes: left });
        }
    }
    pairs.resize(table.sets.len(), Vec::new());
    pairs.iter_mut().for_each(|pairs| pairs.sort_unstable_by_key(|pair| pair.class));
    table.computer.charge()?;
    Ok(PushDownRows { of_states, rows: table.tokens, pending, pairs })
}

/// Rows so far, and the suffix sets.
struct RowTable<'a> {
    computer: RowComputer<'a>,
    trie: Trie<'a>,
    representatives: RowRepresentatives<'a>,
    /// The places of the row and of the pending suffixes of each state that was asked for.
    of_state: HashMap<StateId, (usize, usize)>,
    tokens: Vec<RowTokens>,
    pending: Vec<PendingSuffixes>,
    sets: Table<SuffixSetId, Rc<PendingSuffixes>>,
    known_sets: HashMap<Rc<PendingSuffixes>, SuffixSetId>,
    budget: &'a Budget,
}

impl RowTable<'_> {
    /// The places of the row of a state and of the suffixes pending at the end of its rule, whatever may follow.
    fn of_state(&mut self, state: StateId) -> Result<(usize, usize), CompileError> {
        let state = self.representatives.find(state, &mut self.computer)?;
        if let Some(&known) = self.of_state.get(&state) {
            return Ok(known);
        }
        let StateRow { tokens, pending } = self.computer.row(state)?;
        self.budget.charge_bytes(PHASE, 32 + pending.blocks.len() as u64 * 8)?;
        self.pending.push(pending);
        let known = (self.push(tokens)?, self.pending.len() - 1);
        self.of_state.insert(state, known);
        Ok(known)
    }

    /// The set of those suffixes that go on with a byte that may follow.
    fn going_on(&mut self, mut left: PendingSuffixes, follow: &ByteSet) -> Result<SuffixSetId, CompileError> {
        left.whole &= !follow.is_empty();
        left.blocks.retain(|&(block, _)| goes_on(&self.trie, block as usize, follow));
        self.intern(left)
    }

    /// The row of a suffix set at the return states of a class, one of which is `state`, and the suffixes that end that rule too
    /// and go on with a byte that may follow.
    fn of_pair(
        &mut self,
        suffixes: SuffixSetId,
        state: StateId,
        follow: &ByteSet,
    ) -> Result<(usize, SuffixSetId), CompileError> {
        let set = Rc::clone(&self.sets[suffixes]);
        let mut row = StateRow::default();
        if set.whole {
            let (tokens, left) = self.of_state(state)?;
            row.pending = self.pending[left].clone();
            if set.blocks.is_empty() {
                return Ok((tokens, self.going_on(row.pending, follow)?));
            }
            row.tokens = self.tokens[tokens].clone();
        }
        self.computer.read(&set.blocks, state, &mut row)?;
        Ok((self.push(row.tokens)?, self.going_on(row.pending, follow)?))
    }

    fn push(&mut self, tokens: RowTokens) -> Result<usize, CompileError> {
        self.budget.charge_bytes(PHASE, tokens.ranges.len() as u64 * 8)?;
        self.tokens.push(tokens);
        Ok(self.tokens.len() - 1)
    }

    fn intern(&mut self, set: PendingSuffixes) -> Result<SuffixSetId, CompileError> {
        if let Some(&known) = self.known_sets.get(&set) {
            return Ok(known);
        }
        self.budget.charge_bytes(PHASE, 32 + set.blocks.len() as u64 * 16)?;
        let set = Rc::new(set);
        let fresh = self.sets.push(Rc::clone(&set));
        self.known_sets.insert(set, fresh);
        Ok(fresh)
    }
}

/// States whose row is that of another one: of a state that no short text tells apart from it, where no longer token is alive
/// beyond such a text.
struct RowRepresentatives<'a> {
    equivalences: &'a [KEquivalence],
    /// `[equivalences]`: the states that stand for several of those that were asked for.
    shared: Vec<foldhash::HashSet<StateId>>,
    /// [`RowComputer::is_bounded`], by level and state.
    bounded: HashMap<(usize, StateId), bool>,
}

impl<'a> RowRepresentatives<'a> {
    fn new(equivalences: &'a [KEquivalence], states: &[Asked]) -> Self {
        let shared = |equivalence: &KEquivalence| {
            let mut firsts: Vec<StateId> =
                states.iter().map(|asked| equivalence.representative[asked.state.index()]).collect();
            firsts.sort_unstable();
            firsts.chunk_by(|a, b| a == b).filter(|class| class.len() > 1).map(|class| class[0]).collect()
        };
        Self { equivalences, shared: equivalences.iter().map(shared).collect(), bounded: HashMap::new() }
    }

    /// The state whose row a state shares.
    fn find(&mut self, state: StateId, computer: &mut RowComputer<'_>) -> Result<StateId, CompileError> {
        for (level, KEquivalence { chars, representative }) in self.equivalences.iter().enumerate() {
            let first = representative[state.index()];
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
    for node in &trie.nodes[block..] {
        if follow.contains(node.byte()) {
            return true;
        }
        if node.is_last() {
            break;
        }
    }
    false
}
