//! The stacks of readings, where rules call each other.
//!
//! A canonical index has one way on for each byte, so a reading has one stack: a chain of frames. Frames are kept while they may be gone back to, each once,
//! so that a text that closes and opens the same rules needs no more of them.

use std::collections::HashMap;

use crate::layout::index::calls::{CallTables, NO_SUFFIXES};
use crate::layout::{DEAD, Row};
use crate::matcher::error::MatcherError;
use crate::read::index::Index;
use crate::read::vocabulary::Vocabulary;

/// Below the deepest frame.
pub(crate) const BOTTOM: u32 = u32::MAX;

/// So many frames are kept before those are looked for that nothing goes back to.
const MANY: usize = 1 << 12;

/// A return state on a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Frame {
    /// The number of the return state.
    top: u32,
    below: u32,
}

/// See the [module](self).
#[derive(Debug, Clone, Default)]
pub(crate) struct Frames {
    /// Each frame, and how many are on its stack.
    all: Vec<(Frame, u32)>,
    known: HashMap<Frame, u32>,
    /// Frames at which those that are needed are looked for.
    many: usize,
    /// Most frames of a stack.
    max_depth: u32,
}

impl Frames {
    /// The stack at the beginning of a text: that to which the whole text returns, under an index with calls.
    pub(crate) fn at_start(index: &Index, max_depth: u32) -> (Self, u32) {
        let mut frames = Self { many: MANY, max_depth, ..Self::default() };
        let bottom = index.calls().and_then(|calls| u32::try_from(calls.return_count()).ok()?.checked_sub(1));
        let start = bottom.map_or(BOTTOM, |top| frames.push(top, BOTTOM));
        (frames, start)
    }

    fn push(&mut self, top: u32, below: u32) -> u32 {
        let frame = Frame { top, below };
        if let Some(&known) = self.known.get(&frame) {
            return known;
        }
        let fresh = u32::try_from(self.all.len()).expect("a text has fewer than 2^32 frames");
        self.all.push((frame, self.depth(below) + 1));
        self.known.insert(frame, fresh);
        fresh
    }

    fn get(&self, frame: u32) -> Option<Frame> {
        self.all.get(frame as usize).map(|of| of.0)
    }

    /// Most frames of a stack. O(1).
    pub(crate) fn max_depth(&self) -> u32 {
        self.max_depth
    }

    /// Frames on a stack, the one at the bottom among them. O(1).
    pub(crate) fn depth(&self, frame: u32) -> u32 {
        self.all.get(frame as usize).map_or(0, |of| of.1)
    }

    /// The return states on a stack, innermost first, without the one at the bottom. O(depth).
    pub(crate) fn list(&self, mut frame: u32) -> Vec<u32> {
        let mut found = Vec::new();
        while let Some(Frame { top, below }) = self.get(frame).filter(|of| of.below != BOTTOM) {
            found.push(top);
            frame = below;
        }
        found
    }

    /// Where a byte leads from a state. O(returns).
    fn step(
        &mut self,
        index: &Index,
        calls: &CallTables<'_>,
        (state, frame): (u32, u32),
        byte: u8,
    ) -> (u32, u32) {
        let (mut state, mut frame) = (state, frame);
        loop {
            let next = index.next_state(state, byte);
            if next != DEAD {
                return (next, frame);
            }
            for push in calls.push_transitions(state) {
                let next = index.next_state(push.entry, byte);
                if next != DEAD {
                    return (
                        next,
                        calls.pushed(push).iter().fold(frame, |below, &top| self.push(top, below)),
                    );
                }
            }
            let Some(Frame { top, below }) = self.get(frame).filter(|_| index.is_complete(state)) else {
                return (DEAD, frame);
            };
            (state, frame) = (calls.return_state(top, state), below);
        }
    }

