use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;
use std::rc::Rc;

use foldhash::HashSet;
use gobo_types::{CompileError, RefusalKind};

use crate::decimal::{Decimal, MAX_DIGITS};

/// Deepest nesting of brackets in the text of a schema.
pub(crate) const MAX_NESTING: usize = 128;

/// Longest text of a schema, in bytes.
pub(crate) const MAX_SCHEMA_BYTES: usize = 8 << 20;

/// A JSON value with its keys in order and its numbers exact.
#[derive(Debug, Clone)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number(Decimal),
    String(String),
    Array(Rc<[Json]>),
    Object(Rc<Object>),
}

/// The members of an object in their order, each name once.
#[derive(Debug, Default)]
pub(crate) struct Object {
    members: Vec<(String, Json)>,
    /// Numbers of the members, by their names.
    ascending: Box<[u32]>,
}

impl Object {
    /// O(n log n).
    ///
    /// # Errors
    /// The first member whose name one before it has: its number, and the name.
    pub(crate) fn new(members: Vec<(String, Json)>) -> Result<Self, (usize, String)> {
        let name = |at: u32| &members[at as usize].0;
        let mut ascending: Box<[u32]> = (0..).take(members.len()).collect();
        ascending.sort_unstable_by(|&one, &other| name(one).cmp(name(other)).then(one.cmp(&other)));
        let repeated = ascending.windows(2).filter(|pair| name(pair[0]) == name(pair[1]));
        match repeated.map(|pair| pair[1]).min() {
            Some(repeated) => Err((repeated as usize, name(repeated).clone())),
            None => Ok(Self { members, ascending }),
        }
    }

    /// The value of a name. O(log n).
    pub(crate) fn get(&self, name: &str) -> Option<&Json> {
        let member = |at: u32| &self.members[at as usize];
        let found = self.ascending.binary_search_by(|&at| member(at).0.as_str().cmp(name));
        found.ok().map(|at| &member(self.ascending[at]).1)
    }
}

impl Deref for Object {
    type Target = [(String, Json)];

    fn deref(&self) -> &Self::Target {
        &self.members
    }
}

/// Equality as JSON Schema has it: the order of keys means nothing.
impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(one), Self::Bool(other)) => one == other,
            (Self::Number(one), Self::Number(other)) => one == other,
            (Self::String(one), Self::String(other)) => one == other,
            (Self::Array(one), Self::Array(other)) => one == other,
            (Self::Object(one), Self::Object(other)) => {
                one.len() == other.len()
                    && one.iter().all(|(key, value)| other.get(key).is_some_and(|of| of == value))
            }
            _ => false,
        }
    }
}

impl Eq for Json {}

impl Hash for Json {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Self::Null => {}
            Self::Bool(bool) => bool.hash(state),
            Self::Number(number) => number.hash(state),
            Self::String(text) => text.hash(state),
            Self::Array(items) => items.hash(state),
            // Members in any order are the same object.
            Self::Object(members) => {
                let of_member = |member: &(String, Self)| {
                    let mut hasher = DefaultHasher::new();
                    member.hash(&mut hasher);
                    hasher.finish()
                };
                members.iter().map(of_member).fold(0, u64::wrapping_add).hash(state);
            }
        }
    }
}

/// The values of `enum` or `const`, quick to look one up in.
#[derive(Debug, Clone)]
pub(crate) struct ValueSet {
    list: Rc<[Json]>,
    /// Of several values.
    index: HashSet<Json>,
}

impl ValueSet {
    pub(crate) fn new(list: Rc<[Json]>) -> Self {
        let index = if list.len() > 1 { list.iter().cloned().collect() } else { HashSet::default() };
        Self { list, index }
    }

    /// The values in their order, as they are written.
    pub(crate) fn list(&self) -> &Rc<[Json]> {
        &self.list
    }

    pub(crate) fn has(&self, value: &Json) -> bool {
        match &self.list[..] {
            [one] => one == value,
            _ => self.index.contains(value),
        }
    }
}

