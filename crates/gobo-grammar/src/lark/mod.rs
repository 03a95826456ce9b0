//! Lark's grammars, and llguidance's.
//!
//! Rules are read over terminals. Under the lexers `contextual` and `basic` a text is split into lexemes first, as Lark does, and under
//! `longest` as llguidance does (`lexed`).
//! With the lexer `none` a terminal stands for each of its texts, wherever that ends, and ignored text
//! may stand before, between and after terminals: the reading that Lark calls `dynamic_complete`. The grammar becomes one over
//! characters: each terminal is a rule of its own, followed by any number of ignored texts.
//!
//! `parse` reads statements (`syntax`) from words (`scan`); `modules` puts imported grammars beside the constraint's own and
//! finds what names mean, among them the built-in ones of `library`; `terminals` makes languages of terminals and `rules`
//! expressions of rules, templates written out.

mod embedded;
mod lexed;
mod library;
mod modules;
mod names;
mod parse;
mod rules;
mod scan;
mod syntax;
mod terminals;
mod values;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use gobo_types::{Budget, CompileError, CompileLimits, Lexer, LookAhead};

use crate::edges::TokenSets;
use crate::written::{Form, Read, SchemaReader, Written};

pub use self::lexed::{Glued, Hidden, LexerFindings};
pub(crate) use self::names::{Names, names};

use self::modules::{Modules, path_of};
use self::syntax::{Home, Statement};

/// Reads a grammar.
///
/// # Errors
/// A refusal naming the construct, its line and its column in characters, both from 1; [`CompileError::OverBudget`].
pub(crate) fn lark(
    written: &Written<'_>,
    form: Form,
    schemas: Option<&SchemaReader<'_>>,
    budget: &Budget,
) -> Result<Read, CompileError> {
    let modules = Modules::load(written, schemas, budget)?;
    let start = rules::start_rule(&modules, written.start)?;
    match written.lexer.unwrap_or(Lexer::Contextual(LookAhead::default())) {
        Lexer::None => rules::lower(&modules, start, budget),
        lexer => lexed::lower(&modules, start, (lexer, written.indentation), form, budget),
    }
}

/// What is to be said of the lexer of a grammar; `None` for one without lexemes, and where the grammar is refused under it.
pub(crate) fn findings(written: &Written<'_>, budget: &Budget) -> Option<LexerFindings> {
    let lexer = written.lexer.filter(|lexer| *lexer != Lexer::None)?;
    let modules = Modules::load(written, None, budget).ok()?;
    let start = rules::start_rule(&modules, written.start).ok()?;
    lexed::findings(&modules, start, lexer, budget).ok()
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
    let of = |home| parse::parse(document, grammar, home, &mut TokenSets::of(None), &budget);
    let statements = of(Home::Llguidance).or_else(|_| of(Home::Lark)).unwrap_or_default();
    let names = statements.iter().filter_map(|statement| match statement {
        Statement::Import(import) => Some(path_of(import, document)),
        _ => None,
    });
    names.collect::<BTreeSet<_>>().into_iter().collect()
}
