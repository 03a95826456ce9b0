//! Patterns of ECMA-262 as regular languages.
//!
//! A pattern without look-ahead and word boundaries is a regular expression with anchors, and goes the way of all of them.
//! Of what looks around, each look-ahead is a language of its own: the texts that may follow where it holds. At the start
//! of the text, as in `^(?!x)y`, languages are intersected; behind a stretch of the pattern, as in `a+(?!x)y`, the stretch
//! is followed by what is left of them; anywhere else, as in `((?!x).)*`, paths carry obligations: see [`look`].

mod classes;
mod look;
mod parse;
mod syntax;

use gobo_automata::{Expr, Language};
use gobo_types::{Budget, CompileError};
use regex_syntax::hir::{self, Class, Hir};

use look::{Context, Looks};
use syntax::{LookId, Node};

/// The texts in which a pattern of ECMA-262 matches somewhere: what JSON Schema means by `pattern`.
///
/// # Errors
/// A refusal whose place is `offset N`, a byte of the pattern; [`CompileError::OverBudget`].
pub(crate) fn ecma(pattern: &str, budget: &Budget) -> Result<Language, CompileError> {
    let pattern = parse::parse(pattern, budget)?;
    let looks = Looks::new(&pattern.looks, budget)?;
    language(&pattern.node, Place { is_anchored: false, context: Context::Start }, &looks, budget)
}

/// Where the match of a pattern begins.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Whether it begins where the text does, and not anywhere.
    is_anchored: bool,
    /// What is before the text: what is read may be the rest of a greater one.
    context: Context,
}

/// The texts that begin with a match at a place, or with anything and then a match.
fn language(node: &Node, place: Place, looks: &Looks, budget: &Budget) -> Result<Language, CompileError> {
    if !node.looks_around() {
        return plain(std::slice::from_ref(node), place, budget);
    }
    let Node::Alternate(branches) = node else { return branch(node, place, looks, budget) };
    let branches: Vec<Language> =
        branches.iter().map(|node| branch(node, place, looks, budget)).collect::<Result<_, _>>()?;
    Language::combine(&branches.iter().collect::<Vec<_>>(), |is_in| is_in.contains(&true), budget)
}

/// [`language`] of a node whose own alternatives, if it has any, stay together.
fn branch(node: &Node, mut place: Place, looks: &Looks, budget: &Budget) -> Result<Language, CompileError> {
    let mut parts = match node {
        Node::Concat(parts) => parts.as_slice(),
        node => std::slice::from_ref(node),
    };
    let mut ahead = Vec::new();
    loop {
        match parts {
            [Node::Start, rest @ ..] if place.context == Context::Start => {
                place.is_anchored = true;
                parts = rest;
            }
            [Node::Look(look), rest @ ..] if place.is_anchored => {
                ahead.push(looks.language(*look, place.context));
                parts = rest;
            }
            _ => break,
        }
    }
    let rest = stretches(parts, place, looks, budget)?;
    if ahead.is_empty() {
        return Ok(rest);
    }
    ahead.push(&rest);
    Language::combine(&ahead, |is_in| !is_in.contains(&false), budget)
}

/// [`language`] of nodes, one after the other: each stretch up to a look-ahead is followed by the texts that the look-ahead
/// and all that is behind it allow. The last stretch may look around anywhere.
fn stretches(
    mut parts: &[Node],
    place: Place,
    looks: &Looks,
    budget: &Budget,
) -> Result<Language, CompileError> {
    let mut before: Vec<(&[Node], LookId)> = Vec::new();
    let mut last = place;
    if !parts.iter().any(|part| looks.needs_context(part)) {
        while let Some(at) = parts.iter().position(|part| part.looks_around() || part.has_end()) {
            let Node::Look(look) = parts[at] else { break };
            before.push((&parts[..at], look));
            parts = &parts[at + 1..];
            last = Place { is_anchored: true, context: Context::Other };
        }
    }
    let mut rest = if parts.iter().any(Node::looks_around) {
        look::lower(parts, last, looks, budget)?
    } else {
        plain(parts, last, budget)?
    };
    for (at, &(stretch, look)) in before.iter().enumerate().rev() {
        rest = rest.intersection(looks.language(look, Context::Other), budget)?;
        let is_free_before = at == 0 && !place.is_anchored;
        if is_free_before || !stretch.is_empty() {
            let anything = is_free_before.then(|| Expr::Chars(classes::any()).repeat(0, None));
            let behind = rest.to_expr(|chars| Expr::Chars(chars.clone()), budget)?;
            let parts = anything.into_iter().chain(stretch.iter().map(to_expr)).chain([behind]);
            rest = Language::expr(&Expr::Concat(parts.collect()), budget)?;
        }
    }
    Ok(rest)
}

/// A node that neither looks around nor has anchors.
fn to_expr(node: &Node) -> Expr {
    match node {
        Node::Empty => Expr::text(""),
        Node::Char(char) => Expr::text(*char),
        Node::Class(class) => Expr::Chars(class.clone()),
        Node::Concat(parts) => Expr::Concat(parts.iter().map(to_expr).collect()),
        Node::Alternate(parts) => Expr::Alternate(parts.iter().map(to_expr).collect()),
        Node::Repeat { node, min, max } => to_expr(node).repeat(*min, *max),
        Node::Start | Node::End | Node::Boundary { .. } | Node::Look(_) => {
            unreachable!("callers ask whether nodes have any of these")
        }
    }
}

/// [`language`] of nodes, one after the other, that do not look around.
fn plain(parts: &[Node], place: Place, budget: &Budget) -> Result<Language, CompileError> {
    let hir = Hir::concat(parts.iter().map(|part| to_hir(part, place.context)).collect());
    let anything = || {
        let any = Box::new(Hir::dot(hir::Dot::AnyChar));
        Hir::repetition(hir::Repetition { min: 0, max: None, greedy: true, sub: any })
    };
    let properties = hir.properties();
    let is_free_before = !place.is_anchored && !properties.look_set_prefix().contains(hir::Look::Start);
    let is_free_behind = !properties.look_set_suffix().contains(hir::Look::End);
    let before = is_free_before.then(anything);
    let behind = is_free_behind.then(anything);
    Language::hir(&Hir::concat(before.into_iter().chain([hir]).chain(behind).collect()), budget)
}

/// A node that does not look around, in a text that is the rest of one or a whole one.
fn to_hir(node: &Node, context: Context) -> Hir {
    let all = |parts: &[Node]| parts.iter().map(|part| to_hir(part, context)).collect();
    match node {
        Node::Empty => Hir::empty(),
        Node::Char(char) => Hir::literal(char.encode_utf8(&mut [0; 4]).as_bytes()),
        Node::Class(class) => Hir::class(Class::Unicode(class.to_class())),
        Node::Concat(parts) => Hir::concat(all(parts)),
        Node::Alternate(parts) => Hir::alternation(all(parts)),
        Node::Repeat { node, min, max } => {
            let sub = Box::new(to_hir(node, context));
            Hir::repetition(hir::Repetition { min: *min, max: *max, greedy: true, sub })
        }
        Node::Start if context == Context::Start => Hir::look(hir::Look::Start),
        Node::Start => Hir::fail(),
        Node::End => Hir::look(hir::Look::End),
        Node::Boundary { .. } | Node::Look(_) => unreachable!("callers ask whether nodes look around"),
    }
}

#[cfg(test)]
mod tests;
