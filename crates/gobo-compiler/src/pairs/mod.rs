//! Rows of an automaton with calls, and of such states without calls as share most of their walks.
//!
//! What a token may do at a configuration falls into two parts. Tokens that stay inside the rule at hand, and the rules that
//! they call themselves, depend on the state alone: its row. A token that ends the rule before its own end leaves a
//! *pending suffix*, the rest of its bytes, to the return state on top of the stack. Pending suffixes are blocks of the vocabulary's
//! trie, each with the exit at which the rule has ended, so a state has one set of them; and what a set may do at a return state, each
//! suffix in the state after its exit, is a row again, and a set of suffixes that end that rule too. Rows are so keyed by state and by (suffix set, class of return states), and never by a path: the
//! mask of a configuration is the union along the top of its stack. After Willard & Louf 2023 (arXiv 2307.09702), section 4, and
//! Koo, Liu & He 2024 (arXiv 2407.08103), Algorithm 3, made finite by the sets: the stacks under which a token is allowed
//! form a regular language, and suffix sets are states of an automaton that reads the stack from its top.
//!
//! [`crate::rows`] computes the row of a state, which sees nothing of what may follow its rule. This module is the work list: it decides
//! which states have a row of their own, and follows suffix sets to all return states that may lie below.

mod compose;
mod exits;
pub(crate) mod return_classes;
mod same_rows;
mod suffix_cells;
pub(crate) mod suffix_sets;

use std::hash::BuildHasher as _;
use std::rc::Rc;
use std::sync::Arc;

use foldhash::fast::RandomState;
use foldhash::{HashMap, HashMapExt};
use gobo_artifact::layout::Trie;
use gobo_automata::{Calls, ExitId, KEquivalence, Return, StateId};
use gobo_types::{Budget, ByteSet, CompileError, DenseId as _};

use crate::pairs::compose::Composer;
use crate::pairs::exits::{Done, Seen, SetExits};
use crate::pairs::return_classes::{Asked, ReturnClassId, ReturnClasses, Under, Unders};
use crate::pairs::same_rows::SameRows;
use crate::pairs::suffix_cells::SuffixCells;
use crate::pairs::suffix_sets::{SuffixSetId, SuffixSets};
use crate::rows::{Levels, PHASE, PendingSuffixes, RowComputer, RowTokens, RuleView, SharedRows, StateRow};

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
    /// of the return state's rule too: those of all pairs of the class together. A missing pair allows nothing.
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
    let levels = calls.has_exits() && !calls.counts() && view.longest_token() <= MAX_NESTED;
    let levels = levels.then(|| Levels::of(calls, view.len(), budget)).transpose()?;
    // What is found on one level names calls by number.
    let shared = shared.filter(|_| levels.is_none());
    let mut table = RowTable {
        computer: RowComputer::new(view, equivalences, shared, levels.as_ref(), budget),
        composer: levels.as_ref().map(|levels| Composer::new(view, &calls.returns, levels, budget)),
        trie: view.all().trie,
        representatives: SameRows::new(equivalences, states),
        of_state: HashMap::new(),
        tokens: Vec::new(),
        hashes: RandomState::default(),
        places: HashMap::new(),
        pending: Vec::new(),
        sets: SuffixSets::new(),
        cells: None,
        under: vec![None; classes.len()],
        exits: calls.has_exits().then(SetExits::default),
        budget,
    };
    let of: Vec<(usize, usize)> =
        states.iter().map(|asked| table.of_state(asked.state)).collect::<Result<_, _>>()?;
    let mark = table.mark();
    let followed = match table.follow_all(calls, classes, states, &of)? {
        Some(followed) => followed,
        None => {
            table.begin_splitting(mark);
            let followed = table.follow_all(calls, classes, states, &of)?;
            followed.expect("only sets that are not split are said to pile up")
        }
    };
    table.computer.charge()?;
    let of_states = of.into_iter().map(|(row, _)| row).collect();
    let found = PushDownRows {
        pairs: table.pairs(&followed)?,
        rows: table.tokens,
        of_states,
        pending: followed.pending,
    };
    Ok(if table.cells.is_some() { found.swept() } else { found })
}

