//! Rows as unions of what is read on the levels of the stack that a token reaches.
//!
//! A walk with stacks reads the same rests of tokens above the same frames for each state from which they are reached. Where frames are many, as of a
//! programming language, nearly all work is that. Here it is done once: what is read of some blocks from a state is found on its own level
//! ([`Levels`]), and where that calls rules or comes back from them, the blocks that are left are read from the state there, which is
//! found once for each state and list of blocks. Every step up the stack reads something before it, so that this ends.
//!
//! Lists of blocks, and what is read of them, are kept once each and go by their numbers: most frames read the same of a list, or pass
//! it on as it is.
//!
//! Invariant: rows and suffixes are those of the walk with stacks ([`RowComputer`]). Suffixes whose tokens are in a row already are left out
//! when all of it is there ([`Composer::found`]). Cost: trie nodes of each state and list of blocks, and the tokens that are united.

use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};
use gobo_artifact::layout::Trie;
use gobo_automata::{ExitId, PushTransition, Return, StateId};
use gobo_types::{Budget, CompileError, DenseId as _, Table, dense_id};

use crate::pairs::lists::{Left, ListId, Lists};
use crate::rows::{Levels, PHASE, PendingSuffixes, RowComputer, RowTokens, RuleView, StateRow, Suffix};

dense_id! {
    /// What is read of a list of blocks.
    pub(crate) struct ReadId;
}

impl ReadId {
    /// Nothing.
    const NOTHING: Self = Self(0);
}

/// What is read on a level of the stack and above it, and what is left for the one below.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Read {
    tokens: RowTokens,
    left: Left,
}

/// Ranges and suffixes that are united in the time of one step elsewhere.
const UNITED_PER_STEP: u64 = 8;

/// See the [module](self).
pub(crate) struct Composer<'a> {
    view: &'a RuleView<'a>,
    returns: &'a [Return],
    levels: &'a Levels,
    trie: Trie<'a>,
    lists: Lists,
    reads: Table<ReadId, Rc<Read>>,
    numbers: HashMap<Rc<Read>, ReadId>,
    /// By state, whether it is the first one of a rule that was called for this, and list.
    known: HashMap<(StateId, bool, ListId), ReadId>,
    budget: &'a Budget,
}

/// Reads that are to be united, and what is beside them.
#[derive(Default)]
struct Union {
    /// Each with whether its suffixes belong to the union too.
    reads: Vec<(ReadId, bool)>,
    tokens: RowTokens,
    left: Left,
}

impl<'a> Composer<'a> {
    pub(crate) fn new(
        view: &'a RuleView<'a>,
        returns: &'a [Return],
        levels: &'a Levels,
        budget: &'a Budget,
    ) -> Self {
        let nothing: Rc<Read> = Rc::default();
        Self {
            view,
            returns,
            levels,
            trie: view.all().trie,
            lists: Lists::new(),
            reads: vec![Rc::clone(&nothing)].into(),
            numbers: HashMap::from_iter([(nothing, ReadId::NOTHING)]),
            known: HashMap::new(),
            budget,
        }
    }

    /// What is read of whole tokens from a state.
    pub(crate) fn row(
        &mut self,
        state: StateId,
        computer: &mut RowComputer<'_>,
    ) -> Result<ReadId, CompileError> {
        self.read(state, false, ListId::WHOLE, computer)
    }

    /// What is read of suffixes below a rule that ended at their exits, from a return state, and of whole tokens beside them.
    pub(crate) fn below(
        &mut self,
        left: &[(ExitId, ListId)],
        at: &Return,
        whole: Option<ReadId>,
        computer: &mut RowComputer<'_>,
    ) -> Result<ReadId, CompileError> {
        let mut union = Union::default();
        union.reads.extend(whole.map(|whole| (whole, true)));
        self.budget.charge_steps(PHASE, left.len() as u64)?;
        for &(exit, list) in left {
            let Some(state) = at.state(exit) else { continue };
            if self.view.is_end(state) {
                union.left.push((self.view.exit(state), list));
            } else {
                union.reads.push((self.read(state, false, list, computer)?, true));
            }
        }
        self.unite(union)
    }

    /// The blocks of a set, by exit.
    pub(crate) fn lists(&mut self, set: &PendingSuffixes) -> Result<Left, CompileError> {
        self.lists.of(set.blocks.clone(), self.budget)
    }

