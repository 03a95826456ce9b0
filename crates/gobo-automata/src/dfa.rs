use gobo_types::{Budget, CompileError};

use crate::refine::refine;

/// The number of a state.
pub type StateId = u32;

/// The state from which no text is accepted. Every automaton has it, as state 0.
pub const DEAD: StateId = 0;

/// A set of bytes: bit `b & 31` of word `b >> 5`.
pub type ByteSet = [u32; 8];

/// A total deterministic automaton over bytes: state 0 is dead, every other state can reach acceptance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dfa {
    /// The class of each byte. Bytes of one class lead to the same state everywhere.
    pub classes: Box<[u8; 256]>,
    /// Number of classes: 1 to 256.
    pub stride: usize,
    /// `[states, stride]`.
    pub transitions: Vec<StateId>,
    /// `[states]`: whether a text may end here.
    pub accepting: Vec<bool>,
    /// The state of the empty text; [`DEAD`] if the language is empty.
    pub start: StateId,
}

impl Dfa {
    /// Number of states, the dead one included.
    pub fn len(&self) -> usize {
        self.accepting.len()
    }

    /// Whether no text is accepted.
    pub fn is_empty(&self) -> bool {
        self.start == DEAD
    }

    /// The state after `byte`.
    #[inline]
    pub fn next(&self, state: StateId, byte: u8) -> StateId {
        self.transitions[state as usize * self.stride + usize::from(self.classes[usize::from(byte)])]
    }

    /// The transitions of one state: `[stride]`.
    pub fn row(&self, state: StateId) -> &[StateId] {
        &self.transitions[state as usize * self.stride..][..self.stride]
    }

    /// The bytes that lead from some state to a live one.
    pub fn live_bytes(&self) -> ByteSet {
        let mut live = vec![false; self.stride];
        for row in self.transitions.chunks_exact(self.stride) {
            live.iter_mut().zip(row).for_each(|(live, &next)| *live |= next != DEAD);
        }
        self.bytes_of(|class| live[class])
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

    /// The automaton without the edges on bytes outside `keep`: trimmed, minimal, canonical.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn restrict(&self, keep: &ByteSet, budget: &Budget) -> Result<Self, CompileError> {
        // Bytes of one class may now part ways: one class for each (old class, kept).
        let mut split =
            Self { classes: Box::new([0; 256]), transitions: Vec::new(), stride: 0, ..self.clone() };
        let mut columns: Vec<(usize, bool)> = Vec::new();
        for byte in 0..256 {
            let column = (usize::from(self.classes[byte]), keep[byte >> 5] >> (byte & 31) & 1 == 1);
            let class = columns.iter().position(|known| *known == column).unwrap_or_else(|| {
                columns.push(column);
                columns.len() - 1
            });
            split.classes[byte] = u8::try_from(class).expect("256 bytes make at most 256 columns");
        }
        split.stride = columns.len();
        budget.charge_bytes("restricting to the vocabulary", (self.len() * split.stride * 4) as u64)?;
        for state in 0..self.len() {
            let row = &self.transitions[state * self.stride..][..self.stride];
            split
                .transitions
                .extend(columns.iter().map(|&(class, kept)| if kept { row[class] } else { DEAD }));
        }
        split.canonical(budget)
    }

