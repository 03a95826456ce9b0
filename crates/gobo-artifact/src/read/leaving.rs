//! The ways on of a state, for who draws an automaton.

use std::collections::BTreeMap;

use super::index::Index;
use crate::layout::DEAD;
use crate::layout::index::calls::PushTransition;

/// What leads on from a state.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Leaving {
    /// By the state that they lead to, ascending: the bytes, ascending.
    pub bytes: BTreeMap<u32, Vec<u8>>,
    /// The states to which bytes lead that stand for token edges and are no text, ascending.
    pub tokens: Vec<u32>,
    /// The calls.
    pub calls: Vec<Call>,
}

/// A call: a push transition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The state whose transitions go on.
    pub entry: u32,
    /// The numbers of the return states that it pushes, outermost first.
    pub returns: Vec<u32>,
}

impl Index {
    /// What leads on from a state: nothing from states that do not exist. O(256 + calls).
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// # let (index, ..) = small::pattern();
    /// // Texts of (ab)*.
    /// let leaving = index.leaving(index.start());
    /// let bytes: Vec<&[u8]> = leaving.bytes.values().map(|bytes| &**bytes).collect();
    /// assert!(bytes == [b"a"] && leaving.calls.is_empty());
    /// ```
    pub fn leaving(&self, state: u32) -> Leaving {
        let mut leaving = Leaving::default();
        for byte in 0..=u8::MAX {
            match self.walk(state, &[byte]) {
                DEAD => {}
                next if !self.are_text(&[byte]) => leaving.tokens.push(next),
                next => leaving.bytes.entry(next).or_default().push(byte),
            }
        }
        leaving.tokens.sort_unstable();
        leaving.tokens.dedup();
        if let Some(calls) = self.calls() {
            let call =
                |push: &PushTransition| Call { entry: push.entry, returns: calls.pushed(push).to_vec() };
            leaving.calls = calls.push_transitions(state).iter().map(call).collect();
        }
        leaving
    }

    /// The states to which the return state of that number leads, one for each exit of the rule above it that has one; none without
    /// such a return state. O(exits).
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// # let (index, ..) = small::pattern();
    /// assert!(index.states_after_return(0).is_empty(), "it has no calls");
    /// ```
    pub fn states_after_return(&self, number: u32) -> Vec<u32> {
        self.calls().map(|calls| calls.states_after(number)).unwrap_or_default()
    }
}
