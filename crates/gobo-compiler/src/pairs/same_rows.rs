//! States that share a row, because no text as long as a token tells them apart.

use foldhash::{HashMap, HashMapExt};
use gobo_automata::{KEquivalence, StateId};
use gobo_types::{CompileError, DenseId as _};

use crate::pairs::return_classes::Asked;
use crate::rows::RowComputer;

/// States whose row is that of another one: of a state that no short text tells apart from it, where no longer token is alive
/// beyond such a text.
pub(super) struct SameRows<'a> {
    equivalences: &'a [KEquivalence],
    /// `[equivalences]`: the states that stand for several of those that were asked for.
    shared: Vec<foldhash::HashSet<StateId>>,
    /// [`RowComputer::is_bounded`], by level and state.
    bounded: HashMap<(usize, StateId), bool>,
}

impl<'a> SameRows<'a> {
    pub(super) fn new(equivalences: &'a [KEquivalence], states: &[Asked]) -> Self {
        let shared = |equivalence: &KEquivalence| {
            let mut firsts: Vec<StateId> =
                states.iter().map(|asked| equivalence.representative[asked.state.index()]).collect();
            firsts.sort_unstable();
            firsts.chunk_by(|a, b| a == b).filter(|class| class.len() > 1).map(|class| class[0]).collect()
        };
        Self { equivalences, shared: equivalences.iter().map(shared).collect(), bounded: HashMap::new() }
    }

    /// The state whose row a state shares.
    pub(super) fn find(
        &mut self,
        state: StateId,
        computer: &mut RowComputer<'_>,
    ) -> Result<StateId, CompileError> {
        for (level, KEquivalence { chars, representative }) in self.equivalences.iter().enumerate() {
            let first = representative[state.index()];
            if !self.shared[level].contains(&first) {
                continue;
            }
            let is_bounded = match self.bounded.get(&(level, first)) {
                Some(&known) => known,
                None => {
                    let found = computer.is_bounded(first, *chars)?;
                    self.bounded.insert((level, first), found);
                    found
                }
            };
            if is_bounded {
                return Ok(first);
            }
        }
        Ok(state)
    }
}
