//! The subset construction with obligations and histories: patterns that look around anywhere.
//!
//! A path through the automaton that passes a look-ahead takes on an *obligation*: a state of the automaton of the texts that may
//! follow, which from there on reads what the path reads and has to accept the rest. A path with its obligations is a conjunction of
//! states, and the paths are a disjunction of these, so this determinises an alternating automaton (Chandra, Kozen, Stockmeyer,
//! Alternation, 1981) in disjunctive form. A look-behind is the mirror: beside the paths runs the automaton of the texts at whose end
//! the condition holds, from the beginning, and its state says whether a path may pass.
//!
//! Of a text in a longer one it is not known what stands around it. Then the automata of look-behinds begin in every state that some
//! text leads to, and a condition holds *always*, if it holds in all of them, or *sometimes*; and an obligation that is left at the
//! end is met always, if every text may follow, or sometimes. What matches always is a subset of what matches around any one text.
//!
//! Invariant: the text is accepted from a subset exactly if, for some item, it is accepted from the item's state and belongs to all
//! its obligations. Cost: exponential in the obligations; the budget bounds it.

use std::collections::HashSet;

use gobo_automata::{CharState, Language, Symbol};
use gobo_types::{Budget, CompileError, DenseId as _};

use super::classes;
use super::looks::{Looks, Obligation};
use super::nfa::{ACCEPT, LookId, Nfa, State, StateId, unsupported};
use super::syntax::{Direction, Look, Node};

const PHASE: &str = "looking around";

/// What is known of the text around the one that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Surroundings {
    /// There is none.
    Alone,
    /// Nothing; what matches whatever it is.
    Every,
    /// Nothing; what matches for some.
    Some,
    /// What is read is the rest of a text of whose beginning nothing is known; what matches whatever it is.
    EveryBefore,
    /// The same; what matches for some.
    SomeBefore,
}

/// A state of the nondeterministic automaton, and the obligations of a path to it, ascending.
type Item = (StateId, Vec<Obligation>);

/// A state of the deterministic automaton.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Subset {
    /// For each look-behind the states in which its automaton may be, ascending.
    histories: Vec<Vec<CharState>>,
    /// Ascending.
    items: Vec<Item>,
}

struct Determiniser<'a> {
    looks: &'a Looks<'a>,
    surroundings: Surroundings,
    /// The look-behinds, in the order of the histories.
    behind: Vec<LookId>,
}

/// The texts of a tree.
///
/// # Errors
/// A refusal of a look that is not supported, without a place; [`CompileError::OverBudget`]: obligations multiply.
pub(super) fn determinise(
    node: &Node,
    surroundings: Surroundings,
    budget: &Budget,
) -> Result<Language, CompileError> {
    let nfa = Nfa::of(node, &|look: &Look| language_of(look, budget), budget)?;
    let looks = Looks::of(nfa, PHASE, budget)?;
    let demands = &looks.nfa.demands;
    let behind = demands.ids().filter(|&look| demands[look].direction == Direction::Behind).collect();
    let determiniser = Determiniser { looks: &looks, surroundings, behind };
    let histories = determiniser.behind.iter().map(|&look| determiniser.beginnings(look));
    let histories = histories.collect::<Result<_, _>>()?;
    let start = Subset { histories, items: vec![(looks.nfa.start, Vec::new())] };
    let expand = |subset: &Subset, row: &mut Vec<(Symbol, Subset)>| determiniser.expand(subset, row);
    Language::explore_minterms(&looks.minterms, start, expand, budget)
}

/// The texts that have to stand where a look looks, as if it were not negated.
pub(super) fn language_of(look: &Look, budget: &Budget) -> Result<Language, CompileError> {
    match look.direction {
        Direction::Ahead => ahead(look, budget),
        Direction::Behind => behind(look, budget),
    }
}

fn anything() -> Node {
    Node::Chars(classes::any()).repeat(0, None)
}

/// The texts that may follow where the node of a look-ahead matches.
fn ahead(look: &Look, budget: &Budget) -> Result<Language, CompileError> {
    let node = if look.whole { look.node.clone() } else { Node::Concat(vec![look.node.clone(), anything()]) };
    // Both readings are of the rest up to the end of the text; they differ in what stood before it.
    let always = determinise(&node, Surroundings::EveryBefore, budget)?;
    let sometimes = determinise(&node, Surroundings::SomeBefore, budget)?;
    if always != sometimes {
        return Err(unsupported("a look-ahead in which something looks back at what stands before it"));
    }
    Ok(always)
}

/// The texts at whose end the node of a look-behind matches.
fn behind(look: &Look, budget: &Budget) -> Result<Language, CompileError> {
    if looks_ahead(&look.node) {
        return Err(unsupported("a look-behind in which something looks ahead"));
    }
    let node = if look.whole { look.node.clone() } else { Node::Concat(vec![anything(), look.node.clone()]) };
    determinise(&node, Surroundings::Alone, budget)
}

