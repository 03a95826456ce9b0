//! Reads JSON texts (RFC 8259) by recursive descent.
//!
//! Time is linear in the text; nesting is bounded by [`MAX_NESTING`], and so is the stack. Repeated names of an object are
//! refused: RFC 8259, section 4, leaves open which of them counts.

use std::rc::Rc;

use gobo_types::{CompileError, RefusalKind};

use crate::read::decimal::{Decimal, MAX_DIGITS};
use crate::read::value::{Json, Object};

/// Maximum nesting depth of arrays and objects in the text of a schema.
const MAX_NESTING: usize = 128;

/// Maximum length of the text of a schema, in bytes.
const MAX_SCHEMA_BYTES: usize = 8 << 20;

/// Reads a text.
///
/// # Errors
/// A refusal that names the offset.
pub(crate) fn parse_json(text: &str) -> Result<Json, CompileError> {
    if text.len() > MAX_SCHEMA_BYTES {
        let reason = format!("it has {} bytes, the limit is {MAX_SCHEMA_BYTES}", text.len());
        return Err(CompileError::refuse(RefusalKind::Unsupported, "offset 0", reason).spanning(0..0));
    }
    let mut parser = Parser { text, at: 0 };
    let value = parser.value(0)?;
    parser.skip_whitespace();
    if parser.at < text.len() {
        return Err(parser.unexpected("the text goes on after the value"));
    }
    Ok(value)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn fault(&self, reason: &str) -> CompileError {
        self.refuse(RefusalKind::Malformed, self.at, reason)
    }

    fn refuse(&self, kind: RefusalKind, at: usize, reason: impl Into<String>) -> CompileError {
        let width = self.text[at..].chars().next().map_or(0, char::len_utf8);
        CompileError::refuse(kind, format!("offset {at}"), reason).spanning(at..at + width)
    }

    /// The fault where something else stands than what has to: with what it probably is, in other dialects of JSON.
    fn unexpected(&self, expected: &str) -> CompileError {
        let rest = &self.text[self.at..];
        let words = [
            ("NaN", "JSON has no NaN: leave the keyword out, or write a number."),
            ("Infinity", "JSON has no infinity: leave the bound out, or write a number."),
            ("undefined", "JSON has no undefined: leave the key out, or write null."),
            ("True", "JSON writes true in lower case."),
            ("False", "JSON writes false in lower case."),
            ("None", "JSON writes null."),
        ];
        let word = words.iter().find(|(word, _)| rest.starts_with(word));
        let (found, help) = match (rest.chars().next(), word) {
            (None, _) => ("the text ends".to_owned(), "Close what is open: the text was cut off, perhaps."),
            (_, Some((word, help))) => (format!("{word} stands here"), *help),
            (Some('\''), _) => {
                ("a single quote stands here".to_owned(), "Write strings and keys in double quotes.")
            }
            (Some('/'), _) if rest.starts_with("//") || rest.starts_with("/*") => {
                ("a comment stands here".to_owned(), "JSON has no comments: leave it out, or use $comment.")
            }
            (Some('#'), _) => {
                ("a comment stands here".to_owned(), "JSON has no comments: leave it out, or use $comment.")
            }
            (Some(close @ ('}' | ']')), _) if self.text[..self.at].trim_end().ends_with(',') => {
                (format!("{close} stands after a comma"), "Leave out the comma before it.")
            }
            (Some(char), _) if char.is_alphabetic() || matches!(char, '_' | '$') => (
                format!("a word stands here, beginning with {char:?}"),
                "Write strings and keys in double quotes.",
            ),
            (Some(char), _) => (format!("{char:?} stands here"), ""),
        };
        self.fault(&format!("{expected}; {found}")).advising(help)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_whitespace(&mut self) {
        while self.peek().is_some_and(|byte| b" \t\r\n".contains(&byte)) {
            self.at += 1;
        }
    }

    /// Takes the next byte after whitespace if it is `byte`.
    fn takes(&mut self, byte: u8) -> bool {
        self.skip_whitespace();
        let takes = self.peek() == Some(byte);
        self.at += usize::from(takes);
        takes
    }

    fn value(&mut self, depth: usize) -> Result<Json, CompileError> {
        self.skip_whitespace();
        let rest = &self.text[self.at..];
        for (word, value) in [("null", Json::Null), ("true", Json::Bool(true)), ("false", Json::Bool(false))]
        {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        match self.peek() {
            Some(b'"') => Ok(Json::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'[' | b'{') if depth == MAX_NESTING => {
                let reason = format!("it nests deeper than {MAX_NESTING} levels");
                Err(self.refuse(RefusalKind::Unsupported, self.at, reason))
            }
            Some(b'[') => {
                self.at += 1;
                let mut items = Vec::new();
                if self.takes(b']') {
                    return Ok(Json::Array(items.into()));
                }
                loop {
                    items.push(self.value(depth + 1)?);
                    if self.takes(b']') {
                        return Ok(Json::Array(items.into()));
                    }
                    if !self.takes(b',') {
                        return Err(self.unexpected("a comma or ] is missing"));
                    }
                }
            }
            Some(b'{') => self.object(depth),
            _ => Err(self.unexpected("no JSON value begins here")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, CompileError> {
        self.at += 1;
        let mut properties: Vec<(String, Json)> = Vec::new();
        let mut offsets: Vec<usize> = Vec::new();
        if self.takes(b'}') {
            return Ok(Json::Object(Rc::default()));
        }
        loop {
            self.skip_whitespace();
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("a key is missing"));
            }
            offsets.push(self.at);
            let key = self.string()?;
            if !self.takes(b':') {
                return Err(self.unexpected("a colon is missing"));
            }
            properties.push((key, self.value(depth + 1)?));
            if self.takes(b'}') {
                break;
            }
            if !self.takes(b',') {
                return Err(self.unexpected("a comma or } is missing"));
            }
        }
        Object::new(properties).map(|object| Json::Object(Rc::new(object))).map_err(|(repeated, key)| {
            self.at = offsets[repeated];
            self.fault(&format!("the key {key:?} is repeated"))
        })
    }

    fn number(&mut self) -> Result<Json, CompileError> {
        let begin = self.at;
        let digits = |parser: &mut Self| {
            let from = parser.at;
            while parser.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                parser.at += 1;
            }
            parser.at > from
        };
        self.at += usize::from(self.peek() == Some(b'-'));
        let is_whole = if self.peek() == Some(b'0') {
            self.at += 1;
            true
        } else {
            digits(self)
        };
        let mut is_number = is_whole;
        if self.peek() == Some(b'.') {
            self.at += 1;
            is_number &= digits(self);
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            is_number &= digits(self);
        }
        if !is_number {
            return Err(self.fault("this is no number"));
        }
        let number = Decimal::parse(&self.text[begin..self.at]);
        number.map(Json::Number).ok_or_else(|| {
            let reason = format!("a number of more than {MAX_DIGITS} digits");
            self.refuse(RefusalKind::Unsupported, begin, reason)
        })
    }

    fn string(&mut self) -> Result<String, CompileError> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(length) = rest.find(|char: char| char < ' ' || char == '"' || char == '\\') else {
                return Err(self.fault("a string has no end"));
            };
            out.push_str(&rest[..length]);
            self.at += length;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                _ => return Err(self.fault("a raw control character in a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, CompileError> {
        self.at += 1;
        let char = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                let unit = self.unit()?;
                if !(0xD800..0xE000).contains(&unit) {
                    return char::from_u32(unit).ok_or_else(|| self.fault("this is no character"));
                }
                if unit >= 0xDC00 || !self.text[self.at..].starts_with("\\u") {
                    return Err(self.fault("a surrogate without its partner"));
                }
                self.at += 2;
                let low = self.unit()?;
                if !(0xDC00..0xE000).contains(&low) {
                    return Err(self.fault("a surrogate without its partner"));
                }
                let code = 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
                return char::from_u32(code).ok_or_else(|| self.fault("this is no character"));
            }
            _ => return Err(self.fault("this is no escape")),
        };
        self.at += 1;
        Ok(char)
    }

    fn unit(&mut self) -> Result<u32, CompileError> {
        let digits = self
            .text
            .get(self.at..self.at + 4)
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let unit = unit.ok_or_else(|| self.fault("\\u has four hexadecimal digits"))?;
        self.at += 4;
        Ok(unit)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    impl From<&serde_json::Value> for Json {
        fn from(value: &serde_json::Value) -> Self {
            match value {
                serde_json::Value::Null => Self::Null,
                serde_json::Value::Bool(bool) => Self::Bool(*bool),
                // A number beyond all limits stands for itself nowhere; zero would be another number.
                serde_json::Value::Number(number) => {
                    Decimal::parse(&number.to_string()).map_or(Self::Null, Self::Number)
                }
                serde_json::Value::String(text) => Self::String(text.clone()),
                serde_json::Value::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
                serde_json::Value::Object(properties) => {
                    let properties = properties.iter().map(|(key, value)| (key.clone(), Self::from(value)));
                    Self::Object(Rc::new(Object::new(properties.collect()).unwrap()))
                }
            }
        }
    }

    #[test]
    fn faults_name_their_offset() {
        for (text, place) in [
            ("", "offset 0"),
            ("{\"a\":1,\"a\":2}", "offset 7"),
            ("[1,]", "offset 3"),
            ("{\"a\" 1}", "offset 5"),
            ("\"\\x\"", "offset 2"),
            ("\"\\ud800\"", "offset 7"),
            ("1 2", "offset 2"),
            ("[1 2]", "offset 3"),
            ("01", "offset 1"),
            ("-", "offset 1"),
            ("1.", "offset 2"),
            ("\"a", "offset 1"),
            ("\"\n\"", "offset 1"),
            ("{1:2}", "offset 1"),
        ] {
            match parse_json(text) {
                Err(CompileError::Refused(refusal)) => assert_eq!(refusal.place, place, "{text}: {refusal}"),
                other => panic!("{text}: {other:?}"),
            }
        }
        assert!(parse_json(&"[".repeat(100_000)).is_err());
    }

    proptest! {
        #[test]
        fn a_reader_of_json_agrees(text in r#"([\[\]{},:"0-9eE+\-. ]|"a"|"\\u(D8|d|DC|[0-9a-f]{2})[0-9A-F]{1,3}"|\\|true|null|\[\[|\]\]|1,){0,8}"#) {
            let own = parse_json(&text);
            let other = serde_json::from_str::<serde_json::Value>(&text);
            match other {
                Ok(value) => prop_assert!(own.is_err_and(|error| error.to_string().contains("repeated") || error.to_string().contains("digits")) || parse_json(&text).unwrap() == Json::from(&value)),
                Err(_) => prop_assert!(own.is_err(), "{}", text),
            }
        }
    }
}
