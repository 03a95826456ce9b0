//! The tables of an index with calls: push transitions, return states, pending-suffix sets, and pairs.
//!
//! A push transition of a state goes on by the transitions of its entry state, and pushes return states on the stack (Woods,
//! *Transition Network Grammars for Natural Language Analysis*, 1970). A pair (suffix set, return class) says which row the
//! suffixes add to a mask where a return state of that class is on top of the stack, and which suffixes are left below it
//! (`docs/recursion.md`). Pairs of a set are ascending by class, so that those of one are found by binary search: mostly one, and
//! several where the suffixes left are several sets.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::layout::artifact::{Artifact, Span};
use crate::layout::error::ArtifactError;
use crate::layout::index::exits::{ExitSpans, ExitTables, between};
use crate::layout::index::root::IndexRoot;
use crate::layout::index::states::DEAD;
use crate::layout::section as kinds;

/// The number of the empty suffix set.
pub(crate) const NO_SUFFIXES: u32 = 0;

/// In the place of a suffix set: nothing can be read in the state, so its rule has to end.
pub(crate) const END: u32 = u32::MAX;

/// A push transition of a state, a call made at once: 12 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct PushTransition {
    /// The state whose transitions go on.
    pub(crate) entry: u32,
    /// Where the pushed return states begin in their table, outermost first.
    pub(crate) from: u32,
    /// Where they end.
    pub(crate) to: u32,
}

/// A return state: 8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct ReturnEntry {
    /// The state; of several, one for each exit, that of the first exit that has one.
    pub(crate) state: u32,
    /// The return class: every suffix set goes on in the same way at all its return states.
    pub(crate) class: u32,
}

/// How a suffix set goes on at the return states of a class: 12 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct PairEntry {
    /// The number of the return class.
    pub(crate) class: u32,
    /// Its row.
    pub(crate) row: u32,
    /// The suffixes that end the rule of the return state too, as a set.
    pub(crate) suffix_set: u32,
}

/// The names of a return state, for people.
#[derive(Debug, Clone, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub struct ReturnName {
    /// The rule that the call stands in.
    pub caller: String,
    /// The rule that is called.
    pub callee: String,
}

/// The depths of the stack, and the names of the return states.
#[derive(Debug, Clone, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub struct CallRoot {
    /// Most frames that one token takes from the stack it finds; `None` if there is no bound.
    pub pop_depth: Option<u32>,
    /// Most frames that are pushed before one byte.
    pub push_depth: u32,
    /// The return states, by their number.
    pub returns: Vec<ReturnName>,
}

/// Where the tables of calls lie in a file.
#[derive(Debug)]
pub(crate) struct CallSpans {
    push_transition_starts: Span,
    push_transitions: Span,
    pushed: Span,
    returns: Span,
    suffix_sets: Span,
    pair_starts: Span,
    pairs: Span,
    exits: Option<ExitSpans>,
}

impl CallSpans {
    pub(crate) fn open(artifact: &Artifact, root: &IndexRoot) -> Result<Self, ArtifactError> {
        let states = u64::from(root.states);
        // Under a canonical index each border has a set, and no state.
        let borders = artifact.has_section(kinds::BORDERS).then(|| artifact.section_bytes(kinds::BORDERS));
        let sets = borders.map_or(states, |borders| borders.len() as u64 / 8);
        Ok(Self {
            push_transition_starts: artifact.span::<u32>(kinds::PUSH_TRANSITION_STARTS, states + 1)?,
            push_transitions: artifact.open_span::<PushTransition>(kinds::PUSH_TRANSITIONS)?,
            pushed: artifact.open_span::<u32>(kinds::PUSHED)?,
            returns: artifact.open_span::<ReturnEntry>(kinds::RETURNS)?,
            suffix_sets: artifact.span::<u32>(kinds::SUFFIX_SETS, sets)?,
            pair_starts: artifact.open_span::<u32>(kinds::PAIR_STARTS)?,
            pairs: artifact.open_span::<PairEntry>(kinds::PAIRS)?,
            exits: artifact
                .has_section(kinds::EXITS)
                .then(|| ExitSpans::open(artifact, states))
                .transpose()?,
        })
    }

