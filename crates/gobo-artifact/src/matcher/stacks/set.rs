//! The join of many nodes.
//!
//! Nodes come deepest first, and each is taken whole if no frame of it is there already, not at all if it is there itself or all of
//! its frames are, and frame by frame else. So no frame is twice in a join, and a join that contains an earlier one has it as
//! a part: the joins of a text that is read in more ways with each byte take a node for each byte, and not one for each pair of
//! bytes. The order is that in which the nodes are given, which depends on the text alone; so the join does too, and no
//! number of a node decides anything. O(frames and joins of all nodes).

use super::{BOTTOM, Stacks};

/// Which nodes were met in one walk: a stamp for each place, so that nothing is cleared from walk to walk.
#[derive(Debug, Clone, Default)]
pub(crate) struct Marks {
    stamps: Vec<u32>,
    walk: u32,
}

impl Marks {
    /// Begins a walk over the nodes of so many places. O(1) amortised.
    pub(crate) fn renew(&mut self, places: usize) {
        if self.stamps.len() < places {
            self.stamps.resize(places, 0);
        }
        self.walk = self.walk.wrapping_add(1);
        if self.walk == 0 {
            self.stamps.fill(0);
            self.walk = 1;
        }
    }

    /// Whether this walk has not met the node before.
    #[inline]
    pub(crate) fn is_new(&mut self, node: u32) -> bool {
        std::mem::replace(&mut self.stamps[node as usize], self.walk) != self.walk
    }
}

/// Makes joins; what it keeps from one to the next is room.
#[derive(Debug, Clone, Default)]
pub(crate) struct Union {
    marks: Marks,
    /// Parts that a walk has still to go to.
    ahead: Vec<u32>,
    /// The frames of one node that are new.
    frames: Vec<u32>,
    /// The nodes of the join, without a common frame.
    members: Vec<u32>,
}

impl Union {
    /// The stacks of all `nodes`; the bottom for none. The node has no holder yet, unless it is one of them.
    pub(crate) fn of(&mut self, stacks: &mut Stacks, mut nodes: impl ExactSizeIterator<Item = u32>) -> u32 {
        if nodes.len() == 1 {
            return nodes.next().unwrap_or(BOTTOM);
        }
        self.marks.renew(stacks.places());
        self.members.clear();
        for node in nodes {
            self.add(stacks, node);
        }
        let last = self.members.pop().unwrap_or(BOTTOM);
        self.members.drain(..).rev().fold(last, |all, member| stacks.join(member, all))
    }

    fn add(&mut self, stacks: &Stacks, node: u32) {
        let mut is_apart = true;
        self.frames.clear();
        self.ahead.push(node);
        while let Some(at) = self.ahead.pop() {
            if !self.marks.is_new(at) {
                is_apart = false;
                continue;
            }
            match stacks.parts(at) {
                Some((first, second)) => self.ahead.extend([second, first]),
                None => self.frames.push(at),
            }
        }
        if is_apart {
            self.members.push(node);
        } else {
            self.members.append(&mut self.frames);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    type Model = BTreeSet<Vec<u32>>;

    proptest! {
        /// Random pushes, joins and drops against plain sets of vectors: stacks read back, each once, and what nobody holds is gone.
        #[test]
        fn joins_are_sets_of_stacks(steps in prop::collection::vec((0_usize..5, any::<u32>()), 0..60)) {
            let accepts = |top: u32| top == 0;
            let (mut stacks, mut union) = (Stacks::new(), Union::default());
            let mut held: Vec<(Model, u32)> = vec![(BTreeSet::from([vec![]]), BOTTOM)];
            stacks.hold(BOTTOM);
            for (step, seed) in steps {
                let at = |n: u32| (seed / n) as usize % held.len();
                let made = match step {
                    0 | 1 => {
                        let (model, node) = &held[at(1)];
                        let top = seed / 7 % 3;
                        let push = |stack: &Vec<u32>| [&[top], stack.as_slice()].concat();
                        Some((model.iter().map(push).collect::<Model>(), stacks.push(*node, top, accepts(top))))
                    }
                    2 | 3 => {
                        let mut all: Vec<(Model, u32)> =
                            [1, 3, 11, 31].map(|n| held[at(n)].clone()).into_iter().collect();
                        all.sort_by_key(|(_, node)| std::cmp::Reverse(stacks.depth(*node)));
                        let node = union.of(&mut stacks, all.iter().map(|(_, node)| *node));
                        Some((all.into_iter().flat_map(|(model, _)| model).collect(), node))
                    }
                    _ if held.len() > 1 => {
                        let (_, node) = held.swap_remove(at(1));
                        stacks.release(node);
                        None
                    }
                    _ => None,
                };
                // Stacks may double with each step.
                if let Some((model, node)) = made.filter(|(model, _)| model.len() <= 100) {
                    stacks.hold(node);
                    held.push((model, node));
                }
                stacks.settle();
                for (model, node) in &held {
                    let found = stacks.list(*node, usize::MAX);
                    prop_assert_eq!(found.len(), model.len(), "each once");
                    prop_assert_eq!(&found.into_iter().collect::<Model>(), model);
                    prop_assert!(stacks.count(*node) >= model.len() as u64);
                    let deepest = model.iter().map(Vec::len).max();
                    prop_assert_eq!(Some(stacks.depth(*node) as usize), deepest);
                    let completes = model.iter().any(|stack| stack.iter().all(|&top| accepts(top)));
                    prop_assert_eq!(stacks.completes(*node), completes);
                }
                let nodes = stacks.nodes_of(held.iter().map(|(_, node)| *node));
                prop_assert_eq!(nodes, stacks.kept());
            }
            for (_, node) in held {
                stacks.release(node);
            }
            prop_assert_eq!(stacks.kept(), 0);
        }
    }

    #[test]
    fn what_is_there_already_is_not_taken_twice() {
        let (mut stacks, mut union) = (Stacks::new(), Union::default());
        let one = stacks.push(BOTTOM, 1, false);
        let two = stacks.push(one, 2, false);
        let both = union.of(&mut stacks, [two, one].into_iter());
        let kept = stacks.kept();
        assert_eq!(union.of(&mut stacks, [two, one].into_iter()), both);
        assert_eq!(union.of(&mut stacks, [both, one].into_iter()), both);
        assert_eq!(union.of(&mut stacks, [two, both].into_iter()), both);
        assert_eq!(stacks.kept(), kept);
        let three = stacks.push(both, 3, false);
        let more = union.of(&mut stacks, [three, both, one].into_iter());
        assert_eq!(stacks.parts(more), Some((three, both)));
        assert_eq!(stacks.list(more, 9), [vec![3, 2, 1], vec![3, 1], vec![2, 1], vec![1]]);
    }
}
