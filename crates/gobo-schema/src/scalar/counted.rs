//! Strings of a language whose lengths are counted beside its states.
//!
//! An automaton that reads a language and counts n characters has a state for each pair, in the worst case. Where a formula says
//! one thing about languages and one range of lengths, the two are told apart: the language is the body of a counted rule, and the
//! range its bounds. A bound that no text of the language exceeds is dropped. What few states count keeps its states. Formats that count
//! themselves have languages for bounds below their own ([`Capped`]).

use gobo_automata::{Expr, Language, RuleId};
use gobo_grammar::json::strings::{any_char, char_in, quoted};
use gobo_types::{Budget, CharCount, CompileError, LengthRange, Spelling};

use crate::formats::{Capped, Part, Parts};
use crate::formula::formulas::{ALWAYS, Formula, FormulaId, Formulas, NEVER};
use crate::formula::scalars::{Scalar, StringKind};
use crate::read::node::TextId;
use crate::read::nodes::Nodes;
use crate::scalar::lengths::{lengths, ranges};
use crate::scalar::strings::string_language;

/// The greatest number of states that count lengths themselves: about the product of a language's states and a bound.
pub(crate) const FEW_STATES: u64 = 2048;

/// Adds a rule whose characters are counted: its texts, and how many characters their values may have.
pub(crate) type AddRule<'a> = dyn FnMut(Expr, LengthRange) -> RuleId + 'a;

/// The texts of the strings that satisfy a formula, with their lengths counted beside the states; `None` where nothing is gained by that, or where
/// the formula is not of that form, or where lengths have to be states.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn counted_strings(
    formulas: &mut Formulas<'_, Scalar<StringKind>>,
    formula: FormulaId,
    nodes: &Nodes<'_>,
    spelling: Spelling,
    add: &mut AddRule<'_>,
) -> Result<Option<Expr>, CompileError> {
    if !nodes.counts_lengths {
        return Ok(None);
    }
    let budget = nodes.budget();
    let text = |text: TextId| nodes.text(text).clone();
    if let Some((min, max)) = lengths(formulas, formula)? {
        let range = countable(min, max).filter(|_| max.unwrap_or(min) > FEW_STATES);
        let body = || any_char(spelling).repeat(0, None);
        return Ok(range.map(|lengths| quoted(Expr::Call(add(body(), lengths)))));
    }
    let ranges = ranges(formulas, formula)?;
    let &[(min, max, rest)] = ranges.as_slice() else { return Ok(None) };
    if rest == ALWAYS || rest == NEVER {
        return Ok(None);
    }
    let parts = match formulas.get(rest) {
        Formula::Atom(Scalar { kind: StringKind::Text(id), holds: true }) => nodes.parts(*id),
        _ => None,
    };
    if min == 0 && max.is_none() && parts.is_none() {
        return Ok(None);
    }
    let language = string_language(formulas, rest, &text, budget)?;
    let (shortest, longest) = language.lengths(budget)?;
    // In any spelling, the character after a part may begin as the part could go on.
    if let Some(parts) = parts.filter(|_| spelling == Spelling::Canonical && u64::from(shortest) >= min) {
        match max.filter(|&max| max < parts.longest) {
            None => return in_parts(parts, budget, add).map(Some),
            Some(max) if max >= u64::from(shortest) => {
                return capped(&parts.capped, max, budget, add);
            }
            Some(_) => {}
        }
    }
    if min == 0 && max.is_none() {
        return Ok(None);
    }
    let is_within = |max: u64| longest.is_some_and(|longest| u64::from(longest) <= max);
    let min = if u64::from(shortest) >= min { 0 } else { min };
    let max = max.filter(|&max| !is_within(max));
    let states = (language.len() as u64).saturating_mul(max.unwrap_or(min));
    let is_none = max.is_some_and(|max| max < u64::from(shortest) || max < min);
    if states <= FEW_STATES || is_none {
        return Ok(None);
    }
    // A least length is counted only where no text ends in a place from which none is long enough.
    if min > 0 && !language.has_all_lengths(budget)? {
        return Ok(None);
    }
    let Some(lengths) = countable(min, max) else { return Ok(None) };
    let body = language.to_expr(|chars| char_in(chars, spelling), budget)?;
    Ok(Some(quoted(Expr::Call(add(body, lengths)))))
}

/// The texts of strings in parts, spelled in the shortest way.
fn in_parts(parts: &Parts, budget: &Budget, add: &mut AddRule<'_>) -> Result<Expr, CompileError> {
    let spell = |language: &Language| language.to_expr(|chars| char_in(chars, Spelling::Canonical), budget);
    let mut part = |part: &Part| match part {
        Part::Of(language) => spell(language),
        Part::UpTo(most, language) => Ok(Expr::Call(add(spell(language)?, LengthRange::up_to(*most)))),
    };
    let mut ways = Vec::with_capacity(parts.ways.len());
    for way in &parts.ways {
        ways.push(Expr::Concat(way.iter().map(&mut part).collect::<Result<_, _>>()?));
    }
    Ok(quoted(Expr::Alternate(ways)))
}

/// The texts of at most `max` characters of strings that count themselves, spelled in the shortest way.
fn capped(
    all: &[Capped],
    max: u64,
    budget: &Budget,
    add: &mut AddRule<'_>,
) -> Result<Option<Expr>, CompileError> {
    let Some(Capped { language, head, .. }) = all.iter().find(|capped| max <= capped.most) else {
        return Ok(None);
    };
    let Some(lengths) = countable(0, Some(max)) else { return Ok(None) };
    let body = language.to_expr(|chars| char_in(chars, Spelling::Canonical), budget)?;
    Ok(Some(quoted(Expr::Call(add(body, LengthRange { head: *head, ..lengths })))))
}

/// The bounds, if they are small enough to be counted.
pub(crate) fn countable(min: u64, max: Option<u64>) -> Option<LengthRange> {
    let bound = |bound: u64| u32::try_from(bound).ok().filter(|bound| *bound < CharCount::MAX_CHARS);
    let max = match max {
        Some(max) => Some(bound(max)?),
        None => None,
    };
    Some(LengthRange { min: bound(min)?, max, head: None, tokens: None })
}
