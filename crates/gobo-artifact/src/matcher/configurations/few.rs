//! One byte on from few configurations of one stack each.
//!
//! Invariant: of those that are compared none is kept that another one covers. O(configurations × push transitions), and the depth
//! of the stack where rules end.

use gobo_types::CharCount;

use super::{BOTTOM, Configuration, Configurations, FEW, Tables};
use crate::layout::DEAD;

/// Configurations of one byte that are compared with each other; with more the byte is read over a graph.
const COMPARED: usize = 64;

impl Configurations {
    /// One byte on from `last`, few configurations of plain stacks, to `next`. Whether these are few too.
    pub(super) fn step_few(&mut self, tables: &Tables<'_>, byte: u8) -> bool {
        for number in 0..self.last.len() {
            let mut at = self.last[number];
            self.read(tables, at, byte);
            self.returned.clear();
            if !at.has_counted() {
                self.returned.push(at.state);
            }
            while at.frame != BOTTOM && tables.accepts(at.state) && tables.counted.may_pop(&self.stacks, &at)
            {
                let back = |frame: u32| tables.calls.return_state(self.stacks.top(frame), at.state);
                let mut is_passed = tables.is_passed(self.stacks.top(at.frame));
                // A long run of equal return states costs O(1).
                if back(at.frame) == at.state && !at.has_counted() && is_passed {
                    at.frame = self.stacks.below_run(at.frame);
                    if at.frame == BOTTOM {
                        break;
                    }
                    is_passed = tables.is_passed(self.stacks.top(at.frame));
                }
                let state = back(at.frame);
                if state == DEAD {
                    break;
                }
                at = Configuration::back(state, self.stacks.below(at.frame));
                if !is_passed {
                    self.returned.clear();
                }
                // Back in the same state with less below, nothing can be read that could not be read before.
                if !self.returned.contains(&at.state) {
                    self.returned.push(at.state);
                    self.read(tables, at, byte);
                }
            }
        }
        self.next.len() <= FEW
    }

    /// Steps of one configuration that pop nothing.
    #[inline]
    fn read(&mut self, tables: &Tables<'_>, at: Configuration, byte: u8) {
        let class = tables.index.byte_class(byte);
        let next = tables.index.next_by_class(at.state, class);
        if next != DEAD {
            self.add(tables, Configuration { state: next, ..at }, byte);
        }
        for push in tables.calls.push_transitions(at.state) {
            let next = tables.index.next_by_class(push.entry, class);
            if next == DEAD {
                continue;
            }
            let mut frame = at.frame;
            for &top in tables.calls.pushed(push) {
                frame = self.stacks.push(frame, top, tables.may_end(top));
            }
            let count = if frame == at.frame { at.count } else { CharCount::default() };
            self.add(tables, Configuration { state: next, frame, count }, byte);
        }
    }

    /// Adds a configuration that `byte` has led to, once it is counted, unless another does all that it can; removes those that it
    /// covers.
    fn add(&mut self, tables: &Tables<'_>, at: Configuration, byte: u8) {
        let counted = tables.count(&self.stacks, at, byte);
        let Some(at) = counted.and_then(|at| self.arrive(tables, at)) else { return };
        if self.next.len() == COMPARED {
            return;
        }
        let is_passed = |top: u32| tables.calls.is_passed(top, |state| tables.accepts(state));
        let stacks = &self.stacks;
        let covered =
            |known: &Configuration| known.is_beside(&at) && stacks.covers(known.frame, at.frame, is_passed);
        if self.next.iter().any(covered) {
            return;
        }
        self.next.retain(|known| !known.is_beside(&at) || !stacks.covers(at.frame, known.frame, is_passed));
        self.next.push(at);
    }

    /// A rule that has to end has ended; `None` where too little was read for that, or the caller has no way on.
    #[inline]
    pub(super) fn arrive(&self, tables: &Tables<'_>, mut at: Configuration) -> Option<Configuration> {
        while at.frame != BOTTOM && tables.is_end(at.state) {
            if !tables.counted.may_pop(&self.stacks, &at) {
                return None;
            }
            let state = tables.calls.return_state(self.stacks.top(at.frame), at.state);
            if state == DEAD {
                return None;
            }
            at = Configuration::back(state, self.stacks.below(at.frame));
        }
        Some(at)
    }
}
