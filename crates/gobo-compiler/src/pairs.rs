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

use foldhash::{HashMap, HashMapExt};
use gobo_artifact::layout::Trie;
use gobo_automata::{Calls, KEquivalence, StateId};
use gobo_types::{Budget, ByteSet, CompileError, DenseId as _};

use crate::return_classes::{ReturnClassId, ReturnClasses, Under};
use crate::rows::{PHASE, PendingSuffixes, RowComputer, RowTokens, RuleView, SharedRows, StateRow};
use crate::suffix_sets::{Suffix, SuffixSet, SuffixSetId, SuffixSets};
use crate::tried::{Tried, TriedId};

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
        sets: SuffixSets::new(),
        tried: Tried::new(view, calls, classes),
        is_marking: false,
        budget,
    };
    let of: Vec<(usize, usize)> =
        states.iter().map(|asked| table.of_state(asked.state)).collect::<Result<_, _>>()?;
    let mark = table.mark();
    let found = match table.follow_all(calls, classes, states, &of)? {
        Some(found) => found,
        None => {
            table.begin_marking(mark);
            let found = table.follow_all(calls, classes, states, &of)?;
            found.expect("only suffixes without marks are said to pile up")
        }
    };
    table.computer.charge()?;
    let of_states = of.into_iter().map(|(row, _)| row).collect();
    Ok(PushDownRows { of_states, rows: table.tokens, pending: found.pending, pairs: found.pairs })
}

/// Most suffixes in all sets that are followed without marks, for each token of the vocabulary. Grammars of programming languages
/// have fewer; where a rule calls itself twice in a row, a few frames have them.
const PILED_UP: usize = 8;

/// Vocabularies of fewer tokens are taken to have so many.
const FEW_TOKENS: usize = 512;

/// Suffixes that are looked at in the time of one step elsewhere.
const SUFFIXES_PER_STEP: u64 = 8;

/// The suffix sets of some states, and all pairs that can come up below them.
struct Followed {
    pending: Vec<SuffixSetId>,
    pairs: Vec<Vec<Pair>>,
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
    sets: SuffixSets,
    tried: Tried<'a>,
    /// Whether suffixes are marked with the classes that they have been tried at.
    is_marking: bool,
    budget: &'a Budget,
}

/// How many rows and lists of suffixes there were.
#[derive(Debug, Clone, Copy)]
struct Mark {
    tokens: usize,
    pending: usize,
}

