//! One byte on from any configurations, whose stacks are a graph with joins; after the byte those in one state become one, if their
//! counts and the bounds of these are equal.
//!
//! Three walks make a byte. First the states of the configurations, and all that rules which may end return to, read the byte.
//! A frame is popped once, from wherever it is reached, because what it leads to depends on it alone: whether it may be popped, where
//! characters are counted, is seen before. Nothing is read in a
//! state to which the same way down has returned before: what is left of the stack there may be left of the stack here too, since all
//! rules between may end. Then rules that have to end are ended, popping each frame once again. Then the configurations are ordered
//! by state, count and bounds, and within them deepest stack first and as they were found, and become one each (`stacks/set.rs`). So all
//! frames of a join have the bounds of one of them, and the looks at a node are those at a frame. O(nodes
//! below that rules which may end reach, times push transitions), and O(n log n) for n configurations found.

use std::cmp::Reverse;

use gobo_types::CharCount;

use super::merger::{Merger, Pop, Returned};
use super::{BOTTOM, Configuration, Configurations, Tables};
use crate::layout::DEAD;

impl Configurations {
    /// One byte on from `last` to `next`.
    pub(super) fn step_merged(&mut self, tables: Tables<'_>, byte: u8) {
        self.merger.found.clear();
        self.merger.marks.renew(self.stacks.places());
        for number in 0..self.last.len() {
            let at = self.last[number];
            self.read_merged(tables, at, byte);
            self.merger.returned.clear();
            if tables.accepts(at.state) && tables.counted.may_pop(&self.stacks, &at) {
                let Configuration { state, frame: node, count } = at;
                self.merger.returned.push(Returned { state, count, before: 0 });
                self.merger.pops.push(Pop { node, state, count, returned: 0 });
            }
            self.pop_all(tables, byte);
        }
        self.arrive_merged(tables);
        self.merge(tables);
    }

    /// Reads the byte wherever the nodes that wait to be popped return to.
    fn pop_all(&mut self, tables: Tables<'_>, byte: u8) {
        while let Some(Pop { node, state, count, mut returned }) = self.merger.pops.pop() {
            if node == BOTTOM || !self.merger.marks.is_new(node) {
                continue;
            }
            if let Some((first, second)) = self.stacks.parts(node) {
                let part = |node| Pop { node, state, count, returned };
                self.merger.pops.extend([part(second), part(first)]);
                continue;
            }
            let back = tables.calls.return_state(self.stacks.top(node));
            if back == state && count == CharCount::default() {
                let node = self.stacks.below_run(node);
                self.merger.pops.push(Pop { node, state, count, returned });
                continue;
            }
            let at = Configuration::back(back, self.stacks.below(node));
            if !self.has_returned(back, returned) {
                self.read_merged(tables, at, byte);
                self.merger.returned.push(Returned { state: back, count: at.count, before: returned });
                returned = self.merger.returned.len() - 1;
            }
            if tables.accepts(back) && tables.counted.may_pop(&self.stacks, &at) {
                self.merger.pops.push(Pop { node: at.frame, state: back, count: at.count, returned });
            }
        }
    }

    fn has_returned(&self, to: u32, mut way: usize) -> bool {
        loop {
            let Returned { state, count, before } = self.merger.returned[way];
            let is_to = state == to && count == CharCount::default();
            if is_to || before == way {
                return is_to;
            }
            way = before;
        }
    }

    /// Steps of one configuration that pop nothing.
    fn read_merged(&mut self, tables: Tables<'_>, at: Configuration, byte: u8) {
        let class = tables.index.byte_class(byte);
        let next = tables.index.next_by_class(at.state, class);
        if next != DEAD {
            self.find(tables, Configuration { state: next, ..at }, byte);
        }
        for push in tables.calls.push_transitions(at.state) {
            let next = tables.index.next_by_class(push.entry, class);
            if next == DEAD {
                continue;
            }
            let mut frame = at.frame;
            for &top in tables.calls.pushed(push) {
                frame = self.stacks.push(frame, top, tables.accepts(tables.calls.return_state(top)));
            }
            let count = if frame == at.frame { at.count } else { CharCount::default() };
            self.find(tables, Configuration { state: next, frame, count }, byte);
        }
    }

    /// `byte` has led to a configuration, which is counted.
    #[inline]
    fn find(&mut self, tables: Tables<'_>, at: Configuration, byte: u8) {
        self.merger.found.extend(tables.count(&self.stacks, at, byte));
    }

    /// Of what was found, rules that have to end have ended; those in which too little was read for that are gone.
    pub(super) fn arrive_merged(&mut self, tables: Tables<'_>) {
        let Self { stacks, merger: Merger { found, marks, pops, .. }, .. } = self;
        let must_end = |at: &Configuration| at.frame != BOTTOM && tables.is_end(at.state);
        if !found.iter().any(must_end) {
            return;
        }
        marks.renew(stacks.places());
        let mut number = 0;
        while let Some(&at) = found.get(number) {
            number += 1;
            if !must_end(&at) {
                continue;
            }
            found[number - 1].state = DEAD;
            if !tables.counted.may_pop(stacks, &at) {
                continue;
            }
            pops.push(Pop { node: at.frame, state: at.state, count: at.count, returned: 0 });
            while let Some(Pop { node, state, count, returned }) = pops.pop() {
                if node == BOTTOM {
                    found.push(Configuration::back(state, BOTTOM));
                } else if marks.is_new(node) {
                    match stacks.parts(node) {
                        Some((first, second)) => {
                            pops.extend([second, first].map(|node| Pop { node, state, count, returned }));
                        }
                        None => found.push(Configuration::back(
                            tables.calls.return_state(stacks.top(node)),
                            stacks.below(node),
                        )),
                    }
                }
            }
        }
        found.retain(|at| at.state != DEAD);
    }

    /// Makes one configuration of each state, count and bounds of what was found, to `next`.
    pub(super) fn merge(&mut self, tables: Tables<'_>) {
        let Self { stacks, next, merger: Merger { found, order, union, .. }, .. } = self;
        next.clear();
        order.clear();
        let in_order = |(number, at): (usize, &Configuration)| {
            let group = (at.state, at.count, tables.counted.lengths(stacks, at.frame));
            (group, Reverse(stacks.depth(at.frame)), number, at.frame)
        };
        order.extend(found.iter().enumerate().map(in_order));
        order.sort_unstable();
        for alike in order.chunk_by(|one, next| one.0 == next.0) {
            let frame = union.of(stacks, alike.iter().map(|found| found.3));
            let (state, count, _) = alike[0].0;
            next.push(Configuration { state, frame, count });
        }
        found.clear();
    }
}
