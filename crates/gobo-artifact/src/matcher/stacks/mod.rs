//! The stacks of all configurations of a text: a graph-structured stack with joins (Tomita, *An Efficient Augmented-Context-Free
//! Parsing Algorithm*, 1987).
//!
//! - this file: the nodes of the graph, frames and joins, counted by their holders.
//! - `set.rs`: the join of many stacks.
//! - `spread.rs`: what is found by a walk over the graph: the stacks one by one, their number, the nodes below some.
//!
//! A *frame* is a return state on top of a node; it stands for the stacks of that node with the return state on top. A *join* has two
//! nodes, and stands for the stacks of both. The bottom is the empty stack. A graph without joins is a set of plain stacks that share
//! what is equal below. Invariants: equal nodes are one, so that comparing two is O(1); what a node is depends on its parts
//! alone and never changes, so that the graph has no cycles; no frame is twice among the parts of a join, and of these parts; what is
//! counted until a frame is popped is the same for all frames of a join (`counted.rs`), so that one of them tells it; and a
//! node is freed when neither a configuration nor a node above holds it. Push is O(nodes made on the same one), everything else O(1) but
//! for `covers`, which is O(depth), and for walks over the graph.

pub(crate) mod set;
pub(crate) mod spread;

use gobo_types::CharCount;

/// The stack without a frame: nothing was called.
pub(crate) const BOTTOM: u32 = 0;

/// No node.
const NONE: u32 = u32::MAX;

/// Nodes that a copy has room for beside its own.
const ROOM: usize = 16;

/// A frame or a join.
#[derive(Debug, Clone, Copy)]
struct Node {
    /// The number of the return state of a frame; that of some frame of a join.
    top: u32,
    /// The node below a frame; the second part of a join.
    below: u32,
    /// How many frames lie below on the deepest of its stacks, the bottom included.
    depth: u32,
    /// Nodes above, and configurations that hold this one.
    holders: u32,
    /// The last node made on this one: a frame on top of it, or a join of which it is the first part.
    above: u32,
    /// The node made before this one on the same.
    beside: u32,
    /// The first node below a frame that is no frame of the same return state; the first part of a join.
    below_run: u32,
    /// Whether the text is complete once all frames of one of its stacks are popped.
    completes: bool,
    /// Whether there is no join in it: it is one stack.
    is_plain: bool,
    /// Whether it is a join itself.
    is_join: bool,
}

/// A state and a node of the stacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Configuration {
    pub(crate) state: u32,
    pub(crate) frame: u32,
    /// The characters read since the top of the stack was pushed, where they are counted; else none.
    pub(crate) count: CharCount,
}

impl Configuration {
    /// The state at which a call returns: nothing is counted there.
    #[inline]
    pub(crate) fn back(state: u32, frame: u32) -> Self {
        Self { state, frame, count: CharCount::default() }
    }

    /// Whether characters have been counted: so it is none at which a call returns.
    #[inline]
    pub(crate) fn has_counted(&self) -> bool {
        self.count != CharCount::default()
    }

    /// Whether two differ in their stacks alone.
    #[inline]
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        self.state == other.state && self.count == other.count
    }
}

/// The nodes of all stacks.
#[derive(Debug, Clone)]
pub(crate) struct Stacks {
    all: Vec<Node>,
    /// A node that is free, linked by `below`.
    free: u32,
    /// Nodes that may have no holder, made since the last [`Self::settle`].
    fresh: Vec<u32>,
    /// Nodes without holders that wait to be freed.
    falling: Vec<u32>,
}

impl Stacks {
    pub(crate) fn new() -> Self {
        let bottom = Node {
            top: NONE,
            below: BOTTOM,
            depth: 0,
            holders: 1,
            above: NONE,
            beside: NONE,
            below_run: BOTTOM,
            completes: true,
            is_plain: true,
            is_join: false,
        };
        Self { all: vec![bottom], free: NONE, fresh: Vec::new(), falling: Vec::new() }
    }

    /// A copy with room for some nodes more, so that the next push does not copy all of them once again.
    pub(crate) fn with_room(&self) -> Self {
        let mut all = Vec::with_capacity(self.all.len() + ROOM);
        all.extend_from_slice(&self.all);
        Self { all, free: self.free, fresh: Vec::new(), falling: Vec::new() }
    }

    #[inline]
    fn at(&self, node: u32) -> &Node {
        &self.all[node as usize]
    }

    /// The number of the return state on top of a frame; of a join that on top of some frame of it, of the bottom none that is there.
    #[inline]
    pub(crate) fn top(&self, node: u32) -> u32 {
        self.at(node).top
    }

    #[inline]
    pub(crate) fn below(&self, frame: u32) -> u32 {
        self.at(frame).below
    }

    /// The first node below a frame that is no frame of the same return state. O(1).
    #[inline]
    pub(crate) fn below_run(&self, frame: u32) -> u32 {
        self.at(frame).below_run
    }

    /// The two parts of a join; `None` of frames and of the bottom.
    #[inline]
    pub(crate) fn parts(&self, node: u32) -> Option<(u32, u32)> {
        let node = self.at(node);
        node.is_join.then_some((node.below_run, node.below))
    }

    /// Whether the node is one stack. O(1).
    #[inline]
    pub(crate) fn is_plain(&self, node: u32) -> bool {
        self.at(node).is_plain
    }

    /// Whether the text is complete where the rule above this node is. O(1).
    #[inline]
    pub(crate) fn completes(&self, node: u32) -> bool {
        self.at(node).completes
    }

