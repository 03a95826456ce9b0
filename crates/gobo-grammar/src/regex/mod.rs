//! Regular expressions as languages: in Rust's syntax with look-around and named extensions ([`rust_regex`]), in Python's ([`python_regex`],
//! module `re`), and in that of `XGrammar`'s `Regex("…")`.
//!
//! A pattern is parsed (`parse`, `rust`) to a tree (`syntax`) over sets of characters (`classes`). As a set of texts, a greedy and a lazy
//! repetition are the same, and groups mean nothing. Trees that look around are determinised with what they look at (`determinise`);
//! all others are expressions of automata at once.

mod classes;
mod determinise;
mod extensions;
mod looks;
mod nfa;
mod ordered;
mod outline;
mod parse;
mod rust;
mod syntax;
mod texts;

#[cfg(test)]
mod tests;

use gobo_automata::{Language, check_pattern};
use gobo_types::{Budget, CompileError, MatchMode, NamedClasses};

pub(crate) use classes::with_cases;
pub use extensions::{check_classes, with_tokens};
pub(crate) use looks::Obligation;
pub(crate) use nfa::StateId;
pub(crate) use ordered::{Ending, Entry, Place, Preference, Scanner, Stop, Stopping, Stuck, Threads};
pub use outline::rust_outline;
pub(crate) use parse::{Flag, Flags, Flavour, parse};
pub use syntax::{Direction, Look, Node};
pub use texts::alone;
pub(crate) use texts::placed;

/// The texts of a regular expression in the syntax of `regex-syntax`, with look-around of any kind, named extensions, and classes of tokens
/// by their names.
///
/// ```
/// use gobo_grammar::regex::rust_regex;
/// use gobo_types::{Budget, CompileLimits, MatchMode, NamedClasses};
///
/// let budget = Budget::new(CompileLimits::default());
/// let pattern = r"(?P<TEXT_UNTIL>\.)(?<!\.\.)";
/// let texts = rust_regex(pattern, MatchMode::Full, NamedClasses::NONE, &budget)?;
/// assert!(texts.accepts("one sentence.") && !texts.accepts("one. two."));
/// # Ok::<(), gobo_types::CompileError>(())
/// ```
///
/// # Errors
/// A refusal whose place is `offset N`, a byte of the pattern; [`CompileError::OverBudget`].
pub fn rust_regex(
    pattern: &str,
    mode: MatchMode,
    classes: &NamedClasses,
    budget: &Budget,
) -> Result<Language, CompileError> {
    match rust::parse(pattern, classes, false, budget)? {
        rust::Parsed::Plain(hir) => Language::hir(&rust::in_mode(hir, mode), budget),
        rust::Parsed::Tree(node, _) => placed_at(pattern, alone(&in_mode(node, mode), budget)),
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
