//! Disjoint sets of pending suffixes: a partition that is refined as sets come up (Paige & Tarjan, *Three Partition Refinement
//! Algorithms*, 1987; here each set that comes up is a splitter, once).
//!
//! What a suffix does at a frame depends on itself and the frame alone, so that a set may be followed as any sets that
//! make it up. Sets that overlap without being equal multiply: after `root ::= . | "é" root{0,2} root{1,3} root{0,2}` a frame leaves
//! the places from one number of letters on to another, a set for each two numbers. The *cells* that these sets are made
//! of are as many as there are numbers. A set that comes up is cut out of the cells that it has a part of; suffixes that no
//! cell has are a cell of their own. So each set is a union of cells, and no cell is smaller than these sets make it.

use foldhash::HashMap;
use gobo_types::{Budget, CompileError, DenseId as _};

use crate::pairs::suffix_sets::{SuffixSetId, SuffixSets};
use crate::rows::{PHASE, PendingSuffixes, Suffix};

/// Suffixes that are looked at in the time of one step elsewhere.
const SUFFIXES_PER_STEP: u64 = 8;

/// In the place of a block: the whole token is pending.
const WHOLE: u32 = u32::MAX;

/// The cells.
#[derive(Debug, Default)]
pub(crate) struct SuffixCells {
    /// By suffix, the cell that has it.
    cell_of: HashMap<Suffix, SuffixSetId>,
    /// The parts of cells that were cut.
    parts: HashMap<SuffixSetId, [SuffixSetId; 2]>,
}

impl SuffixCells {
    /// The parts of a cell that was cut; `None` of others.
    pub(crate) fn parts(&self, cell: SuffixSetId) -> Option<[SuffixSetId; 2]> {
        self.parts.get(&cell).copied()
    }

    /// The cells that a set is made of. Those that have a part of it are cut, and `was_cut` is told into what. Cells that are sets of
    /// states, the first `of_states`, are kept beside their parts.
    ///
    /// O(suffixes of the set and of the cells that are cut).
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn of(
        &mut self,
        set: &PendingSuffixes,
        sets: &mut SuffixSets,
        of_states: usize,
        budget: &Budget,
        mut was_cut: impl FnMut(SuffixSetId, [SuffixSetId; 2]),
    ) -> Result<Vec<SuffixSetId>, CompileError> {
        budget.charge_steps(PHASE, set.blocks.len() as u64 / SUFFIXES_PER_STEP)?;
        // The suffixes of the set by the cells that have them, in the order in which they come.
        let mut met: Vec<(SuffixSetId, Vec<Suffix>)> = Vec::new();
        let mut place_of: HashMap<SuffixSetId, usize> = HashMap::default();
        let mut fresh = Vec::new();
        for suffix in suffixes(set) {
            let Some(&cell) = self.cell_of.get(&suffix) else {
                fresh.push(suffix);
                continue;
            };
            let place = *place_of.entry(cell).or_insert_with(|| {
                met.push((cell, Vec::new()));
                met.len() - 1
            });
            met[place].1.push(suffix);
        }
        let mut cells = Vec::with_capacity(met.len() + 1);
        for (cell, inside) in met {
            let all = sets.get(cell);
            if inside.len() == suffixes(&all).count() {
                cells.push(cell);
                continue;
            }
            budget.charge_steps(PHASE, all.blocks.len() as u64 / SUFFIXES_PER_STEP)?;
            let is_kept = cell.index() < of_states;
            if !is_kept {
                sets.forget(cell);
            }
            let mut is_inside = inside.iter().peekable();
            let outside = suffixes(&all).filter(|suffix| is_inside.next_if_eq(&suffix).is_none()).collect();
            let parts =
                [self.enter(inside, sets, is_kept, budget)?, self.enter(outside, sets, is_kept, budget)?];
            self.parts.insert(cell, parts);
            was_cut(cell, parts);
            cells.push(parts[0]);
        }
        if !fresh.is_empty() {
            budget.charge_bytes(PHASE, fresh.len() as u64 * 32)?;
            cells.push(self.enter(fresh, sets, true, budget)?);
        }
        Ok(cells)
    }

