//! The subset construction with obligations and histories: patterns that look around anywhere.
//!
//! A path through the automaton that passes a look-ahead takes on an *obligation*: a state of the automaton of the texts that may
//! follow, which from there on reads what the path reads and has to accept the rest. A path with its obligations is a conjunction of
//! states, and the paths are a disjunction of these, so this determinises an alternating automaton (Chandra, Kozen, Stockmeyer,
//! Alternation, 1981) in disjunctive form. A look-behind is the mirror: beside the paths runs the automaton of the texts at whose end
//! the condition holds, from the beginning, and its state says whether a path may pass.
//!
//! A look-ahead in which something looks back, as a word boundary does, has a language for each way in which the automata of these
//! look-behinds may stand where it begins. A look-behind in which something looks ahead is refused if that may reach beyond its end.
//!
//! Of a text in a longer one it is not known what stands around it. Then the automata of look-behinds begin in every state that some
//! text leads to, and a condition holds *always*, if it holds in all of them, or *sometimes*; and an obligation that is left at the
//! end is met always, if every text may follow, or sometimes. What matches always is a subset of what matches around any one text.
//!
//! Invariant: the text is accepted from a subset exactly if, for some item, it is accepted from the item's state and belongs to all
//! its obligations. Cost: exponential in the obligations; the budget bounds it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use gobo_automata::{CharState, Language, Minterms, Symbol};
use gobo_types::{Budget, CompileError, DenseId as _};

use super::classes;
use super::looks::{Looks, Obligation};
use super::nfa::{ACCEPT, ContextsId, LookId, Meaning, Nfa, State, StateId, unsupported};
use super::syntax::{Direction, Look, Node};

const PHASE: &str = "looking around";

/// What stands on one side of the text that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// Nothing.
    Nothing,
    /// Any text; what matches whatever it is.
    Every,
    /// Any text; what matches for some.
    Some,
}

/// What stands before the text that is read, and behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Surroundings {
    before: Side,
    behind: Side,
}

impl Surroundings {
    /// The text stands alone.
    pub(super) const ALONE: Self = Self { before: Side::Nothing, behind: Side::Nothing };
    /// Nothing is known; what matches whatever there is.
    pub(super) const EVERY: Self = Self { before: Side::Every, behind: Side::Every };
    /// Nothing is known; what matches for some.
    pub(super) const SOME: Self = Self { before: Side::Some, behind: Side::Some };
}

/// The states in which the automata of look-behinds are where a text begins, if these are known.
type Histories = HashMap<*const Look, CharState>;

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
    determinise_after(node, surroundings, &Histories::new(), budget)
}

/// The texts of a tree that follows a text, of which the states of look-behinds are known: of those that are not, `surroundings` tells.
fn determinise_after(
    node: &Node,
    surroundings: Surroundings,
    known: &Histories,
    budget: &Budget,
) -> Result<Language, CompileError> {
    let nfa = Nfa::of(node, &|look: &Look| meaning_of(look, budget), budget)?;
    let looks = Looks::of(nfa, PHASE, budget)?;
    let demands = &looks.nfa.demands;
    let behind = demands.ids().filter(|&look| demands[look].direction == Direction::Behind).collect();
    let determiniser = Determiniser { looks: &looks, surroundings, behind };
    let mut at: HashMap<LookId, CharState> = HashMap::new();
    for (look, id) in &looks.nfa.behind {
        at.extend(known.get(look).map(|&state| (*id, state)));
    }
    let histories = determiniser.behind.iter().map(|&look| match at.get(&look) {
        Some(&state) => Ok(vec![state]),
        None => determiniser.beginnings(look),
    });
    let histories = histories.collect::<Result<_, _>>()?;
    let start = Subset { histories, items: vec![(looks.nfa.start, Vec::new())] };
    let expand = |subset: &Subset, row: &mut Vec<(Symbol, Subset)>| determiniser.expand(subset, row);
    Language::explore_minterms(&looks.minterms, start, expand, budget)
}

/// What a look means: of a look-ahead in which something looks back, by what stands before it.
fn meaning_of(look: &Look, budget: &Budget) -> Result<Meaning, CompileError> {
    let mut behind = Vec::new();
    collect_behind(&look.node, &mut behind);
    if look.direction == Direction::Behind || behind.is_empty() {
        return language_of(look, budget).map(Meaning::Always);
    }
    let node = after_match(look);
    let known: Vec<Language> = behind
        .iter()
        .map(|look| signed(look, language_of(look, budget)?, budget))
        .collect::<Result<_, _>>()?;
    let mut languages = Vec::new();
    for states in joint_states(&known, budget)? {
        let at: Histories = behind.iter().map(Arc::as_ptr).zip(states.iter().copied()).collect();
        languages.push((states, determinise_after(&node, Surroundings::ALONE, &at, budget)?));
    }
    Ok(Meaning::By { behind, languages })
}

/// The language of a look, or of its negation.
fn signed(look: &Look, language: Language, budget: &Budget) -> Result<Language, CompileError> {
    if look.negated { language.complement(budget) } else { Ok(language) }
}

