//! Parameters of rules: 64 bits, what rules make of them, and the conditions under which alternatives are there (llguidance,
//! *Parametric grammars*).
//!
//! A rule with a parameter stands for a rule for each value that is reached, so values are numbers and never symbols: everything here is
//! computed when the grammar is written out.

/// Bits of a parameter, from the lowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bits {
    first: u32,
    /// After the last one: at most 64, and above the first.
    end: u32,
}

impl Bits {
    /// All of them.
    pub(super) const ALL: Self = Self { first: 0, end: 64 };

    /// The bits from `first` to before `end`, if there are any.
    pub(super) fn new(first: u32, end: u32) -> Option<Self> {
        (first < end && end <= 64).then_some(Self { first, end })
    }

    /// One that is set in each place of the range, the lowest of which is moved to the front.
    fn ones(self) -> u64 {
        u64::MAX >> (64 - (self.end - self.first))
    }

    /// The number that these bits of a parameter are.
    fn of(self, parameter: u64) -> u64 {
        parameter >> self.first & self.ones()
    }
}

/// What a rule passes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    Number(u64),
    /// The rule's own parameter.
    Same,
    /// It with one more in these bits, unless all of them are set.
    More(Bits),
    /// It with one less in these bits, unless none of them is set.
    Less(Bits),
    And(u64),
    Or(u64),
}

impl Value {
    /// Its number, where the rule's own parameter is this one.
    pub(super) fn of(self, parameter: u64) -> u64 {
        match self {
            Self::Number(number) => number,
            Self::Same => parameter,
            Self::More(bits) if bits.of(parameter) == bits.ones() => parameter,
            Self::More(bits) => parameter + (1 << bits.first),
            Self::Less(bits) if bits.of(parameter) == 0 => parameter,
            Self::Less(bits) => parameter - (1 << bits.first),
            Self::And(mask) => parameter & mask,
            Self::Or(mask) => parameter | mask,
        }
    }

    /// Whether the rule's own parameter matters.
    pub(super) fn depends(self) -> bool {
        !matches!(self, Self::Number(_))
    }
}

/// How two numbers are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl Comparison {
    /// All of them, with their words.
    pub(super) const WORDS: [(&str, Self); 6] = [
        ("eq", Self::Equal),
        ("ne", Self::Unequal),
        ("lt", Self::Less),
        ("le", Self::AtMost),
        ("gt", Self::Greater),
        ("ge", Self::AtLeast),
    ];

    fn holds(self, one: u64, other: u64) -> bool {
        match self {
            Self::Equal => one == other,
            Self::Unequal => one != other,
            Self::Less => one < other,
            Self::AtMost => one <= other,
            Self::Greater => one > other,
            Self::AtLeast => one >= other,
        }
    }
}

/// When an alternative is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Condition {
    Always,
    /// The number that these bits are.
    Number(Bits, Comparison, u64),
    /// How many of these bits are set.
    Count(Bits, Comparison, u64),
    Both(Box<Condition>, Box<Condition>),
    Either(Box<Condition>, Box<Condition>),
    Not(Box<Condition>),
}

impl Condition {
    /// All of these bits are set.
    pub(super) fn ones(bits: Bits) -> Self {
        Self::Number(bits, Comparison::Equal, bits.ones())
    }

    /// Whether it holds of a parameter.
    pub(super) fn holds(&self, parameter: u64) -> bool {
        match self {
            Self::Always => true,
            Self::Number(bits, comparison, number) => comparison.holds(bits.of(parameter), *number),
            Self::Count(bits, comparison, number) => {
                comparison.holds(u64::from(bits.of(parameter).count_ones()), *number)
            }
            Self::Both(one, other) => one.holds(parameter) && other.holds(parameter),
            Self::Either(one, other) => one.holds(parameter) || other.holds(parameter),
            Self::Not(condition) => !condition.holds(parameter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_bits_are_counted_up_and_down_to_their_ends() {
        let middle = Bits::new(4, 6).unwrap();
        let mut value = 0xF0F;
        for expected in [0xF1F, 0xF2F, 0xF3F, 0xF3F] {
            value = Value::More(middle).of(value);
            assert_eq!(value, expected);
        }
        for expected in [0xF2F, 0xF1F, 0xF0F, 0xF0F] {
            value = Value::Less(middle).of(value);
            assert_eq!(value, expected);
        }
        assert_eq!(Value::More(Bits::ALL).of(u64::MAX), u64::MAX);
        assert_eq!(Value::More(Bits::new(63, 64).unwrap()).of(1), 1 | 1 << 63);
        assert_eq!((Value::And(6).of(3), Value::Or(6).of(3), Value::Same.of(3)), (2, 7, 3));
        assert_eq!((Bits::new(3, 3), Bits::new(0, 65)), (None, None));
    }

    #[test]
    fn conditions_are_of_unsigned_numbers() {
        let low = Bits::new(0, 3).unwrap();
        for (condition, parameter, holds) in [
            (Condition::ones(low), 0b1111, true),
            (Condition::ones(low), 0b1011, false),
            (Condition::ones(Bits::ALL), u64::MAX, true),
            (Condition::Number(Bits::ALL, Comparison::Greater, u64::MAX - 1), u64::MAX, true),
            (Condition::Number(low, Comparison::Less, 3), 0b1010, true),
            (Condition::Count(Bits::ALL, Comparison::AtLeast, 64), u64::MAX, true),
            (Condition::Count(low, Comparison::AtMost, 1), 0b11011, false),
            (Condition::Count(low, Comparison::Unequal, 1), 0b11010, false),
        ] {
            assert_eq!(condition.holds(parameter), holds, "{condition:?} of {parameter:b}");
            let not = Condition::Not(Box::new(condition.clone()));
            assert_ne!(not.holds(parameter), holds);
            let boxed = || Box::new(condition.clone());
            assert!(Condition::Either(boxed(), Box::new(not.clone())).holds(parameter));
            assert!(!Condition::Both(boxed(), Box::new(not)).holds(parameter));
        }
    }
}
