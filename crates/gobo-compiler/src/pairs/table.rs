//! The work list: which states have a row of their own, and suffix sets followed to all return states that may lie below.

use std::hash::BuildHasher as _;
use std::rc::Rc;
use std::sync::Arc;

use foldhash::fast::RandomState;
use foldhash::{HashMap, HashMapExt as _};
use gobo_artifact::layout::Trie;
use gobo_automata::{Calls, ExitId, Return, RowClass, StateId};
use gobo_types::{Budget, ByteSet, CompileError, DenseId as _, checked_u32};

use super::compose::{Composer, ReadId};
use super::exits::{Done, SetExits};
use super::lists::Left;
use super::return_classes::{Asked, ReturnClassId, ReturnClasses, Under, Unders};
use super::same_rows::SameRows;
use super::suffix_cells::SuffixCells;
use super::suffix_sets::{Pair, SuffixSetId, SuffixSets};
use crate::rows::{PHASE, PendingSuffixes, RowComputer, RowTokens, StateRow};

/// Most suffixes in all sets before sets are split, for each token of the vocabulary. Grammars of programming languages have
/// fewer; where a rule calls itself twice in a row, a few frames have them.
const PILED_UP: usize = 8;

/// Vocabularies of fewer tokens are taken to have so many.
const FEW_TOKENS: usize = 512;

/// Suffixes that are looked at in the time of one step elsewhere.
const SUFFIXES_PER_STEP: u64 = 8;

/// Bytes of a pair that was asked for.
const PAIR_BYTES: u64 = 16;

/// The suffix sets of some states, and what those that can come up below them do.
pub(super) struct Followed {
    pub(super) pending: Vec<SuffixSetId>,
    /// By set.
    effects: Vec<Vec<Effect>>,
    /// The sets that each of them leaves.
    left: Vec<SuffixSetId>,
}

/// Rows so far, and the suffix sets.
pub(super) struct RowTable<'a> {
    computer: RowComputer<'a>,
    /// Where rows are composed.
    composed: Option<Composed<'a>>,
    trie: Trie<'a>,
    representatives: SameRows<'a>,
    /// The places of the row and of the pending suffixes of each state that was asked for.
    of_state: HashMap<StateId, (usize, usize)>,
    pub(super) tokens: Vec<RowTokens>,
    hashes: RandomState,
    /// By the hash of a row, the places of those that have it.
    places: HashMap<u64, Vec<usize>>,
    pending: Vec<PendingSuffixes>,
    sets: SuffixSets,
    /// What a frame leaves, as disjoint sets, once sets are split.
    cells: Option<SuffixCells>,
    /// `[classes]`: what may lie directly below the return states of each.
    under: Vec<Option<Arc<Under>>>,
    /// All of these: their numbers are of this table.
    unders: Unders,
    /// Where rules have several exits.
    exits: Option<SetExits>,
    budget: &'a Budget,
}

/// What is composed, and what has become of it.
struct Composed<'a> {
    composer: Composer<'a>,
    /// The suffixes of sets by exit.
    lists: HashMap<SuffixSetId, Rc<Left>>,
    done: HashMap<ReadId, Done>,
    /// What is left of a read for the frame below, by what may lie there; where sets are not split.
    left: HashMap<(ReadId, usize), SuffixSetId>,
}

/// How many rows and lists of suffixes there were.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    tokens: usize,
    pending: usize,
}

/// What a set does at a return state.
struct AtReturn {
    row: usize,
    left: Leaves,
    /// Whether the set itself stays pending beside these, which is where sets are split.
    stays: bool,
}

/// What is pending for the frame below.
enum Leaves {
    Set(SuffixSetId),
    Suffixes(PendingSuffixes),
}

/// What a suffix set does at the return states of a class.
struct Effect {
    class: ReturnClassId,
    /// The place of its row.
    row: u32,
    /// Where the sets stand that it leaves for the frame below, some of which may have been cut since.
    left: (u32, u32),
    /// Whether it stays pending there itself.
    stays: bool,
}