    /// The automaton of all texts that are in the language once one leading space is dropped, if there is one: a new
    /// start that reads a space and is where the old one was, and reads everything else as the old one did.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn before_strip_of_one_space(&self, budget: &Budget) -> Result<Self, CompileError> {
        // The space needs a class of its own, so that only it leads to the old start.
        let stride = self.stride + 1;
        let space_class = u8::try_from(self.stride).ok().filter(|_| self.stride < 256);
        let Some(space_class) = space_class else {
            // 256 classes: every byte has its own already.
            return self.with_start(usize::from(self.classes[usize::from(b' ')]), self.clone(), budget);
        };
        let mut split = Self { stride, transitions: Vec::with_capacity(self.len() * stride), ..self.clone() };
        split.classes[usize::from(b' ')] = space_class;
        for state in 0..self.len() {
            let row = &self.transitions[state * self.stride..][..self.stride];
            split.transitions.extend_from_slice(row);
            split.transitions.push(row[usize::from(self.classes[usize::from(b' ')])]);
        }
        self.with_start(usize::from(space_class), split, budget)
    }

    /// `split`, which is this automaton with the space in class `space`, behind a start that reads one space.
    fn with_start(&self, space: usize, mut split: Self, budget: &Budget) -> Result<Self, CompileError> {
        budget.charge_bytes("building the start", split.transitions.len() as u64 * 4)?;
        let mut row = split.row(self.start).to_vec();
        row[space] = self.start;
        split.transitions.extend(row);
        split.accepting.push(self.accepting[self.start as usize]);
        split.start = StateId::try_from(self.len()).expect("the budget keeps states below 2^32");
        split.canonical(budget)
    }

    /// The trimmed, minimal automaton of the same language with states numbered breadth first and classes by their
    /// first byte: equal languages give equal automata. State 0 must be dead.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn canonical(mut self, budget: &Budget) -> Result<Self, CompileError> {
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
        let mut order = vec![DEAD, self.start];
        numbers[partition.block(DEAD) as usize] = 0;
        if self.start == DEAD {
            order.truncate(1);
        } else {
            numbers[partition.block(self.start) as usize] = 1;
        }
        let mut transitions = Vec::new();
        let mut at = 0;
        while at < order.len() {
            budget.charge_steps(PHASE, self.stride as u64)?;
            for class in 0..self.stride {
                let next = self.transitions[order[at] as usize * self.stride + class];
                let number = &mut numbers[partition.block(next) as usize];
                if *number == u32::MAX {
                    *number = u32::try_from(order.len()).expect("no more states than before");
                    order.push(next);
                }
                transitions.push(*number);
            }
            at += 1;
        }
        budget.charge_bytes(PHASE, transitions.len() as u64 * 4)?;
        Ok(Self {
            accepting: order.iter().map(|&state| self.accepting[state as usize]).collect(),
            start: u32::from(self.start != DEAD),
            transitions,
            ..self
        })
    }

    /// Leads every edge to a state that cannot reach acceptance to the dead state instead.
    fn trim(&mut self, budget: &Budget) -> Result<(), CompileError> {
        let predecessors = Predecessors::of(self, "trimming", budget)?;
        let mut useful = self.accepting.clone();
        let mut stack: Vec<StateId> =
            (0..).zip(&useful).filter(|(_, useful)| **useful).map(|(state, _)| state).collect();
        while let Some(state) = stack.pop() {
            for &before in predecessors.of_state(state) {
                if !std::mem::replace(&mut useful[before as usize], true) {
                    stack.push(before);
                }
            }
        }
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

/// The states from which some edge leads to a state, dead ones left out: compressed rows.
#[derive(Debug)]
pub(crate) struct Predecessors {
    starts: Vec<u32>,
    states: Vec<StateId>,
}

impl Predecessors {
    pub(crate) fn of(dfa: &Dfa, phase: &str, budget: &Budget) -> Result<Self, CompileError> {
        let cells = dfa.transitions.len() as u64;
        budget.charge_steps(phase, cells)?;
        budget.charge_bytes(phase, cells * 4)?;
        // Each (state, successor) pair once: successors of one state are deduplicated by a stamp.
        let mut stamp = vec![DEAD; dfa.len()];
        let mut edges = |visit: &mut dyn FnMut(StateId, StateId)| {
            stamp.fill(DEAD);
            for (state, row) in (0..).zip(dfa.transitions.chunks_exact(dfa.stride)) {
                for &next in row {
                    if next != DEAD && state != DEAD && stamp[next as usize] != state {
                        stamp[next as usize] = state;
                        visit(state, next);
                    }
                }
            }
        };
        let mut starts = vec![0_u32; dfa.len() + 1];
        edges(&mut |_, next| starts[next as usize + 1] += 1);
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut states = vec![DEAD; *starts.last().unwrap_or(&0) as usize];
        let mut fill = starts.clone();
        edges(&mut |state, next| {
            let slot = &mut fill[next as usize];
            states[*slot as usize] = state;
            *slot += 1;
        });
        Ok(Self { starts, states })
    }

    pub(crate) fn of_state(&self, state: StateId) -> &[StateId] {
        &self.states[self.starts[state as usize] as usize..self.starts[state as usize + 1] as usize]
    }
}
