//! Finds the fronts of all states, each after those of the states on which it depends.
//!
//! A state depends on another one if some token leads to it that is not live by where it ends alone. The strongly connected components of that relation are found in the
//! order in which all that they depend on is known (Tarjan 1972, *Depth-first search and linear graph algorithms*); nearly all are single states that do not depend on themselves. Of such a state
//! a key is made first: its lists of tokens with the classes of the states to which they lead. If a state with that key is known, there is nothing to find. Else its
//! fronts are found, and where nothing in them depends on the stack they are compared with those of all classes, too.
//!
//! O(states × lists + fronts × lists + tokens that are not live by where they end × those that follow).

use foldhash::{HashMap, HashMapExt};
use gobo_artifact::layout::NO_CHUNK;
use gobo_automata::{Interner, StateId};
use gobo_types::{CompileError, DenseId as _, Digest, Table, checked_u32};

use super::chains::OfChunks;
use super::component::{Component, Group, Local};
use super::inside::Kind;
use super::joined::Joined;
use super::tokens::{Alike, Leaving, Tokens, Ways};
use super::{Class, ClassId, FrontId, Fronts, Open};
use crate::canonical::lists::{ListId, Lists};
use crate::canonical::rules::{Stacks, Way};
use crate::canonical::texts::{ChunkSetId, Spot, Texts};
use crate::canonical::walk::{PHASE, Walk};

/// Bytes of a front, and of a group of tokens.
const FRONT_BYTES: u64 = 32;
const GROUP_BYTES: u64 = 40;

/// Where the tokens of a state lead.
enum Source {
    Between(Ways),
    Inside(Kind),
    /// No token begins there.
    Nothing,
}

impl Source {
    /// Bytes that it takes.
    fn bytes(&self) -> u64 {
        let of = match self {
            Self::Between(Ways { sure, others }) => {
                size_of_val(sure.as_slice()) + size_of_val(others.as_slice())
            }
            Self::Inside(kind) => size_of_val(kind.ways.as_slice()),
            Self::Nothing => 0,
        };
        (of + size_of::<Self>()) as u64
    }
}

/// A state that is being visited.
struct Visit {
    state: StateId,
    /// The states on which it depends, and how many were looked at.
    on: Vec<StateId>,
    looked: usize,
}

pub(super) struct Solver<'s, 'a> {
    pub(super) walk: &'s Walk<'s>,
    pub(super) texts: &'s Texts<'a>,
    pub(super) joined: &'s Joined<'s>,
    pub(super) tokens: Tokens,
    pub(super) fronts: Fronts,
    /// Classes by what was known of a state before it was looked at, and by what was found.
    pub(super) by_key: HashMap<[u8; 32], ClassId>,
    pub(super) by_content: HashMap<[u8; 32], ClassId>,
    /// Of tokens that end in a state of a class: those that are live, and those that may be.
    pub(super) fates: HashMap<(ClassId, u16, ListId), (ListId, ListId)>,
    /// `[ids]`: marks, all of them unset.
    pub(super) marks: Vec<bool>,
    /// `[states]`: whether all tokens are live that end there.
    pub(super) sure: Vec<bool>,
}

impl Fronts {
    pub(crate) fn new(
        walk: &Walk<'_>,
        texts: &Texts<'_>,
        joined: &Joined<'_>,
        stacks: &mut Stacks,
    ) -> Result<Self, CompileError> {
        let states = walk.rules.dfa.len();
        let fronts = Self {
            classes: Table::new(),
            class_of: vec![None; states],
            all: Table::new(),
            opens: Vec::new(),
            leaving: Vec::new(),
            live: Interner::default(),
            lists: Lists::default(),
        };
        let mut solver = Solver {
            walk,
            texts,
            joined,
            tokens: Tokens::new(walk),
            fronts,
            by_key: HashMap::new(),
            by_content: HashMap::new(),
            fates: HashMap::new(),
            marks: vec![false; walk.vocabulary.len() as usize],
            sure: StateId::range(0..states).map(|state| texts.are_sure(state)).collect(),
        };
        walk.budget.charge_bytes(PHASE, states as u64 * 16 + u64::from(walk.vocabulary.len()))?;
        solver.visit_all(stacks)?;
        let Solver { mut fronts, tokens, .. } = solver;
        fronts.lists = tokens.lists;
        Ok(fronts)
    }
}

