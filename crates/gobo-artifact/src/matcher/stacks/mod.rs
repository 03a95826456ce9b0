//! The stacks of all configurations of a text: a graph-structured stack (Tomita, *An Efficient Augmented-Context-Free Parsing
//! Algorithm*, 1987).
//!
//! - this file: the nodes of the graph, frames and links, counted by their holders.
//! - `node.rs`: what is kept of a node. `links.rs`: equal links are one: a table of those that are there.
//! - `set.rs`: the union of many sets of stacks.
//! - `spread.rs`: what is found by a walk over the graph: the stacks one by one, their number, the nodes below some.
//!
//! A *frame* is a return state on top of a set of stacks, and stands for these stacks with the return state on top. A set is a
//! list of frames, and the bottom, the empty stack, may be its last member: a set of one member is that member, and a larger one is a
//! *link*, its first member and the set of the others. Members come in one order, the deepest first, which depends on what
//! they are and on nothing else ([`Stacks::order`]). So equal sets are one node however they came about, and two sets share what is equal at
//! their ends. A graph without links is a set of plain stacks that share what is equal below.
//!
//! Invariants: equal nodes are one, so that comparing two is O(1); what a node is depends on its parts
//! alone and never changes, so that the graph has no cycles; no member is twice in a set; what is
//! counted until a frame is popped is the same for all frames of a set (`counted.rs`), so that one of them tells it; and a
//! node is freed when neither a configuration nor a node above holds it. Push is O(frames made on the same set), a link O(1)
//! expected, everything else O(1) but for `covers`, which is O(depth), and for walks over the graph.

mod links;
mod node;
pub(crate) mod set;
pub(crate) mod spread;

use std::cmp::Ordering;

use gobo_types::CharCount;

use self::links::Links;
use self::node::{COMPLETES, LINK, NONE, Node, PLAIN, mix};

/// The stack without a frame: nothing was called.
pub(crate) const BOTTOM: u32 = 0;

