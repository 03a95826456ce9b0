//! The configurations that a token can be in since it began, as a deterministic automaton over sets of them: the subset construction
//! of a push-down automaton with the stack's own part interned, built as the walk of the vocabulary needs it.
//!
//! A set has, for each state, one set of stacks: a graph-structured stack (Tomita 1985), so that a text that can be read in
//! exponentially many ways has one set as well. Each step is computed once, and a set without calls is a state.

use foldhash::{HashMap, HashMapExt};
use gobo_automata::{ExitId, ReturnId, StateId};
use gobo_types::{Budget, CompileError, DenseId as _, Table, dense_id};

use super::lengths::Top;
use super::levels::Levels;
use super::view::RuleView;
use super::{NODES_PER_CHARGE, PHASE};

/// What a state or a stack takes in a set of them.
pub(crate) const BYTES_PER_COUNT: usize = 16;

dense_id! {
    /// A set of configurations.
    pub(crate) struct ConfigurationSetId;

    /// A set of stacks.
    pub(crate) struct StacksId;

    /// A set of exits.
    pub(crate) struct ExitSetId;
}

/// The set without exits.
pub(crate) const NO_EXITS: ExitSetId = ExitSetId(0);

/// The set of the first exit alone.
const FIRST_EXIT: ExitSetId = ExitSetId(1);

/// The set without configurations.
pub(crate) const DEAD_SET: ConfigurationSetId = ConfigurationSetId(0);

/// Stands in tables for a set that has not been looked up yet.
pub(crate) const UNKNOWN: ConfigurationSetId = ConfigurationSetId(u32::MAX);

/// The one stack without frames of the token's own.
const BOTTOM: StacksId = StacksId(0);

/// A set of stacks, limited to the frames that a token has pushed itself; equal sets have one identifier. A set is the return states on top,
/// each with the set of what may lie below it, so that sets share what lies below, and however many ways a text can be read
/// in, a state has one set.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Stacks {
    /// Whether the empty stack is among them.
    empty: bool,
    /// Return states, ascending, and what lies below each.
    tops: Box<[(Top, StacksId)]>,
}

/// What the walk asks of a set of configurations at each node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SetInfo {
    /// A state in it with transitions to itself; [`StateId::DEAD`] if there is none.
    pub(crate) looped: StateId,
    /// The exits at which the rule at the bottom may end here, and more be read after it.
    pub(crate) ends: ExitSetId,
    /// Whether something can be read before the rule at the bottom ends.
    pub(crate) reads: bool,
}

/// The configurations that a token can be in since it began, as far as it has pushed and popped itself: a deterministic
/// automaton over sets of them, built as the walk needs it.
pub(crate) struct ConfigurationSets<'a> {
    view: &'a RuleView<'a>,
    levels: Option<&'a Levels>,
    stacks: Table<StacksId, Stacks>,
    known_stacks: HashMap<Stacks, StacksId>,
    known_unions: HashMap<(StacksId, StacksId), StacksId>,
    /// Sets of exits, ascending.
    exits: Table<ExitSetId, Box<[ExitId]>>,
    known_exits: HashMap<Box<[ExitId]>, ExitSetId>,
    /// The states of each set with their stacks, ascending by state.
    pub(crate) sets: Table<ConfigurationSetId, Box<[(StateId, StacksId)]>>,
    known: HashMap<Box<[(StateId, StacksId)]>, ConfigurationSetId>,
    /// The set of each state alone with nothing pushed, which most are; [`UNKNOWN`] where it was not met.
    known_alone: Table<StateId, ConfigurationSetId>,
    pub(crate) infos: Table<ConfigurationSetId, SetInfo>,
    /// `[sets, classes]`.
    steps: Vec<ConfigurationSetId>,
    budget: &'a Budget,
    /// States and stacks looked at.
    counted: u64,
    /// Those since the last look at the budget.
    uncharged: u64,
    /// What the budget had against it. Sets found from then on are wrong and lead nowhere.
    pub(crate) error: Option<CompileError>,
}