/// The states in which several automata can be after one text.
fn joint_states(languages: &[Language], budget: &Budget) -> Result<Vec<Vec<CharState>>, CompileError> {
    let minterms = Minterms::of(&[], languages, budget)?;
    let mut found = vec![languages.iter().map(Language::start).collect::<Vec<_>>()];
    let mut seen: HashSet<Vec<CharState>> = found.iter().cloned().collect();
    let mut at = 0;
    while let Some(states) = found.get(at).cloned() {
        at += 1;
        for minterm in minterms.all() {
            budget.charge_steps(PHASE, languages.len() as u64)?;
            let step = |(index, &state): (usize, &CharState)| match state {
                CharState::DEAD => state,
                state => minterms.step(minterm, index, &languages[index], state),
            };
            let next: Vec<CharState> = states.iter().enumerate().map(step).collect();
            if seen.insert(next.clone()) {
                budget.charge_bytes(PHASE, 64 + next.len() as u64 * 8)?;
                found.push(next);
            }
        }
    }
    Ok(found)
}

/// The look-behinds that count where a tree begins: its own and those of its look-ahead, but none within others. Each once.
fn collect_behind(node: &Node, found: &mut Vec<Arc<Look>>) {
    match node {
        Node::Text(_) | Node::Chars(_) | Node::Texts(_) => {}
        Node::Concat(parts) | Node::Alternate(parts) => {
            parts.iter().for_each(|part| collect_behind(part, found));
        }
        Node::Repeat { node, .. } | Node::Named(_, node) => collect_behind(node, found),
        Node::Look(look) if look.direction == Direction::Ahead => collect_behind(&look.node, found),
        Node::Look(look) => {
            if !found.iter().any(|known| Arc::ptr_eq(known, look)) {
                found.push(Arc::clone(look));
            }
        }
    }
}

/// The texts that have to stand where a look looks, as if it were not negated; the same whatever stands on the other side.
///
/// # Errors
/// A refusal of a look that depends on the other side, without a place; [`CompileError::OverBudget`].
pub(super) fn language_of(look: &Look, budget: &Budget) -> Result<Language, CompileError> {
    type Sides = fn(Side) -> Surroundings;
    let (node, sides, refused, help): (_, Sides, _, _) = match look.direction {
        Direction::Ahead => (
            after_match(look),
            |before| Surroundings { before, behind: Side::Nothing },
            "a look-ahead that depends on what stands before it",
            "Look at that before the look-ahead, as in (?<=a)(?=b).",
        ),
        Direction::Behind => (
            before_match(look),
            |behind| Surroundings { before: Side::Nothing, behind },
            "a look-behind that depends on what stands after it",
            "Look at that after the look-behind, as in (?<=a)(?=b).",
        ),
    };
    let always = determinise(&node, sides(Side::Every), budget)?;
    if node.looks_around() && always != determinise(&node, sides(Side::Some), budget)? {
        return Err(unsupported(refused).advising(help));
    }
    Ok(always)
}

fn anything() -> Node {
    Node::Chars(classes::any()).repeat(0, None)
}

/// The texts that may follow where the node of a look-ahead matches.
fn after_match(look: &Look) -> Node {
    if look.whole { look.node.clone() } else { Node::Concat(vec![look.node.clone(), anything()]) }
}

/// The texts at whose end the node of a look-behind matches.
fn before_match(look: &Look) -> Node {
    if look.whole { look.node.clone() } else { Node::Concat(vec![anything(), look.node.clone()]) }
}

impl Determiniser<'_> {
    /// The states in which the automaton of a look-behind may begin.
    fn beginnings(&self, look: LookId) -> Result<Vec<CharState>, CompileError> {
        match self.surroundings.before {
            Side::Nothing => Ok(vec![self.looks.nfa.languages[look].start()]),
            Side::Every | Side::Some => self.looks.beginnings(look),
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
            match self.surroundings.behind {
                Side::Nothing => may_end,
                Side::Every | Side::Some if self.looks.nfa.demands[look].soft => may_end,
                Side::Every => self.looks.everything[look.index()] == Some(state),
                // States that no text leads on from are dropped.
                Side::Some => true,
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
                &State::LookBy { contexts, next } => {
                    let passed = self.pass_by(contexts, &subset.histories, item.1)?;
                    stack.extend(passed.into_iter().map(|obligations| (next, obligations)));
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
            let passes = match self.surroundings.before {
                Side::Nothing | Side::Some => holds.any(|holds| holds),
                Side::Every => holds.all(|holds| holds),
            };
            return passes.then_some(obligations);
        }
        self.looks.obliged(look, obligations)
    }

    /// The obligations of the paths after a look-ahead in which something looks back: of one for each way in which that may be, or of one
    /// for all of them where each has to do.
    fn pass_by(
        &self,
        contexts: ContextsId,
        histories: &[Vec<CharState>],
        obligations: Vec<Obligation>,
    ) -> Result<Vec<Vec<Obligation>>, CompileError> {
        let contexts = &self.looks.nfa.contexts[contexts];
        let at = |look| self.behind.iter().position(|&behind| behind == look);
        let may_be: Vec<&[CharState]> =
            contexts.behind.iter().filter_map(|&look| Some(histories[at(look)?].as_slice())).collect();
        self.looks.budget.charge_steps(PHASE, (contexts.languages.len() * may_be.len()) as u64)?;
        let fits = |states: &Vec<CharState>| {
            states.iter().zip(&may_be).all(|(state, may_be)| may_be.binary_search(state).is_ok())
        };
        let mut fitting: Vec<LookId> =
            contexts.languages.iter().filter(|of| fits(of.0)).map(|of| *of.1).collect();
        fitting.sort_unstable();
        if self.surroundings.before == Side::Every {
            let all = fitting.into_iter().try_fold(obligations, |all, look| self.looks.obliged(look, all));
            return Ok(all.into_iter().collect());
        }
        let each = fitting.into_iter().filter_map(|look| self.looks.obliged(look, obligations.clone()));
        Ok(each.collect())
    }
}
