//! Whether a text is complete whose rules have several exits.
//!
//! A frame keeps whether all rules below may end: behind some exit each. That is all where rules have one exit. Else the exits decide: the rule at
//! hand ends at that of its state, the caller goes on in the state after it and has to end there too, at the exit of that state, and so on
//! down to the bottom. So a text without that mark is not complete, and one with it is looked at from the top down. Each pair of an exit and
//! a node is looked at once. O(frames at which rules may end × exits).

use super::met::{Met, with_met};
use super::{BOTTOM, Configuration, Configurations};
use crate::layout::DEAD;
use crate::layout::index::calls::CallTables;
use crate::read::index::Index;

impl Configurations {
    /// Whether all rules of a configuration, whose state is one at which a rule may end, end behind each other's exits.
    #[inline]
    pub(super) fn completes_at_exits(&self, index: &Index, at: &Configuration) -> bool {
        match (at.frame != BOTTOM).then(|| index.calls()).flatten() {
            Some(calls) if calls.has_exits() => with_met(|met| self.ends_below(index, &calls, at, met)),
            _ => true,
        }
    }

    fn ends_below(&self, index: &Index, calls: &CallTables<'_>, at: &Configuration, met: &mut Met) -> bool {
        // An exit as the number of a pair, none of which is 0.
        let paired = |state: u32| calls.exit(state).saturating_add(1);
        met.go_to((paired(at.state), at.frame));
        let mut number = 0;
        while let Some(&(exit, set)) = met.ahead.get(number) {
            number += 1;
            let mut rest = Some(set);
            while let Some(set) = rest {
                let (frame, others) =
                    self.stacks.parts(set).map_or((set, None), |(first, others)| (first, Some(others)));
                rest = others.filter(|&others| met.is_new(exit, others));
                if frame == BOTTOM {
                    return true;
                }
                let state = calls.state_after(self.stacks.top(frame), exit - 1);
                if state != DEAD && index.is_complete(state) {
                    let below = self.stacks.below(frame);
                    if below == BOTTOM {
                        return true;
                    }
                    met.go_to((paired(state), below));
                }
            }
        }
        false
    }
}
