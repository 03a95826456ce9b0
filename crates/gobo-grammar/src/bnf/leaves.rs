//! Literals, classes and escapes.

use gobo_automata::{CharSet, Expr};
use gobo_types::CompileError;

use super::{Form, Reader, shown};

/// Characters that a backslash stands in front of in the classes of EBNF, as in a regular expression.
const IN_CLASSES: &str = "^$.*+?()[]{}|/-\\";

impl Reader<'_> {
    pub(super) fn literal(&mut self) -> Result<Expr, CompileError> {
        let at = self.at;
        self.bump();
        let mut text = String::new();
        while !self.eat("\"") {
            text.push(self.char(at, "an unclosed literal", false)?);
        }
        Ok(Expr::Text(text))
    }

    pub(super) fn class(&mut self) -> Result<Expr, CompileError> {
        const UNCLOSED: &str = "an unclosed character class";
        let at = self.at;
        self.bump();
        let is_negated = self.eat("^");
        let mut ranges = Vec::new();
        while !self.eat("]") {
            let first_at = self.at;
            let first = self.char(at, UNCLOSED, true)?;
            // At the end of a class a dash is itself.
            let is_range = self.rest().starts_with('-') && !self.rest().starts_with("-]");
            let last = if is_range {
                self.bump();
                self.char(at, UNCLOSED, true)?
            } else {
                first
            };
            if last < first {
                let reason = format!("{first:?} comes after {last:?}: the range is empty");
                return Err(self.malformed(first_at, reason));
            }
            ranges.push((first, last));
        }
        if ranges.is_empty() && is_negated && self.is_ebnf() {
            return Ok(Expr::Chars(CharSet::new([]).complement()));
        }
        if ranges.is_empty() {
            let hint = if is_negated { "; any character is ." } else { "" };
            return Err(self.malformed(at, format!("an empty character class{hint}")));
        }
        let set = CharSet::new(ranges);
        Ok(Expr::Chars(if is_negated { set.complement() } else { set }))
    }

    /// A character of a literal or class that was opened at `opened`; classes and literals have the same escapes.
    fn char(&mut self, opened: usize, unclosed: &str, in_class: bool) -> Result<char, CompileError> {
        let at = self.at;
        match self.bump() {
            Some('\\') => match (self.form, self.peek()) {
                (Form::Ebnf(_), Some(escaped)) if in_class && IN_CLASSES.contains(escaped) => {
                    self.bump();
                    Ok(escaped)
                }
                (Form::Ebnf(_), _) => self.escape_of_ebnf(at),
                (Form::Gbnf, _) => self.escape(at),
            },
            Some(char) => Ok(char),
            None => Err(self.malformed(opened, unclosed)),
        }
    }

    /// An escape, after its backslash at `at`.
    fn escape(&mut self, at: usize) -> Result<char, CompileError> {
        // Each of the three is a code point: \xE9 is é, two bytes.
        let len = match self.bump() {
            Some('n') => return Ok('\n'),
            Some('r') => return Ok('\r'),
            Some('t') => return Ok('\t'),
            Some(char @ ('\\' | '"' | '[' | ']' | '-')) => return Ok(char),
            Some('x') => 2,
            Some('u') => 4,
            Some('U') => 8,
            _ => {
                let known = r#"\n \r \t \\ \" \[ \] \- \xHH \uHHHH \UHHHHHHHH"#;
                return Err(self.malformed(at, format!("an unknown escape; there are {known}")));
            }
        };
        let digits = self.rest().get(..len).filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let Some(digits) = digits else {
            return Err(self.malformed(at, format!("this escape needs {len} hexadecimal digits")));
        };
        self.at += len;
        self.scalar(at, digits)
    }

    /// An escape of EBNF, after its backslash at `at`: those of C, and a hexadecimal one with any number of digits.
    fn escape_of_ebnf(&mut self, at: usize) -> Result<char, CompileError> {
        let known = match self.peek() {
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('a') => '\u{7}',
            Some('v') => '\u{b}',
            Some('0') => '\0',
            Some('e') => '\u{1b}',
            Some(char @ ('/' | '\'' | '?')) => char,
            Some('x') => {
                self.bump();
                let digits = self.take_while(|char| char.is_ascii_hexdigit());
                if digits.is_empty() {
                    return Err(self.malformed(at, "this escape needs hexadecimal digits"));
                }
                return self.scalar(at, digits);
            }
            Some('n' | 'r' | 't' | '\\' | '"' | '[' | ']' | '-' | 'u' | 'U') => return self.escape(at),
            _ => {
                let known = r#"\a \b \e \f \n \r \t \v \0 \/ \' \? \\ \" \[ \] \- \xH… \uHHHH \UHHHHHHHH"#;
                return Err(self.malformed(at, format!("an unknown escape; there are {known}")));
            }
        };
        self.bump();
        Ok(known)
    }

    /// The character of an escape at `at`, of which these are the digits.
    fn scalar(&self, at: usize, digits: &str) -> Result<char, CompileError> {
        let code = u32::from_str_radix(digits.trim_start_matches('0'), 16);
        let code = if digits.bytes().all(|byte| byte == b'0') { Some(0) } else { code.ok() };
        code.and_then(char::from_u32).ok_or_else(|| {
            let is_surrogate = code.is_some_and(|code| (0xD800..=0xDFFF).contains(&code));
            let why = if is_surrogate { "a surrogate" } else { "beyond U+10FFFF" };
            self.malformed(at, format!("{} is no character: it is {why}", shown(&self.text[at..self.at])))
        })
    }
}
