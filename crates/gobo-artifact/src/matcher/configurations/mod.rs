//! The configurations of a text under an index with calls: a state and its stacks each, several where the text so far can be read in
//! several ways.
//!
//! - this file: the configurations, those before the last steps, and a step over the bytes of a token.
//! - `either.rs`: a step along two ways at once.
//! - `budgets.rs`: steps of tokens in rules that count them.
//! - `few.rs`: one byte on from up to four configurations of one stack each.
//! - `merged.rs`: one byte on from any, each state of which has one configuration; `merger.rs` has the room for it.
//! - `rows.rs`: the rows of which a mask is the union; `met.rs` has the pairs that were met.
//! - `completes.rs`: whether a text is complete whose rules have several exits.
//! - `limits.rs`: the limits on stacks, which are looked at before a mask.
//!
//! A step simulates the push-down automaton on all configurations at once, byte by byte, as Thompson's simulation does for the
//! states of an NFA (Bouajjani, Esparza & Maler, *Reachability Analysis of Pushdown Automata*, 1997, for configurations). Stacks
//! are nodes of a graph (`stacks/mod.rs`). While there is one configuration that only its own transitions lead on from, a byte costs
//! one load. Up to [`FEW`] configurations have a plain stack each, and one that another covers is dropped; where a byte leads to
//! more, it is read over a graph, in which those in one state become one, with the union of their stacks (Lang 1974, Tomita 1987). That is
//! exact, because what can follow depends on the state and the stack alone. So there are never more configurations than states, n
//! bytes make at most n × (states + pushes) frames, the sets of frames have at most the square of that many members, most of which they
//! share, and a byte costs at most the square of the text. Plain stacks come back when all sets of several have been popped.
//!
//! In a counted rule the count of characters is a part of the configuration, and the return state on top tells its bounds
//! (`counted.rs`): there those become one that have one state, one count and the same bounds, so that there are at most as many in a state as
//! pairs of a count and bounds have come up. Each configuration can be brought to an end.
//!
//! Which configurations there are after a byte depends on those before it and on the byte: neither the cut into tokens nor steps
//! taken back decide anything, and a text has the same nodes wherever it is read.

mod budgets;
mod completes;
mod either;
mod few;
mod limits;
mod merged;
mod merger;
mod met;
mod rows;

use std::collections::VecDeque;

use gobo_types::LengthRange;

pub use self::limits::{DEFAULT_MAX_STACK_DEPTH, DEFAULT_MAX_STACK_NODES};
pub(crate) use self::limits::{Limits, PastLimit};
use self::merger::Merger;
use crate::layout::index::calls::{CallTables, END};
use crate::matcher::counted::Counted;
use crate::matcher::stacks::{BOTTOM, Configuration, Stacks};
use crate::read::index::Index;

/// Most configurations that have a plain stack each.
const FEW: usize = 4;

/// Bytes after which limits are looked at within a step: as many as the longest token has.
const LOOKED_AT: usize = 4096;

/// Nodes made within a step after which those that are needed no more are freed.
const MANY: usize = 4096;

/// The configurations of a text under an index with calls: one, or several where the text so far can be read in several ways.
#[derive(Debug, Clone)]
pub(crate) struct Configurations {
    stacks: Stacks,
    now: Vec<Configuration>,
    /// The configurations after a step, before it is known whether the whole token can be taken.
    next: Vec<Configuration>,
    last: Vec<Configuration>,
    /// The return states that were popped to in one step.
    returned: Vec<u32>,
    merger: Merger,
    /// The configurations before the last steps, one step after the other.
    kept: VecDeque<Configuration>,
    /// How many configurations there were before each of these steps.
    lengths: VecDeque<u32>,
    /// Most steps that are kept.
    remembered: usize,
    limits: Limits,
}

/// Why a step cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stuck {
    /// Nothing goes on with the byte at this offset.
    Refused(usize),
    /// The text was past a limit before.
    Past(PastLimit),
}

