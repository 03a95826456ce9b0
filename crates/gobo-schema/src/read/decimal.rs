//! Exact decimal numbers: the values of JSON numbers, as JSON Schema compares them.
//!
//! A number is normalised to digits without zeros at either end and a power of ten, so that `1`, `1.0` and `10e-1` are
//! one value. Digits and exponents are bounded, because automata have a state for each digit.

use std::cmp::Ordering;

/// Maximum number of digits of a number in a schema: an automaton has a state for each.
pub(crate) const MAX_DIGITS: usize = 4096;

/// Greatest magnitude of a power of ten in a schema: the number has a digit for each if it is written without exponent.
const MAX_EXPONENT: i64 = 4096;

/// An exact decimal number: `0.d₁d₂d₃… × 10^exponent`, negative or not. One number has one value of this type.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Decimal {
    pub(crate) negative: bool,
    /// Without zeros at either end; none for zero.
    pub(crate) digits: Vec<u8>,
    pub(crate) exponent: i64,
}

impl Decimal {
    /// The number that a JSON text writes; `None` beyond [`MAX_DIGITS`] or [`MAX_EXPONENT`].
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|byte| byte - b'0').collect();
        let zeros = digits.iter().take_while(|digit| **digit == 0).count();
        digits.drain(..zeros);
        while digits.last() == Some(&0) {
            digits.pop();
        }
        if digits.is_empty() {
            return Some(Self::default());
        }
        let power: i64 = power.strip_prefix('+').unwrap_or(power).parse().ok()?;
        let exponent = power.checked_add(i64::try_from(whole.len()).ok()? - i64::try_from(zeros).ok()?)?;
        let is_small = exponent.abs() <= MAX_EXPONENT && digits.len() <= MAX_DIGITS;
        is_small.then_some(Self { negative, digits, exponent })
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    pub(crate) fn is_integer(&self) -> bool {
        self.fraction().is_empty()
    }

    /// The digits before the decimal point without leading zeros; none for numbers below one.
    pub(crate) fn whole(&self) -> Vec<u8> {
        let length = usize::try_from(self.exponent).unwrap_or(0);
        let mut whole = self.digits[..self.digits.len().min(length)].to_vec();
        whole.resize(if self.is_zero() { 0 } else { length }, 0);
        whole
    }

    /// The digits after the decimal point without trailing zeros.
    pub(crate) fn fraction(&self) -> Vec<u8> {
        let zeros = usize::try_from(-self.exponent).unwrap_or(0);
        let skipped = usize::try_from(self.exponent).unwrap_or(0).min(self.digits.len());
        let rest = &self.digits[skipped..];
        if rest.is_empty() {
            Vec::new()
        } else {
            std::iter::repeat_n(0, zeros).chain(rest.iter().copied()).collect()
        }
    }

    /// The number as JSON writes it without an exponent.
    pub(crate) fn to_plain(&self) -> String {
        let text = |digits: Vec<u8>| -> String {
            digits.into_iter().map(|digit| char::from(b'0' + digit)).collect()
        };
        let sign = if self.negative { "-" } else { "" };
        let whole =
            Some(text(self.whole())).filter(|whole| !whole.is_empty()).unwrap_or_else(|| "0".to_owned());
        let fraction = text(self.fraction());
        if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
    }

    /// The digits of the number with the decimal point after the first one.
    pub(crate) fn to_mantissa(&self) -> String {
        let sign = if self.negative { "-" } else { "" };
        let digits: String = self.digits.iter().map(|digit| char::from(b'0' + digit)).collect();
        match digits.split_at_checked(1) {
            Some((first, "")) => format!("{sign}{first}"),
            Some((first, rest)) => format!("{sign}{first}.{rest}"),
            None => "0".to_owned(),
        }
    }

    /// The number as a count of items or characters; `None` if it is negative or no integer, `u64::MAX` if it is larger.
    pub(crate) fn to_count(&self) -> Option<u64> {
        (self.is_integer() && !self.negative).then(|| {
            let add = |count: u64, digit: u8| count.checked_mul(10)?.checked_add(u64::from(digit));
            self.whole().into_iter().try_fold(0, add).unwrap_or(u64::MAX)
        })
    }

    fn compare_magnitude(&self, other: &Self) -> Ordering {
        match (self.is_zero(), other.is_zero()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            _ => self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits)),
        }
    }

    /// Whether the number is a multiple of a divisor.
    pub(crate) fn is_multiple_of(&self, modulus: &Modulus) -> bool {
        let fraction = self.fraction();
        if fraction.len() > modulus.places as usize {
            return false;
        }
        let zeros = modulus.places as usize - fraction.len();
        let digits = self.whole().into_iter().chain(fraction).chain(std::iter::repeat_n(0, zeros));
        digits.fold(0, |rest, digit| (rest * 10 + u64::from(digit)) % modulus.of) == 0
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.compare_magnitude(other),
            (true, true) => other.compare_magnitude(self),
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A divisor: `of × 10^-places`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Modulus {
    pub(crate) of: u64,
    pub(crate) places: u32,
}

impl Modulus {
    /// Largest divisor of an automaton, in units of its last decimal place: there is a state for each residue.
    pub(crate) const MAX: u64 = 1 << 16;

    /// Largest divisor for the evaluation of known values, in the same units.
    const MAX_OF_VALUES: u64 = 1 << 50;

    /// `None` beyond 2^50 units of its last place.
    pub(crate) fn of(divisor: &Decimal) -> Option<Self> {
        let fraction = divisor.fraction();
        let places = u32::try_from(fraction.len()).ok()?;
        let of = divisor.whole().into_iter().chain(fraction).try_fold(0_u64, |of, digit| {
            Some(of * 10 + u64::from(digit)).filter(|of| *of <= Self::MAX_OF_VALUES)
        })?;
        Some(Self { of, places })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn spellings_of_one_number_are_one_value() {
        for (text, plain) in [
            ("0", "0"),
            ("-0.00", "0"),
            ("0e7", "0"),
            ("1", "1"),
            ("1.0", "1"),
            ("10e-1", "1"),
            ("0.1E+1", "1"),
            ("-1.50", "-1.5"),
            ("1e-6", "0.000001"),
            ("12300", "12300"),
            ("1.23e4", "12300"),
            ("100.001", "100.001"),
            ("9223372036854775808", "9223372036854775808"),
            ("0.05e2", "5"),
        ] {
            assert_eq!(of(text).to_plain(), plain, "{text}");
            assert_eq!(of(plain), of(text), "{text}");
        }
        assert_eq!(Decimal::parse("1e5000"), None);
        assert_eq!(Decimal::parse("1e-99999999999999999999"), None);
    }

    #[test]
    fn counts_are_whole() {
        for (text, expected) in [
            ("3", Some(3)),
            ("3.0", Some(3)),
            ("2e2", Some(200)),
            ("0", Some(0)),
            ("-1", None),
            ("1.5", None),
        ] {
            assert_eq!(of(text).to_count(), expected, "{text}");
        }
        assert_eq!(of("1e30").to_count(), Some(u64::MAX));
    }

    #[test]
    fn multiples_are_exact() {
        let modulus = |text: &str| Modulus::of(&of(text)).unwrap();
        for (number, divisor, expected) in [
            ("0.3", "0.1", true),
            ("0.35", "0.1", false),
            ("4.5", "1.5", true),
            ("1e3", "7", false),
            ("-14", "7", true),
            ("0", "0.01", true),
            ("19.99", "0.01", true),
            ("0.0075", "0.0001", true),
            ("0.00751", "0.0001", false),
        ] {
            assert_eq!(of(number).is_multiple_of(&modulus(divisor)), expected, "{number} {divisor}");
        }
        assert_eq!(Modulus::of(&of("1e17")), None);
    }

    proptest! {
        #[test]
        fn order_is_that_of_numbers(a in -10_000_i64..10_000, b in -10_000_i64..10_000, places in 0_u32..4) {
            let text = |n: i64| format!("{n}e-{places}");
            prop_assert_eq!(of(&text(a)).cmp(&of(&text(b))), a.cmp(&b));
        }
    }
}