impl<'a> RowTable<'a> {
    /// Nothing so far. `composer`: where rows are composed.
    pub(super) fn new(
        computer: RowComputer<'a>,
        composer: Option<Composer<'a>>,
        representatives: SameRows<'a>,
        trie: Trie<'a>,
        classes: usize,
        has_exits: bool,
        budget: &'a Budget,
    ) -> Self {
        let composed = |composer| Composed {
            composer,
            lists: HashMap::new(),
            done: HashMap::new(),
            left: HashMap::new(),
        };
        Self {
            computer,
            composed: composer.map(composed),
            trie,
            representatives,
            of_state: HashMap::new(),
            tokens: Vec::new(),
            hashes: RandomState::default(),
            places: HashMap::new(),
            pending: Vec::new(),
            sets: SuffixSets::new(),
            cells: None,
            under: vec![None; classes],
            unders: Unders::default(),
            exits: has_exits.then(SetExits::default),
            budget,
        }
    }

    /// Charges what the walks have looked at.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(super) fn charge(&mut self) -> Result<(), CompileError> {
        self.computer.charge()
    }

    /// Whether sets are split.
    pub(super) fn is_split(&self) -> bool {
        self.cells.is_some()
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { tokens: self.tokens.len(), pending: self.pending.len() }
    }

    /// Forgets all sets, and what was found since the mark; from now on sets are split.
    pub(super) fn begin_splitting(&mut self, mark: Mark) {
        let Mark { tokens, pending } = mark;
        self.of_state.retain(|_, known| known.0 < tokens && known.1 < pending);
        self.tokens.truncate(tokens);
        self.places.values_mut().for_each(|places| places.retain(|place| *place < tokens));
        self.pending.truncate(pending);
        self.sets = SuffixSets::new();
        self.cells = Some(SuffixCells::default());
        self.exits = self.exits.is_some().then(SetExits::default);
        if let Some(Composed { lists, done, left, .. }) = &mut self.composed {
            lists.clear();
            done.clear();
            left.clear();
        }
    }

    /// The suffix sets of states whose rows stand at the places `of`, followed to all return states that may lie below; `None` if
    /// suffixes pile up in sets that are not split.
    pub(super) fn follow_all(
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
        let mut all_left: Vec<SuffixSetId> = Vec::new();
        let mut asked: foldhash::HashSet<(SuffixSetId, ReturnClassId)> = foldhash::HashSet::default();
        let mut open: Vec<(SuffixSetId, ReturnClassId)> = Vec::new();
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
                self.budget.charge_bytes(PHASE, PAIR_BYTES)?;
                let unders = &mut self.unders;
                let under = self.under[class.index()]
                    .get_or_insert_with(|| unders.of(classes, calls, classes.states(calls, class)));
                let under = Arc::clone(under);
                let (row, at) = (classes.row(class), classes.one(calls, class));
                let Some(AtReturn { row, left, stays }) = self.at_return(suffixes, row, at, &under)? else {
                    continue;
                };
                effects.resize_with(effects.len().max(suffixes.index() + 1), Vec::new);
                effects[suffixes.index()].push(Effect { class, row: checked_u32(row), left: (0, 0), stays });
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
                    let followed = self.exits.as_mut();
                    if followed.map_or(Ok(true), |exits| exits.is_new(set, &under, self.budget))? {
                        let below = under.classes.iter().map(|&below| (set, below));
                        open.extend(below.filter(|pair| !asked.contains(pair)));
                    }
                }
                let held = size_of::<Effect>() + left.len() * size_of::<SuffixSetId>();
                self.budget.charge_bytes(PHASE, held as u64)?;
                let from = all_left.len();
                all_left.extend(left);
                if let Some(effect) = effects[suffixes.index()].last_mut() {
                    effect.left = (checked_u32(from), checked_u32(all_left.len()));
                }
            }
        }
        Ok(Some(Followed { pending, effects, left: all_left }))
    }

    /// The numbers of the sets that a frame leaves; `was_cut` is told which ones were cut for them, and into what. The first
    /// `of_states` sets are those of states.
    fn numbered(
        &mut self,
        left: Leaves,
        of_states: usize,
        was_cut: impl FnMut(SuffixSetId, [SuffixSetId; 2]),
    ) -> Result<Vec<SuffixSetId>, CompileError> {
        match (left, &mut self.cells) {
            (Leaves::Set(set), _) => Ok(vec![set]),
            (Leaves::Suffixes(left), Some(cells)) => {
                cells.of(&left, &mut self.sets, of_states, self.budget, was_cut)
            }
            (Leaves::Suffixes(left), None) => Ok(vec![self.sets.intern(left, self.budget)?]),
        }
    }

    /// The pairs of all sets. Of several pairs of a set and a class the first has the row.
    pub(super) fn pairs(&mut self, followed: &Followed) -> Result<Vec<Vec<Pair>>, CompileError> {
        let mut pairs = vec![Vec::new(); self.sets.len()];
        for (suffixes, effects) in SuffixSetId::enumerate(&followed.effects) {
            for effect in effects {
                let left = &followed.left[effect.left.0 as usize..effect.left.1 as usize];
                let mut left = match &self.cells {
                    Some(cells) => cells.uncut(left),
                    None => left.to_vec(),
                };
                left.retain(|set| *set != SuffixSetId::EMPTY);
                left.extend(effect.stays.then_some(suffixes));
                left.sort_unstable();
                left.dedup();
                let row = effect.row as usize;
                if left.is_empty() && !self.tokens[row].is_empty() {
                    left.push(SuffixSetId::EMPTY);
                }
                for (number, suffixes_left) in left.into_iter().enumerate() {
                    let row = if number == 0 { row } else { self.push(RowTokens::default())? };
                    pairs[suffixes.index()].push(Pair { class: effect.class, row, suffixes: suffixes_left });
                }
            }
            pairs[suffixes.index()].sort_unstable_by_key(|pair| (pair.class, pair.suffixes));
        }
        Ok(pairs)
    }

    /// The places of the row of a state and of the suffixes pending at the end of its rule, whatever may follow.
    pub(super) fn of_state(&mut self, state: StateId) -> Result<(usize, usize), CompileError> {
        let state = self.representatives.find(state, &mut self.computer)?;
        if let Some(&known) = self.of_state.get(&state) {
            return Ok(known);
        }
        let StateRow { tokens, pending } = match &mut self.composed {
            Some(Composed { composer, .. }) => {
                let read = composer.row(state, &mut self.computer)?;
                composer.found(read)
            }
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

    /// What a set does at the return states of a class, one of which is `at`; `row` has their row classes by exit. `None` if they have no state after
    /// any exit of the set: they are below a rule that shares states with the one that was called there.
    fn at_return(
        &mut self,
        suffixes: SuffixSetId,
        row: &[(ExitId, RowClass)],
        at: &Return,
        under: &Under,
    ) -> Result<Option<AtReturn>, CompileError> {
        let set = self.sets.get(suffixes);
        if self.composed.is_some() {
            return self.at_composed(suffixes, &set, at, under);
        }
        let Some(exits) = &mut self.exits else {
            let done = self.computed(&set, at)?;
            return self.leave(&set, &done, at, under).map(Some);
        };
        let Some(seen) = exits.seen(suffixes, row, &self.sets, self.budget)? else { return Ok(None) };
        let done = match exits.done(suffixes, &seen) {
            Some(done) => done,
            None => {
                let done = self.computed(&set, at)?;
                if let Some(exits) = &mut self.exits {
                    exits.keep(suffixes, seen, &done, self.budget)?;
                }
                done
            }
        };
        self.leave(&set, &done, at, under).map(Some)
    }

    /// The same, where rows are composed.
    fn at_composed(
        &mut self,
        suffixes: SuffixSetId,
        set: &PendingSuffixes,
        at: &Return,
        under: &Under,
    ) -> Result<Option<AtReturn>, CompileError> {
        let whole = set.whole.and_then(|exit| at.state(exit));
        let whole = whole.map(|state| self.representatives.find(state, &mut self.computer)).transpose()?;
        let Some(Composed { composer, lists, done, left }) = &mut self.composed else { return Ok(None) };
        let lists = match lists.get(&suffixes) {
            Some(known) => Rc::clone(known),
            None => {
                let fresh = Rc::new(composer.lists(set)?);
                self.budget.charge_bytes(PHASE, 32)?;
                lists.insert(suffixes, Rc::clone(&fresh));
                fresh
            }
        };
        self.budget.charge_steps(PHASE, 1 + lists.len() as u64)?;
        if whole.is_none() && lists.iter().all(|of_exit| at.state(of_exit.0).is_none()) {
            return Ok(None);
        }
        let whole = whole.map(|state| composer.row(state, &mut self.computer)).transpose()?;
        let read = composer.below(&lists, at, whole, &mut self.computer)?;
        let known = done.get(&read).cloned();
        if let (Some(done), Some(&left)) = (&known, left.get(&(read, under.number))) {
            return Ok(Some(AtReturn { row: done.row, left: Leaves::Set(left), stays: false }));
        }
        let known = match known {
            Some(known) => known,
            None => {
                let StateRow { tokens, pending } = composer.found(read);
                self.budget.charge_bytes(PHASE, 48 + size_of_val(pending.blocks.as_slice()) as u64)?;
                let fresh = Done { row: self.push(tokens)?, left: Rc::new(pending) };
                if let Some(composed) = &mut self.composed {
                    composed.done.insert(read, fresh.clone());
                }
                fresh
            }
        };
        let mut found = self.leave(set, &known, at, under)?;
        if let (Leaves::Suffixes(left), None, Some(composed)) = (&found.left, &self.cells, &mut self.composed)
        {
            let left = self.sets.intern(left.clone(), self.budget)?;
            self.budget.charge_bytes(PHASE, 24)?;
            composed.left.insert((read, under.number), left);
            found.left = Leaves::Set(left);
        }
        Ok(Some(found))
    }

    /// What of that is pending for the frame below.
    fn leave(
        &self,
        set: &PendingSuffixes,
        done: &Done,
        at: &Return,
        under: &Under,
    ) -> Result<AtReturn, CompileError> {
        let mut left = PendingSuffixes::clone(&done.left);
        let ends_at_once =
            |exit: ExitId| at.state(exit).and_then(|state| self.computer.end(state)) == Some(exit);
        let stays = self.cells.is_some()
            && set.whole.is_none_or(ends_at_once)
            && set.blocks.iter().all(|of| ends_at_once(of.exit))
            && self.goes_on(set, &under.follow);
        if stays {
            self.budget.charge_steps(PHASE, set.blocks.len() as u64 / SUFFIXES_PER_STEP)?;
            left.whole = None;
            let mut staying = set.blocks.iter().peekable();
            left.blocks.retain(|suffix| {
                while staying.next_if(|stay| *stay < suffix).is_some() {}
                staying.peek() != Some(&suffix)
            });
        }
        let left = Leaves::Suffixes(self.going_on(left, &under.follow));
        Ok(AtReturn { row: done.row, left, stays })
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
            self.computer.read(&set.blocks, at, &mut row)?;
        }
        let left = Rc::new(row.pending);
        let row = match place {
            Some(place) => place,
            None => self.push(row.tokens)?,
        };
        Ok(Done { row, left })
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
