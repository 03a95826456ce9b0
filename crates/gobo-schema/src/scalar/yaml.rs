//! The strings that satisfy a formula, as YAML writes them: plain ones as they are, others in quotes.
//!
//! Where a formula says one thing about languages and one range of lengths, plain and other strings are counted beside the states as those of JSON are
//! ([`counted`](super::counted)). No plain string has a backslash, so what is counted are its characters.

use gobo_automata::{CharSet, Expr, Language};
use gobo_grammar::json::strings::quoted;
use gobo_types::{Budget, CompileError};

use crate::formula::formulas::{ALWAYS, FormulaId, Formulas, NEVER};
use crate::formula::scalars::{Scalar, StringKind};
use crate::read::node::TextId;
use crate::read::nodes::Nodes;
use crate::scalar::counted::{AddRule, FEW_STATES, countable};
use crate::scalar::lengths::{lengths, ranges};
use crate::scalar::strings::{count, string_language};
use crate::text::yaml::{MAX_NAME, PLAIN, PLAIN_NAME, char_in_quotes};

/// The texts of the strings that satisfy a formula.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn yaml_strings(
    formulas: &mut Formulas<'_, Scalar<StringKind>>,
    formula: FormulaId,
    nodes: &Nodes<'_>,
    add: &mut AddRule<'_>,
) -> Result<Expr, CompileError> {
    let budget = nodes.budget();
    let text = |text: TextId| nodes.text(text).clone();
    let (language, min, max) = match lengths(formulas, formula)? {
        Some((min, max)) => (any(0, None, budget)?, min, max),
        None => match ranges(formulas, formula)?.as_slice() {
            &[(min, max, rest)] if rest != ALWAYS && rest != NEVER => {
                (string_language(formulas, rest, &text, budget)?, min, max)
            }
            _ => (string_language(formulas, formula, &text, budget)?, 0, None),
        },
    };
    language.check_states(budget)?;
    in_parts(&language, &PLAIN, (min, max), budget, add)
}

/// The strings of a language that are so long: those of another one as they are, all others in quotes.
fn in_parts(
    language: &Language,
    plain: &Language,
    lengths: (u64, Option<u64>),
    budget: &Budget,
    add: &mut AddRule<'_>,
) -> Result<Expr, CompileError> {
    let mut ways = Vec::with_capacity(2);
    for is_plain in [true, false] {
        let strings =
            Language::combine(&[language, plain], |is_in| is_in[0] && is_in[1] == is_plain, budget)?;
        if strings.is_empty() {
            continue;
        }
        let spell = |strings: &Language| {
            strings.to_expr(
                |chars| if is_plain { Expr::Chars(chars.clone()) } else { char_in_quotes(chars) },
                budget,
            )
        };
        let body = within(&strings, lengths, &spell, budget, add)?;
        ways.push(if is_plain { body } else { quoted(body) });
    }
    Ok(Expr::Alternate(ways))
}

/// The strings of a language that are so long, with their characters counted where that saves states.
fn within(
    strings: &Language,
    (min, max): (u64, Option<u64>),
    spell: &dyn Fn(&Language) -> Result<Expr, CompileError>,
    budget: &Budget,
    add: &mut AddRule<'_>,
) -> Result<Expr, CompileError> {
    let (shortest, longest) = strings.lengths(budget)?;
    let min = if u64::from(shortest) >= min { 0 } else { min };
    let max = max.filter(|&max| longest.is_none_or(|longest| u64::from(longest) > max));
    if min == 0 && max.is_none() {
        return spell(strings);
    }
    let states = (strings.len() as u64).saturating_mul(max.unwrap_or(min));
    let is_none = max.is_some_and(|max| max < u64::from(shortest) || max < min);
    let is_counted = states > FEW_STATES && !is_none && (min == 0 || strings.has_all_lengths(budget)?);
    match countable(min, max).filter(|_| is_counted) {
        Some(lengths) => Ok(Expr::Call(add(spell(strings)?, lengths))),
        None => spell(&strings.intersection(&any(min, max, budget)?, budget)?),
    }
}

/// All strings that are so long.
fn any(min: u64, max: Option<u64>, budget: &Budget) -> Result<Language, CompileError> {
    let any = Expr::Chars(CharSet::new([('\0', char::MAX)]));
    Language::expr(&any.repeat(count(min), max.map(count)), budget)
}

/// Names that no schema lists, as the beginnings of members without their colon. Those with a colon are in quotes, so that it ends plain ones.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn yaml_names(
    names: &Language,
    budget: &Budget,
    add: &mut AddRule<'_>,
) -> Result<Expr, CompileError> {
    in_parts(names, &PLAIN_NAME, (0, Some(u64::from(MAX_NAME))), budget, add)
}