impl Json {
    /// Reads a text. Repeated keys are refused: which of them counts is not said anywhere.
    ///
    /// # Errors
    /// A refusal that names the offset.
    pub(crate) fn parse(text: &str) -> Result<Self, CompileError> {
        if text.len() > MAX_SCHEMA_BYTES {
            let reason = format!("it has {} bytes, the limit is {MAX_SCHEMA_BYTES}", text.len());
            return Err(CompileError::refuse(RefusalKind::Unsupported, "", reason));
        }
        let mut parser = Parser { text, at: 0 };
        let value = parser.value(0)?;
        parser.blanks();
        if parser.at < text.len() {
            return Err(parser.fault("something follows the value"));
        }
        Ok(value)
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members.get(key),
            _ => None,
        }
    }

    /// The value behind one step of a JSON pointer.
    pub(crate) fn step(&self, token: &str) -> Option<&Self> {
        match self {
            Self::Array(items) => items.get(token.parse::<usize>().ok()?),
            _ => self.get(token),
        }
    }

    /// About how many steps it takes to copy, hash or compare it, once.
    pub(crate) fn steps(&self) -> u64 {
        2 + match self {
            Self::Null | Self::Bool(_) => 0,
            Self::Number(number) => number.digits.len() as u64 / 4,
            Self::String(text) => text.len() as u64 / 4,
            Self::Array(items) => items.iter().map(Self::steps).sum(),
            Self::Object(members) => members.iter().map(|of| 2 + of.0.len() as u64 / 4 + of.1.steps()).sum(),
        }
    }

    /// What a person calls it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}

/// One token of a JSON pointer, escaped.
pub(crate) fn escape_token(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn fault(&self, reason: &str) -> CompileError {
        CompileError::refuse(RefusalKind::Malformed, format!("offset {}", self.at), reason)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(|byte| b" \t\r\n".contains(&byte)) {
            self.at += 1;
        }
    }

    /// The next byte behind blanks, if it is `byte`.
    fn takes(&mut self, byte: u8) -> bool {
        self.blanks();
        let takes = self.peek() == Some(byte);
        self.at += usize::from(takes);
        takes
    }

    fn value(&mut self, depth: usize) -> Result<Json, CompileError> {
        self.blanks();
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
                let reason = format!("it nests deeper than {MAX_NESTING} brackets");
                Err(CompileError::refuse(RefusalKind::Unsupported, format!("offset {}", self.at), reason))
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
                        return Err(self.fault("a comma or ] is missing"));
                    }
                }
            }
            Some(b'{') => self.object(depth),
            _ => Err(self.fault("no JSON value begins here")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, CompileError> {
        self.at += 1;
        let mut members: Vec<(String, Json)> = Vec::new();
        let mut places: Vec<usize> = Vec::new();
        if self.takes(b'}') {
            return Ok(Json::Object(Rc::default()));
        }
        loop {
            self.blanks();
            if self.peek() != Some(b'"') {
                return Err(self.fault("a key is missing"));
            }
            places.push(self.at);
            let key = self.string()?;
            if !self.takes(b':') {
                return Err(self.fault("a colon is missing"));
            }
            members.push((key, self.value(depth + 1)?));
            if self.takes(b'}') {
                break;
            }
            if !self.takes(b',') {
                return Err(self.fault("a comma or } is missing"));
            }
        }
        Object::new(members).map(|object| Json::Object(Rc::new(object))).map_err(|(member, key)| {
            self.at = places[member];
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
            CompileError::refuse(RefusalKind::Unsupported, format!("offset {begin}"), reason)
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
                serde_json::Value::Object(members) => {
                    let members = members.iter().map(|(key, value)| (key.clone(), Self::from(value)));
                    Self::Object(Rc::new(Object::new(members.collect()).unwrap()))
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
            match Json::parse(text) {
                Err(CompileError::Refused(refusal)) => assert_eq!(refusal.place, place, "{text}: {refusal}"),
                other => panic!("{text}: {other:?}"),
            }
        }
        assert!(Json::parse(&"[".repeat(100_000)).is_err());
    }

    proptest! {
        #[test]
        fn a_reader_of_json_agrees(text in r#"([\[\]{},:"0-9eE+\-. ]|"a"|"\\u(D8|d|DC|[0-9a-f]{2})[0-9A-F]{1,3}"|\\|true|null|\[\[|\]\]|1,){0,8}"#) {
            let own = Json::parse(&text);
            let other = serde_json::from_str::<serde_json::Value>(&text);
            match other {
                Ok(value) => prop_assert!(own.is_err_and(|error| error.to_string().contains("repeated") || error.to_string().contains("digits")) || Json::parse(&text).unwrap() == Json::from(&value)),
                Err(_) => prop_assert!(own.is_err(), "{}", text),
            }
        }
    }
}
