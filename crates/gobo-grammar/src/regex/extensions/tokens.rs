//! `TEXT_TOKEN` and `PARAGRAPH_TOKEN`: tokens in a pattern.
//!
//! In the pattern each is a token set by itself. Once its texts are an automaton, tokens are told apart by the places of UTF-8 between which they
//! lead, so that a run of them is valid as a whole, and each pair of places is a set of its own.

use gobo_automata::{Expr, Grammar, Language, Rule, RuleId, TokenItem};
use gobo_types::{Budget, CompileError, DenseId as _, Utf8Place};

use crate::edges::TokenSets;

/// The number of the token set that stands for a token of text.
pub(crate) const TEXT_TOKEN: usize = 0;
/// The same without line feed and carriage return in it.
pub(crate) const PARAGRAPH_TOKEN: usize = 1;

/// The grammar of a pattern with tokens of text; `None` for one without.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub fn with_text_tokens(language: &Language, budget: &Budget) -> Result<Option<Grammar>, CompileError> {
    if !language.has_token_sets() {
        return Ok(None);
    }
    let mut sets = TokenSets::default();
    let token = |number: usize, from: Utf8Place, to: Utf8Place| {
        let is_one_line = number == PARAGRAPH_TOKEN;
        let items = vec![TokenItem::Text { from, to, is_one_line }];
        let set = sets.edge(items, false, (|| "the whole regex".to_owned(), None));
        Ok(Expr::Chars(set.expect("places are few")))
    };
    let expr = language.with_text_tokens(token, budget)?;
    let rules = vec![Rule { name: "regex".to_owned(), expr, lengths: None }];
    let (start, called, families) = (RuleId::new(0), Vec::new(), Vec::new());
    Ok(Some(Grammar { rules, start, called, families, tokens: sets.sets }))
}
