//! Parameters of rules, as they are written: `name::value`, and `%if condition`.

use gobo_types::CompileError;

use super::super::values::{Bits, Comparison, Condition, Value};
use super::Parser;
use crate::bnf::shown;

impl Parser<'_, '_> {
    /// What stands after `::` where a rule is called.
    pub(super) fn parameter(&mut self) -> Result<Value, CompileError> {
        let at = self.scanner.at;
        if self.scanner.peek().is_some_and(|char| char.is_ascii_digit()) {
            return self.integer(u64::MAX).map(Value::Number);
        }
        let Some(name) = self.scanner.name() else {
            return if self.scanner.eat("_") { Ok(Value::Same) } else { Err(self.unexpected()) };
        };
        self.sign("(")?;
        let value = match name.what.as_str() {
            "incr" => Value::More(self.bits()?),
            "decr" => Value::Less(self.bits()?),
            "bit_and" => Value::And(self.integer(u64::MAX)?),
            "bit_or" => Value::Or(self.integer(u64::MAX)?),
            "set_bit" => Value::Or(1 << self.integer(63)?),
            "clear_bit" => Value::And(!(1 << self.integer(63)?)),
            other => {
                let reason = format!(
                    "{} makes no parameter: there are set_bit, clear_bit, bit_and, bit_or, incr, decr, _ and numbers",
                    shown(other)
                );
                return Err(self.scanner.malformed(at, reason));
            }
        };
        self.sign(")")?;
        Ok(value)
    }

    /// What stands after `%if`.
    pub(super) fn condition(&mut self) -> Result<Condition, CompileError> {
        self.skip();
        let at = self.scanner.at;
        let Some(name) = self.scanner.name() else { return Err(self.unexpected()) };
        if name.what == "true" {
            self.skip();
            if self.scanner.eat("(") {
                self.sign(")")?;
            }
            return Ok(Condition::Always);
        }
        self.sign("(")?;
        let (count, word) = match name.what.strip_prefix("bit_count_") {
            Some(word) => (true, word),
            None => (false, name.what.as_str()),
        };
        let comparison = Comparison::WORDS.iter().find(|of| of.0 == word).map(|of| of.1);
        let condition = match (comparison, name.what.as_str()) {
            (Some(comparison), _) => {
                let bits = self.bits()?;
                self.sign(",")?;
                let number = self.integer(if count { 64 } else { u64::MAX })?;
                let of = if count { Condition::Count } else { Condition::Number };
                of(bits, comparison, number)
            }
            (None, "bit_clear" | "bit_set") => {
                let first = self.index(63)?;
                let bit = Bits::new(first, first + 1).unwrap_or(Bits::ALL);
                Condition::Number(bit, Comparison::Equal, u64::from(name.what == "bit_set"))
            }
            (None, "is_zeros") => Condition::Number(self.bits()?, Comparison::Equal, 0),
            (None, "is_ones") => Condition::ones(self.bits()?),
            (None, "not") => Condition::Not(Box::new(self.deeper(at, Self::condition)?)),
            (None, "and" | "or") => {
                let one = Box::new(self.deeper(at, Self::condition)?);
                self.sign(",")?;
                let other = Box::new(self.deeper(at, Self::condition)?);
                if name.what == "and" { Condition::Both(one, other) } else { Condition::Either(one, other) }
            }
            (None, other) => {
                let reason = format!("{} is no condition of a parameter", shown(other));
                return Err(self.scanner.malformed(at, reason));
            }
        };
        self.sign(")")?;
        Ok(condition)
    }

    /// `_`, or `[first:end]`.
    fn bits(&mut self) -> Result<Bits, CompileError> {
        self.skip();
        let at = self.scanner.at;
        if self.scanner.eat("_") {
            return Ok(Bits::ALL);
        }
        if !self.scanner.eat("[") {
            return Err(self.scanner.malformed(at, "bits of a parameter are _, or [first:end] as in [0:3]"));
        }
        let first = self.index(63)?;
        self.sign(":")?;
        let end = self.index(64)?;
        self.sign("]")?;
        Bits::new(first, end).ok_or_else(|| {
            self.scanner.malformed(at, format!("[{first}:{end}] is no bit: the end is after the last one"))
        })
    }

    fn sign(&mut self, sign: &str) -> Result<(), CompileError> {
        self.skip();
        if self.scanner.eat(sign) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// The number of a bit.
    fn index(&mut self, most: u32) -> Result<u32, CompileError> {
        let number = self.integer(u64::from(most))?;
        Ok(u32::try_from(number).unwrap_or(most))
    }

    /// A number, in decimal or as `0x…`.
    fn integer(&mut self, most: u64) -> Result<u64, CompileError> {
        self.skip();
        let at = self.scanner.at;
        let is_hex = self.scanner.eat("0x") || self.scanner.eat("0X");
        let digits = self.scanner.take_while(|char| char.is_digit(if is_hex { 16 } else { 10 }));
        if digits.is_empty() {
            return Err(self.scanner.malformed(at, "a number stands here, in decimal or as 0x…"));
        }
        let number = u64::from_str_radix(digits, if is_hex { 16 } else { 10 }).ok();
        number.filter(|number| *number <= most).ok_or_else(|| {
            let shown = &digits[..digits.len().min(20)];
            self.scanner.malformed(at, format!("{shown} is above {most}"))
        })
    }
}
