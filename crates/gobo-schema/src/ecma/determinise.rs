//! The subset construction with obligations: patterns with look-ahead and word boundaries anywhere.
//!
//! A path through the automaton that passes a look-ahead takes on an obligation: a state of the automaton of the look-ahead,
//! which from there on reads what the path reads and has to accept the rest of the text. A path with its obligations is a
//! conjunction of states, and the paths are a disjunction of these, so this determinises an alternating automaton (Chandra,
//! Kozen, Stockmeyer, Alternation, 1981) in disjunctive form. Word boundaries depend on the characters before and after a
//! position: the one before is part of the state, the one after is distinguished by three closures.
//!
//! Invariant: the text is accepted from a subset exactly if, for some item, it is accepted from the item's state and belongs
//! to all its obligations. Items that others subsume are dropped. Cost: exponential in the obligations; the budget bounds it.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use gobo_automata::{CharState, Language, Minterms, Symbol};
use gobo_types::{Budget, CompileError, DenseId as _, Table, dense_id};

use super::classes;
use super::context::{Context, MatchStart};
use super::looks::{LookLanguage, Looks};
use super::nfa::{ACCEPT, Builder, NfaStateId, SetId, State};
use super::syntax::{LookId, Node};

const PHASE: &str = "looking ahead";

/// Steps of an item under obligations in a closure, where it is looked up in a hash table.
const ITEM_STEPS: u64 = 8;

/// What follows a position of a text: a character of `\w`, another (or any if the two need not be distinguished), or
/// nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Following {
    Word,
    Other,
    End,
}

dense_id! {
    /// A set of obligations: languages that the rest of the text has to belong to.
    struct ObligationsId;
}

/// No obligations.
const FREE: ObligationsId = ObligationsId(0);

/// A state of a look-ahead's automaton: it has to accept the rest of the text.
type Obligation = (LookLanguage, CharState);

/// A state of the nondeterministic automaton, and the obligations of a path to it.
type Item = (NfaStateId, ObligationsId);

/// A state of the deterministic automaton: what precedes the position, and the items that the text leads to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Subset {
    context: Context,
    /// Ascending.
    items: Vec<Item>,
}

/// The texts that begin with a match of the concatenation of `parts`, or, without anchor, with any text and then a match.
///
/// # Errors
/// [`CompileError::OverBudget`]: obligations multiply.
pub(super) fn determinise(
    parts: &[Node],
    start: MatchStart,
    looks: &Looks,
    budget: &Budget,
) -> Result<Language, CompileError> {
    let mut builder = Builder::new(budget);
    let word = builder.sets.push(classes::word());
    let mut first = builder.concat(parts, ACCEPT)?;
    if !start.is_anchored {
        let set = builder.set(&Node::Class(classes::any()));
        first = builder.repeat_forever(0, first, |builder, next| builder.push(State::Chars { set, next }))?;
    }
    let tells_words = parts.iter().any(|part| looks.needs_context(part));
    let Builder { states, sets, .. } = builder;
    let minterms = Minterms::of(&sets, looks.all(), budget)?;
    let mut determiniser = Determiniser {
        states,
        looks,
        minterms: &minterms,
        word: tells_words.then_some(word),
        obligations: Obligations::default(),
        seen: Seen::default(),
        budget,
    };
    determiniser.obligations.intern(Vec::new(), budget)?;
    let start = Subset { context: start.context, items: vec![(first, FREE)] };
    Language::explore_minterms(&minterms, start, |subset, row| determiniser.expand(subset, row), budget)
}

/// Sets of obligations, interned: languages of [`Looks`] and states of theirs, ascending.
#[derive(Debug, Default)]
struct Obligations {
    sets: Table<ObligationsId, Vec<Obligation>>,
    known: HashMap<Vec<Obligation>, ObligationsId, RandomState>,
    /// The set after a minterm; `None` if it cannot be met.
    after: HashMap<(ObligationsId, Symbol), Option<ObligationsId>, RandomState>,
}

