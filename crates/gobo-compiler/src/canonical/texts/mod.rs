//! Where texts go on, whatever their tokens are: what makes nearly all tokens live without a look at those that follow.
//!
//! A text stands in a state of the constraint and its chunks in one of theirs ([`reach`]). There it is *open* if, for each return state that may be on top of the stack, its rule can
//! come to an exit ([`exits`]) after which the text is open again. That is the greatest fixpoint, and no text has to go round for it: each return makes the stack smaller, so it is true of
//! stacks of any depth by induction. Every text has an encoding from where a chunk may begin. So a token that ends where chunks may end and the text is open behind that is *sure*:
//! live, whatever it is, and whatever is on the stack.

mod chunk_sets;
mod exits;
mod reach;
mod tops;

use foldhash::HashMap;
use gobo_artifact::layout::{Encoder, NO_CHUNK};
use gobo_automata::{Interner, ReturnId, StateId};
use gobo_types::{Budget, ByteSet, CompileError, DenseId as _, Tokenization, checked_u32, dense_id};

pub(super) use self::chunk_sets::{ChunkSetId, ChunkSets};
use self::exits::{Exits, ExitsId, ProfileId};
use self::reach::{Reach, bytes_of_classes};
pub(super) use self::tops::{After, Tops, TopsId};
use super::rules::Rules;
use super::walk::PHASE;

dense_id! {
    /// The bytes that can be read within the chunk, by where a token ends that is not sure.
    pub(super) struct OpenBytesId;
}

/// Where a text stands: a state of the constraint, and one of chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Spot {
    pub(super) state: StateId,
    pub(super) chunk: u16,
}

/// See the [module](self).
pub(super) struct Texts<'a> {
    rules: Rules<'a>,
    pub(super) tops: Tops<'a>,
    pub(super) sets: ChunkSets<'a>,
    reach: Reach,
    exits: Exits,
    /// `[states]`: where chunks may stand so that the text is open.
    open: Vec<ChunkSetId>,
    /// `[states]`: where tokens that end are sure.
    sure: Vec<ChunkSetId>,
    /// `[states]`: where tokens may begin, and the rule at hand can end.
    borders: Vec<ChunkSetId>,
    /// `[states]`.
    bytes: Vec<OpenBytesId>,
    /// For each place where a token may end and is not sure.
    of_bytes: Interner<OpenBytesId, [u32; 8]>,
}

/// All that the fate of a token depends on that ends in a state, but for the tokens that follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Aspect {
    ends: ChunkSetId,
    sure: ChunkSetId,
    borders: ChunkSetId,
    bytes: OpenBytesId,
    profile: ProfileId,
    tops: TopsId,
    exit: u32,
}

impl Aspect {
    /// As numbers.
    pub(super) fn words(&self) -> [u32; 7] {
        let Self { ends, sure, borders, bytes, profile, tops, exit } = self;
        [
            ends.number(),
            sure.number(),
            borders.number(),
            bytes.number(),
            profile.number(),
            tops.number(),
            *exit,
        ]
    }
}

impl<'a> Texts<'a> {
    pub(super) fn new(
        rules: Rules<'a>,
        encoder: &'a Encoder<'a>,
        tokenization: Tokenization,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        let Rules { dfa, calls } = rules;
        let tops = Tops::new(dfa, calls, budget)?;
        let mut sets = ChunkSets::new(&encoder.chunks);
        let bytes = bytes_of_classes(dfa, &sets);
        let reach = Reach::new(&rules, &tops, &mut sets, &bytes, tokenization.is_behind_prompt(), budget)?;
        let exits = Exits::new(&rules, &tops, &reach, &sets, &bytes, budget)?;
        let open = open(&rules, &tops, &reach, &exits, &mut sets, budget)?;
        let mut texts = Self {
            rules,
            tops,
            sets,
            reach,
            exits,
            open,
            sure: Vec::new(),
            borders: Vec::new(),
            bytes: Vec::new(),
            of_bytes: Interner::default(),
        };
        texts.find_sure(budget)?;
        texts.find_borders();
        // Without calls, what follows within a chunk does not depend on the stack, and tokens tell it.
        if calls.returns.is_empty() {
            texts.bytes = vec![texts.of_bytes.intern(&[]).0; dfa.len()];
        } else {
            texts.find_bytes(budget)?;
        }
        Ok(texts)
    }

