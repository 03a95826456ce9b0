//! One byte on from any configurations, whose sets of stacks are nodes of a graph; before and after the byte those in one state become
//! one, if their counts and the bounds of these are equal.
//!
//! Four steps make a byte:
//!
//! 1. Rules that may end are ended: the configurations before the byte, and those that they return to, become one for each state.
//!    A frame is popped once for each exit, from wherever it is reached, because what it leads to depends on it and the exit alone: whether
//!    it may be popped, where characters are counted, is seen before. A state to which the same way down has returned before is left
//!    out: what is left of the stack there may be left of the stack here too, since all rules between may end, at whichever exit that
//!    leads to the same one below.
//! 2. Each of them reads the byte. What the same return states are pushed on, on the way to the same state, becomes one set first; so a byte
//!    makes at most a frame for each return state of a push transition. The state after the byte has to be the same, and not the
//!    return states alone: on one frame for two such pushes each would return to what lies below the other.
//! 3. Rules that have to end are ended, popping each frame once again.
//! 4. What was found becomes one configuration for each state.
//!
//! All frames of a set have the bounds of one of them, and the looks at a node are those at a frame. O(nodes that rules which may end
//! reach + members of the sets made, times the logarithm of these), which is at most the square of the text.
//!
//! Source: Tomita 1987, for the graph whose nodes stand for a state and a place of the text; Scott & Johnstone, *GLL Parsing*, 2010, for one
//! node for all calls at a place that return to the same one.

use gobo_types::CharCount;

use super::merger::{Merger, Pop, Push, Returned};
use super::{BOTTOM, Configuration, Configurations, Tables};
use crate::layout::DEAD;

impl Configurations {
    /// One byte on from `last`, which is changed, to `next`.
    pub(super) fn step_merged(&mut self, tables: &Tables<'_>, byte: u8) {
        self.end_rules(tables);
        for number in 0..self.last.len() {
            self.read_merged(tables, self.last[number], byte);
        }
        self.push_merged(tables, byte);
        self.arrive_merged(tables);
        self.merge(tables);
    }

    /// Adds to `last` what its configurations return to where rules may end.
    fn end_rules(&mut self, tables: &Tables<'_>) {
        self.merger.found.clear();
        let may_end =
            |stacks: &_, at: &Configuration| tables.accepts(at.state) && tables.counted.may_pop(stacks, at);
        self.merger.marks.renew(self.stacks.places());
        for number in 0..self.last.len() {
            let at = self.last[number];
            if may_end(&self.stacks, &at) {
                let Configuration { state, frame: node, count } = at;
                self.merger.returned.clear();
                self.merger.returned.push(Returned { state, count, before: 0 });
                self.merger.pops.push(Pop { node, state, count, returned: 0 });
                self.pop_all(tables);
            }
        }
        if !self.merger.found.is_empty() {
            self.merger.found.append(&mut self.last);
            self.merge(tables);
            std::mem::swap(&mut self.last, &mut self.next);
        }
    }

    /// Pops the frames of all sets that wait to be popped.
    fn pop_all(&mut self, tables: &Tables<'_>) {
        while let Some(Pop { node, state, count, mut returned }) = self.merger.pops.pop() {
            if node == BOTTOM || !self.merger.marks.is_new_at(tables.calls.exit(state), node) {
                continue;
            }
            if let Some((first, others)) = self.stacks.parts(node) {
                let part = |node| Pop { node, state, count, returned };
                self.merger.pops.extend([part(others), part(first)]);
                continue;
            }
            let top = self.stacks.top(node);
            let back = tables.calls.return_state(top, state);
            if back == DEAD {
                continue;
            }
            let is_passed = tables.is_passed(top);
            if back == state && count == CharCount::default() && is_passed {
                let node = self.stacks.below_run(node);
                self.merger.pops.push(Pop { node, state, count, returned });
                continue;
            }
            let at = Configuration::back(back, self.stacks.below(node));
            if !is_passed || !self.has_returned(back, returned) {
                self.merger.found.push(at);
                // What is left of the stack is no part of what was there before where a return state made a difference.
                let next = self.merger.returned.len();
                let before = if is_passed { returned } else { next };
                self.merger.returned.push(Returned { state: back, count: at.count, before });
                returned = next;
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

    /// Steps of one configuration that pop nothing; what they push waits in `pushes`.
    fn read_merged(&mut self, tables: &Tables<'_>, at: Configuration, byte: u8) {
        let class = tables.index.byte_class(byte);
        let next = tables.index.next_by_class(at.state, class);
        if next != DEAD {
            self.find(tables, Configuration { state: next, ..at }, byte);
        }
        for &transition in tables.calls.push_transitions(at.state) {
            let state = tables.index.next_by_class(transition.entry, class);
            if state == DEAD {
                continue;
            }
            if tables.calls.pushed(&transition).is_empty() {
                self.find(tables, Configuration { state, ..at }, byte);
            } else {
                let lengths = tables.counted.lengths(&self.stacks, at.frame);
                self.merger.pushes.push(Push { state, transition, lengths, node: at.frame });
            }
        }
    }

    /// Pushes what waits in `pushes`: for each state and return states once.
    fn push_merged(&mut self, tables: &Tables<'_>, byte: u8) {
        let mut pushes = std::mem::take(&mut self.merger.pushes);
        let key = |push: &Push| (push.state, tables.calls.pushed(&push.transition), push.lengths);
        pushes.sort_unstable_by(|one, other| key(one).cmp(&key(other)));
        for alike in pushes.chunk_by(|one, next| key(one) == key(next)) {
            let Self { stacks, merger: Merger { union, .. }, .. } = self;
            let mut frame = union.of(stacks, alike.iter().map(|push| push.node));
            for &top in tables.calls.pushed(&alike[0].transition) {
                frame = stacks.push(frame, top, tables.may_end(top));
            }
            self.find(tables, Configuration::back(alike[0].state, frame), byte);
        }
        pushes.clear();
        self.merger.pushes = pushes;
    }

    /// `byte` has led to a configuration, which is counted.
    #[inline]
    fn find(&mut self, tables: &Tables<'_>, at: Configuration, byte: u8) {
        self.merger.found.extend(tables.count(&self.stacks, at, byte));
    }

    /// Of what was found, rules that have to end have ended; those in which too little was read for that are gone.
    pub(super) fn arrive_merged(&mut self, tables: &Tables<'_>) {
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
                } else if marks.is_new_at(tables.calls.exit(state), node) {
                    match stacks.parts(node) {
                        Some((first, others)) => {
                            pops.extend([others, first].map(|node| Pop { node, state, count, returned }));
                        }
                        None => found.push(Configuration::back(
                            tables.calls.return_state(stacks.top(node), state),
                            stacks.below(node),
                        )),
                    }
                }
            }
        }
        found.retain(|at| at.state != DEAD);
    }

    /// Makes one configuration of each state, count and bounds of what was found, to `next`.
    pub(super) fn merge(&mut self, tables: &Tables<'_>) {
        let Self { stacks, next, merger: Merger { found, order, union, .. }, .. } = self;
        next.clear();
        order.clear();
        let group = |at: &Configuration| (at.state, at.count, tables.counted.lengths(stacks, at.frame));
        order.extend(found.iter().map(|at| (group(at), at.frame)));
        order.sort_by_key(|found| found.0);
        for alike in order.chunk_by(|one, next| one.0 == next.0) {
            let frame = union.of(stacks, alike.iter().map(|found| found.1));
            let (state, count, _) = alike[0].0;
            next.push(Configuration { state, frame, count });
        }
        found.clear();
    }
}
