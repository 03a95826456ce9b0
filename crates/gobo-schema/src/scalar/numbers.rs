//! The texts of the numbers that satisfy a formula.
//!
//! A test of numbers is by value, a language by text. So constrained numbers are written in forms whose value an automaton
//! can test while it reads: without exponent, or, if all tests are bounds, also in scientific notation. The language is the
//! product of the tests, over a universe of texts that the [form of numbers](NumberForm) chooses.
//!
//! Of plain numbers there are two universes: digits alone, if every number that satisfies the formula is an integer, and
//! [`plain_numbers`] otherwise, their fractions as long as the tests themselves name places. Where neither has a text of a number
//! that satisfies the formula, its texts are those of [`NumberForm::Json`], which has a text of every number.

use std::cmp::Ordering;

use gobo_automata::{Expr, Language};
use gobo_grammar::json::numbers::{
    decimal, integer, integer_with_zeros, number, plain_integer, plain_number, scientific,
};
use gobo_types::{Budget, CompileError, NumberForm};

use crate::formula::formulas::{ALWAYS, Formula, FormulaId, Formulas, NEVER};
use crate::formula::scalars::{NumberKind, Scalar};
use crate::phase::LOWERING;
use crate::read::decimal::Decimal;
use crate::scalar::bounds::compared;
use crate::scalar::combine::{kinds, of_formula};
use crate::scalar::multiples::multiples;
use crate::scalar::plain::plain_numbers;
use crate::text::numbers::{NumberTexts, number_steps};

/// The formulas of numbers.
type NumberFormulas<'a> = Formulas<'a, Scalar<NumberKind>>;

/// The texts of the numbers that satisfy a formula, and the form that they have: the one asked for, or where no number has a
/// text of it, that of JSON.
///
/// - `json`: unconstrained numbers have every text of JSON; under bounds alone, numbers with an exponent have one digit
///   before the decimal point; other numbers have no exponent.
/// - `plain`: a part of these, as [`NumberForm::Plain`] says.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn numbers(
    formulas: &mut NumberFormulas<'_>,
    formula: FormulaId,
    form: NumberForm,
    budget: &Budget,
) -> Result<(Expr, NumberForm), CompileError> {
    let is_plain = form == NumberForm::Plain;
    match formulas.get(formula) {
        Formula::Always => return Ok((if is_plain { plain_number() } else { number() }, form)),
        Formula::Atom(Scalar { kind: NumberKind::Integer { .. }, holds: true }) if is_plain => {
            return Ok((plain_integer(), form));
        }
        Formula::Atom(Scalar { kind: NumberKind::Integer { plain }, holds: true }) => {
            return Ok((integers(*plain), form));
        }
        Formula::Atom(Scalar { kind: NumberKind::OneOf(values), holds: true }) => {
            return Ok((one_of_numbers(values, form, budget)?, form));
        }
        _ => {}
    }
    if is_plain {
        let universe = if are_integers(formulas, formula, budget)? {
            Language::expr(&plain_integer(), budget)?
        } else {
            let kinds = kinds(formulas, formula)?;
            plain_numbers(places(&kinds), are_bounds(&kinds), budget)?
        };
        let language = in_universe(formulas, formula, universe, budget)?;
        if !language.is_empty() {
            return Ok((to_expr(&language, budget)?, form));
        }
    }
    let kinds = kinds(formulas, formula)?;
    let universe =
        if are_bounds(&kinds) { Expr::Alternate(vec![decimal(), scientific()]) } else { decimal() };
    let language = in_universe(formulas, formula, Language::expr(&universe, budget)?, budget)?;
    Ok((to_expr(&language, budget)?, NumberForm::Json))
}

fn to_expr(language: &Language, budget: &Budget) -> Result<Expr, CompileError> {
    language.to_expr(|chars| Expr::Chars(chars.clone()), budget)
}

fn integers(plain: bool) -> Expr {
    if plain { integer() } else { integer_with_zeros() }
}

/// Whether all tests are bounds, which a number in scientific notation can be compared with.
fn are_bounds(kinds: &[NumberKind]) -> bool {
    kinds.iter().all(|kind| matches!(kind, NumberKind::Bound { .. }))
}

/// Most digits of a fraction: those of plain numbers, or as many as a test names.
fn places(kinds: &[NumberKind]) -> usize {
    let of_kind = |kind: &NumberKind| match kind {
        NumberKind::Integer { .. } => 0,
        NumberKind::Bound { limit, .. } => limit.fraction().len(),
        NumberKind::MultipleOf(modulus) => modulus.places as usize,
        NumberKind::OneOf(values) => values.iter().map(|value| value.fraction().len()).max().unwrap_or(0),
    };
    kinds.iter().map(of_kind).fold(NumberForm::MAX_PLACES as usize, usize::max)
}

/// Whether every number that satisfies a formula is an integer.
fn are_integers(
    formulas: &mut NumberFormulas<'_>,
    formula: FormulaId,
    budget: &Budget,
) -> Result<bool, CompileError> {
    let has_fraction = formulas.atom(Scalar { kind: NumberKind::Integer { plain: false }, holds: false })?;
    // That there is none is seen at once beside the test of integers.
    let others = formulas.and(vec![formula, has_fraction])?;
    if others == NEVER {
        return Ok(true);
    }
    Ok(in_universe(formulas, others, Language::expr(&decimal(), budget)?, budget)?.is_empty())
}

