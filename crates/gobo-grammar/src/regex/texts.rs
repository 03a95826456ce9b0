//! The texts of a tree, alone or in a longer text.

use gobo_automata::{Expr, Language};
use gobo_types::{Budget, CompileError};

use super::determinise::{Surroundings, determinise};
use super::nfa::unsupported;
use super::syntax::{LOOK_LIMIT, Node};

/// The texts of a tree, where it stands alone: those that Python's `fullmatch` takes.
///
/// # Errors
/// A refusal of look-around that is not supported, without a place; [`CompileError::OverBudget`].
pub fn alone(node: &Node, budget: &Budget) -> Result<Language, CompileError> {
    if node.look_depth() > LOOK_LIMIT {
        return Err(unsupported(&format!("looks nest deeper than {LOOK_LIMIT} levels")));
    }
    within(node, Surroundings::ALONE, budget)
}

/// The texts of a tree that stands in a longer text.
pub(crate) struct Placed {
    /// Those that match whatever stands around them.
    pub(crate) always: Language,
    /// Whether others match where the right text stands around them.
    pub(crate) depends: bool,
}

/// The texts of a tree that stands in a longer text of which nothing is known.
///
/// # Errors
/// As [`alone`].
pub(crate) fn placed(node: &Node, budget: &Budget) -> Result<Placed, CompileError> {
    let always = within(node, Surroundings::EVERY, budget)?;
    if !node.looks_around() {
        return Ok(Placed { always, depends: false });
    }
    let sometimes = within(node, Surroundings::SOME, budget)?;
    Ok(Placed { depends: always != sometimes, always })
}

fn within(node: &Node, surroundings: Surroundings, budget: &Budget) -> Result<Language, CompileError> {
    if node.looks_around() {
        return determinise(node, surroundings, budget);
    }
    Language::expr(&node.to_expr(budget)?, budget)
}

impl Node {
    /// The node as an expression.
    ///
    /// # Panics
    /// If it looks around.
    pub(crate) fn to_expr(&self, budget: &Budget) -> Result<Expr, CompileError> {
        expr(self, &mut |_, expr| expr, budget)
    }
}

/// A tree that does not look around; `named`: what stands in the place of a node with a name.
pub(super) fn expr(
    node: &Node,
    named: &mut impl FnMut(&str, Expr) -> Expr,
    budget: &Budget,
) -> Result<Expr, CompileError> {
    let mut all =
        |nodes: &[Node]| nodes.iter().map(|node| expr(node, named, budget)).collect::<Result<Vec<_>, _>>();
    Ok(match node {
        Node::Text(text) => Expr::text(text),
        Node::Chars(set) => Expr::Chars(set.clone()),
        Node::Concat(parts) => Expr::Concat(all(parts)?),
        Node::Alternate(parts) => Expr::Alternate(all(parts)?),
        Node::Repeat { node, min, max, .. } => expr(node, named, budget)?.repeat(*min, *max),
        Node::Named(name, node) => {
            let expr = expr(node, named, budget)?;
            named(name, expr)
        }
        Node::Texts(language) => language.to_expr(|chars| Expr::Chars(chars.clone()), budget)?,
        Node::Look(_) => unreachable!("callers ask whether nodes look around"),
    })
}
