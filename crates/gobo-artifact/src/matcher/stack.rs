//! A graph-structured stack of return states (Tomita, *An Efficient Augmented-Context-Free Parsing Algorithm*, 1987).
//!
//! A stack is its top frame; stacks that agree below some frame share it. Invariant: equal stacks are one frame, so that comparing two
//! is O(1), and a frame is freed when neither a configuration nor a frame above holds it. Push is O(frames pushed on the same
//! one), everything else O(1) but for `covers` and reading a stack, which are O(depth).

use gobo_types::CharCount;

use crate::layout::index::calls::{CallTables, NO_SUFFIXES, PairEntry};

/// The frame below every other: nothing was called.
pub(crate) const BOTTOM: u32 = 0;

/// No frame.
const NONE: u32 = u32::MAX;

/// Frames that a copy has room for beside its own.
const ROOM: usize = 16;

/// One return state of a stack.
#[derive(Debug, Clone, Copy)]
struct Frame {
    /// The number of the return state.
    top: u32,
    /// The frame below.
    below: u32,
    /// How many frames lie below, the bottom included.
    depth: u32,
    /// Frames above, and configurations that hold this one.
    holders: u32,
    /// The last frame pushed on this one.
    above: u32,
    /// The frame pushed before this one on the same.
    beside: u32,
    /// The first frame below with another return state.
    below_run: u32,
    /// Whether the text is complete once this frame is popped.
    completes: bool,
}

/// A state and a stack of return states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Configuration {
    pub(crate) state: u32,
    pub(crate) frame: u32,
    /// The characters read since the top of the stack was pushed, where they are counted; else none.
    pub(crate) count: CharCount,
}

/// The frames of all stacks.
#[derive(Debug, Clone)]
pub(crate) struct Frames {
    all: Vec<Frame>,
    /// A frame that is free, linked by `below`.
    free: u32,
    /// Frames that may have no holder, made since the last [`Self::settle`].
    fresh: Vec<u32>,
}

impl Frames {
    pub(crate) fn new() -> Self {
        let bottom = Frame {
            top: NONE,
            below: BOTTOM,
            depth: 0,
            holders: 1,
            above: NONE,
            beside: NONE,
            below_run: BOTTOM,
            completes: true,
        };
        Self { all: vec![bottom], free: NONE, fresh: Vec::new() }
    }

    /// A copy with room for some frames more, so that the next push does not copy all of them once again.
    pub(crate) fn with_room(&self) -> Self {
        let mut all = Vec::with_capacity(self.all.len() + ROOM);
        all.extend_from_slice(&self.all);
        Self { all, free: self.free, fresh: Vec::new() }
    }

    #[inline]
    fn at(&self, frame: u32) -> &Frame {
        &self.all[frame as usize]
    }

    /// The number of the return state on top.
    #[inline]
    pub(crate) fn top(&self, frame: u32) -> u32 {
        self.at(frame).top
    }

    #[inline]
    pub(crate) fn below(&self, frame: u32) -> u32 {
        self.at(frame).below
    }

    /// The first frame below with another return state. O(1).
    #[inline]
    pub(crate) fn below_run(&self, frame: u32) -> u32 {
        self.at(frame).below_run
    }

    /// Whether the text is complete where the rule above this frame is. O(1).
    #[inline]
    pub(crate) fn completes(&self, frame: u32) -> bool {
        self.at(frame).completes
    }

    /// Number of frames in the stack.
    #[inline]
    pub(crate) fn depth(&self, frame: u32) -> u32 {
        self.at(frame).depth
    }

    /// The numbers of the return states, innermost first.
    pub(crate) fn return_states(&self, frame: u32) -> impl Iterator<Item = u32> {
        let below =
            |&frame: &u32| (frame != BOTTOM).then(|| self.below(frame)).filter(|&below| below != BOTTOM);
        std::iter::successors((frame != BOTTOM).then_some(frame), below).map(|frame| self.top(frame))
    }

