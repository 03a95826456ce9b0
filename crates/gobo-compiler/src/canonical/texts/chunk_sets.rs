//! Sets of states of chunks, each once, and where they lead.

use std::rc::Rc;

use foldhash::HashMap;
use gobo_artifact::layout::{Chunks, NO_CHUNK};
use gobo_automata::Interner;
use gobo_types::{DenseId as _, dense_id};

dense_id! {
    /// A set of states of chunks.
    pub(crate) struct ChunkSetId;
}

impl ChunkSetId {
    /// No state.
    pub(crate) const EMPTY: Self = Self(0);
}

/// In the place of the position of a state: it is not in the set.
const NO_PLACE: u16 = u16::MAX;

/// See the [module](self).
pub(crate) struct ChunkSets<'a> {
    pub(crate) chunks: &'a Chunks<'a>,
    words: usize,
    /// As bits: `[words]` each.
    bits: Interner<ChunkSetId, u64>,
    /// `[sets]`: ascending.
    members: Vec<Rc<[u16]>>,
    /// `[sets]`: the place of each state among the members; `[states of chunks]`.
    places: Vec<Rc<[u16]>>,
    unions: HashMap<(ChunkSetId, ChunkSetId), ChunkSetId>,
    /// By class of bytes.
    steps: HashMap<(ChunkSetId, u8), ChunkSetId>,
    borders: HashMap<ChunkSetId, ChunkSetId>,
    closed: HashMap<ChunkSetId, ChunkSetId>,
}

impl<'a> ChunkSets<'a> {
    pub(super) fn new(chunks: &'a Chunks<'a>) -> Self {
        let mut sets = Self {
            chunks,
            words: chunks.len().div_ceil(64),
            bits: Interner::default(),
            members: Vec::new(),
            places: Vec::new(),
            unions: HashMap::default(),
            steps: HashMap::default(),
            borders: HashMap::default(),
            closed: HashMap::default(),
        };
        let empty = sets.of([]);
        debug_assert_eq!(empty, ChunkSetId::EMPTY, "it is the first one");
        sets
    }

    /// Bytes of a set.
    pub(super) fn set_bytes(&self) -> u64 {
        (self.words * 8 + self.chunks.len() * 2 + 64) as u64
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// The set of some states; [`NO_CHUNK`] is left out. O(states of chunks).
    pub(crate) fn of(&mut self, states: impl IntoIterator<Item = u16>) -> ChunkSetId {
        let mut bits = vec![0; self.words];
        for state in states.into_iter().filter(|&state| state != NO_CHUNK) {
            bits[usize::from(state) / 64] |= 1 << (state % 64);
        }
        self.intern(&bits)
    }

    fn intern(&mut self, bits: &[u64]) -> ChunkSetId {
        let (set, is_new) = self.bits.intern(bits);
        if is_new {
            let states =
                0..u16::try_from(self.chunks.len()).expect("states of chunks are numbered in 16 bits");
            let members: Rc<[u16]> =
                states.filter(|&state| bits[usize::from(state) / 64] >> (state % 64) & 1 == 1).collect();
            let mut places = vec![NO_PLACE; self.chunks.len()];
            (0..).zip(members.iter()).for_each(|(place, &state)| places[usize::from(state)] = place);
            self.members.push(members);
            self.places.push(places.into());
        }
        set
    }

    /// Its states, ascending.
    pub(crate) fn members(&self, set: ChunkSetId) -> Rc<[u16]> {
        Rc::clone(&self.members[set.index()])
    }

    /// Where a state stands among the members. O(1).
    #[inline]
    pub(crate) fn place(&self, set: ChunkSetId, state: u16) -> Option<usize> {
        let place = self.places[set.index()].get(usize::from(state)).copied().unwrap_or(NO_PLACE);
        (place != NO_PLACE).then_some(usize::from(place))
    }

    /// O(1).
    #[inline]
    pub(crate) fn contains(&self, set: ChunkSetId, state: u16) -> bool {
        self.place(set, state).is_some()
    }

    /// O(words).
    pub(crate) fn is_subset(&self, set: ChunkSetId, of: ChunkSetId) -> bool {
        set == of || self.bits.get(set).iter().zip(self.bits.get(of)).all(|(set, of)| set & !of == 0)
    }

    pub(super) fn union(&mut self, one: ChunkSetId, other: ChunkSetId) -> ChunkSetId {
        if one == other || other == ChunkSetId::EMPTY {
            return one;
        }
        if one == ChunkSetId::EMPTY {
            return other;
        }
        if let Some(&known) = self.unions.get(&(one, other)) {
            return known;
        }
        let bits: Vec<u64> =
            self.bits.get(one).iter().zip(self.bits.get(other)).map(|(one, other)| one | other).collect();
        let union = self.intern(&bits);
        self.unions.insert((one, other), union);
        union
    }

    /// The states after a byte.
    pub(super) fn step(&mut self, set: ChunkSetId, byte: u8) -> ChunkSetId {
        let key = (set, self.chunks.class(byte));
        if let Some(&known) = self.steps.get(&key) {
            return known;
        }
        let (members, chunks) = (self.members(set), self.chunks);
        let next = self.of(members.iter().map(|&state| chunks.next(state, byte)));
        self.steps.insert(key, next);
        next
    }

    /// The states behind borders.
    pub(super) fn borders(&mut self, set: ChunkSetId) -> ChunkSetId {
        if let Some(&known) = self.borders.get(&set) {
            return known;
        }
        let (members, chunks) = (self.members(set), self.chunks);
        let behind = members.iter().flat_map(|&state| [chunks.within(state), chunks.marked(state)]);
        let next = self.of(behind);
        self.borders.insert(set, next);
        next
    }

    /// The set with the states behind its borders, behind the borders of these, and so on.
    pub(super) fn closed(&mut self, set: ChunkSetId) -> ChunkSetId {
        if let Some(&known) = self.closed.get(&set) {
            return known;
        }
        let mut all = set;
        loop {
            let behind = self.borders(all);
            match self.union(all, behind) {
                same if same == all => break,
                more => all = more,
            }
        }
        self.closed.insert(set, all);
        all
    }
}
