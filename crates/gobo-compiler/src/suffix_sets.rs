//! Sets of pending suffixes: the states of the automaton that reads a stack from its top.

use std::rc::Rc;

use foldhash::HashMap;
use gobo_types::{Budget, CompileError, Table, dense_id};

use crate::rows::PHASE;
use crate::tried::TriedId;

dense_id! {
    /// A set of pending suffixes.
    pub(crate) struct SuffixSetId;
}

impl SuffixSetId {
    /// The empty set.
    pub(crate) const EMPTY: Self = Self(0);
}

/// A block of tokens that go on after the end of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Suffix {
    pub(crate) block: u32,
    /// The end of the ids of the block.
    pub(crate) end: u32,
    /// The classes of return states that they have been tried at.
    pub(crate) tried: TriedId,
}

/// Suffixes that are pending for the frame on top of the stack.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct SuffixSet {
    /// Whether whole tokens are among them, and the classes that they have been tried at.
    pub(crate) whole: Option<TriedId>,
    /// Ascending.
    pub(crate) blocks: Vec<Suffix>,
}

/// The sets that were met, each once.
pub(crate) struct SuffixSets {
    sets: Table<SuffixSetId, Rc<SuffixSet>>,
    known: HashMap<Rc<SuffixSet>, SuffixSetId>,
    suffixes: usize,
}

impl SuffixSets {
    /// The empty set alone.
    pub(crate) fn new() -> Self {
        let empty: Rc<SuffixSet> = Rc::default();
        let known = HashMap::from_iter([(Rc::clone(&empty), SuffixSetId::EMPTY)]);
        Self { sets: vec![empty].into(), known, suffixes: 0 }
    }

    /// Number of sets.
    pub(crate) fn len(&self) -> usize {
        self.sets.len()
    }

    /// Number of suffixes in all of them.
    pub(crate) fn suffixes(&self) -> usize {
        self.suffixes
    }

    pub(crate) fn get(&self, set: SuffixSetId) -> Rc<SuffixSet> {
        Rc::clone(&self.sets[set])
    }

    /// The number of a set.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn intern(&mut self, set: SuffixSet, budget: &Budget) -> Result<SuffixSetId, CompileError> {
        if let Some(&known) = self.known.get(&set) {
            return Ok(known);
        }
        budget.charge_bytes(PHASE, 32 + set.blocks.len() as u64 * 16)?;
        self.suffixes += set.blocks.len();
        let set = Rc::new(set);
        let fresh = self.sets.push(Rc::clone(&set));
        self.known.insert(set, fresh);
        Ok(fresh)
    }
}