/// The texts of a universe whose numbers satisfy a formula. With other tests than bounds, the universe has no exponents.
fn in_universe(
    formulas: &mut NumberFormulas<'_>,
    formula: FormulaId,
    universe: Language,
    budget: &Budget,
) -> Result<Language, CompileError> {
    if formula == ALWAYS {
        return Ok(universe);
    }
    let kinds = kinds(formulas, formula)?;
    let has_exponents = are_bounds(&kinds);
    let mut languages = vec![universe];
    for kind in &kinds {
        languages.push(match kind {
            NumberKind::Integer { plain } => Language::expr(&integers(*plain), budget)?,
            NumberKind::Bound { limit, is_lower, is_exclusive } => {
                let wanted = if *is_lower { Ordering::Greater } else { Ordering::Less };
                let is_in = |order: Ordering| order == wanted || order.is_eq() && !is_exclusive;
                compared(limit, is_in, has_exponents, budget)?
            }
            NumberKind::MultipleOf(modulus) => multiples(*modulus, budget)?,
            NumberKind::OneOf(values) => {
                Language::expr(&one_of_numbers(values, NumberForm::Json, budget)?, budget)?
            }
        });
    }
    of_formula(formulas, formula, &kinds, &languages, true, budget)
}

/// The texts of listed numbers.
fn one_of_numbers(values: &[Decimal], form: NumberForm, budget: &Budget) -> Result<Expr, CompileError> {
    let texts = NumberTexts { form, is_digits_alone: false }.beside(values.iter());
    let mut all = Vec::with_capacity(values.len());
    for value in values {
        budget.charge_steps(LOWERING, number_steps(value))?;
        all.push(texts.of(value));
    }
    Ok(Expr::Alternate(all))
}

#[cfg(test)]
mod tests {
    use gobo_types::CompileLimits;
    use proptest::prelude::*;

    use super::*;
    use crate::read::decimal::Modulus;

    fn budget() -> Budget {
        Budget::new(CompileLimits::default())
    }

    fn language_of(kinds: &[(NumberKind, bool)], form: NumberForm) -> Language {
        let budget = budget();
        let mut formulas = Formulas::new(&budget);
        let atoms: Vec<FormulaId> = kinds
            .iter()
            .map(|(kind, holds)| formulas.atom(Scalar { kind: kind.clone(), holds: *holds }).unwrap())
            .collect();
        let formula = formulas.and(atoms).unwrap();
        Language::expr(&numbers(&mut formulas, formula, form, &budget).unwrap().0, &budget).unwrap()
    }

    fn bound(limit: &str, is_lower: bool, is_exclusive: bool) -> NumberKind {
        NumberKind::Bound { limit: Decimal::parse(limit).unwrap(), is_lower, is_exclusive }
    }

    #[test]
    fn bounds_are_exact_beyond_what_floats_hold() {
        let at_most = language_of(&[(bound("9223372036854775807", false, false), true)], NumberForm::Json);
        assert!(at_most.accepts("9223372036854775807") && !at_most.accepts("9223372036854775808"));
        assert!(at_most.accepts("9.223372036854775807e18") && !at_most.accepts("9.2233720368547758071e18"));
        let positive = language_of(&[(bound("0", true, true), true)], NumberForm::Json);
        for (text, expected) in [
            ("0", false),
            ("-0", false),
            ("0.0", false),
            ("1e-06", true),
            ("0.0001", true),
            ("-1", false),
            ("-1e-9", false),
            ("1e400", true),
        ] {
            assert_eq!(positive.accepts(text), expected, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

        /// The oracle: exact arithmetic.
        #[test]
        fn tests_of_numbers_are_decided_by_value(
            limits in prop::collection::vec(("-?(0|[1-9][0-9]{0,2})(\\.[0-9]{1,2})?(e-?[0-2])?", any::<bool>(), any::<bool>(), any::<bool>()), 1..3),
            integer in prop::option::of(any::<bool>()),
            divisor in prop::option::of(("([1-9][0-9]?|0\\.[0-9]?[1-9]|2\\.5)", any::<bool>())),
            texts in prop::collection::vec("-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,3})?|-?[1-9](\\.[0-9]{1,3})?[eE][+-]?0?[0-3]", 1..20),
        ) {
            let mut kinds: Vec<(NumberKind, bool)> =
                limits.iter().map(|(limit, lower, exclusive, holds)| (bound(limit, *lower, *exclusive), *holds)).collect();
            kinds.extend(integer.map(|holds| (NumberKind::Integer { plain: false }, holds)));
            let modulus = divisor.map(|(of, holds)| (Modulus::of(&Decimal::parse(&of).unwrap()).unwrap(), holds));
            kinds.extend(modulus.map(|(modulus, holds)| (NumberKind::MultipleOf(modulus), holds)));
            let language = language_of(&kinds, NumberForm::Json);
            for text in texts {
                let value = Decimal::parse(&text).unwrap();
                let has_exponent = text.contains(['e', 'E']);
                let expected = kinds.iter().all(|(kind, holds)| *holds == match kind {
                    NumberKind::Integer { .. } => value.is_integer(),
                    NumberKind::Bound { limit, is_lower, is_exclusive } => {
                        let order = if *is_lower { value.cmp(limit) } else { limit.cmp(&value) };
                        order.is_gt() || order.is_eq() && !is_exclusive
                    }
                    NumberKind::MultipleOf(modulus) => value.is_multiple_of(modulus),
                    NumberKind::OneOf(_) => unreachable!(),
                });
                let is_written = !has_exponent || kinds.len() == limits.len();
                prop_assert_eq!(language.accepts(&text), expected && is_written, "{} {:?}", text, kinds);
            }
        }
    }
}