    /// Whether a text may stand in a state.
    pub(super) fn is_met(&self, state: StateId) -> bool {
        self.reach.all[state.index()] != ChunkSetId::EMPTY
    }

    /// Whether some token may end there.
    pub(super) fn may_stand(&self, spot: Spot) -> bool {
        self.sets.contains(self.reach.ends[spot.state.index()], spot.chunk)
    }

    /// Whether a token that ends there is live, whatever it is. O(1).
    #[inline]
    pub(super) fn is_sure(&self, spot: Spot) -> bool {
        self.sets.contains(self.sure[spot.state.index()], spot.chunk)
    }

    /// Whether all tokens that end in a state are sure. O(words of a set).
    pub(super) fn are_sure(&self, state: StateId) -> bool {
        self.sets.is_subset(self.reach.ends[state.index()], self.sure[state.index()])
    }

    /// Where chunks may stand at the beginning of a token.
    pub(super) fn borders(&self, state: StateId) -> ChunkSetId {
        self.borders[state.index()]
    }

    /// Whether the rule at hand can end.
    pub(super) fn can_end(&self, Spot { state, chunk }: Spot) -> bool {
        chunk != NO_CHUNK && self.exits.at(&self.sets, state, chunk) != ExitsId::NONE
    }

    /// Whether the rule at hand may end there, and what called it may go on or the text end.
    pub(super) fn may_leave(&self, Spot { state, chunk }: Spot) -> bool {
        let Rules { dfa, calls } = &self.rules;
        let goes_on = |&top: &ReturnId| match self.tops.after(top, calls.exit(state)) {
            Some(After::End) => self.sets.chunks.may_end(chunk),
            Some(After::To(state)) => self.can_end(Spot { state, chunk }),
            None => false,
        };
        dfa.accepting[state] && self.tops.at(state).iter().any(goes_on)
    }

    /// The bytes that can be read within the chunk behind a token that ends there and is not sure.
    pub(super) fn open_bytes(&self, Spot { state, chunk }: Spot) -> ByteSet {
        let (ends, sure) = (self.reach.ends[state.index()], self.sure[state.index()]);
        let Some(place) = self.sets.place(ends, chunk).filter(|_| !self.sets.contains(sure, chunk)) else {
            return ByteSet::default();
        };
        let of = self.of_bytes.get(self.bytes[state.index()]);
        of.get(place).map_or_else(ByteSet::default, |&words| ByteSet::from_words(words))
    }

    /// See [`Aspect`].
    pub(super) fn aspect(&self, state: StateId) -> Aspect {
        let at = state.index();
        Aspect {
            ends: self.reach.ends[at],
            sure: self.sure[at],
            borders: self.borders[at],
            bytes: self.bytes[at],
            profile: self.exits.profile_of(state),
            tops: self.tops.set(state),
            exit: if self.rules.dfa.accepting[state] { 1 + self.rules.calls.exit(state).number() } else { 0 },
        }
    }