impl PushDownRows {
    /// Without the sets that no state leads to, and the rows of these.
    fn swept(mut self) -> Self {
        let mut is_met = vec![false; self.pairs.len()];
        is_met[SuffixSetId::EMPTY.index()] = true;
        let mut open = self.pending.clone();
        while let Some(set) = open.pop() {
            if !std::mem::replace(&mut is_met[set.index()], true) {
                open.extend(self.pairs[set.index()].iter().map(|pair| pair.suffixes));
            }
        }
        let mut is_used = vec![false; self.rows.len()];
        self.of_states.iter().for_each(|&row| is_used[row] = true);
        let met = self.pairs.iter().zip(&is_met).filter(|(_, is_met)| **is_met);
        met.flat_map(|(pairs, _)| pairs).for_each(|pair| is_used[pair.row] = true);
        let (sets, rows) = (places(&is_met), places(&is_used));
        let mut keep = is_met.into_iter();
        self.pairs.retain(|_| keep.next() == Some(true));
        let mut keep = is_used.into_iter();
        self.rows.retain(|_| keep.next() == Some(true));
        let set = |set: SuffixSetId| SuffixSetId::new(sets[set.index()]);
        for pair in self.pairs.iter_mut().flatten() {
            (pair.row, pair.suffixes) = (rows[pair.row], set(pair.suffixes));
        }
        self.pending.iter_mut().for_each(|pending| *pending = set(*pending));
        self.of_states.iter_mut().for_each(|row| *row = rows[*row]);
        self
    }
}

/// The place of each that is kept among all that are kept; of the others no matter what.
fn places(is_kept: &[bool]) -> Vec<usize> {
    let count = |kept: &mut usize, is_kept: &bool| {
        let place = *kept;
        *kept += usize::from(*is_kept);
        Some(place)
    };
    is_kept.iter().scan(0, count).collect()
}

/// The longest token, in bytes, with which rows are composed: calls of the composer stand in each other for as many rules as a token begins.
const MAX_NESTED: u32 = 256;

/// Most suffixes in all sets before sets are split, for each token of the vocabulary. Grammars of programming languages have
/// fewer; where a rule calls itself twice in a row, a few frames have them.
const PILED_UP: usize = 8;

/// Vocabularies of fewer tokens are taken to have so many.
const FEW_TOKENS: usize = 512;

/// Suffixes that are looked at in the time of one step elsewhere.
const SUFFIXES_PER_STEP: u64 = 8;

/// The suffix sets of some states, and what those that can come up below them do.
struct Followed {
    pending: Vec<SuffixSetId>,
    /// By set.
    effects: Vec<Vec<Effect>>,
}

/// Rows so far, and the suffix sets.
struct RowTable<'a> {
    computer: RowComputer<'a>,
    /// Where rules have several exits, and nothing is counted.
    composer: Option<Composer<'a>>,
    trie: Trie<'a>,
    representatives: SameRows<'a>,
    /// The places of the row and of the pending suffixes of each state that was asked for.
    of_state: HashMap<StateId, (usize, usize)>,
    tokens: Vec<RowTokens>,
    hashes: RandomState,
    /// By the hash of a row, the places of those that have it.
    places: HashMap<u64, Vec<usize>>,
    pending: Vec<PendingSuffixes>,
    sets: SuffixSets,
    /// What a frame leaves, as disjoint sets, once sets are split.
    cells: Option<SuffixCells>,
    /// `[classes]`: what may lie directly below the return states of each.
    under: Vec<Option<Arc<Under>>>,
    /// Where rules have several exits.
    exits: Option<SetExits>,
    budget: &'a Budget,
}

/// How many rows and lists of suffixes there were.
#[derive(Debug, Clone, Copy)]
struct Mark {
    tokens: usize,
    pending: usize,
}

/// What a suffix set does at the return states of a class.
struct Effect {
    class: ReturnClassId,
    /// The place of its row.
    row: usize,
    /// The sets that it leaves for the frame below, some of which may have been cut since.
    left: Vec<SuffixSetId>,
    /// Whether it stays pending there itself.
    stays: bool,
}

