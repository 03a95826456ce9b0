//! The texts of the numbers that satisfy a formula.
//!
//! A test of numbers is by value, a language by text. So constrained numbers are written in forms whose value an automaton
//! can test while it reads: without exponent, or, if all tests are bounds, also in scientific notation.

use std::cmp::Ordering;

use gobo_automata::{Expr, Language};
use gobo_grammar::json::numbers::{integer, integer_with_zeros, number, plain, scientific};
use gobo_types::{Budget, CompileError};

use crate::formula::formulas::{ALWAYS, Formula, FormulaId, Formulas};
use crate::formula::scalars::{NumberKind, Scalar};
use crate::phase::LOWERING;
use crate::read::decimal::Decimal;
use crate::scalar::bounds::compared;
use crate::scalar::combine::{kinds, of_formula};
use crate::scalar::multiples::multiples;
use crate::text::numbers::{number_steps, number_text};

/// The texts of the numbers that satisfy a formula. Unconstrained numbers have every text of JSON; under bounds alone,
/// numbers with an exponent have one digit before the decimal point; other numbers have no exponent.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn numbers(
    formulas: &mut Formulas<'_, Scalar<NumberKind>>,
    formula: FormulaId,
    budget: &Budget,
) -> Result<Expr, CompileError> {
    if formula == ALWAYS {
        return Ok(number());
    }
    let integers = |plain: bool| if plain { integer() } else { integer_with_zeros() };
    match formulas.get(formula) {
        Formula::Atom(Scalar { kind: NumberKind::Integer { plain }, holds: true }) => {
            return Ok(integers(*plain));
        }
        Formula::Atom(Scalar { kind: NumberKind::OneOf(values), holds: true }) => {
            return one_of_numbers(values, budget);
        }
        _ => {}
    }
    let kinds = kinds(formulas, formula)?;
    let has_exponents = kinds.iter().all(|kind| matches!(kind, NumberKind::Bound { .. }));
    let universe = if has_exponents { Expr::Alternate(vec![plain(), scientific()]) } else { plain() };
    let mut languages = vec![Language::expr(&universe, budget)?];
    for kind in &kinds {
        languages.push(match kind {
            NumberKind::Integer { plain } => Language::expr(&integers(*plain), budget)?,
            NumberKind::Bound { limit, is_lower, is_exclusive } => {
                let wanted = if *is_lower { Ordering::Greater } else { Ordering::Less };
                let is_in = |order: Ordering| order == wanted || order.is_eq() && !is_exclusive;
                compared(limit, is_in, has_exponents, budget)?
            }
            NumberKind::MultipleOf(modulus) => multiples(*modulus, budget)?,
            NumberKind::OneOf(values) => Language::expr(&one_of_numbers(values, budget)?, budget)?,
        });
    }
    let language = of_formula(formulas, formula, &kinds, &languages, true, budget)?;
    language.to_expr(|chars| Expr::Chars(chars.clone()), budget)
}

/// The texts of listed numbers.
fn one_of_numbers(values: &[Decimal], budget: &Budget) -> Result<Expr, CompileError> {
    let mut texts = Vec::with_capacity(values.len());
    for value in values {
        budget.charge_steps(LOWERING, number_steps(value))?;
        texts.push(number_text(value, false));
    }
    Ok(Expr::Alternate(texts))
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

    fn language_of(kinds: &[(NumberKind, bool)]) -> Language {
        let budget = budget();
        let mut formulas = Formulas::new(&budget);
        let atoms: Vec<FormulaId> = kinds
            .iter()
            .map(|(kind, holds)| formulas.atom(Scalar { kind: kind.clone(), holds: *holds }).unwrap())
            .collect();
        let formula = formulas.and(atoms).unwrap();
        Language::expr(&numbers(&mut formulas, formula, &budget).unwrap(), &budget).unwrap()
    }

    fn bound(limit: &str, is_lower: bool, is_exclusive: bool) -> NumberKind {
        NumberKind::Bound { limit: Decimal::parse(limit).unwrap(), is_lower, is_exclusive }
    }

    #[test]
    fn bounds_are_exact_beyond_what_floats_hold() {
        let at_most = language_of(&[(bound("9223372036854775807", false, false), true)]);
        assert!(at_most.accepts("9223372036854775807") && !at_most.accepts("9223372036854775808"));
        assert!(at_most.accepts("9.223372036854775807e18") && !at_most.accepts("9.2233720368547758071e18"));
        let positive = language_of(&[(bound("0", true, true), true)]);
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
            let language = language_of(&kinds);
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
