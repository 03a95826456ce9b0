//! Sets of pending suffixes: the states of the automaton that reads a stack from its top.

use std::rc::Rc;

use foldhash::HashMap;
use gobo_types::{Budget, CompileError, Table, dense_id};

use crate::pairs::return_classes::ReturnClassId;
use crate::rows::{PHASE, PendingSuffixes};

dense_id! {
    /// A set of pending suffixes.
    pub(crate) struct SuffixSetId;
}

impl SuffixSetId {
    /// The empty set.
    pub(crate) const EMPTY: Self = Self(0);
}

/// The effect of a suffix set at the return states of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pair {
    /// The class.
    pub(crate) class: ReturnClassId,
    /// The place of its row.
    pub(crate) row: usize,
    /// The suffixes pending for the return state below.
    pub(crate) suffixes: SuffixSetId,
}

/// The sets that were met, each once.
pub(crate) struct SuffixSets {
    sets: Table<SuffixSetId, Rc<PendingSuffixes>>,
    known: HashMap<Rc<PendingSuffixes>, SuffixSetId>,
    suffixes: usize,
}

impl SuffixSets {
    /// The empty set alone.
    pub(crate) fn new() -> Self {
        let empty: Rc<PendingSuffixes> = Rc::default();
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

    pub(crate) fn get(&self, set: SuffixSetId) -> Rc<PendingSuffixes> {
        Rc::clone(&self.sets[set])
    }

    /// The number of a set.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn intern(
        &mut self,
        set: PendingSuffixes,
        budget: &Budget,
    ) -> Result<SuffixSetId, CompileError> {
        if !self.known.contains_key(&set) {
            budget.charge_bytes(PHASE, set.blocks.len() as u64 * 16)?;
        }
        self.intern_part(set, budget)
    }

    /// As [`Self::intern`], of a part of a set whose suffixes were charged with that.
    pub(crate) fn intern_part(
        &mut self,
        set: PendingSuffixes,
        budget: &Budget,
    ) -> Result<SuffixSetId, CompileError> {
        if let Some(&known) = self.known.get(&set) {
            return Ok(known);
        }
        budget.charge_bytes(PHASE, 32)?;
        self.suffixes += set.blocks.len();
        let set = Rc::new(set);
        let fresh = self.sets.push(Rc::clone(&set));
        self.known.insert(set, fresh);
        Ok(fresh)
    }

    /// Frees the suffixes of a set that nobody will ask for again.
    pub(crate) fn forget(&mut self, set: SuffixSetId) {
        self.known.remove(&self.sets[set]);
        self.sets[set] = Rc::default();
    }
}
