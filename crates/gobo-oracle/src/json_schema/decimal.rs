//! Exact decimals by school arithmetic: digits, most significant first, and a count of decimal places.

use std::cmp::Ordering;

/// `±digits × 10^-places`.
#[derive(Debug, Clone)]
pub(super) struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    places: i64,
}

impl Decimal {
    /// The value of a number of JSON; none if the text is no such number, or its exponent has more than 18 digits.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match rest.find(['e', 'E']) {
            Some(at) => (&rest[..at], Some(&rest[at + 1..])),
            None => (rest, None),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (mantissa, None),
        };
        let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !are_digits(whole) || whole.len() > 1 && whole.starts_with('0') {
            return None;
        }
        if fraction.is_some_and(|fraction| !are_digits(fraction)) {
            return None;
        }
        let power = match exponent {
            None => 0,
            Some(exponent) => {
                let (sign, digits) = match exponent.strip_prefix('-') {
                    Some(digits) => (-1, digits),
                    None => (1, exponent.strip_prefix('+').unwrap_or(exponent)),
                };
                if !are_digits(digits) {
                    return None;
                }
                sign * digits.parse::<i64>().ok().filter(|power| *power < 1_000_000_000_000_000_000)?
            }
        };
        let fraction = fraction.unwrap_or("");
        let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|byte| byte - b'0').collect();
        let is_zero = digits.iter().all(|digit| *digit == 0);
        let places = if is_zero { 0 } else { i64::try_from(fraction.len()).ok()? - power };
        Some(Self { negative, digits: if is_zero { vec![0] } else { digits }, places })
    }

    pub(super) fn is_zero(&self) -> bool {
        self.digits.iter().all(|digit| *digit == 0)
    }

    /// The digits with so many places, which are at least its own, without zeros before them.
    fn with_places(&self, places: i64) -> Vec<u8> {
        let zeros = usize::try_from(places - self.places).expect("not fewer places");
        let digits = self.digits.iter().copied().chain(std::iter::repeat_n(0, zeros));
        digits.skip_while(|digit| *digit == 0).collect()
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let sign = |of: &Self| if of.is_zero() { 0 } else { 1 - 2 * i8::from(of.negative) };
        if sign(self) != sign(other) || sign(self) == 0 {
            return sign(self).cmp(&sign(other));
        }
        let places = self.places.max(other.places);
        let (one, two) = (self.with_places(places), other.with_places(places));
        let magnitude = one.len().cmp(&two.len()).then_with(|| one.cmp(&two));
        if self.negative { magnitude.reverse() } else { magnitude }
    }

    /// Whether it is an integer times a divisor of at most fifteen digits.
    pub(super) fn is_multiple_of(&self, divisor: &Self) -> bool {
        let places = self.places.max(divisor.places);
        let divisor = divisor.with_places(places);
        // Zeros at the end of both change nothing.
        let dividend = self.with_places(places);
        let zeros = divisor.iter().rev().take_while(|digit| **digit == 0).count();
        let (kept, cut) = dividend.split_at(dividend.len().saturating_sub(zeros));
        if cut.iter().any(|digit| *digit != 0) {
            return false;
        }
        let of =
            divisor[..divisor.len() - zeros].iter().fold(0_u128, |of, digit| of * 10 + u128::from(*digit));
        kept.iter().fold(0_u128, |rest, digit| (rest * 10 + u128::from(*digit)) % of) == 0
    }

    pub(super) fn is_integer(&self) -> bool {
        self.fraction_digits() == 0
    }

    /// Number of digits after the decimal point where it is written without an exponent and without zeros at the end.
    pub(super) fn fraction_digits(&self) -> usize {
        if self.is_zero() {
            return 0;
        }
        let zeros = self.digits.iter().rev().take_while(|digit| **digit == 0).count();
        usize::try_from(self.places).unwrap_or(0).saturating_sub(zeros)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Decimal {
        Decimal::read(text).unwrap()
    }

    #[test]
    fn numbers_are_those_of_the_standard() {
        for text in ["", "-", "01", "1.", ".5", "1e", "1e+", "+1", "1e5.", "0x1", "1.5e-", "--1", "1e1e1"] {
            assert!(Decimal::read(text).is_none(), "{text}");
        }
        for (one, two, order) in [
            ("1.50", "15e-1", Ordering::Equal),
            ("-0", "0.00e5", Ordering::Equal),
            ("-1", "0", Ordering::Less),
            ("-2", "-10", Ordering::Greater),
            ("0.09", "0.1", Ordering::Less),
            ("1e3", "999.99", Ordering::Greater),
        ] {
            assert_eq!(read(one).compare(&read(two)), order, "{one} {two}");
        }
        for (number, divisor, expected) in [
            ("0.3", "0.1", true),
            ("0.35", "0.1", false),
            ("1e30", "7", false),
            ("-21", "7e0", true),
            ("5", "10", false),
            ("200", "100", true),
        ] {
            assert_eq!(read(number).is_multiple_of(&read(divisor)), expected, "{number} {divisor}");
        }
        for (number, digits) in
            [("1.50", 1), ("150e-2", 1), ("1e5", 0), ("0.000", 0), ("10e-1", 0), ("1e-7", 7)]
        {
            assert_eq!(read(number).fraction_digits(), digits, "{number}");
        }
    }
}