impl RowTable<'_> {
    fn mark(&self) -> Mark {
        Mark { tokens: self.tokens.len(), pending: self.pending.len() }
    }

    /// Forgets all sets, and what was found since the mark; from now on sets are split.
    fn begin_splitting(&mut self, mark: Mark) {
        let Mark { tokens, pending } = mark;
        self.of_state.retain(|_, known| known.0 < tokens && known.1 < pending);
        self.tokens.truncate(tokens);
        self.places.values_mut().for_each(|places| places.retain(|place| *place < tokens));
        self.pending.truncate(pending);
        self.sets = SuffixSets::new();
        self.cells = Some(SuffixCells::default());
        self.exits = self.exits.is_some().then(SetExits::default);
    }

    /// The suffix sets of states whose rows stand at the places `of`, followed to all return states that may lie below; `None` if
    /// suffixes pile up in sets that are not split.
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
            let left = self.going_on(self.pending[left].clone(), &under.follow);
            pending.push(self.sets.intern(left, self.budget)?);
        }
        let of_states = self.sets.len();
        let mut effects: Vec<Vec<Effect>> = Vec::new();
        let mut asked: foldhash::HashSet<(SuffixSetId, ReturnClassId)> = foldhash::HashSet::default();
        let mut open: Vec<(SuffixSetId, ReturnClassId)> = Vec::new();
        let mut unders = Unders::default();
        for (&suffixes, Asked { under, .. }) in pending.iter().zip(states) {
            open.extend(under.classes.iter().map(|&class| (suffixes, class)));
            while let Some((suffixes, class)) = open.pop() {
                if suffixes == SuffixSetId::EMPTY {
                    continue;
                }
                // A set of a state is there whether or not one of its kind was cut.
                let parts = self.cells.as_ref().and_then(|cells| cells.parts(suffixes));
                if let Some(parts) = parts.filter(|_| suffixes.index() >= of_states) {
                    open.extend(parts.map(|part| (part, class)));
                    continue;
                }
                if !asked.insert((suffixes, class)) {
                    continue;
                }
                let mut seen = None;
                if let Some(exits) = &mut self.exits {
                    seen = exits.seen(suffixes, classes.row(class), &self.sets, self.budget)?;
                    if seen.is_none() {
                        continue;
                    }
                }
                let at = classes.one(calls, class);
                let under = self.under[class.index()]
                    .get_or_insert_with(|| unders.of(classes, calls, classes.states(calls, class)));
                let under = Arc::clone(under);
                let (row, left, stays) = self.of_pair(suffixes, at, seen, &under.follow)?;
                effects.resize_with(effects.len().max(suffixes.index() + 1), Vec::new);
                effects[suffixes.index()].push(Effect { class, row, left: Vec::new(), stays });
                let left = self.numbered(left, of_states, |set, parts| {
                    // The parts are followed to wherever the set was.
                    let classes = effects.get(set.index()).into_iter().flatten().map(|effect| effect.class);
                    open.extend(classes.flat_map(|class| parts.map(|part| (part, class))));
                })?;
                if self.cells.is_none() && self.sets.suffixes() > most {
                    return Ok(None);
                }
                let stays = stays.then_some(suffixes);
                for set in left.iter().copied().chain(stays) {
                    let is_new = match &mut self.exits {
                        Some(exits) => exits.is_new(set, &under.classes, self.budget)?,
                        None => true,
                    };
                    if is_new {
                        let below = under.classes.iter().map(|&below| (set, below));
                        open.extend(below.filter(|pair| !asked.contains(pair)));
                    }
                }
                if let Some(effect) = effects[suffixes.index()].last_mut() {
                    effect.left = left;
                }
            }
        }
        Ok(Some(Followed { pending, effects }))
    }

    /// The numbers of the sets that a frame leaves; `was_cut` is told which ones were cut for them, and into what. The first
    /// `of_states` sets are those of states.
    fn numbered(
        &mut self,
        left: PendingSuffixes,
        of_states: usize,
        was_cut: impl FnMut(SuffixSetId, [SuffixSetId; 2]),
    ) -> Result<Vec<SuffixSetId>, CompileError> {
        match &mut self.cells {
            Some(cells) => cells.of(&left, &mut self.sets, of_states, self.budget, was_cut),
            None => Ok(vec![self.sets.intern(left, self.budget)?]),
        }
    }

    /// The pairs of all sets. Of several pairs of a set and a class the first has the row.
    fn pairs(&mut self, followed: &Followed) -> Result<Vec<Vec<Pair>>, CompileError> {
        let mut pairs = vec![Vec::new(); self.sets.len()];
        for (suffixes, effects) in SuffixSetId::enumerate(&followed.effects) {
            for effect in effects {
                let mut left = match &self.cells {
                    Some(cells) => cells.uncut(&effect.left),
                    None => effect.left.clone(),
                };
                left.retain(|set| *set != SuffixSetId::EMPTY);
                left.extend(effect.stays.then_some(suffixes));
                left.sort_unstable();
                left.dedup();
                if left.is_empty() && !self.tokens[effect.row].is_empty() {
                    left.push(SuffixSetId::EMPTY);
                }
                for (number, suffixes_left) in left.into_iter().enumerate() {
                    let row = if number == 0 { effect.row } else { self.push(RowTokens::default())? };
                    pairs[suffixes.index()].push(Pair { class: effect.class, row, suffixes: suffixes_left });
                }
            }
            pairs[suffixes.index()].sort_unstable_by_key(|pair| (pair.class, pair.suffixes));
        }
        Ok(pairs)
    }

    /// The places of the row of a state and of the suffixes pending at the end of its rule, whatever may follow.
    fn of_state(&mut self, state: StateId) -> Result<(usize, usize), CompileError> {
        let state = self.representatives.find(state, &mut self.computer)?;
        if let Some(&known) = self.of_state.get(&state) {
            return Ok(known);
        }
        let StateRow { tokens, pending } = match &mut self.composer {
            Some(composer) => composer.row(state, &mut self.computer)?,
            None => self.computer.row(state)?,
        };
        let of_pending = size_of_val(pending.blocks.as_slice()) as u64;
        self.budget.charge_bytes(PHASE, 32 + of_pending)?;
        self.pending.push(pending);
        let known = (self.push(tokens)?, self.pending.len() - 1);
        self.of_state.insert(state, known);
        Ok(known)
    }

    /// Those suffixes that go on with a byte that may follow.
    fn going_on(&self, mut left: PendingSuffixes, follow: &[ByteSet]) -> PendingSuffixes {
        let follow = |exit: ExitId| follow.get(exit.index()).filter(|follow| !follow.is_empty());
        left.whole = left.whole.filter(|&exit| follow(exit).is_some());
        left.blocks.retain(|of| follow(of.exit).is_some_and(|follow| goes_on(&self.trie, of.block, follow)));
        left
    }

    /// The place of the row of a suffix set at the return states of a class, one of which is `at`; the suffixes that end that
    /// rule too and go on with a byte that may follow; and whether the set itself stays pending beside these, which is where sets are split.
    /// `seen`: what the set sees of the class, where rules have several exits.
    fn of_pair(
        &mut self,
        suffixes: SuffixSetId,
        at: &Return,
        seen: Option<Seen>,
        follow: &[ByteSet],
    ) -> Result<(usize, PendingSuffixes, bool), CompileError> {
        let set = self.sets.get(suffixes);
        let known =
            self.exits.as_ref().zip(seen.as_ref()).and_then(|(exits, seen)| exits.done(suffixes, seen));
        let Done { row, left, passes } = match known {
            Some(done) => done,
            None => {
                let done = self.computed(&set, at)?;
                // The composer knows all that it has read.
                if let Some((exits, seen)) = self.exits.as_mut().zip(seen).filter(|_| self.composer.is_none())
                {
                    exits.keep(suffixes, seen, &done, self.budget)?;
                }
                done
            }
        };
        let mut left = Rc::unwrap_or_clone(left);
        let stays = self.cells.is_some() && passes && self.goes_on(&set, follow);
        if stays {
            self.budget.charge_steps(PHASE, set.blocks.len() as u64 / SUFFIXES_PER_STEP)?;
            left.whole = None;
            let mut staying = set.blocks.iter().peekable();
            left.blocks.retain(|suffix| {
                while staying.next_if(|stay| *stay < suffix).is_some() {}
                staying.peek() != Some(&suffix)
            });
        }
        Ok((row, self.going_on(left, follow), stays))
    }

    /// What a set does at a return state, whatever may lie below.
    fn computed(&mut self, set: &PendingSuffixes, at: &Return) -> Result<Done, CompileError> {
        let mut row = StateRow::default();
        let mut place = None;
        if let Some(state) = set.whole.and_then(|exit| at.state(exit)) {
            let (tokens, left) = self.of_state(state)?;
            row.pending = self.pending[left].clone();
            if set.blocks.is_empty() {
                place = Some(tokens);
            } else {
                row.tokens = self.tokens[tokens].clone();
            }
        }
        if !set.blocks.is_empty() {
            match &mut self.composer {
                Some(composer) => composer.read_below(&set.blocks, at, &mut self.computer, &mut row)?,
                None => self.computer.read(&set.blocks, at, &mut row)?,
            }
        }
        let left = Rc::new(row.pending);
        let row = match place {
            Some(place) => place,
            None => self.push(row.tokens)?,
        };
        let ends_at_once =
            |exit: ExitId| at.state(exit).and_then(|state| self.computer.end(state)) == Some(exit);
        let passes = self.cells.is_some()
            && set.whole.is_none_or(ends_at_once)
            && set.blocks.iter().all(|of| ends_at_once(of.exit));
        Ok(Done { row, left, passes })
    }

    /// Whether a suffix of a set goes on with a byte that may follow.
    fn goes_on(&self, set: &PendingSuffixes, follow: &[ByteSet]) -> bool {
        let follow = |exit: ExitId| follow.get(exit.index()).filter(|follow| !follow.is_empty());
        set.whole.is_some_and(|exit| follow(exit).is_some())
            || set
                .blocks
                .iter()
                .any(|of| follow(of.exit).is_some_and(|follow| goes_on(&self.trie, of.block, follow)))
    }

    /// The place of a row: one for all that have the same tokens.
    fn push(&mut self, tokens: RowTokens) -> Result<usize, CompileError> {
        let places = self.places.entry(self.hashes.hash_one(&tokens)).or_default();
        if let Some(&known) = places.iter().find(|&&place| self.tokens[place] == tokens) {
            return Ok(known);
        }
        places.push(self.tokens.len());
        self.budget.charge_bytes(PHASE, 32 + tokens.ranges.len() as u64 * 8)?;
        self.tokens.push(tokens);
        Ok(self.tokens.len() - 1)
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