impl<'a> ConfigurationSets<'a> {
    /// With `levels` sets stay on one level of the stack: where rules are called, they end.
    pub(crate) fn new(view: &'a RuleView<'a>, levels: Option<&'a Levels>, budget: &'a Budget) -> Self {
        let bottom = Stacks { empty: true, tops: Box::default() };
        let mut sets = Self {
            view,
            levels,
            stacks: vec![bottom.clone()].into(),
            known_stacks: HashMap::from_iter([(bottom, BOTTOM)]),
            known_unions: HashMap::new(),
            exits: vec![Box::default(), Box::new([ExitId::FIRST]) as Box<[ExitId]>].into(),
            known_exits: HashMap::from_iter([
                (Box::default(), NO_EXITS),
                (Box::new([ExitId::FIRST]) as Box<[ExitId]>, FIRST_EXIT),
            ]),
            sets: Table::new(),
            known: HashMap::new(),
            known_alone: Table::filled(UNKNOWN, view.len()),
            infos: Table::new(),
            steps: Vec::new(),
            budget,
            counted: 0,
            uncharged: 0,
            error: None,
        };
        sets.intern(&[]);
        sets
    }

    /// Steps counted so far, and bytes that the budget has not been charged yet.
    pub(crate) fn spent(&self) -> (u64, u64) {
        (self.counted, self.uncharged * BYTES_PER_COUNT as u64)
    }

    /// Counts work on `n` states or stacks, of [`BYTES_PER_COUNT`] each. `false` once the budget has run out.
    pub(crate) fn count(&mut self, n: usize) -> bool {
        self.counted += n as u64;
        self.uncharged += n as u64;
        if self.uncharged >= NODES_PER_CHARGE && self.error.is_none() {
            let n = std::mem::take(&mut self.uncharged);
            let charged = self
                .budget
                .charge_steps(PHASE, n)
                .and_then(|()| self.budget.charge_bytes(PHASE, n * BYTES_PER_COUNT as u64));
            self.error = charged.err();
        }
        self.error.is_none()
    }

    /// The set of one configuration with nothing pushed.
    pub(crate) fn start(&mut self, state: StateId) -> ConfigurationSetId {
        self.intern(&[(state, BOTTOM)])
    }

    /// The number of a set: states with their stacks, ascending by state.
    pub(crate) fn intern(&mut self, set: &[(StateId, StacksId)]) -> ConfigurationSetId {
        let alone = match *set {
            [(state, BOTTOM)] => Some(state),
            _ => None,
        };
        let known = match alone {
            Some(state) => Some(self.known_alone[state]).filter(|&known| known != UNKNOWN),
            None => self.known.get(set).copied(),
        };
        if let Some(known) = known {
            return known;
        }
        let table = self.view.stride() * size_of::<ConfigurationSetId>();
        self.count(set.len() + table.div_ceil(BYTES_PER_COUNT));
        let mut info = SetInfo { looped: StateId::DEAD, ends: NO_EXITS, reads: false };
        for &(state, stacks) in set {
            // Where characters are counted, a state is not the same again.
            if info.looped == StateId::DEAD && self.view.has_loops(state) && !self.is_counted(stacks) {
                info.looped = state;
            }
            info.reads |= stacks != BOTTOM || !self.is_end(state);
        }
        if self.view.has_calls() {
            info.ends = self.ends(set);
        }
        self.infos.push(info);
        self.steps.resize(self.steps.len() + self.view.stride(), UNKNOWN);
        let fresh = self.sets.push(set.into());
        match alone {
            Some(state) => self.known_alone[state] = fresh,
            None => {
                self.known.insert(set.into(), fresh);
            }
        }
        fresh
    }

    /// The exits of a set, ascending.
    #[inline]
    pub(crate) fn exits(&self, exits: ExitSetId) -> &[ExitId] {
        &self.exits[exits]
    }

    /// Where the rule at the bottom may end: in a state of the set, or in one that is popped to where the token's own calls
    /// may all end.
    fn ends(&mut self, set: &[(StateId, StacksId)]) -> ExitSetId {
        let mut ends = NO_EXITS;
        let mut others: Vec<ExitId> = Vec::new();
        if let Some(levels) = self.levels {
            set.iter().for_each(|&(state, _)| others.extend(levels.ends(self.view, state)));
            return self.exit_set(others);
        }
        self.each_popped(set, |sets, state, stacks| {
            if sets.view.accepts(state) && sets.stacks[stacks].empty {
                match sets.view.exit(state) {
                    ExitId::FIRST => ends = FIRST_EXIT,
                    exit => others.push(exit),
                }
            }
        });
        if others.is_empty() {
            return ends;
        }
        others.extend((ends == FIRST_EXIT).then_some(ExitId::FIRST));
        self.exit_set(others)
    }