impl From<PastLimit> for Stuck {
    fn from(past: PastLimit) -> Self {
        Self::Past(past)
    }
}

/// The tables that a step reads.
#[derive(Clone, Copy)]
struct Tables<'a> {
    index: &'a Index,
    calls: CallTables<'a>,
    counted: Counted<'a>,
}

impl Stuck {
    /// The same, `by` bytes later.
    fn later(self, by: usize) -> Self {
        match self {
            Self::Refused(offset) => Self::Refused(offset + by),
            limit @ Self::Past(_) => limit,
        }
    }
}

impl Tables<'_> {
    /// Whether a rule may end in the state.
    #[inline]
    fn accepts(&self, state: u32) -> bool {
        self.index.is_complete(state)
    }

    /// Whether a rule has to end in the state: nothing can be read there.
    #[inline]
    fn is_end(&self, state: u32) -> bool {
        self.calls.suffix_set(state) == END && self.accepts(state)
    }

    /// Whether the text may be complete where a return state lies on the stack, as far as it is told by that alone.
    #[inline]
    fn may_end(&self, top: u32) -> bool {
        self.calls.may_end(top, |state| self.accepts(state))
    }

    /// Whether a return state that is popped makes no difference to those below, the rule that it returns to being one that may end.
    #[inline]
    fn is_passed(&self, top: u32) -> bool {
        !self.calls.has_exits() || self.calls.is_passed(top, |state| self.accepts(state))
    }

    /// The configuration that `byte` has led to, once it is counted; `None` where it can no longer be brought to an end.
    #[inline]
    fn count(&self, stacks: &Stacks, mut at: Configuration, byte: u8) -> Option<Configuration> {
        if let Some(lengths) = self.counted.lengths(stacks, at.frame).filter(|of| of.tokens.is_none()) {
            at.count = at.count.after(byte);
            return self.counted.fits(&lengths, at.state, at.count).then_some(at);
        }
        Some(at)
    }
}

impl Configurations {
    /// The empty text, with room to go back `remembered` steps.
    pub(crate) fn new(start: u32, remembered: usize, limits: Limits) -> Self {
        let mut configurations = Self {
            stacks: Stacks::new(),
            now: Vec::new(),
            next: Vec::new(),
            last: Vec::new(),
            returned: Vec::new(),
            merger: Merger::default(),
            kept: VecDeque::with_capacity(remembered),
            lengths: VecDeque::with_capacity(remembered),
            remembered,
            limits,
        };
        configurations.reset(start);
        configurations
    }

    /// Back to the empty text.
    pub(crate) fn reset(&mut self, start: u32) {
        self.kept.clear();
        self.lengths.clear();
        self.stacks.clear();
        self.stacks.hold(BOTTOM);
        self.now.clear();
        self.now.push(Configuration::back(start, BOTTOM));
    }

    /// The same text, without the steps before, with room to go back `remembered` steps. O(nodes kept): those of the steps before
    /// are copied with the others, and held for as long as the copy lives.
    pub(crate) fn probe(&self, remembered: usize) -> Self {
        Self {
            stacks: self.stacks.with_room(),
            now: self.now.clone(),
            next: Vec::new(),
            last: Vec::new(),
            returned: Vec::new(),
            merger: Merger::default(),
            kept: VecDeque::new(),
            lengths: VecDeque::new(),
            remembered,
            limits: self.limits,
        }
    }

    /// The present configurations: at least one.
    pub(crate) fn now(&self) -> &[Configuration] {
        &self.now
    }

    pub(crate) fn stacks(&self) -> &Stacks {
        &self.stacks
    }

    /// Whether the text so far satisfies the constraint. O(configurations).
    pub(crate) fn is_complete(&self, index: &Index) -> bool {
        let counted = Counted::new(index);
        let completes = |at: &Configuration| {
            index.is_complete(at.state)
                && self.stacks.completes(at.frame)
                && counted.may_pop(&self.stacks, at)
                && self.completes_at_exits(index, at)
        };
        self.now.iter().any(completes)
    }

