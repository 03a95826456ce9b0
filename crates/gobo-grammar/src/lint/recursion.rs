//! Which rules call themselves, and where.
//!
//! A rule is an edge to each rule that it calls, with what may stand before and after the call: nothing, and something. A rule is
//! *left-recursive* if it lies on a circle of edges before which nothing may stand, so that it calls itself before it reads, and
//! *right-recursive* if nothing may stand after those of a circle. It is *self-embedding* if it comes to stand inside of itself with
//! something on both sides: within a strongly connected component a closed walk may take every edge, so one edge with something before
//! it and one with something after it suffice, for all rules of the component (Chomsky, *On Certain Formal Properties of Grammars*,
//! 1959). A grammar without self-embedding is regular; one with it may be.
//!
//! Components by Tarjan's algorithm, without a call stack. O(rules + calls), for each of three sets of edges.

use std::collections::{BTreeMap, HashSet};

use gobo_automata::RuleId;
use gobo_types::{Budget, CompileError, DenseId as _};

use super::leaf::NO_TEXT;
use super::symbols::{Form, SymbolId, Symbols};

const PHASE: &str = "looking for recursion";

/// Bytes that a part of a rule is charged, with what may stand around it.
const PLACE_BYTES: u64 = 32;

/// How a rule calls itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Kinds {
    pub(super) left: bool,
    pub(super) right: bool,
    pub(super) is_self_embedding: bool,
}

/// What may stand on one side of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Side {
    nothing: bool,
    something: bool,
}

/// The sides of a call, joined over all places where a rule makes it.
#[derive(Debug, Clone, Copy, Default)]
struct Edge {
    left: Side,
    right: Side,
}

type Edges = Vec<BTreeMap<RuleId, Edge>>;

/// `[rules]`: how each calls itself; `None` of those that do not. Rules and alternatives without texts call none.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(super) fn recursion(symbols: &Symbols, budget: &Budget) -> Result<Vec<Option<Kinds>>, CompileError> {
    let mut edges: Edges = Vec::with_capacity(symbols.bodies.len());
    for &body in &symbols.bodies {
        edges.push(calls(symbols, body, budget)?);
    }
    let circles = |is_taken: &dyn Fn(&Edge) -> bool| components(&edges, is_taken, budget);
    let (all, left, right) =
        (circles(&|_| true)?, circles(&|edge| edge.left.nothing)?, circles(&|edge| edge.right.nothing)?);
    // By component: whether some edge within has something before it, and some edge something after it.
    let mut around: BTreeMap<usize, (bool, bool)> = BTreeMap::new();
    for (from, calls) in edges.iter().enumerate() {
        for (to, edge) in calls {
            if all[from].is_some() && all[from] == all[to.index()] {
                let of = around.entry(all[from].unwrap_or_default()).or_default();
                *of = (of.0 || edge.left.something, of.1 || edge.right.something);
            }
        }
    }
    let kinds = |rule: usize| {
        let is_self_embedding = around.get(&all[rule]?) == Some(&(true, true));
        Some(Kinds { left: left[rule].is_some(), right: right[rule].is_some(), is_self_embedding })
    };
    Ok((0..edges.len()).map(kinds).collect())
}

/// The calls of a rule.
fn calls(symbols: &Symbols, body: SymbolId, budget: &Budget) -> Result<BTreeMap<RuleId, Edge>, CompileError> {
    let mut found: BTreeMap<RuleId, Edge> = BTreeMap::new();
    let nothing = Side { nothing: true, something: false };
    let mut pending = vec![(body, nothing, nothing)];
    let mut seen = HashSet::new();
    while let Some(place) = pending.pop() {
        budget.charge_steps(PHASE, 1)?;
        let (symbol, left, right) = place;
        if symbols.least[symbol] == NO_TEXT || !seen.insert(place) {
            continue;
        }
        budget.charge_bytes(PHASE, PLACE_BYTES)?;
        match &symbols.forms[symbol] {
            Form::Char(_) | Form::Leaf(_) => {}
            Form::Rule(rule) => {
                let edge = found.entry(*rule).or_default();
                edge.left = edge.left.or(left);
                edge.right = edge.right.or(right);
            }
            Form::Choice(parts) => pending.extend(parts.iter().map(|part| (*part, left, right))),
            // The first copy has nothing before it that another could not do without.
            Form::Repeat(part) | Form::UpTo(part, 2..) if symbols.reads[*part] => {
                let something = |side: Side| Side { something: true, ..side };
                pending.push((*part, something(left), something(right)));
            }
            Form::Repeat(part) | Form::UpTo(part, _) => pending.push((*part, left, right)),
            Form::Sequence(parts) => {
                budget.charge_steps(PHASE, parts.len() as u64)?;
                let mut after = vec![right; parts.len()];
                for at in (1..parts.len()).rev() {
                    after[at - 1] = after[at].beyond(symbols, parts[at]);
                }
                let mut before = left;
                for (&part, after) in parts.iter().zip(after) {
                    pending.push((part, before, after));
                    before = before.beyond(symbols, part);
                }
            }
        }
    }
    Ok(found)
}

impl Side {
    fn or(self, other: Self) -> Self {
        Self { nothing: self.nothing || other.nothing, something: self.something || other.something }
    }

    /// What may stand there with a symbol in between.
    fn beyond(self, symbols: &Symbols, part: SymbolId) -> Self {
        Self {
            nothing: self.nothing && symbols.least[part] == 0,
            something: self.something || symbols.reads[part],
        }
    }
}

/// `[rules]`: the number of the strongly connected component of those edges, if a circle goes through the rule.
fn components(
    edges: &Edges,
    is_taken: &dyn Fn(&Edge) -> bool,
    budget: &Budget,
) -> Result<Vec<Option<usize>>, CompileError> {
    const NEW: usize = usize::MAX;
    let targets: Vec<Vec<usize>> = edges
        .iter()
        .map(|calls| {
            let taken = calls.iter().filter(|(_, edge)| is_taken(edge));
            taken.map(|(rule, _)| rule.index()).collect()
        })
        .collect();
    let mut component = vec![None; targets.len()];
    let (mut order, mut low, mut is_open) =
        (vec![NEW; targets.len()], vec![NEW; targets.len()], vec![false; targets.len()]);
    let (mut next, mut count) = (0, 0);
    let mut open: Vec<usize> = Vec::new();
    for root in 0..targets.len() {
        // Rules on the way, each with the number of its edges that were taken.
        let mut path: Vec<(usize, usize)> = Vec::new();
        if order[root] == NEW {
            path.push((root, 0));
        }
        while let Some((rule, taken)) = path.pop() {
            budget.charge_steps(PHASE, 1)?;
            if taken == 0 {
                (order[rule], low[rule], is_open[rule]) = (next, next, true);
                next += 1;
                open.push(rule);
            } else {
                let after = targets[rule][taken - 1];
                if is_open[after] {
                    low[rule] = low[rule].min(low[after]);
                }
            }
            if let Some(&after) = targets[rule].get(taken) {
                path.push((rule, taken + 1));
                if order[after] == NEW {
                    path.push((after, 0));
                }
                continue;
            }
            if low[rule] == order[rule] {
                let first = open.iter().rposition(|open| *open == rule).unwrap_or(0);
                let members = open.split_off(first);
                let is_circle = members.len() > 1 || targets[rule].contains(&rule);
                for member in members {
                    is_open[member] = false;
                    component[member] = is_circle.then_some(count);
                }
                count += 1;
            }
        }
    }
    Ok(component)
}
