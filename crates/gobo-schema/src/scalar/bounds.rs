//! The automaton that compares a number with a limit, digit by digit.
//!
//! The state holds the order of the digits so far and as many digits of the limit, and counts digits as far as the limit has
//! them. A text without exponent is decided by the number of its digits before the decimal point, then by the first digit
//! that differs; a text in scientific notation by its exponent, then by its mantissa. As only the end of the text shows
//! which of both it is, the state carries both orders while one digit precedes the decimal point.
//!
//! There are as many states as the limit has digits, times the exponents up to the limit's if there are exponents.

use std::cmp::Ordering;

use gobo_automata::Language;
use gobo_types::{Budget, CompileError};

use crate::read::decimal::Decimal;
use gobo_grammar::json::numbers::{CHARS, PLAIN_CHARS};

/// The part of the grammar of numbers that the text has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Phase {
    Start,
    Sign,
    Zero,
    Whole,
    Point,
    Fraction,
    E,
    ESign,
    Exponent,
}

/// The state: what is known of a number that was read up to here, in comparison with the limit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Reading {
    phase: Phase,
    negative: bool,
    /// Whether a digit other than zero was read.
    nonzero: bool,
    /// Number of digits before the decimal point, up to one more than the limit has.
    whole: usize,
    /// The order of the digits so far and as many of the limit, both written without exponent.
    plain: Ordering,
    /// Number of digits of the fraction, while `plain` is equal.
    fraction: usize,
    /// Number of digits of the mantissa, while `mantissa` is equal.
    compared_digits: usize,
    /// The order of the mantissa so far and as much of the limit's.
    mantissa: Ordering,
    negative_exponent: bool,
    /// The magnitude of the exponent, up to one more than matters.
    exponent: u64,
}

impl PartialOrd for Phase {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (*self as u8).partial_cmp(&(*other as u8))
    }
}

/// A limit that numbers are compared with.
struct Comparison<'a> {
    limit: &'a Decimal,
    whole: Vec<u8>,
    fraction: Vec<u8>,
    /// The exponent of the limit in scientific notation.
    scale: i64,
    /// The greatest magnitude of an exponent that is distinguished from greater ones.
    most: u64,
    has_exponents: bool,
}

