//! Regular expressions in the syntax of `regex-syntax`, with look-around, word boundaries and named extensions.
//!
//! [`marks`] makes groups of what the library does not know, the library parses, and [`tree`] makes a tree of its result.

mod marks;
mod tree;

use gobo_automata::{RegexTree, check_pattern};
use gobo_types::{Budget, CompileError, MatchMode, NamedClasses, RefusalKind};
use regex_syntax::hir::{Dot, Hir, Look, LookSet, Repetition};

use super::extensions::Extension;
use super::syntax::Node;

/// A pattern that was parsed.
pub(super) enum Parsed {
    /// One that looks at nothing but where the text begins and ends, and has no extension.
    Plain(Hir),
    /// Any other, with the extensions in it.
    Tree(Node, Vec<Extension>),
}

/// Parses a pattern. `keeps_names`: extensions become [`Node::Named`].
///
/// # Errors
/// A refusal whose place is `offset N`, a byte of the pattern; [`CompileError::OverBudget`].
pub(super) fn parse(
    pattern: &str,
    classes: &NamedClasses,
    keeps_names: bool,
    budget: &Budget,
) -> Result<Parsed, CompileError> {
    check_pattern(pattern, budget)?;
    let marked = marks::mark(pattern, classes);
    let parsed = RegexTree::parse(&marked.text, &marked.name, budget);
    let parsed = parsed.map_err(|error| marked.translated(error))?;
    if parsed.marked != marked.marks.len() {
        let reason = "what begins with (? here is no group that can be told apart from characters";
        let at = marked.marks.first().map_or(0, |mark| mark.at);
        return Err(tree::refuse(RefusalKind::Unsupported, at, reason));
    }
    let of_texts = LookSet::empty().insert(Look::Start).insert(Look::End);
    let looks = parsed.hir.properties().look_set();
    if marked.marks.is_empty() && looks.subtract(of_texts).is_empty() {
        return Ok(Parsed::Plain(parsed.hir));
    }
    let tree = tree::tree(&parsed.hir, &marked, classes, keeps_names, budget)?;
    let mut extensions = Vec::new();
    for mark in &marked.marks {
        if let marks::Group::Extension(extension) = mark.group {
            if extension.reads_tokens() && tree.looks_around() {
                let reason = "a pattern that reads tokens looks around";
                return Err(tree::refuse(RefusalKind::Unsupported, mark.at, reason));
            }
            extensions.push(extension);
        }
    }
    Ok(Parsed::Tree(tree, extensions))
}

/// A pattern that matches whole texts, or those in which it matches somewhere.
pub(super) fn in_mode(hir: Hir, mode: MatchMode) -> Hir {
    let anything = || {
        let any = Box::new(Hir::dot(Dot::AnyChar));
        Hir::repetition(Repetition { min: 0, max: None, greedy: true, sub: any })
    };
    match mode {
        MatchMode::Full => hir,
        MatchMode::Search => Hir::concat(vec![anything(), hir, anything()]),
    }
}

#[cfg(test)]
mod tests;
