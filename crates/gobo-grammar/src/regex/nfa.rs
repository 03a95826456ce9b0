//! Thompson's construction (Thompson, Regular expression search algorithm, 1968), with looks as states that read nothing.
//!
//! The automaton is built backwards, each node before the state that follows it. Counted repetitions are written out.

use std::collections::HashMap;
use std::sync::Arc;

use gobo_automata::{CharSet, CharState, Language};
use gobo_types::{Budget, CompileError, DenseId as _, RefusalKind, Table, dense_id};

use super::classes;
use super::syntax::{Direction, Look, Node};

const PHASE: &str = "looking around";

/// Bytes of a state.
const STATE_BYTES: u64 = 48;

dense_id! {
    /// A state.
    pub(crate) struct StateId;

    /// A set of characters.
    pub(super) struct SetId;

    /// A look's language.
    pub(crate) struct LookId;
}

/// The state after a match.
pub(super) const ACCEPT: StateId = StateId(0);

/// A state of the automaton of a pattern. The first one is [`State::Accept`].
#[derive(Debug)]
pub(super) enum State {
    /// Reads one character of the set.
    Chars { set: SetId, next: StateId },
    /// Goes on at each of these, reading nothing.
    Union(Vec<StateId>),
    /// Goes on if the condition holds.
    Look { look: LookId, next: StateId },
    /// There was a match.
    Accept,
}

/// What a look demands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Demand {
    pub(super) direction: Direction,
    pub(super) soft: bool,
}

/// The automaton of a pattern.
pub(super) struct Nfa {
    pub(super) states: Table<StateId, State>,
    pub(super) start: StateId,
    pub(super) sets: Table<SetId, CharSet>,
    pub(super) demands: Table<LookId, Demand>,
    /// Of each look the texts that must stand there: the whole rest, or all that was read.
    pub(super) languages: Table<LookId, Language>,
}

/// The automaton under construction.
struct Builder<'a> {
    nfa: Nfa,
    set_of: HashMap<CharSet, SetId>,
    look_of: HashMap<*const Look, LookId>,
    language_of: &'a LanguageOf<'a>,
    budget: &'a Budget,
}

/// The texts that have to stand where a look looks, as if it were not negated.
pub(super) type LanguageOf<'a> = dyn Fn(&Look) -> Result<Language, CompileError> + 'a;

/// A refusal whose place the caller knows.
pub(super) fn unsupported(reason: &str) -> CompileError {
    CompileError::refuse(RefusalKind::Unsupported, "", reason)
}

impl Nfa {
    /// # Errors
    /// Those of `language_of`; [`CompileError::OverBudget`].
    pub(super) fn of(
        node: &Node,
        language_of: &LanguageOf<'_>,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        let nfa = Self {
            states: vec![State::Accept].into(),
            start: ACCEPT,
            sets: Table::new(),
            demands: Table::new(),
            languages: Table::new(),
        };
        let mut builder =
            Builder { nfa, set_of: HashMap::new(), look_of: HashMap::new(), language_of, budget };
        let start = builder.build(node, ACCEPT)?;
        Ok(Self { start, ..builder.nfa })
    }

    /// The automata of several patterns beside each other, with the states in which each begins and ends. The states of each follow
    /// those of the one before, its end first.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub(super) fn of_all(
        nodes: &[Node],
        language_of: &LanguageOf<'_>,
        budget: &Budget,
    ) -> Result<(Self, Vec<(StateId, StateId)>), CompileError> {
        let nfa = Self {
            states: Table::new(),
            start: ACCEPT,
            sets: Table::new(),
            demands: Table::new(),
            languages: Table::new(),
        };
        let mut builder =
            Builder { nfa, set_of: HashMap::new(), look_of: HashMap::new(), language_of, budget };
        let mut bounds = Vec::with_capacity(nodes.len());
        for node in nodes {
            let end = builder.push(State::Accept)?;
            bounds.push((builder.build(node, end)?, end));
        }
        Ok((builder.nfa, bounds))
    }
}

impl Nfa {
    /// Adds a language that is read beside the patterns, as those of looks are.
    pub(super) fn add(&mut self, language: Language) -> LookId {
        self.demands.push(Demand { direction: Direction::Ahead, soft: false });
        self.languages.push(language)
    }
}

