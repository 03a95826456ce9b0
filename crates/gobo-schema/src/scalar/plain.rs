//! The automaton of plain numbers: those without a negative zero and with a bounded fraction.
//!
//! The state holds the place in the grammar of numbers, the digits of the fraction, and two facts: whether all digits of a
//! negative number were zeros so far, in which case it may not end, and whether the number has one digit before the decimal
//! point that is not zero, in which case an exponent may follow. There are O(places) states.
//!
//! An expression has the same texts ([`gobo_grammar::json::numbers::plain_number`]), but is nested as deep as the fraction is
//! long, which a schema decides.

use gobo_automata::Language;
use gobo_grammar::json::numbers::{CHARS, PLAIN_CHARS};
use gobo_types::{Budget, CompileError, NumberForm};

/// The part of the grammar of numbers that the text has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Phase {
    Start,
    Sign,
    Zero,
    Whole,
    Fraction,
    E,
    ESign,
    Exponent,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Reading {
    phase: Phase,
    /// Whether the number is negative, and all its digits are zeros so far.
    is_negative_zero: bool,
    /// Whether one digit that is not zero precedes the decimal point.
    is_mantissa: bool,
    /// Number of digits of the fraction, or of the exponent.
    digits: usize,
}

/// Plain numbers with fractions of at most `places` digits; with `has_exponents`, also those with one digit, not zero, before the
/// decimal point and an exponent.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn plain_numbers(
    places: usize,
    has_exponents: bool,
    budget: &Budget,
) -> Result<Language, CompileError> {
    let start = Reading { phase: Phase::Start, is_negative_zero: false, is_mantissa: false, digits: 0 };
    let next = |reading: &Reading, char: char| next(reading, char, places, has_exponents);
    let accepts = |reading: &Reading| match reading.phase {
        Phase::Start | Phase::Sign | Phase::E | Phase::ESign => false,
        Phase::Zero | Phase::Whole | Phase::Exponent => !reading.is_negative_zero,
        Phase::Fraction => !reading.is_negative_zero && reading.digits > 0,
    };
    let alphabet: &[char] = if has_exponents { &CHARS } else { &PLAIN_CHARS };
    Language::explore(alphabet, start, next, accepts, budget)
}

fn next(reading: &Reading, char: char, places: usize, has_exponents: bool) -> Option<Reading> {
    let mut after = reading.clone();
    after.is_negative_zero &= !('1'..='9').contains(&char);
    match (reading.phase, char) {
        (Phase::Start, '-') => {
            after.phase = Phase::Sign;
            after.is_negative_zero = true;
        }
        (Phase::Start | Phase::Sign, '0') => after.phase = Phase::Zero,
        (Phase::Start | Phase::Sign, '1'..='9') => {
            after.phase = Phase::Whole;
            after.is_mantissa = has_exponents;
        }
        (Phase::Whole, '0'..='9') => after.is_mantissa = false,
        (Phase::Zero | Phase::Whole, '.') => after.phase = Phase::Fraction,
        (Phase::Fraction, '0'..='9') if reading.digits < places => after.digits += 1,
        (Phase::Whole, 'e' | 'E') if reading.is_mantissa => after.phase = Phase::E,
        (Phase::Fraction, 'e' | 'E') if reading.is_mantissa && reading.digits > 0 => {
            (after.phase, after.digits) = (Phase::E, 0);
        }
        (Phase::E, '+' | '-') => after.phase = Phase::ESign,
        (Phase::E | Phase::ESign | Phase::Exponent, '0'..='9')
            if reading.digits < NumberForm::MAX_EXPONENT_DIGITS as usize =>
        {
            after.phase = Phase::Exponent;
            after.digits += 1;
        }
        _ => return None,
    }
    Some(after)
}

#[cfg(test)]
mod tests {
    use gobo_types::CompileLimits;

    use super::*;

    #[test]
    fn texts_are_bounded_and_zero_has_no_sign() {
        let budget = Budget::new(CompileLimits::default());
        for (places, has_exponents, accepted, refused) in [
            (
                2,
                false,
                "0 0.0 0.00 10 -1 -0.1 -0.01 -10.00 1.25",
                "-0 -0.0 -0.00 -0.001 0.000 1. 01 - -. 1e1",
            ),
            (
                2,
                true,
                "0 -0.01 1e1 -1.25E-999 9.99e+000 0.00",
                "-0e1 0e1 0.1e1 10e1 1.e1 1e 1e+ 1e1000 1.234e1 1e1.0",
            ),
            (1, true, "-0.1 -1.0 1.5e3", "-0.0 -0.01 1.25e3"),
        ] {
            let language = plain_numbers(places, has_exponents, &budget).unwrap();
            for text in accepted.split(' ') {
                assert!(language.accepts(text), "{text} of {places} places");
            }
            for text in refused.split(' ') {
                assert!(!language.accepts(text), "{text} of {places} places");
            }
        }
        let long = plain_numbers(4096, true, &budget).unwrap();
        assert!(long.len() < 3 * 4096 + 32, "{}", long.len());
    }
}
