//! The exits that a rule can come to, wherever its text stands, and where chunks stand there.
//!
//! Every text has an encoding, so where only texts matter, and not where their tokens end, rules that call each other are a push-down automaton as any: of each state, with each state of
//! chunks that it is met with, the exits are found that its rule can come to, by summaries (Sharir & Pnueli 1981), least fixpoint. What holds of all states of chunks of a state is its
//! *profile*. Profiles are numbered, and what the profiles of next states make of a row of transitions is found once, so that the counts of a counted string cost next to nothing.

use foldhash::HashMap;
use gobo_artifact::layout::{NO_CHUNK, NO_STEP};
use gobo_automata::{ExitId, Interner, StateId};
use gobo_types::{Budget, CompileError, DenseId as _, checked_u32, dense_id};

use super::After;
use super::chunk_sets::{ChunkSetId, ChunkSets};
use super::reach::Reach;
use super::tops::Tops;
use crate::canonical::rules::Rules;
use crate::canonical::walk::PHASE;

dense_id! {
    /// Exits, with where chunks stand.
    pub(crate) struct ExitsId;

    /// The exits of a state by where chunks stand.
    pub(crate) struct ProfileId;
}

impl ExitsId {
    /// No exit.
    pub(crate) const NONE: Self = Self(0);
}

/// See the [module](self).
pub(crate) struct Exits {
    /// `[states]`.
    profiles: Vec<ProfileId>,
    /// The number of the set of states of chunks, and exits for each of its members.
    all: Interner<ProfileId, u32>,
    /// Numbers of exits with states of chunks, ascending.
    sets: Interner<ExitsId, u32>,
    unions: HashMap<(ExitsId, ExitsId), ExitsId>,
    numbers: HashMap<(ExitId, u16), u32>,
    of_number: Vec<(ExitId, u16)>,
    /// Bytes of sets and unions that are not charged yet.
    held: u64,
}

/// Bytes of a union that is known.
const UNION_BYTES: u64 = 24;

/// What a profile is made from: the row of transitions, the set of states of chunks, the exit and one more, and the profiles of the next states.
type Parts = Vec<u32>;

impl Exits {
    pub(super) fn new(
        rules: &Rules<'_>,
        tops: &Tops<'_>,
        reach: &Reach,
        chunk_sets: &ChunkSets<'_>,
        bytes: &[Vec<u8>],
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        let Rules { dfa, calls } = *rules;
        let mut exits = Self {
            profiles: Vec::with_capacity(dfa.len()),
            all: Interner::default(),
            sets: Interner::default(),
            unions: HashMap::default(),
            numbers: HashMap::default(),
            of_number: Vec::new(),
            held: 0,
        };
        exits.sets.intern(&[]);
        for &set in &reach.all {
            let nothing = vec![ExitsId::NONE; chunk_sets.members(set).len()];
            let profile = exits.profile(set, &nothing, budget)?;
            exits.profiles.push(profile);
        }
        let mut known: HashMap<Parts, ProfileId> = HashMap::default();
        let find = Find { rules, tops, reach, chunk_sets, bytes };
        loop {
            let mut changed = false;
            for state in StateId::range(1..dfa.len()).rev() {
                if reach.all[state.index()] == ChunkSetId::EMPTY {
                    continue;
                }
                budget.charge_steps(PHASE, 1 + dfa.stride as u64 / 4)?;
                let parts = calls.push_transitions(state).is_empty().then(|| exits.parts(&find, state));
                let profile = match parts.as_ref().and_then(|parts| known.get(parts)) {
                    Some(&profile) => profile,
                    None => {
                        let profile = exits.find(&find, state, budget)?;
                        if let Some(parts) = parts {
                            budget.charge_bytes(PHASE, 32 + parts.len() as u64 * 4)?;
                            known.insert(parts, profile);
                        }
                        profile
                    }
                };
                changed |= std::mem::replace(&mut exits.profiles[state.index()], profile) != profile;
            }
            if !changed {
                return Ok(exits);
            }
        }
    }

    /// What is known of a state.
    pub(crate) fn profile_of(&self, state: StateId) -> ProfileId {
        self.profiles[state.index()]
    }

