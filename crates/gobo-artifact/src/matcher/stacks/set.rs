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
