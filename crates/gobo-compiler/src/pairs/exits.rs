//! What suffix sets ask of return states of rules with several exits.
//!
//! A set asks only for the states after the exits of its suffixes. Return states differ in others too: each call of a rule with many
//! exits has a row of its own. So what a set does at a return state is computed once for those that have the same states, as far as tokens tell,
//! after these exits. A return state that has none of them is below a rule that shares states with the one that was called there, and the
//! set does nothing at it. And the return states that may lie below are few lists, one for each rule, which a set is followed to once.

use std::rc::Rc;

use foldhash::{HashMap, HashSet};
use gobo_automata::{ExitId, RowClass};
use gobo_types::{Budget, CompileError};

use crate::pairs::return_classes::Under;
use crate::pairs::suffix_sets::{SuffixSetId, SuffixSets};
use crate::rows::{PHASE, PendingSuffixes};

/// A return state as a set sees it: the row class after each of its exits.
pub(crate) type Seen = Vec<(ExitId, RowClass)>;

/// What a set does at a return state, whatever may lie below.
#[derive(Debug, Clone)]
pub(crate) struct Done {
    /// The place of its row.
    pub(crate) row: usize,
    /// The suffixes that end the rule of the return state too.
    pub(crate) left: Rc<PendingSuffixes>,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct SetExits {
    /// The exits of the suffixes of sets, ascending.
    of_set: HashMap<SuffixSetId, Rc<[ExitId]>>,
    done: HashMap<(SuffixSetId, Seen), Done>,
    /// Sets, and the numbers of what may lie below ([`Under::number`]).
    followed: HashSet<(SuffixSetId, usize)>,
}

impl SetExits {
    /// What a set sees of a return state: `row`, its row classes by exit. `None` if it has no state after any exit of the set.
    pub(crate) fn seen(
        &mut self,
        set: SuffixSetId,
        row: &[(ExitId, RowClass)],
        sets: &SuffixSets,
        budget: &Budget,
    ) -> Result<Option<Seen>, CompileError> {
        let exits = self.of_set.entry(set).or_insert_with(|| exits(&sets.get(set)));
        budget.charge_steps(PHASE, 1 + (exits.len() + row.len()) as u64 / 8)?;
        let seen: Seen = row.iter().copied().filter(|way| exits.binary_search(&way.0).is_ok()).collect();
        Ok((!seen.is_empty()).then_some(seen))
    }

    /// What was kept of a set and a return state that it sees so.
    pub(crate) fn done(&self, set: SuffixSetId, seen: &Seen) -> Option<Done> {
        self.done.get(&(set, seen.clone())).cloned()
    }

    /// Keeps what a set does at return states that it sees so.
    pub(crate) fn keep(
        &mut self,
        set: SuffixSetId,
        seen: Seen,
        done: &Done,
        budget: &Budget,
    ) -> Result<(), CompileError> {
        let held = size_of_val(seen.as_slice()) + size_of_val(done.left.blocks.as_slice());
        budget.charge_bytes(PHASE, 64 + held as u64)?;
        self.done.insert((set, seen), done.clone());
        Ok(())
    }

    /// Whether a set was not followed before to what may lie below.
    pub(crate) fn is_new(
        &mut self,
        set: SuffixSetId,
        below: &Under,
        budget: &Budget,
    ) -> Result<bool, CompileError> {
        budget.charge_steps(PHASE, 1 + below.classes.len() as u64 / 8)?;
        Ok(self.followed.insert((set, below.number)))
    }
}

/// The exits of the suffixes of a set, ascending.
fn exits(set: &PendingSuffixes) -> Rc<[ExitId]> {
    let mut exits: Vec<ExitId> = set.blocks.iter().map(|suffix| suffix.exit).chain(set.whole).collect();
    exits.sort_unstable();
    exits.dedup();
    exits.into()
}