    /// Number of frames that are kept, for all stacks together.
    pub(crate) fn kept(&self) -> usize {
        let mut free = 0;
        let mut at = self.free;
        while at != NONE {
            (free, at) = (free + 1, self.at(at).below);
        }
        self.all.len() - 1 - free
    }

    /// The stack with one more return state on it, `accepts` if that state does. It has no holder yet: it lives until
    /// [`Self::settle`]. O(stacks that were pushed on the same one).
    pub(crate) fn push(&mut self, below: u32, top: u32, accepts: bool) -> u32 {
        let mut known = self.at(below).above;
        while known != NONE {
            if self.at(known).top == top {
                return known;
            }
            known = self.at(known).beside;
        }
        let under = *self.at(below);
        let frame = Frame {
            top,
            below,
            depth: under.depth + 1,
            holders: 0,
            above: NONE,
            beside: under.above,
            below_run: if under.top == top { under.below_run } else { below },
            completes: accepts && under.completes,
        };
        let number = if self.free == NONE {
            self.all.push(frame);
            u32::try_from(self.all.len() - 1).expect("the limit on depth keeps frames below 2^32")
        } else {
            let number = self.free;
            self.free = self.at(number).below;
            self.all[number as usize] = frame;
            number
        };
        let under = &mut self.all[below as usize];
        under.above = number;
        under.holders += 1;
        self.fresh.push(number);
        number
    }

    /// One holder more.
    #[inline]
    pub(crate) fn hold(&mut self, frame: u32) {
        self.all[frame as usize].holders += 1;
    }

    /// One holder less. A frame without holders is freed, and so on below.
    #[inline]
    pub(crate) fn release(&mut self, frame: u32) {
        let holders = &mut self.all[frame as usize].holders;
        *holders -= 1;
        if *holders == 0 {
            self.forget(frame);
        }
    }

    /// Frees the frames made since the last time that have no holder.
    #[inline]
    pub(crate) fn settle(&mut self) {
        while let Some(frame) = self.fresh.pop() {
            // Those above were made later, and have been looked at.
            if self.at(frame).holders == 0 {
                self.forget(frame);
            }
        }
    }

