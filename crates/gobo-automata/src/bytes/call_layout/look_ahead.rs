//! What can be read at a state by each of its ways on, told by one byte of look-ahead.

use gobo_types::ByteSet;

use crate::bytes::calls::Calls;
use crate::bytes::dfa::Dfa;
use crate::ids::StateId;

impl Calls {
    /// Whether nothing can be read in a state of the automaton, so that its rule has to end there.
    pub fn is_end(&self, dfa: &Dfa, state: StateId) -> bool {
        dfa.accepting[state]
            && self.push_transitions(state).is_empty()
            && (0..dfa.stride).all(|class| dfa.step(state, class).is_none())
    }

    /// The bytes that a text can go on with without popping.
    pub(super) fn first(&self, dfa: &Dfa, state: StateId) -> ByteSet {
        let mut first = dfa.live_bytes_of(state);
        for push in self.push_transitions(state) {
            first.insert_all(&dfa.live_bytes_of(push.entry));
        }
        first
    }

    /// Whether each byte leads on in one way only from a state of the automaton.
    pub fn is_single(&self, dfa: &Dfa, state: StateId) -> bool {
        if self.push_transitions(state).is_empty() && !dfa.accepting[state] {
            return true;
        }
        let mut seen = dfa.live_bytes_of(state);
        let mut is_new = |set: &ByteSet| {
            let is_new = seen.is_disjoint(set);
            seen.insert_all(set);
            is_new
        };
        self.push_transitions(state).iter().all(|push| is_new(&dfa.live_bytes_of(push.entry)))
            && (!dfa.accepting[state] || is_new(&self.follow(state)))
    }
}