    pub(crate) fn tables<'a>(&self, artifact: &'a Artifact) -> CallTables<'a> {
        CallTables {
            push_transition_starts: artifact.get(&self.push_transition_starts),
            push_transitions: artifact.get(&self.push_transitions),
            pushed: artifact.get(&self.pushed),
            returns: artifact.get(&self.returns),
            suffix_sets: artifact.get(&self.suffix_sets),
            pair_starts: artifact.get(&self.pair_starts),
            pairs: artifact.get(&self.pairs),
            exits: self.exits.as_ref().map(|exits| exits.tables(artifact)),
        }
    }
}

/// The tables of an index with calls. Whatever a file says, no look panics; [`Self::verify`] makes sure that all is there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallTables<'a> {
    push_transition_starts: &'a [u32],
    push_transitions: &'a [PushTransition],
    pushed: &'a [u32],
    returns: &'a [ReturnEntry],
    suffix_sets: &'a [u32],
    pair_starts: &'a [u32],
    pairs: &'a [PairEntry],
    /// Where some rule has several exits.
    exits: Option<ExitTables<'a>>,
}

impl<'a> CallTables<'a> {
    /// The push transitions of a state.
    #[inline]
    pub(crate) fn push_transitions(&self, state: u32) -> &'a [PushTransition] {
        between(self.push_transition_starts, self.push_transitions, state)
    }

    /// The numbers of the return states that a push transition pushes, outermost first.
    #[inline]
    pub(crate) fn pushed(&self, push: &PushTransition) -> &'a [u32] {
        self.pushed.get(push.from as usize..push.to as usize).unwrap_or_default()
    }

    /// Number of classes of return states. O(return states).
    pub(crate) fn class_count(&self) -> usize {
        self.returns.iter().map(|of| of.class as usize + 1).max().unwrap_or(0)
    }

    /// Number of pairs of suffix set and return class.
    pub(crate) fn pair_count(&self) -> usize {
        self.pairs.len()
    }

    /// Number of return states.
    pub(crate) fn return_count(&self) -> usize {
        self.returns.len()
    }

    /// Whether some rule has several exits.
    #[inline]
    pub(crate) fn has_exits(&self) -> bool {
        self.exits.is_some()
    }

    /// The exit of a state at which its rule may end.
    #[inline]
    pub(crate) fn exit(&self, state: u32) -> u32 {
        self.exits.map_or(0, |exits| exits.of_state(state))
    }

    /// The state to which the return state of that number leads when the rule above it ends in `state`; the dead state for none.
    #[inline]
    pub(crate) fn return_state(&self, number: u32, state: u32) -> u32 {
        self.state_after(number, self.exit(state))
    }

    /// The state to which the return state of that number leads after an exit of the rule above it; the dead state for none.
    #[inline]
    pub(crate) fn state_after(&self, number: u32, exit: u32) -> u32 {
        match self.exits {
            None => self.returns.get(number as usize).map_or(DEAD, |of| of.state),
            Some(exits) => exits.row(number).get(exit as usize).copied().unwrap_or(DEAD),
        }
    }

    /// The states to which the return state of that number leads, each once. O(exits).
    pub(crate) fn states_after(&self, number: u32) -> Vec<u32> {
        let mut states = match self.exits {
            None => vec![self.state_after(number, 0)],
            Some(exits) => exits.row(number).to_vec(),
        };
        states.retain(|&state| state != DEAD);
        states.sort_unstable();
        states.dedup();
        states
    }

    /// Whether a rule may end altogether behind some exit of the rule above the return state of that number.
    #[inline]
    pub(crate) fn may_end(&self, number: u32, accepts: impl Fn(u32) -> bool) -> bool {
        match self.exits {
            None => accepts(self.state_after(number, 0)),
            Some(exits) => exits.row(number).iter().any(|&state| state != DEAD && accepts(state)),
        }
    }

    /// Whether it makes no difference to the return states below whether that of this number is there: at each exit of the rule above
    /// it, the rule that it returns to may end at once, at the same exit.
    #[inline]
    pub(crate) fn is_passed(&self, number: u32, accepts: impl Fn(u32) -> bool) -> bool {
        match self.exits {
            None => accepts(self.state_after(number, 0)),
            Some(exits) => (0..)
                .zip(exits.row(number))
                .all(|(exit, &state)| state == DEAD || accepts(state) && exits.of_state(state) == exit),
        }
    }

    /// The pending-suffix set of a state, or of a border of a canonical index; [`END`] where its rule can only end.
    #[inline]
    pub(crate) fn suffix_set(&self, state: u32) -> u32 {
        self.suffix_sets.get(state as usize).copied().unwrap_or(NO_SUFFIXES)
    }

    /// How a suffix set goes on at the return state of that number: in no way, in one, or as several sets at once.
    #[inline]
    pub(crate) fn pairs(&self, suffix_set: u32, top: u32) -> &'a [PairEntry] {
        let Some(class) = self.returns.get(top as usize).map(|of| of.class) else { return &[] };
        let pairs = between(self.pair_starts, self.pairs, suffix_set);
        let pairs = &pairs[pairs.partition_point(|pair| pair.class < class)..];
        let is_another = |pair: &PairEntry| pair.class != class;
        &pairs[..pairs.iter().position(is_another).unwrap_or(pairs.len())]
    }

    /// Whether each suffix set goes on in one way at most at each return class. O(pairs).
    pub(crate) fn are_single(&self) -> bool {
        let is_single = |set: &[u32]| {
            let pairs = &self.pairs[set[0] as usize..set[1] as usize];
            pairs.is_sorted_by(|a, b| a.class < b.class)
        };
        self.pair_starts.windows(2).all(is_single)
    }

    /// Checks that every number names something that is there. O(tables).
    pub(crate) fn verify(&self, root: &IndexRoot) -> Result<(), &'static str> {
        let is_ascending = |starts: &[u32], len: usize| {
            starts.first() == Some(&0)
                && starts.is_sorted()
                && starts.last().is_some_and(|&end| end as usize == len)
        };
        let sets = self.pair_starts.len().saturating_sub(1);
        let returns = self.returns.len();
        let is_state = |state: u32| state != DEAD && state < root.states;
        if !is_ascending(self.push_transition_starts, self.push_transitions.len()) {
            return Err("push transitions do not lie one after the other");
        }
        let mut pushed = 0;
        for push in self.push_transitions {
            if push.from != pushed || push.to < push.from || !is_state(push.entry) {
                return Err("a push transition leads to no state, or pushes what is not there");
            }
            pushed = push.to;
        }
        if pushed as usize != self.pushed.len() || self.pushed.iter().any(|&top| top as usize >= returns) {
            return Err("what is pushed is no return state");
        }
        let mut classes = 0;
        for of in self.returns {
            if !is_state(of.state) {
                return Err("a return state is no state");
            }
            if of.class > classes {
                return Err("classes of return states are not numbered as they are met");
            }
            classes = classes.max(of.class + 1);
        }
        if let Some(exits) = &self.exits {
            let first = self.returns.iter().map(|of| of.state);
            exits.verify(root, first)?;
        }
        if self.suffix_sets.iter().any(|&suffix_set| suffix_set != END && suffix_set as usize >= sets) {
            return Err("a state has a suffix set that is not there");
        }
        if self.suffix_sets.first() != Some(&NO_SUFFIXES)
            || !between(self.pair_starts, self.pairs, 0).is_empty()
        {
            return Err("the empty suffix set goes on");
        }
        if !is_ascending(self.pair_starts, self.pairs.len()) {
            return Err("pairs do not lie one after the other");
        }
        for set in self.pair_starts.windows(2) {
            let pairs = &self.pairs[set[0] as usize..set[1] as usize];
            let fits = |pair: &PairEntry| {
                pair.class < classes && pair.row < root.rows && (pair.suffix_set as usize) < sets
            };
            if !pairs.iter().all(fits)
                || !pairs.is_sorted_by(|a, b| (a.class, a.suffix_set) < (b.class, b.suffix_set))
            {
                return Err("a pair names what is not there, or is out of order");
            }
        }
        Ok(())
    }
}