    fn find_sure(&mut self, budget: &Budget) -> Result<(), CompileError> {
        let Rules { dfa, calls } = self.rules;
        let chunks = self.sets.chunks;
        let mut known: HashMap<(ChunkSetId, ChunkSetId), ChunkSetId> = HashMap::default();
        let mut own = Vec::with_capacity(dfa.len());
        for state in 0..dfa.len() {
            let key = (self.reach.ends[state], self.open[state]);
            let set = match known.get(&key) {
                Some(&set) => set,
                None => {
                    let members = self.sets.members(key.0);
                    let is_open = |&chunk: &u16| {
                        let marked = chunks.marked(chunk);
                        marked != NO_CHUNK && self.sets.contains(key.1, marked)
                    };
                    let sure: Vec<u16> = members.iter().copied().filter(is_open).collect();
                    let set = self.sets.of(sure);
                    known.insert(key, set);
                    set
                }
            };
            own.push(set);
        }
        // Where a rule may end all that called it has to be sure there: the greatest fixpoint.
        let ending: Vec<StateId> =
            StateId::range(1..dfa.len()).filter(|&state| dfa.accepting[state]).collect();
        self.sure.clone_from(&own);
        ending.iter().for_each(|state| self.sure[state.index()] = self.reach.ends[state.index()]);
        loop {
            let mut changed = false;
            for &state in ending.iter().rev() {
                let members = self.sets.members(self.sure[state.index()]);
                budget.charge_steps(PHASE, 1 + members.len() as u64)?;
                let is_sure = |&chunk: &u16| {
                    let goes_on = |&top: &ReturnId| match self.tops.after(top, calls.exit(state)) {
                        Some(After::End) => chunks.may_end(chunk),
                        Some(After::To(state)) => self.is_sure(Spot { state, chunk }),
                        None => false,
                    };
                    self.sets.contains(own[state.index()], chunk) || self.tops.at(state).iter().all(goes_on)
                };
                let left: Vec<u16> = members.iter().copied().filter(is_sure).collect();
                if left.len() < members.len() {
                    self.sure[state.index()] = self.sets.of(left);
                    changed = true;
                }
            }
            if !changed {
                return Ok(());
            }
        }
    }

    fn find_borders(&mut self) {
        let mut known: HashMap<(ChunkSetId, ProfileId), ChunkSetId> = HashMap::default();
        for state in StateId::range(0..self.rules.dfa.len()) {
            let key = (self.reach.borders[state.index()], self.exits.profile_of(state));
            let set = match known.get(&key) {
                Some(&set) => set,
                None => {
                    let members = self.sets.members(key.0);
                    let can_end = |&chunk: &u16| self.can_end(Spot { state, chunk });
                    let left: Vec<u16> = members.iter().copied().filter(can_end).collect();
                    let set = self.sets.of(left);
                    known.insert(key, set);
                    set
                }
            };
            self.borders.push(set);
        }
    }

    fn find_bytes(&mut self, budget: &Budget) -> Result<(), CompileError> {
        let Rules { dfa, calls } = self.rules;
        let mut known: HashMap<Vec<u32>, OpenBytesId> = HashMap::default();
        let (none, _) = self.of_bytes.intern(&[]);
        for state in StateId::range(0..dfa.len()) {
            if self.are_sure(state) {
                self.bytes.push(none);
                continue;
            }
            let at = state.index();
            budget.charge_steps(PHASE, 1 + dfa.stride as u64 / 4)?;
            let is_alone = calls.push_transitions(state).is_empty();
            let parts = is_alone.then(|| {
                let next = (0..dfa.stride).filter_map(|class| dfa.step(state, class));
                let open = next.map(|next| self.open[next.index()].number());
                let own = [dfa.row_of[at], self.reach.ends[at].number(), self.sure[at].number()];
                own.into_iter().chain(open).collect::<Vec<u32>>()
            });
            let bytes = match parts.as_ref().and_then(|parts| known.get(parts)) {
                Some(&bytes) => bytes,
                None => {
                    let members = self.sets.members(self.reach.ends[at]);
                    budget.charge_steps(PHASE, members.len() as u64 * 64)?;
                    let of = |&chunk: &u16| self.bytes_within(Spot { state, chunk }).words();
                    let all: Vec<[u32; 8]> = members.iter().map(of).collect();
                    let (bytes, is_new) = self.of_bytes.intern(&all);
                    budget.charge_bytes(PHASE, if is_new { all.len() as u64 * 32 } else { 0 })?;
                    if let Some(parts) = parts {
                        known.insert(parts, bytes);
                    }
                    bytes
                }
            };
            self.bytes.push(bytes);
        }
        Ok(())
    }