impl Builder<'_> {
    fn push(&mut self, state: State) -> Result<StateId, CompileError> {
        self.budget.charge_steps(PHASE, 1)?;
        self.budget.charge_bytes(PHASE, STATE_BYTES)?;
        Ok(self.nfa.states.push(state))
    }

    fn union(&mut self, targets: Vec<StateId>) -> Result<StateId, CompileError> {
        self.budget.charge_bytes(PHASE, targets.len() as u64 * 4)?;
        self.push(State::Union(targets))
    }

    fn chars(&mut self, set: CharSet, next: StateId) -> Result<StateId, CompileError> {
        let sets = &mut self.nfa.sets;
        let set = *self.set_of.entry(set).or_insert_with_key(|set| sets.push(set.clone()));
        self.push(State::Chars { set, next })
    }

    /// The state from which `node` is read, and then the rest from `next`.
    fn build(&mut self, node: &Node, next: StateId) -> Result<StateId, CompileError> {
        match node {
            Node::Text(text) => {
                text.chars().rev().try_fold(next, |next, char| self.chars(classes::one(char), next))
            }
            Node::Chars(set) => self.chars(set.clone(), next),
            Node::Concat(parts) => parts.iter().rev().try_fold(next, |next, part| self.build(part, next)),
            Node::Alternate(parts) => {
                let starts: Result<Vec<StateId>, _> =
                    parts.iter().map(|part| self.build(part, next)).collect();
                self.union(starts?)
            }
            Node::Repeat { node, min, max, lazy } => self.repeat(node, (*min, *max), *lazy, next),
            Node::Look(look) => {
                let look = self.look(look)?;
                self.push(State::Look { look, next })
            }
            Node::Texts(language) => self.language(language, next),
        }
    }

    /// The state that goes on with the body of a repetition or ends it, in the order of preference.
    fn choice(&mut self, body: StateId, end: StateId, lazy: bool) -> Result<StateId, CompileError> {
        self.union(if lazy { vec![end, body] } else { vec![body, end] })
    }

    fn repeat(
        &mut self,
        node: &Node,
        (min, max): (u32, Option<u32>),
        lazy: bool,
        next: StateId,
    ) -> Result<StateId, CompileError> {
        let mut start = next;
        if let Some(max) = max {
            if max < min {
                return self.union(Vec::new());
            }
            for _ in min..max {
                self.budget.charge_steps(PHASE, 1)?;
                let body = self.build(node, start)?;
                start = self.choice(body, next, lazy)?;
            }
        } else {
            // `x*` is `(x+)?`: so an `x` without characters ends the repetition, as it does in Python.
            let again = self.union(Vec::new())?;
            let body = self.build(node, again)?;
            let order = if lazy { vec![next, body] } else { vec![body, next] };
            self.nfa.states[again] = State::Union(order);
            start = self.choice(body, next, lazy)?;
        }
        for _ in 0..min {
            self.budget.charge_steps(PHASE, 1)?;
            start = self.build(node, start)?;
        }
        Ok(start)
    }

    /// The state from which a text of a language is read: a state for each of its automaton.
    fn language(&mut self, language: &Language, next: StateId) -> Result<StateId, CompileError> {
        let mut of_state = vec![self.union(Vec::new())?];
        for _ in 1..language.len() {
            of_state.push(self.union(Vec::new())?);
        }
        for state in CharState::range(1..language.len()) {
            let mut targets = Vec::new();
            for (set, to) in language.edges(state, self.budget)? {
                targets.push(self.chars(set, of_state[to.index()])?);
            }
            targets.extend(language.may_end(state).then_some(next));
            self.budget.charge_bytes(PHASE, targets.len() as u64 * 4)?;
            self.nfa.states[of_state[state.index()]] = State::Union(targets);
        }
        Ok(of_state[language.start().index()])
    }

    fn look(&mut self, look: &Arc<Look>) -> Result<LookId, CompileError> {
        if let Some(&known) = self.look_of.get(&Arc::as_ptr(look)) {
            return Ok(known);
        }
        let language = (self.language_of)(look.as_ref())?;
        let language = if look.negated { language.complement(self.budget)? } else { language };
        let id = self.nfa.languages.push(language);
        self.nfa.demands.push(Demand { direction: look.direction, soft: look.soft });
        self.look_of.insert(Arc::as_ptr(look), id);
        Ok(id)
    }
}