impl Solver<'_, '_> {
    fn visit_all(&mut self, stacks: &mut Stacks) -> Result<(), CompileError> {
        let states = self.walk.rules.dfa.len();
        // `[states]`: when a state was met, from 1 on, and the first one on the stack that it leads to.
        let (mut met, mut low) = (vec![0_u32; states], vec![0_u32; states]);
        let mut time = 0;
        let mut component: Vec<StateId> = Vec::new();
        let mut sources: HashMap<StateId, Source> = HashMap::new();
        let mut open: Vec<Visit> = Vec::new();
        // States lead to later ones mostly, so that few wait for others at once.
        let (mut held, mut most_held) = (0, 0);
        for root in StateId::range(1..states).rev() {
            let mut next = (met[root.index()] == 0 && self.texts.is_met(root)).then_some(root);
            while next.is_some() || !open.is_empty() {
                if let Some(state) = next.take() {
                    time += 1;
                    (met[state.index()], low[state.index()]) = (time, time);
                    let source = self.source(stacks, state)?;
                    let on = self.depends(&source);
                    self.walk.budget.charge_steps(PHASE, 1 + on.len() as u64 + source.bytes() / 16)?;
                    held += source.bytes() + on.len() as u64 * 4;
                    self.walk.budget.charge_bytes(PHASE, held.saturating_sub(most_held))?;
                    most_held = most_held.max(held);
                    sources.insert(state, source);
                    component.push(state);
                    open.push(Visit { state, on, looked: 0 });
                }
                let Some(visit) = open.last_mut() else { break };
                if let Some(&other) = visit.on.get(visit.looked) {
                    visit.looked += 1;
                    let (at, other_at) = (visit.state.index(), other.index());
                    if met[other_at] == 0 {
                        next = Some(other);
                    } else if self.fronts.class_of[other_at].is_none() {
                        low[at] = low[at].min(met[other_at]);
                    }
                    continue;
                }
                let Visit { state, on, .. } = open.pop().expect("it was looked at");
                held -= on.len() as u64 * 4;
                let at = state.index();
                if let Some(before) = open.last() {
                    low[before.state.index()] = low[before.state.index()].min(low[at]);
                }
                if low[at] == met[at] {
                    let from = component.iter().rposition(|&of| of == state).expect("it is on the stack");
                    let members = component.split_off(from);
                    let is_alone = members.len() == 1 && !on.contains(&state);
                    let members: Vec<(StateId, Source)> = members
                        .into_iter()
                        .map(|state| (state, sources.remove(&state).expect("it was found")))
                        .collect();
                    self.solve(&members, is_alone)?;
                    held -= members.iter().map(|(_, source)| source.bytes()).sum::<u64>();
                }
            }
        }
        Ok(())
    }

    fn source(&mut self, stacks: &mut Stacks, state: StateId) -> Result<Source, CompileError> {
        let chunks = &self.walk.encoder.chunks;
        let borders = self.texts.sets.members(self.texts.borders(state));
        // A state stands between characters or inside of one, since what follows begins with a byte of the one kind or of the other.
        debug_assert!(borders.windows(2).all(|of| chunks.is_between(of[0]) == chunks.is_between(of[1])));
        Ok(match borders.first() {
            None => Source::Nothing,
            Some(&chunk) if chunks.is_between(chunk) => {
                Source::Between(self.tokens.ways(self.walk, stacks, state, &self.sure)?)
            }
            Some(_) => Source::Inside(self.tokens.kind(self.walk, stacks, state)?),
        })
    }