    /// The exits of a profile, by the members of its set.
    pub(crate) fn members(&self, profile: ProfileId) -> impl ExactSizeIterator<Item = ExitsId> + '_ {
        self.all.get(profile)[1..].iter().map(|&exits| ExitsId::from_number(exits))
    }

    /// The exits that are come to from a state where chunks stand at `chunk`.
    pub(crate) fn at(&self, chunk_sets: &ChunkSets<'_>, state: StateId, chunk: u16) -> ExitsId {
        let profile = self.all.get(self.profiles[state.index()]);
        let place = chunk_sets.place(ChunkSetId::from_number(profile[0]), chunk);
        place.map_or(ExitsId::NONE, |place| ExitsId::from_number(profile[1 + place]))
    }

    /// Exits, and where chunks stand.
    pub(crate) fn list(&self, exits: ExitsId) -> impl Iterator<Item = (ExitId, u16)> + '_ {
        self.sets.get(exits).iter().map(|&number| self.of_number[number as usize])
    }

    fn profile(
        &mut self,
        set: ChunkSetId,
        exits: &[ExitsId],
        budget: &Budget,
    ) -> Result<ProfileId, CompileError> {
        let list: Vec<u32> =
            std::iter::once(set.number()).chain(exits.iter().map(|exits| exits.number())).collect();
        let (profile, is_new) = self.all.intern(&list);
        budget.charge_bytes(PHASE, if is_new { list.len() as u64 * 4 } else { 0 })?;
        Ok(profile)
    }

    fn single(&mut self, exit: ExitId, chunk: u16) -> ExitsId {
        let fresh = checked_u32(self.of_number.len());
        let number = *self.numbers.entry((exit, chunk)).or_insert_with(|| {
            self.of_number.push((exit, chunk));
            fresh
        });
        self.sets.intern(&[number]).0
    }

    fn union(&mut self, one: ExitsId, other: ExitsId) -> ExitsId {
        if one == other || other == ExitsId::NONE {
            return one;
        }
        if one == ExitsId::NONE {
            return other;
        }
        if let Some(&known) = self.unions.get(&(one, other)) {
            return known;
        }
        let mut all = [self.sets.get(one), self.sets.get(other)].concat();
        all.sort_unstable();
        all.dedup();
        let (union, is_new) = self.sets.intern(&all);
        self.held += UNION_BYTES + if is_new { all.len() as u64 * 4 } else { 0 };
        self.unions.insert((one, other), union);
        union
    }

    fn parts(&self, find: &Find<'_>, state: StateId) -> Parts {
        let Rules { dfa, calls } = find.rules;
        let exit = if dfa.accepting[state] { 2 + 2 * calls.exit(state).number() } else { 0 };
        let exit = exit + u32::from(find.is_whole(state));
        let mut parts = vec![dfa.row_of[state.index()], find.reach.all[state.index()].number(), exit];
        for class in 0..dfa.stride {
            if let Some(next) = dfa.step(state, class) {
                parts.push(self.profiles[next.index()].number());
            }
        }
        parts
    }

    fn find(&mut self, find: &Find<'_>, state: StateId, budget: &Budget) -> Result<ProfileId, CompileError> {
        let Rules { dfa, calls } = find.rules;
        let (sets, chunks) = (find.chunk_sets, find.chunk_sets.chunks);
        let set = find.reach.all[state.index()];
        let members = sets.members(set);
        let mut found = vec![ExitsId::NONE; members.len()];
        let mut looked = members.len() as u64;
        if dfa.accepting[state] {
            for (exits, &chunk) in found.iter_mut().zip(members.iter()) {
                if !find.is_whole(state) || chunks.may_end(chunk) {
                    *exits = self.single(calls.exit(state), chunk);
                }
            }
        }
        let deltas = dfa.row(state).iter().zip(find.bytes).filter(|of| *of.0 != NO_STEP);
        for (&delta, bytes) in deltas {
            let next = state.offset(delta);
            for &byte in bytes {
                looked += members.len() as u64;
                for (exits, &chunk) in found.iter_mut().zip(members.iter()) {
                    let more = match chunks.next(chunk, byte) {
                        NO_CHUNK => ExitsId::NONE,
                        chunk => self.at(sets, next, chunk),
                    };
                    *exits = self.union(*exits, more);
                }
            }
        }
        for push in calls.push_transitions(state) {
            for (exits, &chunk) in found.iter_mut().zip(members.iter()) {
                let mut through = self.at(sets, push.entry, chunk);
                for &top in calls.pushed(push).iter().rev() {
                    let mut behind = ExitsId::NONE;
                    let ways: Vec<(ExitId, u16)> = self.list(through).collect();
                    looked += 1 + ways.len() as u64;
                    for (exit, chunk) in ways {
                        if let Some(After::To(next)) = find.tops.after(top, exit) {
                            behind = self.union(behind, self.at(sets, next, chunk));
                        }
                    }
                    through = behind;
                }
                *exits = self.union(*exits, through);
            }
        }
        loop {
            let mut changed = false;
            for (place, &chunk) in members.iter().enumerate() {
                for behind in [chunks.within(chunk), chunks.marked(chunk)] {
                    let Some(other) = sets.place(set, behind).filter(|_| behind != NO_CHUNK) else {
                        continue;
                    };
                    let all = self.union(found[place], found[other]);
                    changed |= std::mem::replace(&mut found[place], all) != all;
                }
            }
            if !changed {
                break;
            }
        }
        budget.charge_steps(PHASE, looked / 4)?;
        budget.charge_bytes(PHASE, std::mem::take(&mut self.held))?;
        self.profile(set, &found, budget)
    }
}

struct Find<'a> {
    rules: &'a Rules<'a>,
    tops: &'a Tops<'a>,
    reach: &'a Reach,
    chunk_sets: &'a ChunkSets<'a>,
    bytes: &'a [Vec<u8>],
}

impl Find<'_> {
    /// Whether nothing but the end of the text follows the end of the rule.
    fn is_whole(&self, state: StateId) -> bool {
        self.tops.at(state) == [self.tops.bottom()]
    }
}
