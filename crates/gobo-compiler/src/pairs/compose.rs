//! Rows as unions of what is read on the levels of the stack that a token reaches.
//!
//! A walk with stacks reads the same rests of tokens above the same frames for each state from which they are reached. Where frames are many, as of a
//! programming language, nearly all work is that. Here it is done once: what is read of some blocks from a state is found on its own level
//! ([`Levels`]), and where that calls rules or comes back from them, the blocks that are left are read from the state there, which is
//! found once for each state and set of blocks. Every step up the stack reads something before it, so that this ends.
//!
//! Invariant: rows and suffixes are those of the walk with stacks ([`RowComputer`]). Cost: trie nodes of each state and set of blocks, and the tokens
//! that are united.

use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};
use gobo_artifact::layout::Trie;
use gobo_automata::{PushTransition, Return, StateId};
use gobo_types::{Budget, CompileError, DenseId as _};

use crate::rows::{Levels, PHASE, PendingSuffixes, RowComputer, RuleView, StateRow, Suffix};

/// Blocks of the trie with the ends of their ids; `None` is whole tokens.
type Blocks = Option<Rc<[(u32, u32)]>>;

/// Ranges and suffixes that are united in the time of one step elsewhere.
const UNITED_PER_STEP: u64 = 8;

/// See the [module](self).
pub(crate) struct Composer<'a> {
    view: &'a RuleView<'a>,
    returns: &'a [Return],
    levels: &'a Levels,
    trie: Trie<'a>,
    /// By state, whether it is the first one of a rule that was called for this, and blocks.
    known: HashMap<(StateId, bool, Blocks), Rc<StateRow>>,
    budget: &'a Budget,
}

impl<'a> Composer<'a> {
    pub(crate) fn new(
        view: &'a RuleView<'a>,
        returns: &'a [Return],
        levels: &'a Levels,
        budget: &'a Budget,
    ) -> Self {
        Self { view, returns, levels, trie: view.all().trie, known: HashMap::new(), budget }
    }

    /// The row of a state, and the suffixes that end its rule.
    pub(crate) fn row(
        &mut self,
        state: StateId,
        computer: &mut RowComputer<'_>,
    ) -> Result<StateRow, CompileError> {
        Ok((*self.read(state, false, None, computer)?).clone())
    }

    /// Adds what is read of suffixes below a rule that ended at their exits, from a return state.
    pub(crate) fn read_below(
        &mut self,
        suffixes: &[Suffix],
        at: &Return,
        computer: &mut RowComputer<'_>,
        row: &mut StateRow,
    ) -> Result<(), CompileError> {
        let mut rest = suffixes.to_vec();
        rest.sort_unstable_by_key(|of| (of.exit, of.block));
        for of_exit in rest.chunk_by(|one, next| one.exit == next.exit) {
            let Some(state) = at.state(of_exit[0].exit) else { continue };
            if self.view.is_end(state) {
                let exit = self.view.exit(state);
                row.pending.blocks.extend(of_exit.iter().map(|of| Suffix { exit, ..*of }));
                continue;
            }
            let blocks = of_exit.iter().map(|of| (of.block, of.end)).collect();
            let read = self.read(state, false, Some(blocks), computer)?;
            add(row, &read);
        }
        self.settle(row)
    }

    /// What is read of blocks from a state. `is_entry`: it is the first state of a rule that was called there, so that something is read before
    /// the rule calls or ends.
    fn read(
        &mut self,
        state: StateId,
        is_entry: bool,
        blocks: Blocks,
        computer: &mut RowComputer<'_>,
    ) -> Result<Rc<StateRow>, CompileError> {
        let key = (state, is_entry, blocks);
        if let Some(known) = self.known.get(&key) {
            return Ok(Rc::clone(known));
        }
        let (state, is_entry, blocks) = key;
        let mut row = match &blocks {
            None => computer.row(state)?,
            Some(blocks) => {
                let mut row = StateRow::default();
                computer.read_level(blocks, state, &mut row)?;
                row
            }
        };
        let mut calls: Vec<Suffix> = Vec::new();
        row.pending.blocks.retain(|of| {
            let is_own = self.levels.calls(self.view, of.exit).is_none();
            if !is_own {
                calls.push(*of);
            }
            is_own
        });
        if is_entry {
            row.pending.whole = None;
        } else if let Some(blocks) = &blocks {
            let of = |&(block, end): &(u32, u32), exit| Suffix { block, end, exit };
            if self.view.accepts(state) {
                let exit = self.view.exit(state);
                row.pending.blocks.extend(blocks.iter().map(|block| of(block, exit)));
            }
            if let Some(exit) = self.levels.call_exit(state) {
                calls.extend(blocks.iter().map(|block| of(block, exit)));
            }
        } else if self.levels.call_exit(state).is_some() {
            self.call(self.view.push_transitions(state), &None, &mut row, computer)?;
        }
        calls.sort_unstable_by_key(|of| (of.exit, of.block));
        for of_exit in calls.chunk_by(|one, next| one.exit == next.exit) {
            let pushes = self.levels.calls(self.view, of_exit[0].exit).unwrap_or_default();
            let blocks: Rc<[(u32, u32)]> = of_exit.iter().map(|of| (of.block, of.end)).collect();
            self.call(pushes, &Some(blocks), &mut row, computer)?;
        }
        self.settle(&mut row)?;
        let held = row.tokens.ranges.len() * 8 + row.pending.blocks.len() * 16;
        self.budget.charge_bytes(PHASE, 96 + held as u64)?;
        let row = Rc::new(row);
        self.known.insert((state, is_entry, blocks), Rc::clone(&row));
        Ok(row)
    }

    /// Adds what is read of blocks by rules that are called.
    fn call(
        &mut self,
        pushes: &[PushTransition],
        blocks: &Blocks,
        row: &mut StateRow,
        computer: &mut RowComputer<'_>,
    ) -> Result<(), CompileError> {
        for push in pushes {
            let mut above = self.read(push.entry, true, blocks.clone(), computer)?;
            for top in self.view.pushed(push).iter().rev() {
                row.tokens.unite(&above.tokens);
                if above.pending.blocks.is_empty() {
                    above = Rc::default();
                    break;
                }
                let at = &self.returns[top.index()];
                let mut below = StateRow::default();
                self.read_below(&above.pending.blocks, at, computer, &mut below)?;
                above = Rc::new(below);
            }
            add(row, &above);
        }
        Ok(())
    }

    fn settle(&self, row: &mut StateRow) -> Result<(), CompileError> {
        let united = row.tokens.ranges.len() + row.pending.blocks.len();
        self.budget.charge_steps(PHASE, 1 + united as u64 / UNITED_PER_STEP)?;
        row.tokens.settle();
        row.pending.settle(&row.tokens, &self.trie);
        Ok(())
    }
}

fn add(row: &mut StateRow, other: &StateRow) {
    row.tokens.unite(&other.tokens);
    let PendingSuffixes { blocks, .. } = &other.pending;
    row.pending.blocks.extend_from_slice(blocks);
}
