//! Deterministic automata over bytes, with relative transitions.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use gobo_types::{ByteSet, DenseId as _, NO_STEP, Table, checked_u32};
use hashbrown::HashTable;

use super::calls::Calls;
use super::char_states::CharStates;
use crate::equivalence::Edges;
use crate::ids::{StateId, Symbol};

/// A deterministic automaton over bytes: state 0 is dead, every other state can reach acceptance.
///
/// Transitions are relative to the state that they leave, and states with equal ones share a row: the copies of a
/// counted repetition differ in their place alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dfa {
    /// The class of each byte. Bytes of one class lead to the same state everywhere.
    pub classes: Box<[u8; 256]>,
    /// Number of classes: 1 to 256.
    pub stride: usize,
    /// `[states]`: the row of each state.
    pub row_of: Vec<u32>,
    /// `[rows, stride]`: how far the next state lies after the state; [`NO_STEP`] where the dead state follows.
    pub deltas: Vec<i32>,
    /// Whether a text may end in each state.
    pub accepting: Table<StateId, bool>,
    /// The state of the empty text; [`StateId::DEAD`] if the language is empty.
    pub start: StateId,
    /// How the states make up characters, where that is known.
    pub chars: Option<CharStates>,
    /// The rules that states call; `None` for a regular language, which needs no stack.
    pub calls: Option<Calls>,
}

/// `state` and `delta` as the next state.
#[inline]
pub(super) fn follow(state: StateId, delta: i32) -> StateId {
    if delta == NO_STEP { StateId::DEAD } else { state.offset(delta) }
}

impl Dfa {
    /// Number of states, the dead one included.
    pub fn len(&self) -> usize {
        self.accepting.len()
    }

    /// Bytes of its tables.
    pub fn bytes(&self) -> u64 {
        let chars = self.chars.as_ref().map_or(0, CharStates::bytes);
        let calls = self.calls.as_ref().map_or(0, Calls::bytes);
        (self.row_of.len() * 5 + self.deltas.len() * 4) as u64 + chars + calls
    }

    /// Whether it needs a stack: then what reads transitions alone sees only the texts of single rules.
    pub fn has_calls(&self) -> bool {
        self.calls.is_some()
    }

    /// Whether no text is accepted.
    pub fn is_empty(&self) -> bool {
        self.start == StateId::DEAD
    }

    /// The state after `byte`.
    #[inline]
    pub fn next(&self, state: StateId, byte: u8) -> StateId {
        follow(state, self.row(state)[usize::from(self.classes[usize::from(byte)])])
    }

    /// The state after a byte of the class, where it leads on.
    #[inline]
    pub fn step(&self, state: StateId, class: usize) -> Option<StateId> {
        let delta = self.row(state)[class];
        (delta != NO_STEP).then(|| follow(state, delta))
    }

    /// The relative transitions of one state: `[stride]`.
    #[inline]
    pub fn row(&self, state: StateId) -> &[i32] {
        row_at(&self.deltas, self.stride, self.row_of[state.index()])
    }

    /// The bytes that lead from some state to a live one.
    pub fn live_bytes(&self) -> ByteSet {
        let mut live = vec![false; self.stride];
        for row in self.deltas.chunks_exact(self.stride) {
            live.iter_mut().zip(row).for_each(|(live, &delta)| *live |= delta != NO_STEP);
        }
        self.bytes_of(|class| live[class])
    }

    /// The bytes on which a transition of a state leads on.
    pub fn live_bytes_of(&self, state: StateId) -> ByteSet {
        let row = self.row(state);
        self.bytes_of(|class| row[class] != NO_STEP)
    }

    /// The bytes whose class satisfies `keep`.
    pub fn bytes_of(&self, keep: impl Fn(usize) -> bool) -> ByteSet {
        (0..=u8::MAX).filter(|&byte| keep(usize::from(self.classes[usize::from(byte)]))).collect()
    }

    /// Whether `text` is accepted.
    pub fn accepts(&self, text: &[u8]) -> bool {
        self.accepting[text.iter().fold(self.start, |state, &byte| self.next(state, byte))]
    }
}

impl Edges for Dfa {
    type State = StateId;

    fn states(&self) -> usize {
        self.len()
    }

    fn edges(&self, state: StateId) -> impl Iterator<Item = (Symbol, StateId)> {
        Symbol::enumerate(self.row(state))
            .filter(|(_, delta)| **delta != NO_STEP)
            .map(move |(class, &delta)| (class, follow(state, delta)))
    }

    fn edge_count(&self) -> usize {
        self.len() * self.stride
    }
}

/// Rows of relative transitions, equal ones kept once if they are interned. Row 0 is that of the dead state.
pub(crate) struct RowTable {
    stride: usize,
    deltas: Vec<i32>,
    known: HashTable<u32>,
    state: RandomState,
}

impl RowTable {
    pub(crate) fn new(stride: usize) -> Self {
        let mut table =
            Self { stride, deltas: Vec::new(), known: HashTable::new(), state: RandomState::default() };
        table.intern(&vec![NO_STEP; stride]);
        table
    }

    pub(crate) fn rows(&self) -> usize {
        self.deltas.len() / self.stride
    }

    /// The number of a new row, whatever there is.
    pub(crate) fn push(&mut self, row: &[i32]) -> u32 {
        self.deltas.extend_from_slice(row);
        checked_u32(self.rows() - 1)
    }

    /// The number of an equal interned row, or of a new one.
    pub(crate) fn intern(&mut self, row: &[i32]) -> u32 {
        let hash = self.state.hash_one(row);
        if let Some(&known) = self.known.find(hash, |&known| row_at(&self.deltas, self.stride, known) == row)
        {
            return known;
        }
        let fresh = self.push(row);
        let Self { stride, deltas, known, state } = self;
        known.insert_unique(hash, fresh, |&row| state.hash_one(row_at(deltas, *stride, row)));
        fresh
    }

    pub(super) fn into_deltas(self) -> Vec<i32> {
        self.deltas
    }
}

fn row_at(deltas: &[i32], stride: usize, row: u32) -> &[i32] {
    &deltas[row as usize * stride..][..stride]
}
