//! Escapes outside of classes, and those that stand for one character anywhere.

use gobo_types::CompileError;

use super::super::classes;
use super::super::syntax::{Direction, Node};
use super::{Flag, Flavour, Last, Parser};

const BACK_REFERENCE: &str =
    "Write the repeated texts out, as in aa|bb for ([ab])\\1; no automaton compares two parts of a text.";

impl Parser<'_> {
    /// An escape outside of a class, after its backslash at `at`.
    pub(super) fn escape(&mut self, at: usize) -> Result<(Node, Last), CompileError> {
        let Some(letter) = self.peek() else {
            return Err(self.malformed(at, "a backslash at the end"));
        };
        if let Some(set) = classes::escaped(letter, self.is_ascii()) {
            self.charge_class()?;
            self.bump();
            return Ok((Node::Chars(self.cased(set)?), Last::Item));
        }
        let anchor = match (letter, self.flavour) {
            ('b' | 'B', Flavour::XGrammar) => {
                return Err(self.unsupported(at, "XGrammar has no word boundaries"));
            }
            ('b', _) => Some(self.boundary(false)),
            ('B', _) => Some(self.boundary(true)),
            ('A', Flavour::Python) => Some(Node::whole(Direction::Behind, Node::empty())),
            ('Z', Flavour::Python) => Some(Node::whole(Direction::Ahead, Node::empty())),
            _ => None,
        };
        if let Some(anchor) = anchor {
            self.charge_class()?;
            self.bump();
            return Ok((anchor, Last::Anchor));
        }
        // Three octal digits are a character; other numbers that do not begin with 0 are groups.
        let digits = self.rest().bytes().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
        if matches!(letter, '1'..='9') && digits < 3 {
            let reason = format!("the back-reference \\{letter} is not regular");
            return Err(self.unsupported(at, reason).advising(BACK_REFERENCE));
        }
        let char = self.escaped_char(at)?;
        Ok((self.literal(char)?, Last::Item))
    }

    /// Whether classes are those of ASCII.
    pub(super) fn is_ascii(&self) -> bool {
        self.flags.has(Flag::Ascii) || self.flavour == Flavour::XGrammar
    }

    /// The character of an escape, after its backslash at `at`.
    pub(super) fn escaped_char(&mut self, at: usize) -> Result<char, CompileError> {
        let Some(letter) = self.bump() else { return Err(self.malformed(at, "a backslash at the end")) };
        let len = match letter {
            'n' => return Ok('\n'),
            'r' => return Ok('\r'),
            't' => return Ok('\t'),
            'f' => return Ok('\u{c}'),
            'v' => return Ok('\u{b}'),
            'a' if self.flavour == Flavour::Python => return Ok('\u{7}'),
            'x' => 2,
            'u' => 4,
            'U' if self.flavour == Flavour::Python => 8,
            '0'..='7' => return self.octal(at),
            'N' | 'p' | 'P' | 'k' | 'c' => {
                return Err(self.unsupported(at, format!("the escape \\{letter}")));
            }
            letter if letter.is_ascii_alphanumeric() => {
                return Err(self.malformed(at, format!("\\{letter} is no escape")));
            }
            other => return Ok(other),
        };
        let digits = self.rest().get(..len).filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let Some(code) = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) else {
            return Err(self.malformed(at, format!("this escape needs {len} hexadecimal digits")));
        };
        self.at += len;
        self.scalar(at, code)
    }

    fn scalar(&self, at: usize, code: u32) -> Result<char, CompileError> {
        char::from_u32(code)
            .ok_or_else(|| self.malformed(at, format!("U+{code:04X} is no character of a UTF-8 text")))
    }

    /// Up to three octal digits, the first of which was read.
    fn octal(&mut self, at: usize) -> Result<char, CompileError> {
        let digits = self.pattern[at + 1..].bytes().take(3);
        let digits = digits.take_while(|byte| matches!(byte, b'0'..=b'7')).count();
        let text = &self.pattern[at + 1..at + 1 + digits];
        if !text.starts_with('0') && digits < 3 {
            return Err(self.malformed(at, format!("\\{text} is no escape")));
        }
        let code = u32::from_str_radix(text, 8).unwrap_or(u32::MAX);
        if code > 0o377 {
            return Err(self.malformed(at, format!("\\{text} is above \\377")));
        }
        self.at = at + 1 + digits;
        self.scalar(at, code)
    }
}
