//! Push transitions, return states and stack tops of an automaton whose rules are called: a push-down automaton as tables.

use gobo_types::{ByteSet, DenseId as _, LengthRange, Table, dense_id};

use crate::ids::{CharState, ExitId, ReturnId, RuleId, StateId};
use crate::rtn::CallTable;

/// The phase that verdicts name.
pub(super) const PHASE: &str = "laying out calls";

/// The calls of an automaton, by state.
///
/// A configuration is a state and a stack of return states. From it a text goes on by a transition of the state; by one of
/// the first states of a called rule, with return states pushed ([`Calls::push_transitions`]); or, where the state accepts, by
/// what the return state on top of the stack goes on by, which is popped then. A return state is a row of states, one for each exit
/// of the rule that is called: the state goes on there that the exit of the accepting state tells ([`Calls::exit`]).
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
    /// `[states]`: the exit of those that accept, the first of all others; empty where no rule has a second exit.
    pub(super) exits: Vec<ExitId>,
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

/// A return state: where a call goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Return {
    /// The state after each exit of the called rule, ascending by exit: at least one.
    pub row: Vec<(ExitId, StateId)>,
    /// The rule that the call stands in.
    pub caller: String,
    /// The rule that is called.
    pub callee: String,
    /// How many characters may be read until it is popped, if they are counted.
    pub lengths: Option<LengthRange>,
}

impl Return {
    /// The state after an exit of the called rule.
    #[inline]
    pub fn state(&self, exit: ExitId) -> Option<StateId> {
        self.row.iter().find(|way| way.0 == exit).map(|way| way.1)
    }

    /// The states after all exits.
    pub fn states(&self) -> impl Iterator<Item = StateId> {
        self.row.iter().map(|way| way.1)
    }
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
    pub struct TopSetId;
}

/// Return states that may lie on top of the stack together with a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TopSet {
    /// Ascending.
    pub(super) returns: Vec<ReturnId>,
    /// `[exits]`: the bytes that a text can go on with when one of them is popped at an exit; of those beyond the last none.
    pub(super) follow: Vec<ByteSet>,
}

impl Calls {
    /// Whether tokens are counted in some rule, of which bytes know nothing.
    pub(crate) fn counts_tokens(&self) -> bool {
        self.returns.iter().any(|of| of.lengths.is_some_and(|lengths| lengths.tokens.is_some()))
    }

    /// Whether characters or tokens are counted in some rule.
    pub fn counts(&self) -> bool {
        self.returns.iter().any(|of| of.lengths.is_some())
    }

    /// Those of an automaton that calls nothing.
    pub fn none(states: usize) -> Self {
        Self {
            returns: Vec::new(),
            is_deterministic: true,
            is_recursive: false,
            starts: vec![0; states + 1],
            push_transitions: Vec::new(),
            pushes: Vec::new(),
            exits: Vec::new(),
            tops: vec![TopSetId::new(0); states],
            top_sets: vec![TopSet { returns: Vec::new(), follow: Vec::new() }],
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

    /// Of each state, what has the same [`Self::stack_tops`] and [`Self::follows`].
    pub fn top_set(&self, state: StateId) -> TopSetId {
        self.tops[state.index()]
    }

    /// The exit of a state that accepts.
    #[inline]
    pub fn exit(&self, state: StateId) -> ExitId {
        self.exits.get(state.index()).copied().unwrap_or(ExitId::FIRST)
    }

    /// Whether some rule has a second exit.
    pub fn has_exits(&self) -> bool {
        !self.exits.is_empty()
    }

    /// The bytes that a text can go on with when the top of the stack is popped at `state`, which accepts.
    pub fn follow(&self, state: StateId) -> ByteSet {
        self.follows(state).get(self.exit(state).index()).copied().unwrap_or_default()
    }

    /// `[exits]`: the bytes that a text can go on with when the rule at hand, which has come to `state`, ends at an exit and the top of the
    /// stack is popped; none beyond the last.
    pub fn follows(&self, state: StateId) -> &[ByteSet] {
        &self.top_sets[self.tops[state.index()].index()].follow
    }

    /// Bytes of its tables.
    pub(crate) fn bytes(&self) -> u64 {
        let of_states = self.starts.len() + self.tops.len() + self.exits.len() + self.marks.len() * 2;
        let of_set =
            |set: &TopSet| size_of::<TopSet>() + size_of_val(set.follow.as_slice()) + set.returns.len() * 4;
        let of_tops: usize = self.top_sets.iter().map(of_set).sum();
        let of_calls = self.entries.len() * 4
            + self.push_transitions.len() * 12
            + self.pushes.len() * 4
            + self.shortest.len() * 4
            + self.returns.iter().map(|of| size_of::<Return>() + of.row.len() * 8).sum::<usize>();
        (of_states * 4 + of_tops + of_calls) as u64 + self.of_chars.bytes()
    }
}