    /// Goes on by `bytes`, all of them or none, as one step. A text that is past a limit does not go on.
    #[inline]
    pub(crate) fn advance(&mut self, index: &Index, bytes: &[u8]) -> Result<(), Stuck> {
        self.check()?;
        let result = self.walk(index, bytes);
        self.arrived(result)
    }

    /// Makes a step of what was walked, if it led anywhere.
    #[inline]
    fn arrived(&mut self, result: Result<(), Stuck>) -> Result<(), Stuck> {
        if result.is_ok() {
            self.next.iter().for_each(|at| self.stacks.hold(at.frame));
            std::mem::swap(&mut self.now, &mut self.next);
            // The configurations before the step are in `next`, and are kept.
            self.keep();
        }
        self.next.clear();
        self.stacks.settle();
        result
    }

    /// A step that leads nowhere else: the end of the text.
    pub(crate) fn stay(&mut self) {
        self.next.clear();
        self.next.extend_from_slice(&self.now);
        self.next.iter().for_each(|at| self.stacks.hold(at.frame));
        self.keep();
        self.next.clear();
    }

    /// Keeps `next`, whose nodes are held, and forgets the oldest step if there are too many.
    fn keep(&mut self) {
        if self.remembered == 0 {
            self.next.iter().for_each(|at| self.stacks.release(at.frame));
            return;
        }
        if self.lengths.len() == self.remembered {
            let oldest = self.lengths.pop_front().unwrap_or(0);
            self.kept.drain(..oldest as usize).for_each(|at| self.stacks.release(at.frame));
        }
        self.lengths
            .push_back(u32::try_from(self.next.len()).expect("few configurations, or one for each state"));
        self.kept.extend(self.next.iter().copied());
    }

    /// Takes back `n` steps; there are as many.
    pub(crate) fn rollback(&mut self, n: usize) {
        for _ in 0..n {
            let Some(length) = self.lengths.pop_back() else { return };
            self.now.drain(..).for_each(|at| self.stacks.release(at.frame));
            let from = self.kept.len() - length as usize;
            self.now.extend(self.kept.drain(from..));
        }
    }

    /// Whether the text could go on by `bytes`, were there no limits.
    pub(crate) fn would_take(&mut self, index: &Index, bytes: &[u8]) -> bool {
        let result = self.walk(index, bytes);
        self.next.clear();
        self.stacks.settle();
        result.is_ok()
    }