    /// Where bytes lead from a state and a stack; [`DEAD`] for nowhere. O(bytes + returns).
    #[inline]
    pub(super) fn walk(&mut self, index: &Index, at: (u32, u32), bytes: &[u8]) -> (u32, u32) {
        match index.calls() {
            None => (index.walk(at.0, bytes), at.1),
            Some(calls) => self.walk_calls(index, &calls, at, bytes),
        }
    }

    fn walk_calls(
        &mut self,
        index: &Index,
        calls: &CallTables<'_>,
        at: (u32, u32),
        bytes: &[u8],
    ) -> (u32, u32) {
        let mut at = at;
        for &byte in bytes {
            at = self.step(index, calls, at, byte);
            if at.0 == DEAD {
                return at;
            }
        }
        at
    }

    /// Whether the constraint's text may end at a state: its rule, and all that it returns to. O(returns).
    pub(super) fn may_end(&self, index: &Index, state: u32, frame: u32) -> bool {
        let (mut state, mut frame) = (state, frame);
        while index.is_complete(state) {
            let Some(Frame { top, below }) = self.get(frame) else { return true };
            let next = index.calls().map_or(DEAD, |calls| calls.return_state(top, state));
            (state, frame) = (next, below);
        }
        false
    }

    /// Calls `found` with each row that what a border, by its number, leaves to the stack adds to a mask, until it says no. O(frames that it reaches).
    ///
    /// # Errors
    /// [`MatcherError::Corrupt`].
    #[inline]
    pub(super) fn rows<'a>(
        &self,
        index: &'a Index,
        vocabulary: &'a Vocabulary,
        (border, frame): (u32, u32),
        mut found: impl FnMut(Row<'a>) -> bool,
    ) -> Result<(), MatcherError> {
        let Some(calls) = index.calls() else { return Ok(()) };
        let (mut set, mut frame) = (calls.suffix_set(border), frame);
        while set != NO_SUFFIXES {
            let Some(Frame { top, below }) = self.get(frame) else { return Ok(()) };
            let [pair] = calls.pairs(set, top) else { return Ok(()) };
            let row = index.row(vocabulary, pair.row).ok_or(MatcherError::Corrupt { state: border })?;
            if !found(row) {
                return Ok(());
            }
            (set, frame) = (pair.suffix_set, below);
        }
        Ok(())
    }

    /// The frames of one stack alone, and its number among them. O(depth).
    pub(super) fn of_stack(&self, frame: u32) -> (Self, u32) {
        let mut alone = Self { max_depth: self.max_depth, ..Self::default() };
        let frame = alone.take(self, frame, &mut HashMap::new());
        (alone, frame)
    }

    /// Whether frames should be looked for that nothing goes back to.
    #[inline]
    pub(crate) fn are_many(&self) -> bool {
        self.all.len() >= self.many
    }

    /// Forgets all frames that are not on one of some stacks, whose numbers change. O(frames + stacks).
    #[cold]
    pub(crate) fn keep<'r>(&mut self, stacks: impl Iterator<Item = &'r mut u32>) {
        let empty = Self { max_depth: self.max_depth, ..Self::default() };
        let old = std::mem::replace(self, empty);
        let mut fresh: HashMap<u32, u32> = HashMap::new();
        for frame in stacks {
            *frame = self.take(&old, *frame, &mut fresh);
        }
        self.many = MANY.max(self.all.len() * 2);
    }

    /// The number here of a stack of `old`.
    fn take(&mut self, old: &Self, frame: u32, fresh: &mut HashMap<u32, u32>) -> u32 {
        let mut open = Vec::new();
        let mut at = frame;
        while let Some(of) = old.get(at).filter(|_| !fresh.contains_key(&at)) {
            open.push((at, of.top));
            at = of.below;
        }
        let mut below = fresh.get(&at).copied().unwrap_or(BOTTOM);
        for (number, top) in open.into_iter().rev() {
            below = self.push(top, below);
            fresh.insert(number, below);
        }
        below
    }
}