impl Comparison<'_> {
    /// Whether digits matter: of a number on the other side of zero, the sign decides.
    fn matters(&self, reading: &Reading) -> bool {
        reading.negative == self.limit.negative && !self.limit.is_zero()
    }

    fn next(&self, reading: &Reading, char: char) -> Option<Reading> {
        let mut after = reading.clone();
        match char {
            '-' if reading.phase == Phase::Start => {
                after.phase = Phase::Sign;
                after.negative = true;
            }
            '.' if matches!(reading.phase, Phase::Zero | Phase::Whole) => {
                after.phase = Phase::Point;
                if self.matters(&after) {
                    after.plain = after.whole.cmp(&self.whole.len()).then(after.plain);
                }
                after.whole = usize::from(reading.phase == Phase::Whole && after.whole == 1);
            }
            'e' | 'E' => {
                let is_mantissa = match reading.phase {
                    Phase::Whole | Phase::Fraction => reading.whole == 1,
                    _ => false,
                };
                if !is_mantissa || !self.has_exponents {
                    return None;
                }
                after.phase = Phase::E;
                if self.matters(&after)
                    && after.mantissa.is_eq()
                    && after.compared_digits < self.limit.digits.len()
                {
                    after.mantissa = Ordering::Less;
                }
                (after.plain, after.fraction, after.compared_digits, after.whole) =
                    (Ordering::Equal, 0, 0, 0);
            }
            '+' | '-' if reading.phase == Phase::E => {
                after.phase = Phase::ESign;
                after.negative_exponent = char == '-';
            }
            '0'..='9' => return self.after_digit(reading, u8::try_from(char.to_digit(10)?).ok()?),
            _ => return None,
        }
        Some(after)
    }

    fn after_digit(&self, reading: &Reading, digit: u8) -> Option<Reading> {
        let mut after = reading.clone();

        after.nonzero |= digit != 0 && reading.phase < Phase::E;
        match reading.phase {
            Phase::Start | Phase::Sign | Phase::Whole => {
                if digit == 0 && reading.phase != Phase::Whole {
                    after.phase = Phase::Zero;
                } else {
                    after.phase = Phase::Whole;
                    if self.matters(&after) {
                        if after.plain.is_eq() {
                            after.plain =
                                self.whole.get(after.whole).map_or(Ordering::Equal, |of| digit.cmp(of));
                        }
                        after.whole = (after.whole + 1).min(self.whole.len().max(1) + 1);
                    } else {
                        after.whole = (after.whole + 1).min(2);
                    }
                }
            }
            Phase::Point | Phase::Fraction => {
                after.phase = Phase::Fraction;
                if self.matters(&after) && after.plain.is_eq() {
                    match self.fraction.get(after.fraction) {
                        Some(of) => {
                            after.plain = digit.cmp(of);
                            after.fraction = if after.plain.is_eq() { after.fraction + 1 } else { 0 };
                        }
                        None if digit > 0 => (after.plain, after.fraction) = (Ordering::Greater, 0),
                        None => {}
                    }
                }
            }
            Phase::E | Phase::ESign | Phase::Exponent => {
                after.phase = Phase::Exponent;
                after.exponent = (after.exponent * 10 + u64::from(digit)).min(self.most);
            }
            Phase::Zero => return None,
        }
        if self.has_exponents && reading.phase < Phase::E && self.matters(&after) && after.mantissa.is_eq() {
            match self.limit.digits.get(after.compared_digits) {
                Some(of) => {
                    after.mantissa = digit.cmp(of);
                    after.compared_digits =
                        if after.mantissa.is_eq() { after.compared_digits + 1 } else { 0 };
                }
                None if digit > 0 => (after.mantissa, after.compared_digits) = (Ordering::Greater, 0),
                None => {}
            }
        }
        // A mantissa has a single digit before the decimal point.
        if reading.phase < Phase::E && (!self.has_exponents || after.whole != 1) {
            (after.mantissa, after.compared_digits) = (Ordering::Equal, 0);
        }
        Some(after)
    }

    /// The order of a number that was read and the limit.
    fn order(&self, reading: &Reading) -> Ordering {
        let sign = |negative: bool, nonzero: bool| if nonzero { 1 - 2 * i8::from(negative) } else { 0 };
        let (of_number, of_limit) =
            (sign(reading.negative, reading.nonzero), sign(self.limit.negative, !self.limit.is_zero()));
        if of_number != of_limit || of_number == 0 {
            return of_number.cmp(&of_limit);
        }
        let magnitude = match reading.phase {
            Phase::Exponent => {
                let exponent = i64::try_from(reading.exponent).unwrap_or(i64::MAX);
                let exponent = if reading.negative_exponent { -exponent } else { exponent };
                exponent.cmp(&self.scale).then(reading.mantissa)
            }
            Phase::Zero | Phase::Whole => {
                let read = if reading.phase == Phase::Zero { 0 } else { reading.whole };
                let rest = if self.fraction.is_empty() { Ordering::Equal } else { Ordering::Less };
                read.cmp(&self.whole.len()).then(reading.plain).then(rest)
            }
            _ => reading.plain.then(if reading.fraction < self.fraction.len() {
                Ordering::Less
            } else {
                Ordering::Equal
            }),
        };
        if reading.negative { magnitude.reverse() } else { magnitude }
    }
}

/// The texts of numbers whose order to a limit is wanted. Texts that are no numbers may be among them: the caller intersects
/// with a grammar of numbers.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn compared(
    limit: &Decimal,
    wanted: impl Fn(Ordering) -> bool,
    has_exponents: bool,
    budget: &Budget,
) -> Result<Language, CompileError> {
    // The limit is `0.d₁d₂… × 10^exponent`; in scientific notation one digit stands before the decimal point.
    let scale = limit.exponent - 1;
    let comparison = Comparison {
        limit,
        whole: limit.whole(),
        fraction: limit.fraction(),
        scale,
        most: scale.unsigned_abs() + 1,
        has_exponents,
    };
    let start = Reading {
        phase: Phase::Start,
        negative: false,
        nonzero: false,
        whole: 0,
        plain: Ordering::Equal,
        fraction: 0,
        compared_digits: 0,
        mantissa: Ordering::Equal,
        negative_exponent: false,
        exponent: 0,
    };
    let accepts = |reading: &Reading| {
        matches!(reading.phase, Phase::Zero | Phase::Whole | Phase::Fraction | Phase::Exponent)
            && wanted(comparison.order(reading))
    };
    let alphabet: &[char] = if has_exponents { &CHARS } else { &PLAIN_CHARS };
    Language::explore(alphabet, start, |reading, char| comparison.next(reading, char), accepts, budget)
}
