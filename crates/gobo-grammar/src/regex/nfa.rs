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

    /// A look-ahead in which something looks back.
    pub(super) struct ContextsId;
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
    /// Goes on if the condition of the contexts holds.
    LookBy { contexts: ContextsId, next: StateId },
    /// There was a match.
    Accept,
}

/// What a look demands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Demand {
    pub(super) direction: Direction,
    pub(super) soft: bool,
}

/// A look-ahead by what stands before it: a language for each way in which the automata of its look-behinds may be there.
#[derive(Debug)]
pub(super) struct Contexts {
    pub(super) behind: Vec<LookId>,
    /// By the states of the look-behinds, in their order.
    pub(super) languages: HashMap<Vec<CharState>, LookId>,
}

/// The automaton of a pattern.
pub(super) struct Nfa {
    pub(super) states: Table<StateId, State>,
    pub(super) start: StateId,
    pub(super) sets: Table<SetId, CharSet>,
    pub(super) demands: Table<LookId, Demand>,
    /// Of each look the texts that must stand there: the whole rest, or all that was read.
    pub(super) languages: Table<LookId, Language>,
    pub(super) contexts: Table<ContextsId, Contexts>,
    /// Those look-behinds of the tree that are no part of others.
    pub(super) behind: Vec<(*const Look, LookId)>,
}

/// The automaton under construction.
struct Builder<'a> {
    nfa: Nfa,
    set_of: HashMap<CharSet, SetId>,
    look_of: HashMap<*const Look, Condition>,
    meaning_of: &'a MeaningOf<'a>,
    budget: &'a Budget,
}

/// What a look is in the automaton.
#[derive(Debug, Clone, Copy)]
enum Condition {
    Always(LookId),
    By(ContextsId),
}

/// The texts that have to stand where a look looks, as if it were not negated.
pub(super) enum Meaning {
    /// These, whatever stands on the other side.
    Always(Language),
    /// By the states in which the automata of look-behinds are there.
    By { behind: Vec<Arc<Look>>, languages: Vec<(Vec<CharState>, Language)> },
}

/// What a look means.
pub(super) type MeaningOf<'a> = dyn Fn(&Look) -> Result<Meaning, CompileError> + 'a;

/// A refusal whose place the caller knows.
pub(super) fn unsupported(reason: &str) -> CompileError {
    CompileError::refuse(RefusalKind::Unsupported, "", reason)
}

impl Nfa {
    /// # Errors
    /// Those of `meaning_of`; [`CompileError::OverBudget`].
    pub(super) fn of(node: &Node, meaning_of: &MeaningOf<'_>, budget: &Budget) -> Result<Self, CompileError> {
        let nfa = Self {
            states: vec![State::Accept].into(),
            start: ACCEPT,
            sets: Table::new(),
            demands: Table::new(),
            languages: Table::new(),
            contexts: Table::new(),
            behind: Vec::new(),
        };
        let mut builder =
            Builder { nfa, set_of: HashMap::new(), look_of: HashMap::new(), meaning_of, budget };
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
        meaning_of: &MeaningOf<'_>,
        budget: &Budget,
    ) -> Result<(Self, Vec<(StateId, StateId)>), CompileError> {
        let nfa = Self {
            states: Table::new(),
            start: ACCEPT,
            sets: Table::new(),
            demands: Table::new(),
            languages: Table::new(),
            contexts: Table::new(),
            behind: Vec::new(),
        };
        let mut builder =
            Builder { nfa, set_of: HashMap::new(), look_of: HashMap::new(), meaning_of, budget };
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
                let state = match self.look(look)? {
                    Condition::Always(look) => State::Look { look, next },
                    Condition::By(contexts) => State::LookBy { contexts, next },
                };
                self.push(state)
            }
            Node::Texts(language) => self.language(language, next),
            Node::Named(_, node) => self.build(node, next),
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

    fn look(&mut self, look: &Arc<Look>) -> Result<Condition, CompileError> {
        if let Some(&known) = self.look_of.get(&Arc::as_ptr(look)) {
            return Ok(known);
        }
        let condition = match (self.meaning_of)(look.as_ref())? {
            Meaning::Always(language) => {
                let id = self.demand(look, language)?;
                if look.direction == Direction::Behind {
                    self.nfa.behind.push((Arc::as_ptr(look), id));
                }
                Condition::Always(id)
            }
            Meaning::By { behind, languages } => {
                let mut ids = Vec::with_capacity(behind.len());
                for behind in &behind {
                    let Condition::Always(id) = self.look(behind)? else {
                        unreachable!("what stands behind depends on nothing else")
                    };
                    ids.push(id);
                }
                let mut of = HashMap::new();
                for (states, language) in languages {
                    of.insert(states, self.demand(look, language)?);
                }
                Condition::By(self.nfa.contexts.push(Contexts { behind: ids, languages: of }))
            }
        };
        self.look_of.insert(Arc::as_ptr(look), condition);
        Ok(condition)
    }

    /// Adds what a look demands, whose language is that of the look as if it were not negated.
    fn demand(&mut self, look: &Look, language: Language) -> Result<LookId, CompileError> {
        let language = if look.negated { language.complement(self.budget)? } else { language };
        self.nfa.demands.push(Demand { direction: look.direction, soft: look.soft });
        Ok(self.nfa.languages.push(language))
    }
}
