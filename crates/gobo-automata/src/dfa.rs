use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use gobo_types::{Budget, CompileError};
use hashbrown::HashTable;

use crate::calls::Calls;
use crate::chars::CharStates;
use crate::refine::{Edges, refine, useful};

/// The number of a state.
pub type StateId = u32;

/// The state from which no text is accepted. Every automaton has it, as state 0.
pub const DEAD: StateId = 0;

/// The relative transition that leads to the dead state.
pub const NO_STEP: i32 = i32::MIN;

/// A set of bytes: bit `b & 31` of word `b >> 5`.
pub type ByteSet = [u32; 8];

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
    /// `[rows, stride]`: how far the next state lies behind the state; [`NO_STEP`] where the dead state follows.
    pub deltas: Vec<i32>,
    /// `[states]`: whether a text may end here.
    pub accepting: Vec<bool>,
    /// The state of the empty text; [`DEAD`] if the language is empty.
    pub start: StateId,
    /// How the states make up characters, where that is known.
    pub chars: Option<CharStates>,
    /// The rules that states call; `None` for a regular language, which needs no stack.
    pub calls: Option<Calls>,
}

/// `state` and `delta` as the next state.
#[inline]
fn follow(state: StateId, delta: i32) -> StateId {
    if delta == NO_STEP { DEAD } else { state.wrapping_add_signed(delta) }
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
        self.start == DEAD
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
        row_at(&self.deltas, self.stride, self.row_of[state as usize])
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
        let mut set = ByteSet::default();
        for byte in (0..256).filter(|&byte| keep(usize::from(self.classes[byte]))) {
            set[byte >> 5] |= 1 << (byte & 31);
        }
        set
    }

    /// Whether `text` is accepted.
    pub fn accepts(&self, text: &[u8]) -> bool {
        self.accepting[text.iter().fold(self.start, |state, &byte| self.next(state, byte)) as usize]
    }

    /// The automaton without the edges on bytes outside `keep`: trimmed, minimal, numbered breadth first. It no longer
    /// knows its characters.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn restrict(&self, keep: &ByteSet, budget: &Budget) -> Result<Self, CompileError> {
        // Bytes of one class may now part ways: one class for each (old class, kept).
        let mut classes = Box::new([0; 256]);
        let mut columns: Vec<(usize, bool)> = Vec::new();
        for byte in 0..256 {
            let column = (usize::from(self.classes[byte]), keep[byte >> 5] >> (byte & 31) & 1 == 1);
            let class = columns.iter().position(|known| *known == column).unwrap_or_else(|| {
                columns.push(column);
                columns.len() - 1
            });
            classes[byte] = u8::try_from(class).expect("256 bytes make at most 256 columns");
        }
        let stride = columns.len();
        budget.charge_bytes("restricting to the vocabulary", (self.len() * stride * 4) as u64)?;
        let mut transitions = Vec::with_capacity(self.len() * stride);
        for state in 0..number(self.len()) {
            let row = self.row(state);
            let next = |&(class, kept): &(usize, bool)| if kept { follow(state, row[class]) } else { DEAD };
            transitions.extend(columns.iter().map(next));
        }
        let accepting = self.accepting.clone();
        Dense { classes, stride, transitions, accepting, start: self.start }.canonical(budget)
    }

    /// Groups of states such that those of one group are told apart by no
    /// token of at most `longest_bytes` bytes and `longest_chars` characters, `longest_inner_chars` if it begins inside a
    /// character: from both it leads to a state of `useful`, `[states]`, or from neither.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn groups(
        &self,
        useful: &[bool],
        longest_bytes: u32,
        longest_chars: u32,
        longest_inner_chars: u32,
        budget: &Budget,
    ) -> Result<Groups, CompileError> {
        const PHASE: &str = "grouping states by their rows";
        if let Some(chars) = self.chars.as_ref().filter(|_| useful.iter().skip(1).all(|&useful| useful)) {
            return chars.groups(self.len(), self.calls.as_ref(), longest_chars, longest_inner_chars, budget);
        }
        let marks: Vec<u32> = (0..)
            .zip(useful)
            .map(|(state, &useful)| if state == DEAD { 0 } else { 2 - u32::from(useful) })
            .collect();
        let partition = refine(self, &marks, Some(longest_bytes), PHASE, budget)?;
        let of = (0..number(self.len())).map(|state| partition.block(state)).collect();
        Ok(Groups { of, count: partition.blocks(), alike: Vec::new() })
    }
}

/// Groups of states that no token tells apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups {
    /// `[states]`: the group of each state.
    pub of: Vec<u32>,
    /// A bound on their numbers.
    pub count: usize,
    /// Which states short texts do not tell apart, ascending by their length; empty where that is not known.
    pub alike: Vec<Alike>,
}

/// States that no text of at most `chars` characters tells apart, as [`Dfa::groups`] means it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alike {
    /// Characters; parts of characters at the ends of a text count as whole ones.
    pub chars: u32,
    /// `[states]`: the first state that is not told apart from each. States inside characters stand for themselves.
    pub first: Vec<StateId>,
}

impl Edges for Dfa {
    fn states(&self) -> usize {
        self.len()
    }

