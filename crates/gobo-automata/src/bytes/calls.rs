//! Push transitions, return states and stack tops of an automaton whose rules are called: a push-down automaton as tables.

use gobo_types::{ByteSet, DenseId as _, LengthRange, Table, dense_id};

use crate::ids::{CharState, ReturnId, RuleId, StateId};
use crate::rtn::CallTable;

/// The phase that verdicts name.
pub(super) const PHASE: &str = "laying out calls";

/// The calls of an automaton, by state.
///
/// A configuration is a state and a stack of return states. From it a text goes on by a transition of the state; by one of
/// the first states of a called rule, with return states pushed ([`Calls::push_transitions`]); or, where the state accepts, by
/// what the return state on top of the stack goes on by, which is popped then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calls {
    /// What can lie on the stack.
    pub returns: Vec<Return>,
    /// Whether no text ever has more than one configuration.
    pub is_deterministic: bool,
    /// Whether some rule calls itself, directly or through others, so that stacks have no greatest depth.
    pub is_recursive: bool,
    /// `[states + 1]`: where the push transitions of each state begin.
    pub(super) starts: Vec<u32>,
    pub(super) push_transitions: Vec<PushTransition>,
    pub(super) pushes: Vec<ReturnId>,
    /// `[states]`: the set of return states that may lie on top of the stack.
    pub(super) tops: Vec<TopSetId>,
    pub(super) top_sets: Vec<TopSet>,
    /// The calls themselves, between states of the automaton over characters.
    pub(crate) of_chars: CallTable,
    /// `[rules]`: where the texts of each called rule begin, in the automaton over characters.
    pub(crate) entries: Table<RuleId, CharState>,
    /// `[rules]`: the lengths of those whose characters are counted.
    pub(crate) lengths: Table<RuleId, Option<LengthRange>>,
    /// `[calls]`: characters of the shortest text of the rule that each of them calls.
    pub(super) shortest: Vec<u32>,
    /// `[character states]`: whether a rule is called or ends there.
    pub(super) call_boundaries: Vec<bool>,
    /// `[character states]`: what tells states apart that the edges do not.
    pub(crate) marks: Vec<u32>,
}

/// A state after a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Return {
    /// The state.
    pub state: StateId,
    /// The rule that the call stands in.
    pub caller: String,
    /// The rule that is called.
    pub callee: String,
    /// How many characters may be read until it is popped, if they are counted.
    pub lengths: Option<LengthRange>,
}

/// A first state of a called rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PushTransition {
    /// The state whose transitions go on. Its own push transitions are push transitions of the caller too.
    pub entry: StateId,
    /// Where the pushed return states stand in [`Calls::pushed`], outermost first.
    pub pushes: (u32, u32),
}

dense_id! {
    /// A set of return states that may lie on top of the stack.
    pub(super) struct TopSetId;
}

/// Return states that may lie on top of the stack together with a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TopSet {
    /// Ascending.
    pub(super) returns: Vec<ReturnId>,
    /// The bytes that a text can go on with when one of them is popped.
    pub(super) follow: ByteSet,
}

impl Calls {
    /// Those of an automaton that calls nothing.
    pub fn none(states: usize) -> Self {
        Self {
            returns: Vec::new(),
            is_deterministic: true,
            is_recursive: false,
            starts: vec![0; states + 1],
            push_transitions: Vec::new(),
            pushes: Vec::new(),
            tops: vec![TopSetId::new(0); states],
            top_sets: vec![TopSet { returns: Vec::new(), follow: ByteSet::default() }],
            of_chars: CallTable::default(),
            entries: Table::new(),
            lengths: Table::new(),
            shortest: Vec::new(),
            call_boundaries: Vec::new(),
            marks: Vec::new(),
        }
    }

    /// The push transitions of a state.
    #[inline]
    pub fn push_transitions(&self, state: StateId) -> &[PushTransition] {
        &self.push_transitions[self.starts[state.index()] as usize..self.starts[state.index() + 1] as usize]
    }

    /// Whether texts may leave the rule at hand at a state between characters, by a call or by its end: transitions alone do
    /// not say what follows.
    pub fn is_call_boundary(&self, char_state: CharState) -> bool {
        self.call_boundaries[char_state.index()]
    }

    /// The return states that a push transition puts on the stack, outermost first.
    #[inline]
    pub fn pushed(&self, push: &PushTransition) -> &[ReturnId] {
        &self.pushes[push.pushes.0 as usize..push.pushes.1 as usize]
    }

    /// The return states that may lie on top of the stack at `state`, ascending.
    pub fn stack_tops(&self, state: StateId) -> &[ReturnId] {
        &self.top_sets[self.tops[state.index()].index()].returns
    }

    /// The bytes that a text can go on with when the top of the stack is popped at `state`.
    pub fn follow(&self, state: StateId) -> &ByteSet {
        &self.top_sets[self.tops[state.index()].index()].follow
    }

    /// Bytes of its tables.
    pub(crate) fn bytes(&self) -> u64 {
        let of_states = self.starts.len() + self.tops.len() + self.marks.len() * 2;
        let of_tops: usize =
            self.top_sets.iter().map(|set| size_of::<TopSet>() + set.returns.len() * 4).sum();
        let of_calls = self.entries.len() * 4
            + self.push_transitions.len() * 12
            + self.pushes.len() * 4
            + self.shortest.len() * 4
            + self.returns.len() * size_of::<Return>();
        (of_states * 4 + of_tops + of_calls) as u64 + self.of_chars.bytes()
    }
}
