//! The grammar of numbers (RFC 8259, section 6), and the texts of one number.
//!
//! `number = [ minus ] int [ frac ] [ exp ]`. Constrained numbers are written in parts of that grammar: [`plain`] without
//! exponent, [`scientific`] with one non-zero digit before the decimal point and an exponent. In either, the value can be
//! compared with a limit while the text is read.

use gobo_automata::Expr;

use crate::read::decimal::Decimal;

/// The characters of numbers without exponent.
pub(crate) const PLAIN_CHARS: [char; 12] = ['-', '.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'];
/// The characters of numbers.
pub(crate) const CHARS: [char; 15] =
    ['-', '.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '+', 'E', 'e'];

fn optional(expr: Expr) -> Expr {
    expr.repeat(0, Some(1))
}

fn digits() -> Expr {
    Expr::chars([('0', '9')]).repeat(1, None)
}

fn minus() -> Expr {
    optional(Expr::text("-"))
}

/// `[ frac ]`.
fn fraction() -> Expr {
    optional(Expr::Concat(vec![Expr::text("."), digits()]))
}

/// `exp`.
fn exponent() -> Expr {
    let sign = optional(Expr::chars([('+', '+'), ('-', '-')]));
    Expr::Concat(vec![Expr::chars([('e', 'e'), ('E', 'E')]), sign, digits()])
}

/// `[ minus ] int`.
pub(crate) fn integer() -> Expr {
    let natural = Expr::Concat(vec![Expr::chars([('1', '9')]), Expr::chars([('0', '9')]).repeat(0, None)]);
    Expr::Concat(vec![minus(), Expr::Alternate(vec![Expr::text("0"), natural])])
}

/// Integers, also those written with a fraction of zeros.
pub(crate) fn integer_with_zeros() -> Expr {
    let zeros = Expr::Concat(vec![Expr::text("."), Expr::text("0").repeat(1, None)]);
    Expr::Concat(vec![integer(), optional(zeros)])
}

/// Numbers without exponent.
pub(crate) fn plain() -> Expr {
    Expr::Concat(vec![integer(), fraction()])
}

/// Every number.
pub(crate) fn number() -> Expr {
    Expr::Concat(vec![plain(), optional(exponent())])
}

/// Numbers with an exponent and one digit before the decimal point, not zero.
pub(crate) fn scientific() -> Expr {
    Expr::Concat(vec![minus(), Expr::chars([('1', '9')]), fraction(), exponent()])
}

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