    fn edges(&self, state: StateId) -> impl Iterator<Item = (u32, StateId)> {
        (0..)
            .zip(self.row(state))
            .filter(|(_, delta)| **delta != NO_STEP)
            .map(move |(class, &delta)| (class, follow(state, delta)))
    }

    fn edge_count(&self) -> usize {
        self.len() * self.stride
    }
}

/// An automaton with a row of absolute transitions for each state.
pub(crate) struct Dense {
    pub(crate) classes: Box<[u8; 256]>,
    pub(crate) stride: usize,
    /// `[states, stride]`.
    pub(crate) transitions: Vec<StateId>,
    pub(crate) accepting: Vec<bool>,
    pub(crate) start: StateId,
}

impl Edges for Dense {
    fn states(&self) -> usize {
        self.accepting.len()
    }

    fn edges(&self, state: StateId) -> impl Iterator<Item = (u32, StateId)> {
        let row = &self.transitions[state as usize * self.stride..][..self.stride];
        (0..).zip(row).filter(|(_, next)| **next != DEAD).map(|(class, &next)| (class, next))
    }

    fn edge_count(&self) -> usize {
        self.transitions.len()
    }
}

impl Dense {
    /// The trimmed, minimal automaton of the same language with states numbered breadth first and classes by their
    /// first byte.
    pub(crate) fn canonical(mut self, budget: &Budget) -> Result<Dfa, CompileError> {
        const PHASE: &str = "minimising";
        self.trim(budget)?;
        let initial: Vec<u32> = (0..)
            .zip(&self.accepting)
            .map(|(state, &accepting)| if state == DEAD { 0 } else { 1 + u32::from(accepting) })
            .collect();
        let partition = refine(&self, &initial, None, PHASE, budget)?;
        self.merge_classes();
        // Breadth first over one state of each block.
        let mut numbers = vec![u32::MAX; partition.blocks()];
        numbers[partition.block(DEAD) as usize] = DEAD;
        let mut order = vec![DEAD];
        if self.start != DEAD {
            numbers[partition.block(self.start) as usize] = 1;
            order.push(self.start);
        }
        let mut table = RowTable::new(self.stride);
        let mut row_of = vec![0];
        let mut row = vec![NO_STEP; self.stride];
        let mut at: u32 = 1;
        while let Some(&state) = order.get(at as usize) {
            budget.charge_steps(PHASE, self.stride as u64)?;
            for (class, delta) in row.iter_mut().enumerate() {
                let next = self.transitions[state as usize * self.stride + class];
                let known = &mut numbers[partition.block(next) as usize];
                if *known == u32::MAX {
                    *known = number(order.len());
                    order.push(next);
                }
                *delta = match *known {
                    DEAD => NO_STEP,
                    next => i32::try_from(i64::from(next) - i64::from(at)).expect("states are below 2^31"),
                };
            }
            row_of.push(table.intern(&row));
            at += 1;
        }
        budget.charge_bytes(PHASE, (order.len() * 4 + table.rows() * self.stride * 4) as u64)?;
        Ok(Dfa {
            accepting: order.iter().map(|&state| self.accepting[state as usize]).collect(),
            start: u32::from(self.start != DEAD),
            classes: self.classes,
            stride: self.stride,
            row_of,
            deltas: table.into_deltas(),
            chars: None,
            calls: None,
        })
    }

    /// Leads every edge to a state that cannot reach acceptance to the dead state instead.
    fn trim(&mut self, budget: &Budget) -> Result<(), CompileError> {
        let useful = useful(self, &self.accepting, budget)?;
        for next in &mut self.transitions {
            if !useful[*next as usize] {
                *next = DEAD;
            }
        }
        if !useful[self.start as usize] {
            self.start = DEAD;
        }
        Ok(())
    }

    /// Merges byte classes whose columns are equal, numbering them by their first byte.
    fn merge_classes(&mut self) {
        let column = |class: usize| self.transitions[class..].iter().step_by(self.stride);
        let mut kept: Vec<usize> = Vec::new();
        let mut merged = vec![u8::MAX; self.stride];
        let mut seen = vec![false; self.stride];
        for &class in self.classes.iter() {
            let class = usize::from(class);
            if std::mem::replace(&mut seen[class], true) {
                continue;
            }
            let same = kept.iter().position(|&known| column(known).eq(column(class))).unwrap_or_else(|| {
                kept.push(class);
                kept.len() - 1
            });
            merged[class] = u8::try_from(same).expect("at most 256 classes");
        }
        for class in self.classes.iter_mut() {
            *class = merged[usize::from(*class)];
        }
        self.transitions = self
            .transitions
            .chunks_exact(self.stride)
            .flat_map(|row| kept.iter().map(|&class| row[class]))
            .collect();
        self.stride = kept.len();
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
        number(self.rows() - 1)
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

    pub(crate) fn into_deltas(self) -> Vec<i32> {
        self.deltas
    }
}

fn row_at(deltas: &[i32], stride: usize, row: u32) -> &[i32] {
    &deltas[row as usize * stride..][..stride]
}

fn number(n: usize) -> u32 {
    u32::try_from(n).expect("the budget keeps counts below 2^32")
}