    /// The configurations after `bytes`, in `next`.
    fn walk(&mut self, index: &Index, bytes: &[u8]) -> Result<(), Stuck> {
        let Some(calls) = index.calls() else { return Err(Stuck::Refused(0)) };
        let tables = &Tables { index, calls, counted: Counted::new(index) };
        self.next.clear();
        let mut offset = 0;
        if let [one] = *self.now {
            // One configuration that only its own transitions lead on from: most bytes.
            let at;
            (at, offset) = self.walk_inside(tables, one, bytes)?;
            if offset == bytes.len() {
                return self.end_at(tables, at, offset);
            }
            self.go_on_at(tables, at, offset)?;
        } else {
            self.next.extend_from_slice(&self.now);
        }
        let mut looked_at = LOOKED_AT;
        while offset < bytes.len() {
            if offset >= looked_at {
                self.limits.check(&self.stacks, &self.next)?;
                looked_at = offset + LOOKED_AT;
            }
            std::mem::swap(&mut self.next, &mut self.last);
            self.next.clear();
            self.step(tables, bytes[offset]);
            offset += 1;
            match *self.next {
                [] => return Err(Stuck::Refused(offset - 1)),
                [one] if offset < bytes.len() => {
                    let inside = self.walk_inside(tables, one, &bytes[offset..]);
                    let (at, read) = inside.map_err(|stuck| stuck.later(offset))?;
                    offset += read;
                    self.next.clear();
                    if offset == bytes.len() {
                        return self.end_at(tables, at, offset);
                    }
                    self.go_on_at(tables, at, offset)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Goes on by transitions of the configuration's own, as long as nothing else can be done: where that leads, and how many bytes
    /// were read.
    #[inline]
    fn walk_inside(
        &self,
        tables: &Tables<'_>,
        at: Configuration,
        bytes: &[u8],
    ) -> Result<(Configuration, usize), Stuck> {
        let lengths = tables.counted.lengths(&self.stacks, at.frame).filter(|of| of.tokens.is_none());
        if let Some(lengths) = lengths {
            return (tables.counted.walk_inside(tables.index, &tables.calls, &lengths, at, bytes))
                .map_err(Stuck::Refused);
        }
        let (state, read) = tables.index.walk_inside(&tables.calls, at.state, bytes);
        Ok((Configuration { state, ..at }, read))
    }

    /// The step ends with one configuration, after `offset` bytes.
    #[inline]
    fn end_at(&mut self, tables: &Tables<'_>, at: Configuration, offset: usize) -> Result<(), Stuck> {
        if !self.stacks.is_plain(at.frame) {
            return self.arrive_alone(tables, at, offset);
        }
        let at = self.arrive(tables, at).ok_or(Stuck::Refused(offset.saturating_sub(1)))?;
        self.next.push(at);
        Ok(())
    }

    /// The step goes on from one configuration, after `offset` bytes. Whether the rule of a plain stack has ended makes no
    /// difference before the last byte.
    #[inline]
    fn go_on_at(&mut self, tables: &Tables<'_>, at: Configuration, offset: usize) -> Result<(), Stuck> {
        if !self.stacks.is_plain(at.frame) {
            return self.arrive_alone(tables, at, offset);
        }
        self.next.push(at);
        Ok(())
    }

    /// The rule of one configuration on several stacks may have to end, after `offset` bytes.
    #[cold]
    fn arrive_alone(&mut self, tables: &Tables<'_>, at: Configuration, offset: usize) -> Result<(), Stuck> {
        self.merger.found.push(at);
        self.arrive_merged(tables);
        self.merge(tables);
        if self.next.is_empty() { Err(Stuck::Refused(offset.saturating_sub(1))) } else { Ok(()) }
    }

    /// One byte on from `last`, to `next`.
    #[inline]
    fn step(&mut self, tables: &Tables<'_>, byte: u8) {
        if Self::are_few(&self.stacks, &self.last) && self.step_few(tables, byte) {
            return;
        }
        self.step_merged(tables, byte);
        self.clear_up();
    }

    /// Frees nodes that were made within a step and are needed no more, once they are many.
    #[inline]
    fn clear_up(&mut self) {
        if self.stacks.fresh() >= MANY {
            self.next.iter().for_each(|at| self.stacks.hold(at.frame));
            self.stacks.settle();
            self.next.iter().for_each(|at| self.stacks.let_go(at.frame));
        }
    }

    /// Whether these are up to [`FEW`] configurations of one stack each.
    #[inline]
    fn are_few(stacks: &Stacks, all: &[Configuration]) -> bool {
        all.len() <= FEW && all.iter().all(|at| stacks.is_plain(at.frame))
    }

    /// Of each of the present configurations, the characters or tokens that have begun and how many there may be, where they are counted.
    pub(crate) fn counts(&self, index: &Index) -> impl Iterator<Item = Option<(u32, LengthRange)>> {
        let counted = Counted::new(index);
        self.now.iter().map(move |at| {
            let lengths = counted.lengths(&self.stacks, at.frame)?;
            Some((at.count.chars().min(lengths.tokens.unwrap_or(u32::MAX)), lengths))
        })
    }
}
