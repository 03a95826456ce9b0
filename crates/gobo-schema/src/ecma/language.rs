//! The language of a pattern, by the cheapest construction that its look-aheads allow.
//!
//! A pattern without look-ahead and word boundaries is a regular expression with anchors. Look-aheads at the start of the
//! text, as in `^(?!x)y`, are intersections of languages. A look-ahead after a stretch of the pattern, as in `a+(?!x)y`, is
//! intersected with the language of the rest, and the stretch is prepended. Any other, as in `((?!x).)*`, needs the subset
//! construction with obligations ([`determinise`]).

use gobo_automata::{Expr, Language};
use gobo_types::{Budget, CompileError};
use regex_syntax::hir::{self, Class, Hir};

use super::classes;
use super::context::{Context, MatchStart};
use super::determinise::determinise;
use super::looks::{LookLanguage, Looks};
use super::syntax::{Look, LookId, Node};

/// The languages of look-aheads, those inside others first.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(super) fn look_languages(looks: &[Look], budget: &Budget) -> Result<Looks, CompileError> {
    let mut known = Looks::default();
    for look in looks {
        let first = look_language(&mut known, look, Context::Start, budget)?;
        let mut languages = [first; 3];
        if look.needs_context {
            for context in [Context::Word, Context::Other] {
                languages[context as usize] = look_language(&mut known, look, context, budget)?;
            }
        }
        known.push(look, languages);
    }
    Ok(known)
}

/// Adds the language of a look-ahead after a context.
fn look_language(
    known: &mut Looks,
    look: &Look,
    context: Context,
    budget: &Budget,
) -> Result<LookLanguage, CompileError> {
    let mut texts = language(&look.body, MatchStart { is_anchored: true, context }, known, budget)?;
    if look.is_negated {
        texts = texts.complement(budget)?;
    }
    Ok(known.push_language(texts))
}

/// The texts that begin with a match at a position, or, without anchor, with any text and then a match.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(super) fn language(
    node: &Node,
    start: MatchStart,
    looks: &Looks,
    budget: &Budget,
) -> Result<Language, CompileError> {
    if !node.looks_around() {
        return plain(std::slice::from_ref(node), start, budget);
    }
    let Node::Alternate(branches) = node else { return branch(node, start, looks, budget) };
    let branches: Vec<Language> =
        branches.iter().map(|node| branch(node, start, looks, budget)).collect::<Result<_, _>>()?;
    Language::combine(&branches.iter().collect::<Vec<_>>(), |is_in| is_in.contains(&true), budget)
}

/// [`language`] of a node, whose alternatives are not split.
fn branch(
    node: &Node,
    mut start: MatchStart,
    looks: &Looks,
    budget: &Budget,
) -> Result<Language, CompileError> {
    let mut parts = match node {
        Node::Concat(parts) => parts.as_slice(),
        node => std::slice::from_ref(node),
    };
    let mut ahead = Vec::new();
    loop {
        match parts {
            [Node::Start, rest @ ..] if start.context == Context::Start => {
                start.is_anchored = true;
                parts = rest;
            }
            [Node::Look(look), rest @ ..] if start.is_anchored => {
                ahead.push(looks.language(*look, start.context));
                parts = rest;
            }
            _ => break,
        }
    }
    let rest = stretches(parts, start, looks, budget)?;
    if ahead.is_empty() {
        return Ok(rest);
    }
    ahead.push(&rest);
    Language::combine(&ahead, |is_in| !is_in.contains(&false), budget)
}

/// [`language`] of a concatenation. Each stretch up to a look-ahead is followed by the intersection of the look-ahead with
/// the language of the nodes after it. The last stretch may look around anywhere.
fn stretches(
    mut parts: &[Node],
    start: MatchStart,
    looks: &Looks,
    budget: &Budget,
) -> Result<Language, CompileError> {
    let mut before: Vec<(&[Node], LookId)> = Vec::new();
    let mut last = start;
    if !parts.iter().any(|part| looks.needs_context(part)) {
        while let Some(at) = parts.iter().position(|part| part.looks_around() || part.has_end()) {
            let Node::Look(look) = parts[at] else { break };
            before.push((&parts[..at], look));
            parts = &parts[at + 1..];
            last = MatchStart { is_anchored: true, context: Context::Other };
        }
    }
    let mut rest = if parts.iter().any(Node::looks_around) {
        determinise(parts, last, looks, budget)?
    } else {
        plain(parts, last, budget)?
    };
    for (at, &(stretch, look)) in before.iter().enumerate().rev() {
        rest = rest.intersection(looks.language(look, Context::Other), budget)?;
        let is_free_before = at == 0 && !start.is_anchored;
        if is_free_before || !stretch.is_empty() {
            let anything = is_free_before.then(|| Expr::Chars(classes::any()).repeat(0, None));
            let following = rest.to_expr(|chars| Expr::Chars(chars.clone()), budget)?;
            let parts = anything.into_iter().chain(stretch.iter().map(to_expr)).chain([following]);
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

/// [`language`] of a concatenation of nodes that do not look around.
fn plain(parts: &[Node], start: MatchStart, budget: &Budget) -> Result<Language, CompileError> {
    let hir = Hir::concat(parts.iter().map(|part| to_hir(part, start.context)).collect());
    let anything = || {
        let any = Box::new(Hir::dot(hir::Dot::AnyChar));
        Hir::repetition(hir::Repetition { min: 0, max: None, greedy: true, sub: any })
    };
    let properties = hir.properties();
    let is_free_before = !start.is_anchored && !properties.look_set_prefix().contains(hir::Look::Start);
    let is_free_after = !properties.look_set_suffix().contains(hir::Look::End);
    let before = is_free_before.then(anything);
    let after = is_free_after.then(anything);
    Language::hir(&Hir::concat(before.into_iter().chain([hir]).chain(after).collect()), budget)
}

/// A node that does not look around, after a context.
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
