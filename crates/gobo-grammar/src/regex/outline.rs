//! A pattern as a grammar in which each named extension is a rule, so that a text can be told where it stands.

use gobo_automata::{Expr, Grammar, Rule, RuleId};
use gobo_types::{Budget, CompileError, DenseId as _, MatchMode, NamedClasses};

use super::extensions::{Extension, token_sets};
use super::texts::expr;
use super::{in_mode, rust};

/// The grammar of a pattern as [`rust_regex`](super::rust_regex) takes it, whose rules have the names of its extensions; `None` if it has none, or looks
/// around: then where one ends is no matter of the texts in it alone. Tokens of text are told by their bytes, whatever
/// stands before them.
///
/// # Errors
/// As [`rust_regex`](super::rust_regex).
///
/// ```
/// use gobo_grammar::regex::rust_outline;
/// use gobo_types::{Budget, CompileLimits, MatchMode, NamedClasses};
///
/// let pattern = "name: (?P<QUOTED_TEXT>)";
/// let budget = Budget::new(CompileLimits::default());
/// let grammar = rust_outline(pattern, MatchMode::Full, NamedClasses::NONE, &budget)?.unwrap();
/// assert_eq!(grammar.rules[0].name, "QUOTED_TEXT");
/// # Ok::<(), gobo_types::CompileError>(())
/// ```
pub fn rust_outline(
    pattern: &str,
    mode: MatchMode,
    classes: &NamedClasses,
    budget: &Budget,
) -> Result<Option<Grammar>, CompileError> {
    let (node, extensions) = match rust::parse(pattern, classes, true, budget)? {
        rust::Parsed::Tree(node, extensions) if !extensions.is_empty() && !node.looks_around() => {
            (node, extensions)
        }
        _ => return Ok(None),
    };
    let mut rules = Vec::new();
    let mut add = |name: &str, expr: Expr| {
        let id = RuleId::new(rules.len());
        rules.push(Rule { name: name.to_owned(), expr, lengths: None });
        Expr::Call(id)
    };
    let whole = expr(&in_mode(node, mode), &mut add, budget)?;
    let start = RuleId::new(rules.len());
    rules.push(Rule { name: "regex".to_owned(), expr: whole, lengths: None });
    let tokens = if extensions.iter().any(|extension| extension.reads_tokens()) {
        let is_named = |name: &str| {
            extensions.iter().any(|of| matches!(of, Extension::OfTokens(_)) && of.name(classes) == name)
        };
        token_sets(classes, is_named)
    } else {
        Vec::new()
    };
    let (called, families) = (Vec::new(), Vec::new());
    Ok(Some(Grammar { rules, start, called, families, tokens }))
}
