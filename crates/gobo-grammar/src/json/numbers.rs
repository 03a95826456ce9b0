//! The grammar of numbers (RFC 8259, section 6), and the part of it that programs write and read.
//!
//! `number = [ minus ] int [ frac ] [ exp ]`. Constrained numbers are written in parts of that grammar: [`decimal`] without
//! exponent, [`scientific`] with one non-zero digit before the decimal point and an exponent. In either, the value can be
//! compared with a limit while the text is read.
//!
//! The *plain* numbers ([`plain_number`]) are those without a negative zero, without fractions and exponents of any length:
//! readers of integers, of doubles and of unsigned numbers take them for what they are, and a writer of numbers comes to an end.
//! Whether a negative number is zero shows only at its first other digit, so that zeros after `-0.` are counted apart from
//! other digits.

use gobo_automata::Expr;
use gobo_types::NumberForm;

/// The characters of numbers without exponent.
pub const PLAIN_CHARS: [char; 12] = ['-', '.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'];
/// The characters of numbers.
pub const CHARS: [char; 15] = ['-', '.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '+', 'E', 'e'];

fn optional(expr: Expr) -> Expr {
    expr.repeat(0, Some(1))
}

fn digit() -> Expr {
    Expr::chars([('0', '9')])
}

fn nonzero() -> Expr {
    Expr::chars([('1', '9')])
}

fn minus() -> Expr {
    optional(Expr::text("-"))
}

/// An integer without a sign, not zero.
fn natural() -> Expr {
    Expr::Concat(vec![nonzero(), digit().repeat(0, None)])
}

/// `[ frac ]`, of at most so many digits.
fn fraction(places: Option<u32>) -> Expr {
    optional(Expr::Concat(vec![Expr::text("."), digit().repeat(1, places)]))
}

/// `exp`, of at most so many digits.
fn exponent(digits: Option<u32>) -> Expr {
    let sign = optional(Expr::chars([('+', '+'), ('-', '-')]));
    Expr::Concat(vec![Expr::chars([('e', 'e'), ('E', 'E')]), sign, digit().repeat(1, digits)])
}

/// `[ minus ] int`.
pub fn integer() -> Expr {
    Expr::Concat(vec![minus(), Expr::Alternate(vec![Expr::text("0"), natural()])])
}

/// Integers, also those written with a fraction of zeros.
pub fn integer_with_zeros() -> Expr {
    let zeros = Expr::Concat(vec![Expr::text("."), Expr::text("0").repeat(1, None)]);
    Expr::Concat(vec![integer(), optional(zeros)])
}

/// Numbers without exponent.
pub fn decimal() -> Expr {
    Expr::Concat(vec![integer(), fraction(None)])
}

/// Every number.
pub fn number() -> Expr {
    Expr::Concat(vec![decimal(), optional(exponent(None))])
}

/// Numbers with an exponent and one digit before the decimal point, not zero.
pub fn scientific() -> Expr {
    Expr::Concat(vec![minus(), nonzero(), fraction(None), exponent(None)])
}

/// Integers without a negative zero.
pub fn plain_integer() -> Expr {
    Expr::Alternate(vec![Expr::text("0"), Expr::Concat(vec![minus(), natural()])])
}

/// The numbers that programs write and read: without a negative zero, with fractions of at most [`NumberForm::MAX_PLACES`] digits
/// and exponents of at most [`NumberForm::MAX_EXPONENT_DIGITS`].
pub fn plain_number() -> Expr {
    let places = NumberForm::MAX_PLACES;
    let positive =
        Expr::Concat(vec![Expr::Alternate(vec![Expr::text("0"), natural()]), fraction(Some(places))]);
    let negative = Expr::Concat(vec![natural(), fraction(Some(places))]);
    // The digits after `-0.`, from the last place to the first: with `after` places left, a digit that is not zero and any
    // others, or a zero and a shorter rest.
    let small = (1..places).fold(nonzero(), |rest, after| {
        Expr::Alternate(vec![
            Expr::Concat(vec![nonzero(), digit().repeat(0, Some(after))]),
            Expr::Concat(vec![Expr::text("0"), rest]),
        ])
    });
    let small = Expr::Concat(vec![Expr::text("0."), small]);
    let mantissa = Expr::Alternate(vec![
        positive,
        Expr::Concat(vec![Expr::text("-"), Expr::Alternate(vec![negative, small])]),
    ]);
    let exponent = exponent(Some(NumberForm::MAX_EXPONENT_DIGITS));
    Expr::Concat(vec![mantissa, optional(exponent)])
}

#[cfg(test)]
mod tests {
    use gobo_automata::Language;
    use gobo_types::{Budget, CompileLimits};

    use super::*;

    #[test]
    fn plain_numbers_are_those_that_programs_read() {
        let budget = Budget::new(CompileLimits::default());
        let [plain, all] = [plain_number(), number()].map(|expr| Language::expr(&expr, &budget).unwrap());
        let places = |count: usize| "0".repeat(count);
        for text in [
            "0",
            "0.0",
            "0e5",
            "-1",
            "10",
            "1.50",
            "1e5",
            "12.5E+05",
            "5e-324",
            "1.7976931348623157e+308",
            "-0.1",
            "-0.01e-5",
            &format!("-0.{}1", places(21)),
            &format!("0.{}", places(22)),
            &format!("-10.{}", places(22)),
        ] {
            assert!(plain.accepts(text) && all.accepts(text), "{text}");
        }
        for text in [
            "-0",
            "-0.0",
            "-0e5",
            "-0.00e1",
            "1e1000",
            "1e0001",
            &format!("-0.{}1", places(22)),
            &format!("0.{}", places(23)),
            &format!("-0.{}", places(22)),
        ] {
            assert!(!plain.accepts(text) && all.accepts(text), "{text}");
        }
        for text in ["", "-", "01", "1.", ".5", "1e", "1e+", "-.5", "+1"] {
            assert!(!plain.accepts(text), "{text}");
        }
        let integers = Language::expr(&plain_integer(), &budget).unwrap();
        assert!(["0", "-5", "100"].iter().all(|text| integers.accepts(text)));
        assert!(!["-0", "1.0", "01", "-"].iter().any(|text| integers.accepts(text)));
    }
}