    /// The states on which a state depends, ascending.
    fn depends(&self, source: &Source) -> Vec<StateId> {
        let to = |way: &Way| match way {
            Way::Ends(state, _) if !self.sure[state.index()] => Some(*state),
            Way::Ends(..) | Way::Leaves(..) => None,
        };
        let mut on: Vec<StateId> = Vec::new();
        let mut add = |state: StateId| {
            if on.last() != Some(&state) {
                on.push(state);
            }
        };
        match source {
            Source::Between(ways) => {
                ways.others.iter().filter_map(|(alike, _)| to(&alike.way)).for_each(&mut add);
            }
            Source::Inside(kind) => kind.ways.iter().filter_map(to).for_each(&mut add),
            Source::Nothing => {}
        }
        on.sort_unstable();
        on.dedup();
        on
    }

    /// What a state is like before it is looked at.
    fn key(&self, state: StateId, source: &Source) -> [u8; 32] {
        let mut words: Vec<u32> = self.texts.aspect(state).words().to_vec();
        let label = |way: &Way| match *way {
            Way::Leaves(exit, read) => [2, exit.number(), u32::from(read)],
            Way::Ends(to, _) if self.sure[to.index()] => [0; 3],
            Way::Ends(to, stack) => {
                let class = self.fronts.class_of[to.index()].expect("what it depends on is known");
                [1, class.number(), stack.number()]
            }
        };
        match source {
            Source::Between(ways) => {
                let number = |of: &OfChunks| u32::from(of.class) << 1 | u32::from(of.is_whole);
                words.push(checked_u32(ways.sure.len()));
                words.extend(ways.sure.iter().flat_map(|(of, list)| [number(of), list.number()]));
                for (Alike { way, of }, list) in &ways.others {
                    words.extend(label(way));
                    words.extend([number(of), list.number()]);
                }
            }
            Source::Inside(kind) => {
                words.push(kind.number);
                words.extend(kind.ways.iter().flat_map(label));
            }
            Source::Nothing => {}
        }
        digest(&words)
    }

    /// Finds the fronts of states that depend on each other, or of one that does not depend on itself.
    fn solve(&mut self, members: &[(StateId, Source)], is_alone: bool) -> Result<(), CompileError> {
        let budget = self.walk.budget;
        let key = match members {
            [(state, source)] if is_alone => {
                let key = self.key(*state, source);
                if let Some(&class) = self.by_key.get(&key) {
                    self.fronts.class_of[state.index()] = Some(class);
                    return Ok(());
                }
                Some(key)
            }
            _ => None,
        };
        let mut component = Component::default();
        let mut count = 0;
        for (state, _) in members {
            component.first.insert(*state, count);
            count += self.texts.sets.members(self.texts.borders(*state)).len();
        }
        budget.charge_bytes(PHASE, count as u64 * FRONT_BYTES)?;
        budget.check_states(PHASE, self.fronts.len() + count)?;
        for (state, source) in members {
            let borders = self.texts.sets.members(self.texts.borders(*state));
            for &chunk in borders.iter() {
                let at = Spot { state: *state, chunk };
                self.add_front(&mut component, at, source)?;
            }
        }
        if !component.groups.is_empty() {
            budget.charge_bytes(PHASE, component.groups.len() as u64 * GROUP_BYTES)?;
            self.settle(&mut component)?;
        }
        for (state, _) in members {
            self.finish(&mut component, *state, key)?;
        }
        Ok(())
    }

