//! The names of a grammar: where each is defined, which are terminals, and which the start rule needs.

use std::collections::HashMap;
use std::ops::Range;

use gobo_automata::{Expr, Grammar, RuleId};
use gobo_types::{Budget, CompileError, DenseId as _, Dialect};

use crate::lark;
use crate::written::Written;

const PHASE: &str = "looking for names";

/// A rule or a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// Whether it is a terminal.
    pub is_terminal: bool,
    /// Where it is defined, in bytes; `None` if that is in another grammar, or it has no name of its own.
    pub at: Option<Range<usize>>,
}

/// The names of a grammar.
pub(super) struct Inventory {
    /// Where each is defined.
    pub(super) places: HashMap<String, Range<usize>>,
    /// `[rules]`: whether it is a terminal, or ignored text.
    pub(super) leaves: Vec<bool>,
    /// The names that no text needs, in the order of the text.
    pub(super) unreached: Vec<Named>,
}

impl Inventory {
    /// The names of a grammar that was read.
    ///
    /// # Errors
    /// As reading it.
    pub(super) fn of(
        written: &Written<'_>,
        grammar: &Grammar,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        match written.dialect {
            Dialect::Gbnf | Dialect::Ebnf => Self::of_rules(written, grammar, budget),
            Dialect::Lark => Self::of_lark(written, grammar, budget),
        }
    }

    /// Of a dialect without terminals. Its outline has the rules in their order.
    fn of_rules(written: &Written<'_>, grammar: &Grammar, budget: &Budget) -> Result<Self, CompileError> {
        let is_reached = reached(grammar, budget)?;
        let (mut places, mut unreached) = (HashMap::new(), Vec::new());
        let outlined = written.outline().map(|outline| outline.rules).unwrap_or_default();
        for ((rule, outlined), is_reached) in grammar.rules.iter().zip(outlined).zip(is_reached) {
            if !is_reached {
                let at = Some(outlined.name.clone());
                unreached.push(Named { name: rule.name.clone(), is_terminal: false, at });
            }
            places.insert(rule.name.clone(), outlined.name);
        }
        unreached.sort_by_key(|rule| rule.at.as_ref().map(|at| at.start));
        Ok(Self { places, leaves: vec![false; grammar.rules.len()], unreached })
    }

    fn of_lark(written: &Written<'_>, grammar: &Grammar, budget: &Budget) -> Result<Self, CompileError> {
        let names = lark::names(written, budget)?;
        let rules = RuleId::enumerate(&grammar.rules);
        let leaves = rules.map(|(id, rule)| names.is_leaf(id.number(), &rule.name)).collect();
        Ok(Self { leaves, ..Self::listed(&names) })
    }

    /// Of a grammar in Lark that is not read.
    ///
    /// # Errors
    /// As reading its statements.
    pub(super) fn of_names(written: &Written<'_>, budget: &Budget) -> Result<Self, CompileError> {
        Ok(Self::listed(&lark::names(written, budget)?))
    }

    /// Names and places, without the rules of the grammar.
    fn listed(names: &lark::Names) -> Self {
        let (mut places, mut unreached) = (HashMap::new(), Vec::new());
        for name in &names.all {
            let at = name.at..name.at + name.name.len();
            if !name.is_reached {
                let (name, is_terminal) = (name.name.clone(), name.is_terminal);
                unreached.push(Named { name, is_terminal, at: Some(at.clone()) });
            }
            places.insert(name.name.clone(), at);
        }
        Self { places, leaves: Vec::new(), unreached }
    }
}

/// `[rules]`: whether the start rule calls it, directly or through others.
fn reached(grammar: &Grammar, budget: &Budget) -> Result<Vec<bool>, CompileError> {
    let mut is_reached = vec![false; grammar.rules.len()];
    let mut pending = vec![grammar.start];
    is_reached[grammar.start.index()] = true;
    while let Some(rule) = pending.pop() {
        let mut parts = vec![&grammar.rules[rule.index()].expr];
        while let Some(part) = parts.pop() {
            budget.charge_steps(PHASE, 1)?;
            match part {
                Expr::Concat(more) | Expr::Alternate(more) => parts.extend(more),
                Expr::Repeat { expr, .. } => parts.push(expr),
                Expr::Shared(expr) => parts.push(expr),
                Expr::Call(called) => {
                    if !std::mem::replace(&mut is_reached[called.index()], true) {
                        pending.push(*called);
                    }
                }
                Expr::Text(_) | Expr::Chars(_) | Expr::Machine(_) => {}
            }
        }
    }
    Ok(is_reached)
}