    /// The bytes that can be read within the chunk behind a token that ends there so that the text is open; none where it is sure.
    fn bytes_within(&self, spot: Spot) -> ByteSet {
        let Rules { dfa, calls } = self.rules;
        let (mut open, chunks) = (ByteSet::default(), self.sets.chunks);
        let border = chunks.within(spot.chunk);
        if self.is_sure(spot) || border == NO_CHUNK {
            return open;
        }
        let entries = calls.push_transitions(spot.state).iter().map(|push| push.entry);
        for from in std::iter::once(spot.state).chain(entries) {
            for byte in 0..=u8::MAX {
                let (state, chunk) = (dfa.next(from, byte), chunks.next(border, byte));
                if state != StateId::DEAD
                    && chunk != NO_CHUNK
                    && self.sets.contains(self.open[state.index()], chunk)
                {
                    open.insert(byte);
                }
            }
        }
        open
    }
}

/// `[states]`: where chunks may stand so that the text is open. O(exits × return states).
fn open(
    rules: &Rules<'_>,
    tops: &Tops<'_>,
    reach: &Reach,
    exits: &Exits,
    sets: &mut ChunkSets<'_>,
    budget: &Budget,
) -> Result<Vec<ChunkSetId>, CompileError> {
    let Rules { dfa, .. } = rules;
    // What is asked: whether one of some exits goes on at each of some return states.
    let mut numbers: HashMap<(ExitsId, TopsId), u32> = HashMap::default();
    let mut asked: Vec<(ExitsId, TopsId)> = Vec::new();
    let mut number = |asked: &mut Vec<_>, key: (ExitsId, TopsId)| {
        *numbers.entry(key).or_insert_with(|| {
            asked.push(key);
            checked_u32(asked.len() - 1)
        })
    };
    let mut of_profiles: HashMap<(ProfileId, TopsId), Vec<u32>> = HashMap::default();
    for state in StateId::range(1..dfa.len()) {
        let key = (exits.profile_of(state), tops.set(state));
        of_profiles.entry(key).or_insert_with(|| {
            exits.members(key.0).map(|exits| number(&mut asked, (exits, key.1))).collect()
        });
    }
    // Of each, for each return state, what has to be true, one of them; nothing for return states at which the text may end.
    let mut needs: Vec<Vec<Vec<u32>>> = Vec::new();
    while let Some(&(of, set)) = asked.get(needs.len()) {
        let mut need = Vec::new();
        for &top in tops.members(set) {
            let mut ways = Vec::new();
            let mut ends = false;
            for (exit, chunk) in exits.list(of) {
                match tops.after(top, exit) {
                    Some(After::End) => ends |= sets.chunks.may_end(chunk),
                    Some(After::To(next)) => {
                        let behind = exits.at(sets, next, chunk);
                        ways.push(number(&mut asked, (behind, tops.set(next))));
                    }
                    None => {}
                }
            }
            budget.charge_steps(PHASE, 1 + ways.len() as u64)?;
            budget.charge_bytes(PHASE, 24 + ways.len() as u64 * 4)?;
            if !ends {
                need.push(ways);
            }
        }
        if tops.members(set).is_empty() {
            need.push(Vec::new());
        }
        needs.push(need);
    }
    let mut is_open = vec![true; asked.len()];
    loop {
        let mut changed = false;
        for (at, need) in needs.iter().enumerate().rev() {
            let goes_on = |ways: &Vec<u32>| ways.iter().any(|&way| is_open[way as usize]);
            if is_open[at] && !need.iter().all(goes_on) {
                is_open[at] = false;
                changed = true;
            }
            budget.charge_steps(PHASE, 1)?;
        }
        if !changed {
            break;
        }
    }
    let mut known: HashMap<(ProfileId, TopsId), ChunkSetId> = HashMap::default();
    let mut all = vec![ChunkSetId::EMPTY];
    for state in StateId::range(1..dfa.len()) {
        let key = (exits.profile_of(state), tops.set(state));
        let set = match known.get(&key) {
            Some(&set) => set,
            None => {
                let members = sets.members(reach.all[state.index()]);
                let of = members.iter().zip(&of_profiles[&key]);
                let open: Vec<u16> =
                    of.filter(|(_, number)| is_open[**number as usize]).map(|(&chunk, _)| chunk).collect();
                let set = sets.of(open);
                known.insert(key, set);
                set
            }
        };
        all.push(set);
    }
    Ok(all)
}