impl Obligations {
    fn intern(&mut self, mut set: Vec<Obligation>, budget: &Budget) -> Result<ObligationsId, CompileError> {
        set.sort_unstable();
        set.dedup();
        if let Some(&known) = self.known.get(&set) {
            return Ok(known);
        }
        budget.charge_bytes(PHASE, 64 + set.len() as u64 * 32)?;
        let fresh = self.sets.push(set.clone());
        self.known.insert(set, fresh);
        Ok(fresh)
    }

    fn get(&self, set: ObligationsId) -> &[Obligation] {
        &self.sets[set]
    }

    /// Whether the obligations of `other` are among those of `one`.
    fn includes(&self, one: ObligationsId, other: ObligationsId) -> bool {
        let (one, other) = (self.get(one), self.get(other));
        other.len() <= one.len() && other.iter().all(|obligation| one.binary_search(obligation).is_ok())
    }
}

/// The items that a closure has visited.
#[derive(Debug, Default)]
struct Seen {
    /// `[states]`: the last closure that visited the state without obligations, so that marks need not be cleared.
    free: Vec<u32>,
    generation: u32,
    obliged: HashSet<Item, RandomState>,
}

impl Seen {
    /// Begins a closure.
    fn begin(&mut self, states: usize) {
        self.free.resize(states, 0);
        self.generation += 1;
        self.obliged.clear();
    }

    /// Whether the item is new.
    fn insert(&mut self, item: Item) -> bool {
        if item.1 == FREE {
            return std::mem::replace(&mut self.free[item.0.index()], self.generation) != self.generation;
        }
        self.obliged.insert(item)
    }
}

/// The subset construction over items.
struct Determiniser<'a> {
    states: Table<NfaStateId, State>,
    looks: &'a Looks,
    minterms: &'a Minterms,
    /// The set of `\w`, if the pattern depends on it.
    word: Option<SetId>,
    obligations: Obligations,
    seen: Seen,
    budget: &'a Budget,
}