    /// Makes a cell of suffixes, ascending.
    fn enter(
        &mut self,
        of: Vec<Suffix>,
        sets: &mut SuffixSets,
        is_more: bool,
        budget: &Budget,
    ) -> Result<SuffixSetId, CompileError> {
        let whole = of.last().filter(|suffix| suffix.block == WHOLE).map(|suffix| suffix.exit);
        let mut set = PendingSuffixes { whole, blocks: of };
        set.blocks.truncate(set.blocks.len() - usize::from(whole.is_some()));
        let cell =
            if is_more { sets.intern(set.clone(), budget)? } else { sets.intern_part(set.clone(), budget)? };
        suffixes(&set).for_each(|suffix| _ = self.cell_of.insert(suffix, cell));
        Ok(cell)
    }

    /// The cells that some cells have become: those that were not cut, and the last parts of the others.
    pub(crate) fn uncut(&self, cells: &[SuffixSetId]) -> Vec<SuffixSetId> {
        let mut found = Vec::new();
        let mut open = cells.to_vec();
        while let Some(cell) = open.pop() {
            match self.parts(cell) {
                Some(parts) => open.extend(parts),
                None => found.push(cell),
            }
        }
        found
    }
}

/// The suffixes of a set, ascending.
fn suffixes(set: &PendingSuffixes) -> impl Iterator<Item = Suffix> {
    let whole = |exit| Suffix { block: WHOLE, end: WHOLE, exit };
    set.blocks.iter().copied().chain(set.whole.map(whole))
}

#[cfg(test)]
mod tests {
    use gobo_automata::ExitId;
    use gobo_types::CompileLimits;
    use proptest::prelude::*;

    use super::*;

    /// Some of the suffixes of a small vocabulary; the last one stands for the whole token.
    fn some() -> impl Strategy<Value = PendingSuffixes> {
        prop::collection::btree_set(0_u32..12, 0..8).prop_map(|numbers| PendingSuffixes {
            whole: numbers.contains(&11).then_some(ExitId::FIRST),
            blocks: numbers
                .into_iter()
                .filter(|number| *number < 11)
                .map(|number| Suffix {
                    block: number / 2,
                    end: number / 2 + 1,
                    exit: ExitId::from_number(number % 2),
                })
                .collect(),
        })
    }

    proptest! {
        /// Cells share no suffix, each set is the union of its cells whatever was cut since, sets of states stay as they are, and whoever
        /// follows what was cut has followed each last part.
        #[test]
        fn sets_are_unions_of_disjoint_cells(of_states in prop::collection::vec(some(), 0..3),
                                             left in prop::collection::vec(some(), 1..12)) {
            let budget = Budget::new(CompileLimits::default());
            let (mut sets, mut cells) = (SuffixSets::new(), SuffixCells::default());
            let states: Vec<_> =
                of_states.into_iter().map(|set| (sets.intern(set.clone(), &budget).unwrap(), set)).collect();
            let first = sets.len();
            let mut found = Vec::new();
            let mut followed = Vec::new();
            for set in left {
                let was_cut = |cell, parts: [SuffixSetId; 2]| {
                    assert!(followed.contains(&cell));
                    followed.extend(parts);
                };
                let of = cells.of(&set, &mut sets, first, &budget, was_cut).unwrap();
                followed.extend(&of);
                found.push((set, of));
            }
            let mut last = Vec::new();
            for (set, of) in found {
                let of = cells.uncut(&of);
                let mut all: Vec<_> = of.iter().flat_map(|cell| suffixes(&sets.get(*cell)).collect::<Vec<_>>()).collect();
                all.sort_unstable();
                prop_assert_eq!(all, suffixes(&set).collect::<Vec<_>>());
                prop_assert!(of.iter().all(|cell| followed.contains(cell)));
                last.extend(of);
            }
            last.sort_unstable();
            last.dedup();
            let mut all: Vec<_> = last.iter().flat_map(|cell| suffixes(&sets.get(*cell)).collect::<Vec<_>>()).collect();
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            prop_assert_eq!(all.len(), count, "disjoint");
            for (number, set) in states {
                prop_assert_eq!(&*sets.get(number), &set);
            }
        }
    }
}
