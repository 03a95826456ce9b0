//! The union of many sets of stacks.
//!
//! One of the sets is walked whole; of the others each link is met once, because what comes after a link that was met has been met too:
//! what two sets share at their ends costs one look. The members that the first set has not are ordered and put in their places, and what
//! comes after the last of them stays the node that it was. The order of members depends on what they are alone, so the union of
//! the same stacks is the same node, whatever they were united from and in which order. O(links and members that are met + m log m) for
//! m new members, and a link for each member that comes before the last new one.

use super::{BOTTOM, Stacks};

/// Which nodes were met in one walk: a stamp for each place, so that nothing is cleared from walk to walk.
#[derive(Debug, Clone, Default)]
pub(crate) struct Marks {
    /// `[kinds, places]`; one kind to begin with.
    stamps: Vec<u32>,
    walk: u32,
    places: usize,
    /// The kinds of this walk after the first, which is 0.
    kinds: Vec<u32>,
}

impl Marks {
    /// Begins a walk over the nodes of so many places. O(1) amortised.
    pub(crate) fn renew(&mut self, places: usize) {
        self.places = places;
        self.kinds.clear();
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

    /// Whether this walk has not met the node before in a meeting of this kind. O(kinds).
    #[inline]
    pub(crate) fn is_new_at(&mut self, kind: u32, node: u32) -> bool {
        if kind == 0 { self.is_new(node) } else { self.is_new_of(kind, node) }
    }

    fn is_new_of(&mut self, kind: u32, node: u32) -> bool {
        let known = self.kinds.iter().position(|known| *known == kind).unwrap_or_else(|| {
            self.kinds.push(kind);
            self.kinds.len() - 1
        });
        let place = (known + 1) * self.places + node as usize;
        if self.stamps.len() <= place {
            self.stamps.resize((known + 2) * self.places, 0);
        }
        std::mem::replace(&mut self.stamps[place], self.walk) != self.walk
    }
}

/// Makes unions; what it keeps from one to the next is room.
#[derive(Debug, Clone, Default)]
pub(crate) struct Union {
    marks: Marks,
    /// Members that the first set has not.
    more: Vec<u32>,
    /// The members of the union before those that it has from the first set as one node.
    members: Vec<u32>,
}

impl Union {
    /// The stacks of all `sets`; the bottom for none. The node has no holder yet, unless it is one of them.
    pub(crate) fn of(&mut self, stacks: &mut Stacks, mut sets: impl Iterator<Item = u32> + Clone) -> u32 {
        let all = sets.clone();
        let Some(mut first) = sets.next() else { return BOTTOM };
        if sets.clone().all(|set| set == first) {
            return first;
        }
        // What stays as it is should be much: the deepest of the larger sets.
        let size = |set: u32| (stacks.parts(set).is_some(), stacks.depth(set));
        for set in sets {
            if size(set) > size(first) {
                first = set;
            }
        }
        self.marks.renew(stacks.places());
        let mut at = first;
        self.marks.is_new(at);
        while let Some((member, others)) = stacks.parts(at) {
            self.marks.is_new(member);
            self.marks.is_new(others);
            at = others;
        }
        self.more.clear();
        all.for_each(|set| self.add(stacks, set));
        // Mostly they are in order but for a few, and a stable sort uses that.
        self.more.sort_by(|&one, &other| stacks.order(one, other));
        self.put_together(stacks, first)
    }

    /// The members of a set that were not met before.
    fn add(&mut self, stacks: &Stacks, mut set: u32) {
        while self.marks.is_new(set) {
            let Some((member, others)) = stacks.parts(set) else {
                self.more.push(set);
                return;
            };
            if self.marks.is_new(member) {
                self.more.push(member);
            }
            set = others;
        }
    }

    fn put_together(&mut self, stacks: &mut Stacks, first: u32) -> u32 {
        self.members.clear();
        let mut rest = Some(first);
        for &more in &self.more {
            while let Some(set) = rest {
                let (member, others) =
                    stacks.parts(set).map_or((set, None), |(member, others)| (member, Some(others)));
                if stacks.order(member, more).is_gt() {
                    break;
                }
                self.members.push(member);
                rest = others;
            }
            self.members.push(more);
        }
        let last = rest.or_else(|| self.members.pop()).unwrap_or(BOTTOM);
        self.members.drain(..).rev().fold(last, |others, member| stacks.link(member, others))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    type Model = BTreeSet<Vec<u32>>;

    proptest! {
        /// Random pushes, unions and drops against plain sets of vectors: stacks read back, each once, and what nobody holds is gone.
        #[test]
        fn nodes_are_sets_of_stacks(steps in prop::collection::vec((0_usize..5, any::<u32>()), 0..60)) {
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
                        let all = [1, 3, 11, 31].map(|n| held[at(n)].clone());
                        let node = union.of(&mut stacks, all.iter().map(|(_, node)| *node));
                        let back = all.iter().rev().map(|(_, node)| *node);
                        prop_assert_eq!(union.of(&mut stacks, back), node, "in whatever order");
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
                let (frames, links) = stacks.nodes_of(held.iter().map(|(_, node)| *node));
                prop_assert_eq!(frames + links, stacks.kept());
                prop_assert_eq!(links == 0, stacks.are_plain());
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

    /// Each set of the stacks that a text can have after so many letters has one link more than the one before.
    #[test]
    fn sets_share_what_comes_after_their_new_members() {
        let (mut stacks, mut union) = (Stacks::new(), Union::default());
        let mut set = BOTTOM;
        stacks.hold(set);
        for letters in 1..1_000 {
            let frame = stacks.push(set, 1, false);
            let larger = union.of(&mut stacks, [frame, set].into_iter());
            stacks.hold(larger);
            stacks.release(set);
            stacks.settle();
            set = larger;
            assert_eq!(stacks.kept(), 2 * letters);
        }
        // The same members from the other end, and a part of them.
        let mut members = Vec::new();
        let mut at = set;
        while let Some((member, others)) = stacks.parts(at) {
            members.push(member);
            at = others;
        }
        let kept = stacks.kept();
        assert_eq!(union.of(&mut stacks, members.iter().rev().copied().chain([BOTTOM])), set);
        assert_eq!(stacks.kept(), kept);
        let every_other = union.of(&mut stacks, members.iter().copied().step_by(2));
        assert_eq!(stacks.kept(), kept + members.len().div_ceil(2) - 1);
        assert_eq!(union.of(&mut stacks, [every_other, set].into_iter()), set);
    }
}