    /// The number of a set of exits.
    fn exit_set(&mut self, mut others: Vec<ExitId>) -> ExitSetId {
        others.sort_unstable();
        others.dedup();
        if let Some(&known) = self.known_exits.get(&*others) {
            return known;
        }
        self.count(1 + others.len());
        let others: Box<[ExitId]> = others.into();
        let fresh = self.exits.push(others.clone());
        self.known_exits.insert(others, fresh);
        fresh
    }

    /// Visits each of some states with its stacks, and each that can be popped to without reading, once.
    fn each_popped(
        &mut self,
        set: &[(StateId, StacksId)],
        mut visit: impl FnMut(&mut Self, StateId, StacksId),
    ) {
        let is_popped = |sets: &Self, &(state, stacks): &(StateId, StacksId)| {
            sets.view.accepts(state) && stacks != BOTTOM
        };
        if !set.iter().any(|at| is_popped(self, at)) {
            set.iter().for_each(|&(state, stacks)| visit(self, state, stacks));
            return;
        }
        let mut open: Vec<(StateId, StacksId)> = set.to_vec();
        let mut seen: foldhash::HashSet<(StateId, StacksId)> = set.iter().copied().collect();
        while let Some((state, stacks)) = open.pop() {
            if !self.count(1) {
                return;
            }
            visit(self, state, stacks);
            if is_popped(self, &(state, stacks)) {
                let lengths = self.view.lengths();
                let exit = self.view.exit(state);
                for &(top, below) in self.stacks[stacks].tops.iter().filter(|(top, _)| lengths.may_pop(*top))
                {
                    let popped = self.view.return_state(top.of, exit).map(|back| (back, below));
                    open.extend(popped.filter(|popped| seen.insert(*popped)));
                }
            }
        }
    }

    /// Whether rules may be called in a state of a set that stays on one level of the stack.
    pub(crate) fn may_call(&self, set: ConfigurationSetId) -> bool {
        let calls = |levels: &Levels| self.sets[set].iter().any(|at| levels.call_exit(at.0).is_some());
        self.levels.is_some_and(calls)
    }

    /// Whether nothing can be read in a state, on its level of the stack.
    fn is_end(&self, state: StateId) -> bool {
        if self.levels.is_some() { self.view.reads_nothing(state) } else { self.view.is_end(state) }
    }

    /// The set after a byte of the class.
    #[inline]
    pub(crate) fn step(&mut self, from: ConfigurationSetId, class: u8) -> ConfigurationSetId {
        let at = from.index() * self.view.stride() + usize::from(class);
        let known = self.steps[at];
        if known == UNKNOWN { self.compute(from, class, at) } else { known }
    }

    #[cold]
    fn compute(&mut self, from: ConfigurationSetId, class: u8, at: usize) -> ConfigurationSetId {
        let view = self.view;
        // Most sets are one state that has nothing to do but to read.
        if let [(state, stacks)] = *self.sets[from]
            && (self.levels.is_some() || stacks == BOTTOM || !view.accepts(state))
            && (self.levels.is_some() || view.push_transitions(state).is_empty())
        {
            let next = view.step(state, class);
            let next = next.and_then(|next| Some((next, self.counted(stacks, next, class)?)));
            if next.is_none_or(|(next, _)| stacks == BOTTOM || !self.view.is_end(next)) {
                let to = next.map_or(DEAD_SET, |next| self.intern(&[next]));
                self.steps[at] = to;
                return to;
            }
        }
        let mut next: Vec<(StateId, StacksId)> = Vec::new();
        let set = self.sets[from].clone();
        self.each_popped(&set, |sets, state, stacks| {
            if let Some(to) = view.step(state, class)
                && let Some(stacks) = sets.counted(stacks, to, class)
            {
                sets.arrive(to, stacks, &mut next);
            }
            for push in view.push_transitions(state) {
                if let Some(to) = view.step(push.entry, class) {
                    let on_top = |below, &top: &ReturnId| {
                        let top = view.lengths().pushed(top);
                        sets.intern_stacks(Stacks { empty: false, tops: Box::new([(top, below)]) })
                    };
                    let pushed = view.pushed(push).iter().fold(stacks, on_top);
                    if let Some(pushed) = sets.counted(pushed, to, class) {
                        sets.arrive(to, pushed, &mut next);
                    }
                }
            }
        });
        next.sort_unstable();
        next.dedup();
        // One set of stacks for each state.
        let mut merged: Vec<(StateId, StacksId)> = Vec::with_capacity(next.len());
        for (state, stacks) in next {
            match merged.last_mut() {
                Some(last) if last.0 == state => last.1 = self.union(last.1, stacks),
                _ => merged.push((state, stacks)),
            }
        }
        let to = if self.error.is_none() { self.intern(&merged) } else { DEAD_SET };
        self.steps[at] = to;
        to
    }