impl RowTable<'_> {
    fn mark(&self) -> Mark {
        Mark { tokens: self.tokens.len(), pending: self.pending.len() }
    }

    /// Forgets all sets, and what was found since the mark; from now on suffixes are marked.
    fn begin_marking(&mut self, mark: Mark) {
        let Mark { tokens, pending } = mark;
        self.of_state.retain(|_, known| known.0 < tokens && known.1 < pending);
        self.tokens.truncate(tokens);
        self.pending.truncate(pending);
        self.sets = SuffixSets::new();
        self.is_marking = true;
    }

    /// The suffix sets of states whose rows stand at the places `of`, followed to all return states that may lie below; `None` if
    /// suffixes pile up that are not marked.
    fn follow_all(
        &mut self,
        calls: &Calls,
        classes: &ReturnClasses,
        states: &[Asked],
        of: &[(usize, usize)],
    ) -> Result<Option<Followed>, CompileError> {
        let most = PILED_UP * FEW_TOKENS.max((self.trie.to - self.trie.from) as usize);
        let mut pending = Vec::with_capacity(states.len());
        for (&(_, left), Asked { under, .. }) in of.iter().zip(states) {
            pending.push(self.first_set(left, &under.follow)?);
        }
        let mut pairs: Vec<Vec<Pair>> = Vec::new();
        let mut asked: foldhash::HashSet<(SuffixSetId, ReturnClassId)> = foldhash::HashSet::default();
        let mut open: Vec<(SuffixSetId, ReturnClassId)> = Vec::new();
        for (&suffixes, Asked { under, .. }) in pending.iter().zip(states) {
            open.extend(under.classes.iter().map(|&class| (suffixes, class)));
            while let Some((suffixes, class)) = open.pop() {
                if suffixes == SuffixSetId::EMPTY || !asked.insert((suffixes, class)) {
                    continue;
                }
                let Some(state) = classes.states(calls, class).next() else { continue };
                let (row, left) = self.of_pair(suffixes, class, state)?;
                if !self.is_marking && self.sets.suffixes() > most {
                    return Ok(None);
                }
                open.extend(self.tried.under(class).classes.iter().map(|&below| (left, below)));
                if self.tokens[row].is_empty() && left == SuffixSetId::EMPTY {
                    continue;
                }
                pairs.resize(pairs.len().max(suffixes.index() + 1), Vec::new());
                pairs[suffixes.index()].push(Pair { class, row, suffixes: left });
            }
        }
        pairs.resize(self.sets.len(), Vec::new());
        pairs.iter_mut().for_each(|pairs| pairs.sort_unstable_by_key(|pair| pair.class));
        Ok(Some(Followed { pending, pairs }))
    }

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

    /// The set of suffixes pending at the end of a state's rule that go on with a byte that may follow. None has been tried.
    fn first_set(&mut self, left: usize, follow: &ByteSet) -> Result<SuffixSetId, CompileError> {
        let PendingSuffixes { whole, blocks } = &self.pending[left];
        let fresh = blocks.iter().map(|&(block, end)| Suffix { block, end, tried: TriedId::NONE });
        let blocks = fresh.filter(|suffix| goes_on(&self.trie, suffix.block, follow)).collect();
        let whole = (*whole && !follow.is_empty()).then_some(TriedId::NONE);
        self.sets.intern(SuffixSet { whole, blocks }, self.budget)
    }

    /// The row of a suffix set at the return states of a class, one of which is `state`, and the suffixes that end that rule too
    /// and go on with a byte that may follow.
    fn of_pair(
        &mut self,
        suffixes: SuffixSetId,
        class: ReturnClassId,
        state: StateId,
    ) -> Result<(usize, SuffixSetId), CompileError> {
        let set = self.sets.get(suffixes);
        let fresh = set.blocks.iter().filter(|suffix| !self.tried.has(suffix.tried, class));
        let fresh: Vec<(u32, u32)> = fresh.map(|suffix| (suffix.block, suffix.end)).collect();
        let mut row = StateRow::default();
        let mut place = None;
        if set.whole.is_some_and(|tried| !self.tried.has(tried, class)) {
            let (tokens, left) = self.of_state(state)?;
            row.pending = self.pending[left].clone();
            if fresh.is_empty() {
                place = Some(tokens);
            } else {
                row.tokens = self.tokens[tokens].clone();
            }
        }
        if !fresh.is_empty() {
            self.computer.read(&fresh, state, &mut row)?;
        }
        let row_place = match place {
            Some(place) => place,
            None => self.push(row.tokens)?,
        };
        let none = SuffixSet::default();
        let staying = if self.computer.accepts(state) { &*set } else { &none };
        let left = self.left(row.pending, staying, class)?;
        Ok((row_place, left))
    }

    /// The suffixes pending below the return states of a class: those that were left there, and those that stay pending because the rule may end
    /// at once, as far as they go on with a byte that may follow.
    fn left(
        &mut self,
        left: PendingSuffixes,
        staying: &SuffixSet,
        class: ReturnClassId,
    ) -> Result<SuffixSetId, CompileError> {
        if self.is_marking {
            self.budget.charge_steps(PHASE, staying.blocks.len() as u64 / SUFFIXES_PER_STEP)?;
        }
        let mut whole = left.whole.then_some(TriedId::NONE);
        if let Some(tried) = staying.whole.filter(|_| self.is_marking) {
            whole = Some(self.tried.with(tried, class));
        }
        let whole = whole.filter(|&tried| !self.tried.follow(class, tried).is_empty());
        let first = self.tried.first(class);
        let mut blocks: Vec<Suffix> = Vec::with_capacity(left.blocks.len());
        let mut stays = staying.blocks.iter().peekable();
        let mut left = left.blocks.into_iter().peekable();
        loop {
            let next = match (left.peek(), stays.peek()) {
                (Some(&(block, end)), stay) if stay.is_none_or(|stay| block < stay.block) => {
                    left.next();
                    Suffix { block, end, tried: TriedId::NONE }
                }
                (left_block, Some(&&suffix)) => {
                    let is_left = left_block.is_some_and(|left| left.0 == suffix.block);
                    stays.next();
                    if is_left {
                        left.next();
                    }
                    // One that was read here and is not left has all its tokens in the row.
                    if !is_left && !self.tried.has(suffix.tried, class) {
                        continue;
                    }
                    let tried = if self.is_marking && goes_on(&self.trie, suffix.block, &first) {
                        self.tried.with(suffix.tried, class)
                    } else {
                        suffix.tried
                    };
                    Suffix { tried, ..suffix }
                }
                (None, None) => break,
                (Some(_), None) => unreachable!("taken above"),
            };
            let follow = self.tried.follow(class, next.tried);
            if goes_on(&self.trie, next.block, &follow) {
                blocks.push(next);
            }
        }
        self.sets.intern(SuffixSet { whole, blocks }, self.budget)
    }

    fn push(&mut self, tokens: RowTokens) -> Result<usize, CompileError> {
        self.budget.charge_bytes(PHASE, tokens.ranges.len() as u64 * 8)?;
        self.tokens.push(tokens);
        Ok(self.tokens.len() - 1)
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
fn goes_on(trie: &Trie<'_>, block: u32, follow: &ByteSet) -> bool {
    for node in &trie.nodes[block as usize..] {
        if follow.contains(node.byte()) {
            return true;
        }
        if node.is_last() {
            break;
        }
    }
    false
}
