//! The texts of one number.

use gobo_automata::Expr;

use crate::read::decimal::Decimal;

/// The texts of one number without exponent: any number of trailing zeros after the decimal point.
pub(crate) fn number_text(number: &Decimal, plain_integers: bool) -> Expr {
    let zeros = || Expr::text("0").repeat(0, None);
    let text = number.to_plain();
    let mut parts = Vec::new();
    if number.is_zero() {
        parts.push(Expr::text("-").repeat(0, Some(1)));
    }
    parts.push(Expr::text(text));
    if !number.is_integer() {
        parts.push(zeros());
    } else if !plain_integers {
        parts.push(Expr::Concat(vec![Expr::text(".0"), zeros()]).repeat(0, Some(1)));
    }
    Expr::Concat(parts)
}

/// Steps of writing one number: it has a digit for each power of ten.
pub(crate) fn number_steps(number: &Decimal) -> u64 {
    32 + number.digits.len() as u64 + number.exponent.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use gobo_automata::Language;
    use gobo_types::{Budget, CompileLimits};

    use super::*;

    #[test]
    fn numbers_are_written_by_value() {
        for (number, accepted, refused) in [
            ("0", "0 -0 0.0 -0.00", "00 0. 0e1 1"),
            ("-12.50", "-12.5 -12.50 -12.500", "-12.51 12.5 -12.5."),
            ("1e2", "100 100.0", "1e2 100.1 0100"),
        ] {
            let texts = number_text(&Decimal::parse(number).unwrap(), false);
            let language = Language::expr(&texts, &Budget::new(CompileLimits::default())).unwrap();
            assert!(accepted.split(' ').all(|text| language.accepts(text)), "{number}");
            assert!(!refused.split(' ').any(|text| language.accepts(text)), "{number}");
        }
    }
}
