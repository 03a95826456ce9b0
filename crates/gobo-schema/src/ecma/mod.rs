//! Patterns of ECMA-262 as regular languages of string values.
//!
//! A pattern is parsed ([`parse`]) to a syntax tree ([`syntax`]) and compiled ([`language`]): look-aheads, each as the
//! language of the texts that may follow where it holds ([`looks`]), then the pattern. Captures and the order of matches do
//! not matter; back-references are not regular and are refused, as is look-behind.

mod classes;
mod context;
mod determinise;
mod language;
mod looks;
mod nfa;
mod parse;
mod syntax;

use gobo_automata::Language;
use gobo_types::{Budget, CompileError};

use context::{Context, MatchStart};
use language::{language, look_languages};

/// The texts in which a pattern of ECMA-262 matches somewhere: the meaning of `pattern` in JSON Schema.
///
/// # Errors
/// A refusal whose place is `offset N`, a byte of the pattern; [`CompileError::OverBudget`].
pub(crate) fn ecma(pattern: &str, budget: &Budget) -> Result<Language, CompileError> {
    let pattern = parse::parse(pattern, budget)?;
    let looks = look_languages(&pattern.looks, budget)?;
    language(&pattern.node, MatchStart { is_anchored: false, context: Context::Start }, &looks, budget)
}

#[cfg(test)]
mod tests;
