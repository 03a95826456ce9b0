//! The EBNF of `XGrammar` and transformers-CFG.
//!
//! It is GBNF as [`gbnf`](crate::gbnf) reads it, and: names with dots; `[^]`; the escapes `\\/ \\' \\? \\b \\f \\a \\v \\0 \\e`, in classes
//! those of a regular expression, and `\\x` with any number of digits; `.` is every character but the line feed; a rule goes on until
//! the next name before `::=`; and the macros `Regex("…")`, `Substring("…")`, `Token(…)` and `ExcludeToken(…)`; and `name[max_tokens=N] ::= …`; beyond both, GBNF's token edges and `<class:NAME>`. Refused by name: the look-ahead `(=…)`, other
//! options of rules, and the other macros. Departures: a negated class holds all other characters (there those up to U+00FF, in places), and
//! `.` in a `Regex` takes no line feed either.

use gobo_automata::Grammar;
use gobo_types::{Budget, CompileError, NamedClasses};

use crate::bnf::{Form, Reader};
use crate::outline::Outline;

/// Reads a grammar, in which classes of tokens have names. Linear in the text, the automata of macros apart.
///
/// # Errors
/// A refusal naming the construct, its line and its column in characters, both from 1; [`CompileError::OverBudget`] by a macro.
///
/// ```
/// use gobo_grammar::ebnf::ebnf;
/// use gobo_types::{Budget, CompileLimits, NamedClasses};
///
/// let grammar = "root ::= item.a |\n  Regex(\"[0-9]+\")\n\nitem.a ::= \"a\"";
/// let read = ebnf(grammar, "root", NamedClasses::NONE, &Budget::new(CompileLimits::default())).unwrap();
/// assert_eq!(read.rules.len(), 2);
/// ```
pub fn ebnf(
    grammar: &str,
    start: &str,
    classes: &NamedClasses,
    budget: &Budget,
) -> Result<Grammar, CompileError> {
    Reader::read(grammar, Form::Ebnf(Some(budget)), Some(classes))?.finish(start)
}

/// Where the rules and the counted repetitions of a grammar stand; `None` if it has no grammar's form. Linear in the text.
pub fn outline(grammar: &str) -> Option<Outline> {
    Reader::read(grammar, Form::Ebnf(None), None).ok()?.outline()
}

#[cfg(test)]
mod tests;