    fn forget(&mut self, mut frame: u32) {
        while frame != BOTTOM && self.at(frame).holders == 0 {
            let Frame { below, beside, .. } = *self.at(frame);
            let mut link = self.at(below).above;
            if link == frame {
                self.all[below as usize].above = beside;
            } else {
                while self.at(link).beside != frame {
                    link = self.at(link).beside;
                }
                self.all[link as usize].beside = beside;
            }
            // A frame of this call's own may be forgotten on the way down from one above it.
            self.all[frame as usize] =
                Frame { top: NONE, below: self.free, holders: u32::MAX, ..*self.at(frame) };
            self.free = frame;
            self.all[below as usize].holders -= 1;
            frame = below;
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.all.truncate(1);
        let bottom = &mut self.all[BOTTOM as usize];
        (bottom.above, bottom.holders) = (NONE, 1);
        self.free = NONE;
        self.fresh.clear();
    }

    /// Whether everything that can follow `other` can also follow `one`, in the same state, as far as is easily seen: `other`
    /// is `one` without some return states at which a rule may end at once. O(depth).
    pub(crate) fn covers(&self, mut one: u32, mut other: u32, accepts: impl Fn(u32) -> bool) -> bool {
        loop {
            if one == other {
                return true;
            }
            if self.depth(one) <= self.depth(other) {
                return false;
            }
            if other != BOTTOM && self.top(one) == self.top(other) {
                (one, other) = (self.below(one), self.below(other));
            } else if accepts(self.top(one)) {
                one = self.below(one);
            } else {
                return false;
            }
        }
    }
}

/// The pairs that pending suffixes meet down a stack. A suffix set may go on as several sets below a return state (`docs/recursion.md`). So the
/// sets that are pending for a frame are a list, and the mask takes the rows of all of them. Where the list is the same below a run of equal
/// frames as above it, one look at the run is enough.
impl Frames {
    /// Calls `found` with each pair that the suffixes of a set meet from a frame downwards, until it says no or fails; whether it never
    /// said no. O(sets that are pending × frames without runs).
    pub(super) fn for_each_pair<'a, E>(
        &self,
        calls: &CallTables<'a>,
        suffix_set: u32,
        frame: u32,
        mut found: impl FnMut(&'a PairEntry) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let (mut sets, mut below) = (vec![suffix_set], Vec::new());
        let mut frame = frame;
        while frame != BOTTOM {
            sets.retain(|&set| set != NO_SUFFIXES);
            if sets.is_empty() {
                break;
            }
            let top = self.top(frame);
            for &set in &sets {
                for pair in calls.pairs(set, top) {
                    if !found(pair)? {
                        return Ok(false);
                    }
                    below.push(pair.suffix_set);
                }
            }
            below.sort_unstable();
            below.dedup();
            frame = if below == sets { self.below_run(frame) } else { self.below(frame) };
            std::mem::swap(&mut sets, &mut below);
            below.clear();
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stack(frames: &Frames, frame: u32) -> Vec<u32> {
        frames.return_states(frame).collect()
    }

    proptest! {
        /// Random pushes, pops, forks and drops against plain vectors: stacks read back, equal ones are one frame, links and
        /// flags are right, and what nobody holds is gone.
        #[test]
        fn frames_are_stacks(steps in prop::collection::vec((0_usize..4, any::<u32>()), 0..200)) {
            let accepts = |top: u32| top.is_multiple_of(3);
            let mut frames = Frames::new();
            // Held stacks, innermost first.
            let mut held: Vec<(Vec<u32>, u32)> = vec![(Vec::new(), BOTTOM)];
            frames.hold(BOTTOM);
            for (step, seed) in steps {
                let at = seed as usize % held.len();
                let (mut model, frame) = held[at].clone();
                match step {
                    0 | 1 => {
                        let top = seed / 7 % 4;
                        // One frame more that nobody will hold.
                        frames.push(frame, 4 + seed % 2, false);
                        let pushed = frames.push(frame, top, accepts(top));
                        model.insert(0, top);
                        frames.hold(pushed);
                        held.push((model, pushed));
                    }
                    2 if frame != BOTTOM => {
                        let below = frames.below(frame);
                        model.remove(0);
                        frames.hold(below);
                        frames.release(frame);
                        held[at] = (model, below);
                    }
                    3 if held.len() > 1 => {
                        held.swap_remove(at);
                        frames.release(frame);
                    }
                    _ => {}
                }
                frames.settle();
                for (model, frame) in &held {
                    prop_assert_eq!(&stack(&frames, *frame), model);
                    prop_assert_eq!(frames.depth(*frame) as usize, model.len());
                    prop_assert_eq!(frames.completes(*frame), model.iter().all(|&top| accepts(top)));
                    let run = model.iter().take_while(|top| model.first() == Some(top)).count();
                    prop_assert_eq!(stack(&frames, frames.below_run(*frame)), &model[run..]);
                }
                let mut distinct: Vec<&[u32]> =
                    held.iter().flat_map(|(model, _)| (0..model.len()).map(|at| &model[at..])).collect();
                distinct.sort_unstable();
                distinct.dedup();
                prop_assert_eq!(frames.kept(), distinct.len());
            }
        }
    }

    #[test]
    fn a_stack_covers_what_is_left_when_accepting_returns_go() {
        let mut frames = Frames::new();
        let accepts = |top: u32| top == 1;
        let two = frames.push(BOTTOM, 2, false);
        let one_two = frames.push(two, 1, true);
        let one_one_two = frames.push(one_two, 1, true);
        assert!(frames.covers(one_one_two, two, accepts));
        assert!(frames.covers(one_two, one_two, accepts));
        assert!(!frames.covers(two, one_two, accepts));
        assert!(!frames.covers(one_two, BOTTOM, accepts));
    }
}