fn looks_ahead(node: &Node) -> bool {
    match node {
        Node::Text(_) | Node::Chars(_) | Node::Texts(_) => false,
        Node::Concat(parts) | Node::Alternate(parts) => parts.iter().any(looks_ahead),
        Node::Repeat { node, .. } => looks_ahead(node),
        Node::Look(look) => look.direction == Direction::Ahead || looks_ahead(&look.node),
    }
}

impl Determiniser<'_> {
    /// The states in which the automaton of a look-behind may begin.
    fn beginnings(&self, look: LookId) -> Result<Vec<CharState>, CompileError> {
        match self.surroundings {
            Surroundings::Alone => Ok(vec![self.looks.nfa.languages[look].start()]),
            _ => self.looks.beginnings(look),
        }
    }

    /// Whether texts may end in a subset, and its successors.
    fn expand(&self, subset: &Subset, row: &mut Vec<(Symbol, Subset)>) -> Result<bool, CompileError> {
        let items = self.closure(subset)?;
        let accepts = items.iter().any(|item| self.may_end(item));
        for minterm in self.looks.minterms.all() {
            let mut after = Vec::new();
            for (state, obligations) in &items {
                self.looks.budget.charge_steps(PHASE, 1 + obligations.len() as u64)?;
                if let State::Chars { set, next } = self.looks.nfa.states[*state]
                    && self.looks.minterms.is_in(minterm, set.index())
                    && let Some(obligations) = self.looks.obligations_after(obligations, minterm)?
                {
                    after.push((next, obligations));
                }
            }
            if after.is_empty() {
                continue;
            }
            after.sort_unstable();
            after.dedup();
            self.drop_subsumed(&mut after)?;
            let histories = self.behind.iter().zip(&subset.histories);
            let histories =
                histories.map(|(&look, history)| self.looks.history(look, history, minterm)).collect();
            let bytes: usize = after.iter().map(|item| 32 + item.1.len() * 8).sum();
            self.looks.budget.charge_bytes(PHASE, bytes as u64)?;
            row.push((minterm, Subset { histories, items: after }));
        }
        Ok(accepts)
    }

    fn may_end(&self, (state, obligations): &Item) -> bool {
        let is_met = |&(look, state): &Obligation| {
            let may_end = self.looks.nfa.languages[look].may_end(state);
            match self.surroundings {
                Surroundings::Alone | Surroundings::EveryBefore | Surroundings::SomeBefore => may_end,
                Surroundings::Every | Surroundings::Some if self.looks.nfa.demands[look].soft => may_end,
                Surroundings::Every => self.looks.everything[look.index()] == Some(state),
                // States that no text leads on from are dropped.
                Surroundings::Some => true,
            }
        };
        *state == ACCEPT && obligations.iter().all(is_met)
    }

    /// Drops the items that are subsumed: the same state is reached under fewer obligations.
    fn drop_subsumed(&self, items: &mut Vec<Item>) -> Result<(), CompileError> {
        let mut kept = Vec::with_capacity(items.len());
        for of_state in items.chunk_by(|one, other| one.0 == other.0) {
            self.looks.budget.charge_steps(PHASE, (of_state.len() * of_state.len()) as u64)?;
            let is_subsumed = |one: &Item| {
                of_state.iter().any(|other| {
                    other.1.len() < one.1.len() && other.1.iter().all(|obligation| one.1.contains(obligation))
                })
            };
            kept.extend(of_state.iter().filter(|one| !is_subsumed(one)).cloned());
        }
        *items = kept;
        Ok(())
    }

    /// The items that read or accept, of those that are reached without reading (ε-closure).
    fn closure(&self, subset: &Subset) -> Result<Vec<Item>, CompileError> {
        let mut seen: HashSet<Item> = HashSet::new();
        let mut found = Vec::new();
        let mut stack = subset.items.clone();
        while let Some(item) = stack.pop() {
            self.looks.budget.charge_steps(PHASE, 4 + item.1.len() as u64)?;
            if !seen.insert(item.clone()) {
                continue;
            }
            match &self.looks.nfa.states[item.0] {
                State::Chars { .. } | State::Accept => found.push(item),
                State::Union(targets) => {
                    stack.extend(targets.iter().map(|&target| (target, item.1.clone())));
                }
                &State::Look { look, next } => {
                    if let Some(obligations) = self.pass(look, &subset.histories, item.1) {
                        stack.push((next, obligations));
                    }
                }
            }
        }
        found.sort_unstable();
        self.drop_subsumed(&mut found)?;
        Ok(found)
    }

    /// The obligations of a path after a look; `None` where it cannot pass.
    fn pass(
        &self,
        look: LookId,
        histories: &[Vec<CharState>],
        obligations: Vec<Obligation>,
    ) -> Option<Vec<Obligation>> {
        let language = &self.looks.nfa.languages[look];
        if let Some(at) = self.behind.iter().position(|&behind| behind == look) {
            let mut holds = histories[at].iter().map(|&state| language.may_end(state));
            let passes = match self.surroundings {
                Surroundings::Alone | Surroundings::Some | Surroundings::SomeBefore => {
                    holds.any(|holds| holds)
                }
                Surroundings::Every | Surroundings::EveryBefore => holds.all(|holds| holds),
            };
            return passes.then_some(obligations);
        }
        self.looks.obliged(look, obligations)
    }
}
