//! Lists of blocks of the vocabulary's trie, each kept once.

use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};
use gobo_automata::ExitId;
use gobo_types::{Budget, CompileError, Table, dense_id};

use crate::rows::{PHASE, Suffix};

dense_id! {
    /// A list of blocks.
    pub(crate) struct ListId;
}

impl ListId {
    /// No list: whole tokens.
    pub(crate) const WHOLE: Self = Self(0);
}

/// Suffixes by the exit at which a rule has ended.
pub(crate) type Left = Vec<(ExitId, ListId)>;

/// Blocks, ascending, each with the end of its ids.
type Blocks = Rc<[(u32, u32)]>;

/// The lists that were met.
pub(crate) struct Lists {
    blocks: Table<ListId, Blocks>,
    numbers: HashMap<Blocks, ListId>,
    united: HashMap<(ListId, ListId), ListId>,
}

impl Lists {
    pub(crate) fn new() -> Self {
        Self { blocks: vec![Rc::default()].into(), numbers: HashMap::new(), united: HashMap::new() }
    }

    pub(crate) fn get(&self, list: ListId) -> &[(u32, u32)] {
        &self.blocks[list]
    }

    /// The lists of suffixes, by exit.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn of(&mut self, mut suffixes: Vec<Suffix>, budget: &Budget) -> Result<Left, CompileError> {
        suffixes.sort_unstable_by_key(|of| (of.exit, of.block));
        let of_exit = suffixes.chunk_by(|one, next| one.exit == next.exit);
        let list = of_exit.map(|of_exit| {
            let blocks = of_exit.iter().map(|of| (of.block, of.end)).collect();
            Ok((of_exit[0].exit, self.number(blocks, budget)?))
        });
        list.collect()
    }

    /// One list for each exit, by exit.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn unite(&mut self, left: &mut Left, budget: &Budget) -> Result<(), CompileError> {
        left.sort_unstable();
        left.dedup();
        let mut kept: usize = 0;
        for at in 0..left.len() {
            let (exit, list) = left[at];
            match left[..kept].last() {
                // Whole tokens come first, and are beside the rests of tokens.
                Some(&(last, before)) if last == exit && before != ListId::WHOLE => {
                    left[kept - 1].1 = self.union(before, list, budget)?;
                }
                _ => {
                    left[kept] = (exit, list);
                    kept += 1;
                }
            }
        }
        left.truncate(kept);
        Ok(())
    }

    fn union(&mut self, one: ListId, other: ListId, budget: &Budget) -> Result<ListId, CompileError> {
        if let Some(&known) = self.united.get(&(one, other)) {
            return Ok(known);
        }
        let mut blocks = [self.get(one), self.get(other)].concat();
        blocks.sort_unstable();
        blocks.dedup();
        budget.charge_steps(PHASE, 1 + blocks.len() as u64 / 8)?;
        budget.charge_bytes(PHASE, 24)?;
        let united = self.number(blocks.into(), budget)?;
        self.united.insert((one, other), united);
        Ok(united)
    }

    fn number(&mut self, blocks: Blocks, budget: &Budget) -> Result<ListId, CompileError> {
        if let Some(&known) = self.numbers.get(&blocks) {
            return Ok(known);
        }
        budget.charge_bytes(PHASE, 64 + blocks.len() as u64 * 8)?;
        let fresh = self.blocks.push(Rc::clone(&blocks));
        self.numbers.insert(blocks, fresh);
        Ok(fresh)
    }
}
