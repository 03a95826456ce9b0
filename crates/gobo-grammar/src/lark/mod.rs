//! Lark's grammars, and llguidance's.
//!
//! Rules are read over terminals. Under the lexers `contextual` and `basic` a text is split into lexemes first, as Lark does (`lexed`).
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

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use gobo_types::{Budget, CompileError, CompileLimits, Lexer, LookAhead};

use crate::written::{Read, Written};

pub use self::lexed::{Glued, Hidden, LexerFindings};
pub(crate) use self::names::{Names, names};

use self::modules::{Modules, path_of};
use self::syntax::Statement;

/// Reads a grammar.
///
/// # Errors
/// A refusal naming the construct, its line and its column in characters, both from 1; [`CompileError::OverBudget`].
pub(crate) fn lark(written: &Written<'_>, budget: &Budget) -> Result<Read, CompileError> {
    let modules = Modules::load(written, budget)?;
    let start = rules::start_rule(&modules, written.start)?;
    match written.lexer.unwrap_or(Lexer::Contextual(LookAhead::default())) {
        Lexer::None => rules::lower(&modules, start, budget),
        Lexer::Contextual(look_ahead) => {
            lexed::lower(&modules, start, (true, look_ahead), written.indentation, budget)
        }
        Lexer::Basic(look_ahead) => {
            lexed::lower(&modules, start, (false, look_ahead), written.indentation, budget)
        }
    }
}

/// What is to be said of the lexer of a grammar; `None` for one without lexemes, and where the grammar is refused under it.
pub(crate) fn findings(written: &Written<'_>, budget: &Budget) -> Option<LexerFindings> {
    let (is_contextual, look_ahead) = match written.lexer? {
        Lexer::None => return None,
        Lexer::Contextual(look_ahead) => (true, look_ahead),
        Lexer::Basic(look_ahead) => (false, look_ahead),
    };
    let modules = Modules::load(written, budget).ok()?;
    let start = rules::start_rule(&modules, written.start).ok()?;
    lexed::findings(&modules, start, is_contextual, look_ahead, budget).ok()
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