/// Nodes that a copy has room for beside its own.
const ROOM: usize = 16;

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
    links: Links,
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
            marks: COMPLETES | PLAIN,
        };
        Self {
            all: vec![bottom],
            free: NONE,
            fresh: Vec::new(),
            falling: Vec::new(),
            links: Links::default(),
        }
    }

    /// A copy with room for some nodes more, so that the next push does not copy all of them once again.
    pub(crate) fn with_room(&self) -> Self {
        let mut all = Vec::with_capacity(self.all.len() + ROOM);
        all.extend_from_slice(&self.all);
        Self { all, free: self.free, fresh: Vec::new(), falling: Vec::new(), links: self.links.clone() }
    }

    #[inline]
    fn at(&self, node: u32) -> &Node {
        &self.all[node as usize]
    }

    /// The number of the return state on top of a frame; of a link that on top of its first frame, of the bottom none that is there.
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

    /// The first member of a link and the set of the others; `None` of frames and of the bottom.
    #[inline]
    pub(crate) fn parts(&self, set: u32) -> Option<(u32, u32)> {
        let node = self.at(set);
        node.has(LINK).then_some((node.below_run, node.below))
    }

    /// Whether all stacks that are kept are plain. O(1).
    #[inline]
    pub(crate) fn are_plain(&self) -> bool {
        self.links.is_empty()
    }

    /// Whether the node is one stack. O(1).
    #[inline]
    pub(crate) fn is_plain(&self, node: u32) -> bool {
        self.are_plain() || self.at(node).has(PLAIN)
    }

    /// Whether the text is complete where the rule above this node is. O(1).
    #[inline]
    pub(crate) fn completes(&self, node: u32) -> bool {
        self.at(node).has(COMPLETES)
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
            if node.top == top {
                return known;
            }
            known = node.beside;
        }
        let under = *self.at(below);
        let completes = if accepts { under.marks & COMPLETES } else { 0 };
        let frame = Node {
            top,
            below,
            depth: under.depth.saturating_add(1),
            holders: 0,
            above: NONE,
            beside: under.above,
            below_run: if under.top == top && !under.has(LINK) { under.below_run } else { below },
            marks: mix(under.marks | 7, top) | completes | under.marks & PLAIN,
        };
        let number = self.place(frame);
        let under = &mut self.all[below as usize];
        under.above = number;
        under.holders += 1;
        number
    }

    /// The set of a member and of others, all of which come after it. As [`Self::push`] otherwise. O(1) expected.
    pub(crate) fn link(&mut self, first: u32, others: u32) -> u32 {
        let (one, rest) = (*self.at(first), *self.at(others));
        let marks = mix(one.marks | 7, rest.marks | 7) | (one.marks | rest.marks) & COMPLETES | LINK;
        let mut known = self.links.first(marks);
        while known != NONE {
            let node = self.at(known);
            if (node.below_run, node.below) == (first, others) {
                return known;
            }
            known = node.beside;
        }
        let number = self.place(Node {
            top: one.top,
            below: others,
            depth: one.depth,
            holders: 0,
            above: NONE,
            beside: NONE,
            below_run: first,
            marks,
        });
        self.all[first as usize].holders += 1;
        self.all[others as usize].holders += 1;
        self.links.enter(&mut self.all, number);
        number
    }

    /// In which order two members of a set come: the deeper one first; then by what they are, which their hashes tell with few
    /// exceptions. No number of a node decides. O(1) expected.
    pub(crate) fn order(&self, mut one: u32, mut other: u32) -> Ordering {
        while one != other {
            let (first, second) = (self.at(one), self.at(other));
            let key = |node: &Node| (node.top, node.marks);
            let by_node = second.depth.cmp(&first.depth).then_with(|| key(first).cmp(&key(second)));
            if by_node != Ordering::Equal {
                return by_node;
            }
            (one, other) = if first.has(LINK) && first.below_run != second.below_run {
                (first.below_run, second.below_run)
            } else {
                (first.below, second.below)
            };
        }
        Ordering::Equal
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

    /// Nodes that may have no holder. O(1).
    #[inline]
    pub(crate) fn fresh(&self) -> usize {
        self.fresh.len()
    }

    /// One holder less, which may be none until the next [`Self::settle`].
    pub(crate) fn let_go(&mut self, node: u32) {
        let holders = &mut self.all[node as usize].holders;
        *holders -= 1;
        if *holders == 0 {
            self.fresh.push(node);
        }
    }

    fn forget(&mut self, mut node: u32) {
        while node != BOTTOM && self.at(node).holders == 0 {
            if self.at(node).has(LINK) {
                return self.forget_all(node);
            }
            node = self.forget_frame(node);
        }
    }

    /// Frees a frame; the set below it, which has a holder less.
    #[inline]
    fn forget_frame(&mut self, frame: u32) -> u32 {
        let Node { below, beside, .. } = *self.at(frame);
        let mut link = self.at(below).above;
        if link == frame {
            self.all[below as usize].above = beside;
        } else {
            while self.at(link).beside != frame {
                link = self.at(link).beside;
            }
            self.all[link as usize].beside = beside;
        }
        self.free(frame);
        self.all[below as usize].holders -= 1;
        below
    }

    /// As [`Self::forget`], where a node without holders may leave two others without.
    #[cold]
    fn forget_all(&mut self, node: u32) {
        self.falling.push(node);
        while let Some(mut node) = self.falling.pop() {
            while node != BOTTOM && self.at(node).holders == 0 {
                if !self.at(node).has(LINK) {
                    node = self.forget_frame(node);
                    continue;
                }
                let Node { below: others, below_run: first, .. } = *self.at(node);
                self.links.leave(&mut self.all, node);
                self.free(node);
                self.all[others as usize].holders -= 1;
                self.all[first as usize].holders -= 1;
                self.falling.push(first);
                node = others;
            }
        }
    }

    /// Makes a place free. A node of the call's own may be forgotten on the way down from one above it.
    #[inline]
    fn free(&mut self, node: u32) {
        self.all[node as usize] = Node { top: NONE, below: self.free, holders: u32::MAX, ..*self.at(node) };
        self.free = node;
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.all.truncate(1);
        let bottom = &mut self.all[BOTTOM as usize];
        (bottom.above, bottom.holders) = (NONE, 1);
        self.free = NONE;
        self.fresh.clear();
        self.falling.clear();
        self.links = Links::default();
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
