//! Patterns of ECMA-262 as regular languages of string values.
//!
//! A pattern is parsed ([`parse`]) to a syntax tree ([`syntax`]) and compiled ([`language`]): look-aheads, each as the
//! language of the texts that may follow where it holds ([`looks`]), then the pattern. Captures and the order of matches do
//! not matter; back-references are not regular and are refused. A pattern with look-behind is handed to the reader of other dialects ([`tree`]), which
//! knows what stands before a place.

mod classes;
mod context;
mod determinise;
mod language;
mod looks;
mod nfa;
mod parse;
mod syntax;
mod tree;

use gobo_automata::{Language, check_pattern};
use gobo_grammar::regex::Direction;
use gobo_types::{Budget, CompileError, MatchMode};

use context::{Context, MatchStart};
use language::{language, look_languages};

/// The texts that a pattern of ECMA-262 matches as a whole, or in which it matches somewhere.
///
/// # Errors
/// A refusal whose place is `offset N`, a byte of the pattern; [`CompileError::OverBudget`].
pub fn ecma_regex(pattern: &str, mode: MatchMode, budget: &Budget) -> Result<Language, CompileError> {
    check_pattern(pattern, budget)?;
    let mut parsed = parse::parse(pattern, budget)?;
    if mode == MatchMode::Full {
        parsed.node = syntax::Node::Concat(vec![syntax::Node::Start, parsed.node, syntax::Node::End]);
    }
    of_parsed(&parsed, budget)
}

/// The texts in which a pattern of ECMA-262 matches somewhere: the meaning of `pattern` in JSON Schema.
///
/// # Errors
/// A refusal whose place is `offset N`, a byte of the pattern; [`CompileError::OverBudget`].
pub(crate) fn ecma(pattern: &str, budget: &Budget) -> Result<Language, CompileError> {
    of_parsed(&parse::parse(pattern, budget)?, budget)
}

fn of_parsed(pattern: &syntax::Pattern, budget: &Budget) -> Result<Language, CompileError> {
    if pattern.looks.iter().any(|look| look.direction == Direction::Behind) {
        return tree::language(pattern, budget);
    }
    let looks = look_languages(&pattern.looks, budget)?;
    language(&pattern.node, MatchStart { is_anchored: false, context: Context::Start }, &looks, budget)
}

#[cfg(test)]
mod tests;
