//! The rules of a constraint that a text stands in.

use gobo_artifact::Vocabulary;
use gobo_automata::{OpenRules, Piece};
use gobo_grammar::Written;
use gobo_grammar::json::json;
use gobo_grammar::regex::rust_outline;
use gobo_schema::{embedded, schema};
use gobo_types::{Budget, CompileError, Constraint, RegexDialect, Source};

use crate::tags;
use crate::tokens::resolve;

/// The rules of a constraint that a text stands in, by `most` ways at most ([`gobo_automata::Grammar::open_rules`]): those of a grammar or a
/// schema, the formats of a structural tag with their places, and the named extensions of a regular expression. `None` for what has no such
/// parts, for a regular expression that looks around, and for a grammar that is read by the states of its parser. Of a text that the constraint takes; others may have no ways.
///
/// # Errors
/// As [`crate::lower_over`]; [`CompileError::OverBudget`], of the text too: see there.
pub fn open_rules(
    vocabulary: &Vocabulary,
    constraint: &Constraint,
    pieces: &[Piece<'_>],
    most: usize,
    budget: &Budget,
) -> Result<Option<OpenRules>, CompileError> {
    let classes = &constraint.token_classes;
    let grammar = match &constraint.source {
        Source::Regex { pattern, mode, dialect: RegexDialect::Rust, .. } => {
            rust_outline(pattern, *mode, classes, budget)?
        }
        Source::Regex { .. } | Source::Choice { .. } | Source::Json { nesting: Some(_), .. } => None,
        Source::Grammar { .. } => {
            let written = Written::of(constraint).expect("it is a grammar");
            written.read_with(Some(&embedded), budget)?.texts.rules()
        }
        Source::Json { whitespace, numbers, nesting: None } => Some(json(*whitespace, *numbers)),
        Source::Tag { format, special_text, options } => {
            let (special_text, vocabulary, is_outline) = (*special_text, Some(vocabulary), true);
            let input = tags::Input { format, special_text, options, classes, vocabulary, is_outline };
            Some(tags::tag(&input, budget)?.0)
        }
        Source::Schema { schema: text, options } => Some(schema(text, options, budget)?.0),
    };
    let Some(mut grammar) = grammar else { return Ok(None) };
    let tokens = resolve(&mut grammar, Some(vocabulary), budget)?.unwrap_or_default();
    grammar.open_rules(pieces, constraint.text_start, &tokens, most, budget).map(Some)
}
