//! Regular expressions as languages: in Rust's syntax with look-around and named extensions ([`rust_regex`]), in Python's ([`python_regex`],
//! module `re`), and in that of `XGrammar`'s `Regex("…")`.
//!
//! A pattern is parsed ([`parse`], [`rust`]) to a tree ([`syntax`]) over sets of characters ([`classes`]). As a set of texts, a greedy and a lazy
//! repetition are the same, and groups mean nothing. Trees that look around are determinised with what they look at ([`determinise`]);
//! all others are expressions of automata at once.

mod classes;
mod determinise;
mod extensions;
mod looks;
mod nfa;
mod ordered;
mod parse;
mod rust;
mod syntax;

#[cfg(test)]
mod tests;

use gobo_automata::{Expr, Language, check_pattern};
use gobo_types::{Budget, CompileError, MatchMode};

pub(crate) use classes::with_cases;
pub(crate) use looks::Obligation;
pub(crate) use nfa::StateId;
pub(crate) use ordered::{Ending, Entry, Place, Preference, Scanner, Stop, Stopping, Stuck, Threads};
pub(crate) use parse::{Flag, Flags, Flavour, parse};
pub use syntax::{Direction, Look, Node};

use determinise::{Surroundings, determinise};

/// The texts of a regular expression in the syntax of `regex-syntax`, with look-around of any kind and named extensions
/// ([`extensions`]).
///
/// ```
/// use gobo_grammar::regex::rust_regex;
/// use gobo_types::{Budget, CompileLimits, MatchMode};
///
/// let budget = Budget::new(CompileLimits::default());
/// let texts = rust_regex(r"(?P<TEXT_UNTIL>\.)(?<!\.\.)", MatchMode::Full, &budget)?;
/// assert!(texts.accepts("one sentence.") && !texts.accepts("one. two."));
/// # Ok::<(), gobo_types::CompileError>(())
/// ```
///
/// # Errors
/// A refusal whose place is `offset N`, a byte of the pattern; [`CompileError::OverBudget`].
pub fn rust_regex(pattern: &str, mode: MatchMode, budget: &Budget) -> Result<Language, CompileError> {
    match rust::parse(pattern, budget)? {
        rust::Parsed::Plain(hir) => Language::hir(&rust::in_mode(hir, mode), budget),
        rust::Parsed::Tree(node) => placed_at(pattern, alone(&in_mode(node, mode), budget)),
    }
}

/// The texts of a regular expression in Python's syntax and meaning: those that `re.fullmatch` takes, or `re.search`.
///
/// # Errors
/// As [`rust_regex`].
pub fn python_regex(pattern: &str, mode: MatchMode, budget: &Budget) -> Result<Language, CompileError> {
    check_pattern(pattern, budget)?;
    let node = parse(pattern, Flags::default(), Flavour::Python, budget)?.node;
    placed_at(pattern, alone(&in_mode(node, mode), budget))
}

fn in_mode(node: Node, mode: MatchMode) -> Node {
    let anything = || Node::Chars(classes::any()).repeat(0, None);
    match mode {
        MatchMode::Full => node,
        MatchMode::Search => Node::Concat(vec![anything(), node, anything()]),
    }
}

/// Gives a refusal without a place the whole pattern as its place.
fn placed_at(pattern: &str, found: Result<Language, CompileError>) -> Result<Language, CompileError> {
    found.map_err(|error| match error {
        CompileError::Refused(mut refusal) if refusal.place.as_str().is_empty() => {
            refusal.place = "the whole regex".into();
            CompileError::Refused(refusal).spanning(0..pattern.len())
        }
        other => other,
    })
}

/// The texts of a tree, where it stands alone: those that Python's `fullmatch` takes.
///
/// # Errors
/// A refusal of look-around that is not supported, without a place; [`CompileError::OverBudget`].
pub fn alone(node: &Node, budget: &Budget) -> Result<Language, CompileError> {
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
    Language::expr(&expr(node, budget)?, budget)
}

impl Node {
    /// The node as an expression.
    ///
    /// # Panics
    /// If it looks around.
    pub(crate) fn to_expr(&self, budget: &Budget) -> Result<Expr, CompileError> {
        expr(self, budget)
    }
}

/// A tree that does not look around.
fn expr(node: &Node, budget: &Budget) -> Result<Expr, CompileError> {
    let all = |nodes: &[Node]| nodes.iter().map(|node| expr(node, budget)).collect::<Result<Vec<_>, _>>();
    Ok(match node {
        Node::Text(text) => Expr::text(text),
        Node::Chars(set) => Expr::Chars(set.clone()),
        Node::Concat(parts) => Expr::Concat(all(parts)?),
        Node::Alternate(parts) => Expr::Alternate(all(parts)?),
        Node::Repeat { node, min, max, .. } => expr(node, budget)?.repeat(*min, *max),
        Node::Texts(language) => language.to_expr(|chars| Expr::Chars(chars.clone()), budget)?,
        Node::Look(_) => unreachable!("callers ask whether nodes look around"),
    })
}
