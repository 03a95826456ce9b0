//! Lark's grammars, and llguidance's, without a lexer.
//!
//! Rules are read over terminals. With the lexer `none` a terminal stands for each of its texts, wherever that ends, and ignored text
//! may stand before, between and after terminals: the reading that Lark calls `dynamic_complete`. The grammar becomes one over
//! characters: each terminal is a rule of its own, followed by any number of ignored texts.
//!
//! `parse` reads statements (`syntax`) from words (`scan`); `modules` puts imported grammars beside the constraint's own and
//! finds what names mean, among them the built-in ones of `library`; `terminals` makes languages of terminals and `rules`
//! expressions of rules, templates written out.

mod embedded;
mod library;
mod modules;
mod names;
mod parse;
mod rules;
mod scan;
mod syntax;
mod terminals;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use gobo_types::{Budget, CompileError, CompileLimits, Lexer, RefusalKind};

use crate::written::{Read, Written};

pub(crate) use self::names::names;

use self::modules::{Modules, path_of};
use self::syntax::Statement;

/// Reads a grammar.
///
/// # Errors
/// A refusal naming the construct, its line and its column in characters, both from 1; [`CompileError::OverBudget`].
pub(crate) fn lark(written: &Written<'_>, budget: &Budget) -> Result<Read, CompileError> {
    match written.lexer {
        Some(Lexer::None) => {}
        None => {
            let reason = "a grammar in Lark says how its texts are split into lexemes, and only the lexer none is there";
            return Err(CompileError::refuse(RefusalKind::Unsupported, "the whole grammar", reason)
                .spanning(0..0)
                .advising(
                    "Give --lexer none (the field lexer): a terminal then stands for each of its texts.",
                ));
        }
    }
    let modules = Modules::load(written, budget)?;
    rules::lower(&modules, written.start, budget)
}

/// The names of the documents that a grammar imports, ascending; `document` is its own name, empty for a constraint. A text that is no
/// grammar imports nothing. Linear.
///
/// ```
/// use gobo_grammar::lark::imported;
///
/// assert_eq!(imported("%import lib.words.NAME\n%import .near (a, b)", ""), ["lib/words", "near"]);
/// ```
pub fn imported(grammar: &str, document: &str) -> Vec<String> {
    let budget = Budget::new(CompileLimits::default());
    let statements = parse::parse(document, grammar, &budget).unwrap_or_default();
    let names = statements.iter().filter_map(|statement| match statement {
        Statement::Import(import) => Some(path_of(import, document)),
        _ => None,
    });
    names.collect::<BTreeSet<_>>().into_iter().collect()
}