    /// Whether some bound may still matter to what is read above one of the stacks.
    pub(crate) fn is_counted(&self, stacks: StacksId) -> bool {
        self.stacks[stacks].tops.iter().any(|(top, _)| top.is_counted())
    }

    /// The stacks after a byte of the class has led to `state`; `None` if none of them can be brought to an end in time.
    fn counted(&mut self, stacks: StacksId, state: StateId, class: u8) -> Option<StacksId> {
        if stacks == BOTTOM || !self.is_counted(stacks) {
            return Some(stacks);
        }
        let Stacks { empty, tops } = self.stacks[stacks].clone();
        let after =
            |&(top, below): &(Top, StacksId)| Some((self.view.lengths().after(top, state, class)?, below));
        let mut counted: Vec<(Top, StacksId)> = tops.iter().filter_map(after).collect();
        counted.sort_unstable();
        if !empty && counted.is_empty() {
            return None;
        }
        // Tops that no bound concerns any more may be one now.
        let mut merged: Vec<(Top, StacksId)> = Vec::with_capacity(counted.len());
        for (top, below) in counted {
            match merged.last_mut() {
                Some(last) if last.0 == top => last.1 = self.union(last.1, below),
                _ => merged.push((top, below)),
            }
        }
        Some(self.intern_stacks(Stacks { empty, tops: merged.into() }))
    }

    fn intern_stacks(&mut self, stacks: Stacks) -> StacksId {
        self.count(1 + stacks.tops.len());
        *self.known_stacks.entry(stacks).or_insert_with_key(|stacks| self.stacks.push(stacks.clone()))
    }

    /// The stacks of either set. As deep as a token has bytes.
    fn union(&mut self, one: StacksId, other: StacksId) -> StacksId {
        if one == other || !self.count(1) {
            return one;
        }
        let key = (one.min(other), one.max(other));
        if let Some(&known) = self.known_unions.get(&key) {
            return known;
        }
        let (left, right) = (self.stacks[one].clone(), self.stacks[other].clone());
        let mut tops: Vec<(Top, StacksId)> = left.tops.iter().chain(&right.tops).copied().collect();
        tops.sort_unstable();
        let mut merged: Vec<(Top, StacksId)> = Vec::with_capacity(tops.len());
        for (top, below) in tops {
            match merged.last_mut() {
                Some(last) if last.0 == top => last.1 = self.union(last.1, below),
                _ => merged.push((top, below)),
            }
        }
        let union = self.intern_stacks(Stacks { empty: left.empty || right.empty, tops: merged.into() });
        self.known_unions.insert(key, union);
        union
    }

    /// Adds a state. A rule that can only end there has ended.
    fn arrive(&self, state: StateId, stacks: StacksId, next: &mut Vec<(StateId, StacksId)>) {
        if stacks == BOTTOM || !self.view.is_end(state) {
            next.push((state, stacks));
            return;
        }
        // Where a return state can only end too, which is so if it ends at another exit, it is popped with the next byte.
        let Stacks { empty, tops } = &self.stacks[stacks];
        let exit = self.view.exit(state);
        let ended = tops.iter().filter(|(top, _)| self.view.lengths().may_pop(*top));
        let back = |&(top, below): &(Top, StacksId)| Some((self.view.return_state(top.of, exit)?, below));
        next.extend(ended.filter_map(back));
        if *empty {
            next.push((state, BOTTOM));
        }
    }
}