    /// The tokens that are read, and the suffixes that are left, without those whose tokens are all read.
    pub(crate) fn found(&self, read: ReadId) -> StateRow {
        let read = &self.reads[read];
        let mut pending = PendingSuffixes::default();
        for &(exit, list) in &read.left {
            if list == ListId::WHOLE {
                pending.whole = Some(exit);
            } else {
                let blocks = self.lists.get(list).iter();
                pending.blocks.extend(blocks.map(|&(block, end)| Suffix { block, end, exit }));
            }
        }
        pending.settle(&read.tokens, &self.trie);
        StateRow { tokens: read.tokens.clone(), pending }
    }

    /// What is read of blocks from a state. `is_entry`: it is the first state of a rule that was called there, so that something is read before
    /// the rule calls or ends.
    fn read(
        &mut self,
        state: StateId,
        is_entry: bool,
        list: ListId,
        computer: &mut RowComputer<'_>,
    ) -> Result<ReadId, CompileError> {
        let key = (state, is_entry, list);
        if let Some(&known) = self.known.get(&key) {
            return Ok(known);
        }
        let mut row = StateRow::default();
        if list == ListId::WHOLE {
            row = computer.row(state)?;
        } else if !self.view.reads_nothing(state) {
            computer.read_level(self.lists.get(list), state, &mut row)?;
        }
        let StateRow { tokens, pending } = row;
        let mut union = Union { tokens, ..Union::default() };
        let mut calls = Left::new();
        for (exit, list) in self.lists.of(pending.blocks, self.budget)? {
            let is_own = self.levels.calls(self.view, exit).is_none();
            if is_own { &mut union.left } else { &mut calls }.push((exit, list));
        }
        if !is_entry {
            if self.view.accepts(state) {
                union.left.push((self.view.exit(state), list));
            }
            calls.extend(self.levels.call_exit(state).map(|exit| (exit, list)));
        }
        for (exit, list) in calls {
            let pushes = self.levels.calls(self.view, exit).unwrap_or_default();
            self.call(pushes, list, &mut union, computer)?;
        }
        let read = self.unite(union)?;
        self.budget.charge_steps(PHASE, 1)?;
        self.budget.charge_bytes(PHASE, 24)?;
        self.known.insert(key, read);
        Ok(read)
    }

    /// Adds what is read of blocks by rules that are called.
    fn call(
        &mut self,
        pushes: &[PushTransition],
        list: ListId,
        union: &mut Union,
        computer: &mut RowComputer<'_>,
    ) -> Result<(), CompileError> {
        for push in pushes {
            self.budget.charge_steps(PHASE, 1 + self.view.pushed(push).len() as u64)?;
            let mut above = self.read(push.entry, true, list, computer)?;
            for top in self.view.pushed(push).iter().rev() {
                union.reads.push((above, false));
                let read = Rc::clone(&self.reads[above]);
                above = self.below(&read.left, &self.returns[top.index()], None, computer)?;
            }
            union.reads.push((above, true));
        }
        Ok(())
    }

    fn unite(&mut self, union: Union) -> Result<ReadId, CompileError> {
        let Union { mut reads, mut tokens, mut left } = union;
        reads.retain(|&(read, with_left)| {
            let Read { tokens, left } = &*self.reads[read];
            !tokens.is_empty() || (with_left && !left.is_empty())
        });
        if tokens.is_empty() && left.is_empty() {
            match reads.as_slice() {
                [] => return Ok(ReadId::NOTHING),
                &[(read, with_left)] if with_left || self.reads[read].left.is_empty() => return Ok(read),
                _ => {}
            }
        }
        for (read, with_left) in reads {
            let read = &self.reads[read];
            tokens.unite(&read.tokens);
            if with_left {
                left.extend_from_slice(&read.left);
            }
        }
        self.budget.charge_steps(PHASE, 1 + (tokens.ranges.len() + left.len()) as u64 / UNITED_PER_STEP)?;
        tokens.settle();
        self.lists.unite(&mut left, self.budget)?;
        let read = Read { tokens, left };
        if let Some(&known) = self.numbers.get(&read) {
            return Ok(known);
        }
        let held = read.tokens.ranges.len() * 8 + read.left.len() * 8;
        self.budget.charge_bytes(PHASE, 128 + held as u64)?;
        let read = Rc::new(read);
        let fresh = self.reads.push(Rc::clone(&read));
        self.numbers.insert(read, fresh);
        Ok(fresh)
    }
}