    /// The tokens of a border, as far as they lead out of the component.
    fn add_front(
        &mut self,
        component: &mut Component,
        at: Spot,
        source: &Source,
    ) -> Result<(), CompileError> {
        let chunks = &self.walk.encoder.chunks;
        let (live, open, leaving, groups) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        component.fronts.push(Local { at, live, open, leaving, groups });
        match source {
            Source::Between(ways) => {
                let Ways { sure, others } = ways;
                self.walk.budget.charge_steps(PHASE, 1 + (sure.len() / 2 + others.len() * 4) as u64)?;
                let begins = |of: OfChunks| !of.is_whole || chunks.begins(at.chunk);
                if let Some(front) = component.fronts.last_mut() {
                    let lives = |of: OfChunks| begins(of) && chunks.after(at.chunk, of.class) != NO_CHUNK;
                    front.live.extend(sure.iter().filter(|(of, _)| lives(*of)).map(|(_, list)| *list));
                }
                for &(Alike { way, of }, list) in others {
                    if begins(of) {
                        self.add(component, way, chunks.after(at.chunk, of.class), list)?;
                    }
                }
            }
            Source::Inside(kind) => {
                let lists = self.tokens.inside(self.walk, kind, at.chunk)?;
                self.walk.budget.charge_steps(PHASE, 1 + lists.len() as u64 * 4)?;
                for &(way, chunk, list) in lists.iter() {
                    self.add(component, kind.ways[way as usize], chunk, list)?;
                }
            }
            Source::Nothing => {}
        }
        Ok(())
    }

    /// Adds tokens to the last front of a component.
    fn add(
        &mut self,
        component: &mut Component,
        way: Way,
        chunk: u16,
        tokens: ListId,
    ) -> Result<(), CompileError> {
        let Component { first, fronts, groups } = component;
        let from = fronts.len() - 1;
        let Some(front) = fronts.last_mut().filter(|_| chunk != NO_CHUNK) else { return Ok(()) };
        match way {
            Way::Leaves(exit, read) => front.leaving.push(Leaving { exit, read, chunk, tokens }),
            Way::Ends(state, stack) => {
                let to = Spot { state, chunk };
                if self.texts.is_sure(to) {
                    front.live.push(tokens);
                } else if first.contains_key(&state) {
                    front.groups.push(groups.len());
                    groups.push(Group { from, to, stack, tokens, live: ListId::NONE, maybe: ListId::NONE });
                } else {
                    let (live, maybe) = self.fate(to, tokens)?;
                    if live != ListId::NONE {
                        front.live.push(live);
                    }
                    if maybe != live {
                        front.open.push(Open { to, stack, live, maybe });
                    }
                }
            }
        }
        Ok(())
    }

    /// The class of a state of a component, with its fronts.
    fn finish(
        &mut self,
        component: &mut Component,
        state: StateId,
        key: Option<[u8; 32]>,
    ) -> Result<(), CompileError> {
        let borders: ChunkSetId = self.texts.borders(state);
        let count = self.texts.sets.members(borders).len();
        let from = component.first[&state];
        let aspect = self.texts.aspect(state);
        let mut words: Vec<u32> = aspect.words().to_vec();
        let mut is_local = !self.walk.rules.dfa.accepting[state];
        for front in &mut component.fronts[from..from + count] {
            for &number in &front.groups {
                let Group { to, stack, live, maybe, .. } = component.groups[number];
                if live != ListId::NONE {
                    front.live.push(live);
                }
                if maybe != live {
                    front.open.push(Open { to, stack, live, maybe });
                }
            }
            is_local &= front.open.is_empty() && front.leaving.is_empty();
            words.push(checked_u32(front.live.len()));
            words.extend(front.live.iter().map(|list| list.number()));
        }
        let content = is_local.then(|| digest(&words));
        let class = match content.and_then(|content| self.by_content.get(&content)) {
            Some(&class) => class,
            None => {
                let first = FrontId::new(self.fronts.all.len());
                for Local { at, live, open, leaving, .. } in &component.fronts[from..from + count] {
                    let held = self.fronts.push(*at, live, open, leaving);
                    self.walk.budget.charge_bytes(PHASE, held)?;
                }
                let class = self.fronts.classes.push(Class { borders, first });
                if let Some(content) = content {
                    self.by_content.insert(content, class);
                }
                class
            }
        };
        self.fronts.class_of[state.index()] = Some(class);
        if let Some(key) = key {
            self.by_key.insert(key, class);
        }
        Ok(())
    }
}

fn digest(words: &[u32]) -> [u8; 32] {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    Digest::of(&bytes).0
}
