//! Patterns with look-behind, as trees of [`gobo_grammar::regex`].

use gobo_automata::Language;
use gobo_grammar::regex::{Direction, Node as Tree, alone};
use gobo_types::{Budget, CompileError};

use super::classes;
use super::syntax::{Node, Pattern};

/// The texts in which a pattern matches somewhere.
///
/// # Errors
/// A refusal of a look-behind that depends on what follows it; [`CompileError::OverBudget`].
pub(super) fn language(pattern: &Pattern, budget: &Budget) -> Result<Language, CompileError> {
    let anything = || Tree::Chars(classes::any()).repeat(0, None);
    let node = Tree::Concat(vec![anything(), tree(&pattern.node, pattern), anything()]);
    alone(&node, budget).map_err(|error| match error {
        CompileError::Refused(mut refusal) if refusal.place.as_str().is_empty() => {
            refusal.place = "offset 0".into();
            CompileError::Refused(refusal)
        }
        other => other,
    })
}

fn tree(node: &Node, pattern: &Pattern) -> Tree {
    let all = |parts: &[Node]| parts.iter().map(|part| tree(part, pattern)).collect();
    match node {
        Node::Empty => Tree::empty(),
        Node::Char(char) => Tree::Text(char.to_string()),
        Node::Class(class) => Tree::Chars(class.clone()),
        Node::Concat(parts) => Tree::Concat(all(parts)),
        Node::Alternate(parts) => Tree::Alternate(all(parts)),
        Node::Repeat { node, min, max } => tree(node, pattern).repeat(*min, *max),
        Node::Start => Tree::whole(Direction::Behind, Tree::empty()),
        Node::End => Tree::whole(Direction::Ahead, Tree::empty()),
        &Node::Boundary { is_negated } => boundary(is_negated),
        &Node::Look(look) => {
            let look = &pattern.looks[look];
            Tree::look(look.direction, look.is_negated, tree(&look.body, pattern))
        }
    }
}

/// Where one side is a character of a word and the other is not; negated elsewhere.
fn boundary(is_negated: bool) -> Tree {
    let word = || Tree::Chars(classes::word());
    let sides = |before: bool, after: bool| {
        let behind = Tree::look(Direction::Behind, !before, word());
        Tree::Concat(vec![behind, Tree::look(Direction::Ahead, !after, word())])
    };
    Tree::Alternate(vec![sides(true, is_negated), sides(false, !is_negated)])
}