    /// Number of frames in the deepest stack. O(1).
    #[inline]
    pub(crate) fn depth(&self, node: u32) -> u32 {
        self.at(node).depth
    }

    /// Places for nodes, those that are free and the bottom among them. O(1).
    #[inline]
    pub(crate) fn places(&self) -> usize {
        self.all.len()
    }

    /// Number of nodes that are kept, for all stacks together. O(free nodes).
    pub(crate) fn kept(&self) -> usize {
        let mut free = 0;
        let mut at = self.free;
        while at != NONE {
            (free, at) = (free + 1, self.at(at).below);
        }
        self.all.len() - 1 - free
    }

    /// The stacks with one more return state on them, `accepts` if that state does. The frame has no holder yet: it lives until
    /// [`Self::settle`]. O(nodes that were made on the same one).
    #[inline]
    pub(crate) fn push(&mut self, below: u32, top: u32, accepts: bool) -> u32 {
        // A damaged file may have any number in the place of a return state.
        let top = top.min(NONE - 1);
        let mut known = self.at(below).above;
        while known != NONE {
            let node = self.at(known);
            if node.top == top && !node.is_join {
                return known;
            }
            known = node.beside;
        }
        let under = *self.at(below);
        let frame = Node {
            top,
            below,
            depth: under.depth.saturating_add(1),
            holders: 0,
            above: NONE,
            beside: under.above,
            below_run: if under.top == top && !under.is_join { under.below_run } else { below },
            completes: accepts && under.completes,
            is_plain: under.is_plain,
            is_join: false,
        };
        let number = self.place(frame);
        let under = &mut self.all[below as usize];
        under.above = number;
        under.holders += 1;
        number
    }

    /// The stacks of two nodes that have none in common. As [`Self::push`] otherwise.
    pub(crate) fn join(&mut self, first: u32, second: u32) -> u32 {
        let mut known = self.at(first).above;
        while known != NONE {
            let node = self.at(known);
            if node.is_join && node.below == second {
                return known;
            }
            known = node.beside;
        }
        let (one, other) = (*self.at(first), *self.at(second));
        let number = self.place(Node {
            top: one.top,
            below: second,
            depth: one.depth.max(other.depth),
            holders: 0,
            above: NONE,
            beside: one.above,
            below_run: first,
            completes: one.completes || other.completes,
            is_plain: false,
            is_join: true,
        });
        let under = &mut self.all[first as usize];
        under.above = number;
        under.holders += 1;
        self.all[second as usize].holders += 1;
        number
    }

    #[inline]
    fn place(&mut self, node: Node) -> u32 {
        let number = if self.free == NONE {
            self.all.push(node);
            u32::try_from(self.all.len() - 1).expect("the limit on nodes keeps them below 2^32")
        } else {
            let number = self.free;
            self.free = self.at(number).below;
            self.all[number as usize] = node;
            number
        };
        self.fresh.push(number);
        number
    }

    /// One holder more.
    #[inline]
    pub(crate) fn hold(&mut self, frame: u32) {
        self.all[frame as usize].holders += 1;
    }

    /// One holder less. A node without holders is freed, and so on below.
    #[inline]
    pub(crate) fn release(&mut self, frame: u32) {
        let holders = &mut self.all[frame as usize].holders;
        *holders -= 1;
        if *holders == 0 {
            self.forget(frame);
        }
    }

    /// Frees the nodes made since the last time that have no holder.
    #[inline]
    pub(crate) fn settle(&mut self) {
        while let Some(frame) = self.fresh.pop() {
            // Those above were made later, and have been looked at.
            if self.at(frame).holders == 0 {
                self.forget(frame);
            }
        }
    }

    fn forget(&mut self, mut node: u32) {
        loop {
            while node != BOTTOM && self.at(node).holders == 0 {
                let Node { below, beside, below_run, is_join, .. } = *self.at(node);
                let made_on = if is_join { below_run } else { below };
                let mut link = self.at(made_on).above;
                if link == node {
                    self.all[made_on as usize].above = beside;
                } else {
                    while self.at(link).beside != node {
                        link = self.at(link).beside;
                    }
                    self.all[link as usize].beside = beside;
                }
                // A node of this call's own may be forgotten on the way down from one above it.
                self.all[node as usize] =
                    Node { top: NONE, below: self.free, holders: u32::MAX, ..*self.at(node) };
                self.free = node;
                self.all[below as usize].holders -= 1;
                if is_join {
                    self.all[below_run as usize].holders -= 1;
                    self.falling.push(below_run);
                }
                node = below;
            }
            let Some(next) = self.falling.pop() else { return };
            node = next;
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.all.truncate(1);
        let bottom = &mut self.all[BOTTOM as usize];
        (bottom.above, bottom.holders) = (NONE, 1);
        self.free = NONE;
        self.fresh.clear();
        self.falling.clear();
    }

    /// Whether everything that can follow `other` can also follow `one`, both plain, in the same state, as far as is easily seen: `other`
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stack(frames: &Stacks, frame: u32) -> Vec<u32> {
        frames.list(frame, 1).swap_remove(0)
    }

    proptest! {
        /// Random pushes, pops, forks and drops against plain vectors: stacks read back, equal ones are one frame, links and
        /// flags are right, and what nobody holds is gone.
        #[test]
        fn frames_are_stacks(steps in prop::collection::vec((0_usize..4, any::<u32>()), 0..200)) {
            let accepts = |top: u32| top.is_multiple_of(3);
            let mut frames = Stacks::new();
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
        let mut frames = Stacks::new();
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
