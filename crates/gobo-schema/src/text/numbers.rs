//! The texts of one number.

use gobo_automata::Expr;
use gobo_types::NumberForm;

use crate::read::decimal::Decimal;

/// Powers of ten from which, and up to which, some program writes a double with an exponent: Java, of those that begin with the
/// mildest.
const EXPONENTS: [i64; 2] = [-4, 7];

/// How known numbers are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NumberTexts {
    pub(crate) form: NumberForm,
    /// Whether integers are digits alone, as in draft 4.
    pub(crate) is_digits_alone: bool,
}

impl NumberTexts {
    /// How numbers are written at a place that allows these alone: plain integers are digits, unless one of them has a fraction.
    pub(crate) fn beside<'a>(self, mut numbers: impl Iterator<Item = &'a Decimal>) -> Self {
        let is_plain = self.form == NumberForm::Plain;
        let is_digits_alone = self.is_digits_alone || is_plain && numbers.all(Decimal::is_integer);
        Self { is_digits_alone, ..self }
    }

    /// The texts of one number: in JSON's form without exponent and with any number of trailing zeros after the decimal point, in the
    /// plain form with those up to [`NumberForm::MAX_PLACES`], and without a negative zero; a plain number whose decimal point is far
    /// away also with an exponent.
    pub(crate) fn of(self, number: &Decimal) -> Expr {
        let is_plain = self.form == NumberForm::Plain;
        let places = number.fraction().len();
        let most = |least: usize| {
            let left = (NumberForm::MAX_PLACES as usize).max(places).saturating_sub(places).max(least);
            is_plain.then_some(u32::try_from(left).unwrap_or(u32::MAX))
        };
        let mut parts = Vec::new();
        if number.is_zero() && !is_plain {
            parts.push(Expr::text("-").repeat(0, Some(1)));
        }
        parts.push(Expr::text(number.to_plain()));
        if !number.is_integer() {
            parts.push(Expr::text("0").repeat(0, most(0)));
        } else if !self.is_digits_alone {
            let zeros = Expr::text("0").repeat(1, most(1));
            parts.push(Expr::Concat(vec![Expr::text("."), zeros]).repeat(0, Some(1)));
        }
        let text = Expr::Concat(parts);
        let scientific = if is_plain && !(number.is_integer() && self.is_digits_alone) {
            scientific(number)
        } else {
            None
        };
        Expr::Alternate([Some(text), scientific].into_iter().flatten().collect())
    }
}

/// A number with an exponent, as programs write those that are very large or very small.
fn scientific(number: &Decimal) -> Option<Expr> {
    let [small, large] = EXPONENTS;
    let exponent = number.exponent - 1;
    let digits = exponent.unsigned_abs().to_string();
    let most = NumberForm::MAX_EXPONENT_DIGITS as usize;
    if number.is_zero() || (small < exponent && exponent < large) || digits.len() > most {
        return None;
    }
    let sign = if exponent < 0 { Expr::text("-") } else { Expr::text("+").repeat(0, Some(1)) };
    let zeros = u32::try_from(most - digits.len()).unwrap_or(0);
    Some(Expr::Concat(vec![
        Expr::text(number.to_mantissa()),
        Expr::chars([('e', 'e'), ('E', 'E')]),
        sign,
        Expr::text("0").repeat(0, Some(zeros)),
        Expr::text(digits),
    ]))
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
        let (json, plain) = (NumberForm::Json, NumberForm::Plain);
        for (number, form, is_digits_alone, accepted, refused) in [
            ("0", json, false, "0 -0 0.0 -0.00", "00 0. 0e1 1"),
            ("-12.50", json, false, "-12.5 -12.50 -12.500", "-12.51 12.5 -12.5."),
            ("1e2", json, false, "100 100.0", "1e2 100.1 0100"),
            ("1e2", json, true, "100", "1e2 100.0"),
            ("0", plain, false, "0 0.0 0.00", "-0 00 0. 0e1 -0.0 0.00000000000000000000000"),
            ("-12.50", plain, true, "-12.5 -12.50 -12.500", "-12.51 12.5 -12.5. -1.25e1"),
            ("1e2", plain, true, "100", "1e2 100.0"),
            ("1e22", plain, true, "10000000000000000000000", "1e22 1e+22"),
            (
                "1e22",
                plain,
                false,
                "10000000000000000000000 10000000000000000000000.0 1e22 1E+22 1e+022",
                "1e+0022 1.0e22",
            ),
            (
                "-1.5e-7",
                plain,
                true,
                "-0.00000015 -1.5e-7 -1.5E-07 -1.5e-007",
                "1.5e-7 -1.5e7 -1.5e-0007 -15e-8",
            ),
            ("3e-25", plain, true, "0.0000000000000000000000003 3e-25", "0.00000000000000000000000030"),
        ] {
            let texts = NumberTexts { form, is_digits_alone }.of(&Decimal::parse(number).unwrap());
            let language = Language::expr(&texts, &Budget::new(CompileLimits::default())).unwrap();
            assert!(accepted.split(' ').all(|text| language.accepts(text)), "{number}");
            assert!(!refused.split(' ').any(|text| language.accepts(text)), "{number}");
        }
    }

    #[test]
    fn integers_are_digits_where_all_numbers_are() {
        let texts = NumberTexts { form: NumberForm::Plain, is_digits_alone: false };
        let numbers = ["1", "2.5"].map(|text| Decimal::parse(text).unwrap());
        assert!(texts.beside(numbers[..1].iter()).is_digits_alone);
        assert!(!texts.beside(numbers.iter()).is_digits_alone);
        let texts = NumberTexts { form: NumberForm::Json, ..texts };
        assert!(!texts.beside(numbers[..1].iter()).is_digits_alone);
    }
}