impl Determiniser<'_> {
    /// Whether a state accepts, and its successors.
    fn expand(&mut self, subset: &Subset, row: &mut Vec<(Symbol, Subset)>) -> Result<bool, CompileError> {
        let at_end = self.closure(subset, Following::End)?;
        let accepts = at_end.iter().any(|&item| self.may_end(item));
        let before_other = self.closure(subset, Following::Other)?;
        let before_word = match self.word {
            Some(_) => self.closure(subset, Following::Word)?,
            None => Vec::new(),
        };
        for minterm in self.minterms.all() {
            let is_word = self.word.is_some_and(|word| self.minterms.is_in(minterm, word.index()));
            let (context, items) =
                if is_word { (Context::Word, &before_word) } else { (Context::Other, &before_other) };
            if let Some(subset) = self.after(items, minterm, context)? {
                row.push((minterm, subset));
            }
        }
        Ok(accepts)
    }

    /// Whether a text may end at an item, which meets its obligations.
    fn may_end(&self, (state, obligations): Item) -> bool {
        state == ACCEPT
            && self
                .obligations
                .get(obligations)
                .iter()
                .all(|&(language, state)| self.looks.get(language).may_end(state))
    }

    /// The successor by a minterm; `None` if nothing can follow.
    fn after(
        &mut self,
        items: &[Item],
        minterm: Symbol,
        context: Context,
    ) -> Result<Option<Subset>, CompileError> {
        self.budget.charge_steps(PHASE, items.len() as u64)?;
        let mut after = Vec::new();
        for &(node, obligations) in items {
            let next = match self.states[node] {
                State::Chars { set, next } if self.minterms.is_in(minterm, set.index()) => next,
                State::Accept => ACCEPT,
                _ => continue,
            };
            if let Some(obligations) = self.obligations_after(obligations, minterm)? {
                if (next, obligations) == (ACCEPT, FREE) {
                    // There was a match, so any text may follow.
                    return Ok(Some(Subset { context: Context::Other, items: vec![(ACCEPT, FREE)] }));
                }
                after.push((next, obligations));
            }
        }
        if after.is_empty() {
            return Ok(None);
        }
        after.sort_unstable();
        after.dedup();
        self.drop_subsumed(&mut after)?;
        self.budget.charge_bytes(PHASE, after.len() as u64 * 8)?;
        Ok(Some(Subset { context, items: after }))
    }

    /// Drops the items that are subsumed: the same state is reached under fewer obligations.
    fn drop_subsumed(&self, items: &mut Vec<Item>) -> Result<(), CompileError> {
        let mut kept = Vec::with_capacity(items.len());
        for of_node in items.chunk_by(|one, other| one.0 == other.0) {
            let sizes: usize = of_node.iter().map(|item| 1 + self.obligations.get(item.1).len()).sum();
            self.budget.charge_steps(PHASE, (of_node.len() * sizes) as u64)?;
            let is_subsumed = |one: &Item| {
                of_node.iter().any(|other| other.1 != one.1 && self.obligations.includes(one.1, other.1))
            };
            kept.extend(of_node.iter().filter(|one| !is_subsumed(one)));
        }
        *items = kept;
        Ok(())
    }

    fn obligations_after(
        &mut self,
        obligations: ObligationsId,
        minterm: Symbol,
    ) -> Result<Option<ObligationsId>, CompileError> {
        if obligations == FREE {
            return Ok(Some(FREE));
        }
        if let Some(&after) = self.obligations.after.get(&(obligations, minterm)) {
            return Ok(after);
        }
        let before = self.obligations.get(obligations);
        self.budget.charge_steps(PHASE, before.len() as u64)?;
        self.budget.charge_bytes(PHASE, 16)?;
        let mut set = Vec::with_capacity(before.len());
        let mut can_be_met = true;
        for &(language, state) in before {
            let state = self.minterms.step(minterm, language.index(), self.looks.get(language), state);
            can_be_met &= state != CharState::DEAD;
            if self.looks.everything(language) != Some(state) {
                set.push((language, state));
            }
        }
        let after = if can_be_met { Some(self.obligations.intern(set, self.budget)?) } else { None };
        self.obligations.after.insert((obligations, minterm), after);
        Ok(after)
    }

    /// The items that read or accept, of those that are reached without reading (ε-closure).
    fn closure(&mut self, subset: &Subset, following: Following) -> Result<Vec<Item>, CompileError> {
        self.seen.begin(self.states.len());
        let mut found = Vec::new();
        let mut stack = subset.items.clone();
        let mut steps = 0;
        while let Some((node, obligations)) = stack.pop() {
            steps += if obligations == FREE { 1 } else { ITEM_STEPS };
            if !self.seen.insert((node, obligations)) {
                continue;
            }
            match &self.states[node] {
                State::Chars { .. } | State::Accept => found.push((node, obligations)),
                State::Union(targets) => {
                    stack.extend(targets.iter().map(|&target| (target, obligations)));
                }
                &State::Start { next } if subset.context == Context::Start => stack.push((next, obligations)),
                &State::End { next } if following == Following::End => stack.push((next, obligations)),
                &State::Boundary { is_negated, next } => {
                    let is_boundary = (subset.context == Context::Word) != (following == Following::Word);
                    if is_boundary != is_negated {
                        stack.push((next, obligations));
                    }
                }
                &State::Look { look, next } => {
                    if let Some(obligations) = self.obliged(obligations, look, subset.context)? {
                        stack.push((next, obligations));
                    }
                }
                State::Start { .. } | State::End { .. } => {}
            }
        }
        self.budget.charge_steps(PHASE, steps)?;
        Ok(found)
    }

    /// Obligations and that of a look-ahead; `None` if no text meets it.
    fn obliged(
        &mut self,
        obligations: ObligationsId,
        look: LookId,
        context: Context,
    ) -> Result<Option<ObligationsId>, CompileError> {
        let language = self.looks.index_of(look, context);
        let start = self.looks.get(language).start();
        if start == CharState::DEAD {
            return Ok(None);
        }
        if self.looks.everything(language) == Some(start) {
            return Ok(Some(obligations));
        }
        let mut set = self.obligations.get(obligations).to_vec();
        self.budget.charge_steps(PHASE, set.len() as u64)?;
        set.push((language, start));
        Ok(Some(self.obligations.intern(set, self.budget)?))
    }
}
