//! The words of a grammar.

use gobo_automata::CharSet;
use gobo_types::{CompileError, RefusalKind};

use super::syntax::{At, Home, Item, Pattern};
use crate::outline::place;
use crate::regex::{Flag, Flags};

/// The text of a grammar, and a place in it.
pub(super) struct Scanner<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) home: Home,
    /// The name of an imported grammar; empty for the constraint itself.
    pub(super) document: &'a str,
}

/// A refusal at a place of a grammar; only those of the constraint itself have a span in its text.
pub(super) fn refuse_at(
    (document, text): (&str, &str),
    kind: RefusalKind,
    at: usize,
    reason: impl Into<String>,
) -> CompileError {
    let width = text[at..].chars().next().map_or(0, char::len_utf8);
    let error = CompileError::refuse(kind, place_in((document, text), at), reason);
    if document.is_empty() { error.spanning(at..at + width) } else { error }
}

/// How a place is named.
fn place_in((document, text): (&str, &str), at: usize) -> String {
    let place = place(text, at);
    if document.is_empty() { place } else { format!("{document}: {place}") }
}

impl<'a> Scanner<'a> {
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn eat(&mut self, what: &str) -> bool {
        let found = self.rest().starts_with(what);
        if found {
            self.at += what.len();
        }
        found
    }

    pub(super) fn take_while(&mut self, is_wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let len = rest.find(|char| !is_wanted(char)).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    /// Skips blanks, comments and continued lines; line ends too, where the statement goes on after them.
    pub(super) fn skip(&mut self, over_lines: bool) {
        loop {
            self.take_while(|char| {
                matches!(char, ' ' | '\t' | '\u{c}') || over_lines && matches!(char, '\n' | '\r')
            });
            let rest = self.rest();
            if rest.starts_with("//") || rest.starts_with('#') {
                self.take_while(|char| char != '\n');
            } else {
                let after = rest.strip_prefix('\\').unwrap_or_default().trim_start_matches([' ', '\r']);
                if !after.starts_with('\n') {
                    return;
                }
                self.at += rest.len() - after.len() + 1;
            }
        }
    }

    /// How a place is named.
    pub(super) fn place(&self, at: usize) -> String {
        place_in((self.document, self.text), at)
    }

    pub(super) fn refuse(&self, kind: RefusalKind, at: usize, reason: impl Into<String>) -> CompileError {
        refuse_at((self.document, self.text), kind, at, reason)
    }

    pub(super) fn malformed(&self, at: usize, reason: impl Into<String>) -> CompileError {
        self.refuse(RefusalKind::Malformed, at, reason)
    }

    pub(super) fn unsupported(&self, at: usize, reason: impl Into<String>) -> CompileError {
        self.refuse(RefusalKind::Unsupported, at, reason)
    }

    /// The name of a rule or a terminal, if there is one here.
    pub(super) fn name(&mut self) -> Option<At<String>> {
        let at = self.at;
        let rest = self.rest();
        if !rest.trim_start_matches('_').starts_with(|char: char| char.is_ascii_alphabetic()) {
            return None;
        }
        let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
        self.take_while(is_name);
        while self.home == Home::Llguidance && self.rest().starts_with('-') && !self.rest().starts_with("->")
        {
            self.at += 1;
            self.take_while(is_name);
        }
        Some(At { what: self.text[at..self.at].to_owned(), at })
    }

    /// A number, if there is one here that is not above `most`.
    pub(super) fn number(&mut self, most: u32) -> Result<Option<u32>, CompileError> {
        let at = self.at;
        let digits = self.take_while(|char| char.is_ascii_digit());
        if digits.is_empty() {
            return Ok(None);
        }
        let number = digits.parse().ok().filter(|number| *number <= most);
        let shown = &digits[..digits.len().min(20)];
        number.map(Some).ok_or_else(|| self.unsupported(at, format!("{shown} is above the limit of {most}")))
    }

    /// A text in double quotes with its flag, or a range of characters.
    pub(super) fn text(&mut self) -> Result<Item, CompileError> {
        let at = self.at;
        let text = self.quoted()?;
        let mut written = self.text[at..self.at].chars().count();
        if self.rest().starts_with("..") {
            self.at += 2;
            self.skip(false);
            if self.peek() != Some('"') {
                return Err(self.malformed(self.at, "a range ends with a character in double quotes"));
            }
            let last_at = self.at;
            let last = self.quoted()?;
            written += self.text[last_at..self.at].chars().count();
            let one = |text: &str| {
                let mut chars = text.chars();
                chars.next().filter(|_| chars.next().is_none())
            };
            let (Some(first), Some(last)) = (one(&text), one(&last)) else {
                return Err(self.malformed(at, "a range is from one character to another"));
            };
            if last < first {
                let reason = format!("{first:?} comes after {last:?}: the range is empty");
                return Err(self.malformed(at, reason));
            }
            // Without the four quotes.
            return Ok(Item::Range(CharSet::new([(first, last)]), written as u64 - 4));
        }
        Ok(Item::Text { text, ignores_case: self.eat("i") })
    }

    /// The text between double quotes.
    fn quoted(&mut self) -> Result<String, CompileError> {
        let at = self.at;
        let len = self.closed(at, '"', "an unclosed text")?;
        let raw = &self.text[at + 1..at + 1 + len];
        if raw.contains('\n') {
            return Err(self.malformed(at, "a line end in a text; write \\n to match one"));
        }
        self.at = at + len + 2;
        if self.home == Home::Llguidance {
            return self.unescaped(at + 1, raw);
        }
        let (text, _) = self.replaced(at + 1, raw)?;
        // What is still escaped: a backslash, and characters that need none.
        Ok(text.replace("\\\"", "\"").replace("\\\\", "\\"))
    }

    /// Number of bytes up to the character that closes what opened at `at`.
    fn closed(&self, at: usize, end: char, unclosed: &str) -> Result<usize, CompileError> {
        let mut chars = self.text[at + 1..].char_indices();
        while let Some((len, char)) = chars.next() {
            match char {
                '\\' => drop(chars.next()),
                char if char == end => return Ok(len),
                _ => {}
            }
        }
        Err(self.malformed(at, unclosed))
    }

    /// A regular expression between slashes, with its flags.
    pub(super) fn regex(&mut self) -> Result<Item, CompileError> {
        let at = self.at;
        let len = self.closed(at, '/', "an unclosed regular expression")?;
        let raw = &self.text[at + 1..at + 1 + len];
        let (source, places) = match self.home {
            Home::Lark => self.replaced(at + 1, raw)?,
            Home::Llguidance => (raw.to_owned(), (at + 1..=at + 1 + len).collect()),
        };
        self.at = at + len + 2;
        let flag_at = self.at;
        let mut flags = Flags::default();
        for (offset, letter) in self.take_while(|char| char.is_ascii_alphabetic()).char_indices() {
            if letter == 'l' {
                return Err(self.malformed(flag_at + offset, "the flag l is for patterns of bytes alone"));
            }
            if letter == 'a' || !flags.set(letter, true) {
                return Err(self.malformed(flag_at + offset, format!("{letter} is no flag; there are imsux")));
            }
        }
        if raw.contains('\n') && !flags.has(Flag::Verbose) && self.home == Home::Lark {
            return Err(self.malformed(at, "a line end in a regular expression without the flag x"));
        }
        Ok(Item::Regex(Box::new(Pattern { source, places, flags })))
    }

    /// A text in which the escapes of JSON are replaced, and `\xHH`, as llguidance does.
    fn unescaped(&self, base: usize, raw: &str) -> Result<String, CompileError> {
        let mut text = String::with_capacity(raw.len());
        let mut rest = raw;
        let hex = |digits: Option<&str>| {
            let digits = digits.filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
            u32::from_str_radix(digits, 16).ok()
        };
        while let Some(char) = rest.chars().next() {
            let at = base + raw.len() - rest.len();
            rest = &rest[char.len_utf8()..];
            if char != '\\' {
                text.push(char);
                continue;
            }
            let escaped = rest.chars().next().unwrap_or('\\');
            rest = rest.get(escaped.len_utf8()..).unwrap_or_default();
            let code = match escaped {
                '"' | '\\' | '/' => Some(u32::from(escaped)),
                'b' => Some(8),
                'f' => Some(12),
                'n' => Some(10),
                'r' => Some(13),
                't' => Some(9),
                'x' | 'u' => {
                    let len = if escaped == 'x' { 2 } else { 4 };
                    let code = hex(rest.get(..len));
                    rest = rest.get(len..).unwrap_or_default();
                    let low = rest.strip_prefix("\\u").and_then(|rest| hex(rest.get(..4)));
                    match (code, low) {
                        (Some(high @ 0xD800..=0xDBFF), Some(low @ 0xDC00..=0xDFFF)) => {
                            rest = rest.get(6..).unwrap_or_default();
                            Some(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
                        }
                        _ => code,
                    }
                }
                _ => None,
            };
            let Some(char) = code.and_then(char::from_u32) else {
                let reason = "no escape of a text: there are those of JSON, and \\xHH";
                return Err(self.malformed(at, reason));
            };
            text.push(char);
        }
        Ok(text)
    }

    /// A text in which escapes of characters are replaced, as Lark does before anything else: `\n \r \t \f \xHH \uHHHH \UHHHHHHHH`.
    /// Other escapes stay as they are. Beside it where each byte comes from.
    fn replaced(&self, base: usize, raw: &str) -> Result<(String, Vec<usize>), CompileError> {
        let (mut text, mut places) = (String::with_capacity(raw.len()), Vec::with_capacity(raw.len() + 1));
        let mut push = |piece: &str, from: usize, spread: bool| {
            places.extend((0..piece.len()).map(|offset| if spread { from + offset } else { from }));
            text.push_str(piece);
        };
        let mut at = 0;
        while let Some(char) = raw[at..].chars().next() {
            let from = base + at;
            let escaped = raw[at + char.len_utf8()..].chars().next().filter(|_| char == '\\');
            let Some(escaped) = escaped else {
                push(&raw[at..at + char.len_utf8()], from, true);
                at += char.len_utf8();
                continue;
            };
            at += 1 + escaped.len_utf8();
            let len = match escaped {
                'n' | 'r' | 't' | 'f' => {
                    push(["\n", "\r", "\t", "\u{c}"]["nrtf".find(escaped).unwrap_or(0)], from, false);
                    continue;
                }
                'x' => 2,
                'u' => 4,
                'U' => 8,
                _ => {
                    push(&raw[at - 1 - escaped.len_utf8()..at], from, true);
                    continue;
                }
            };
            let digits =
                raw.get(at..at + len).filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
            let Some(code) = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) else {
                return Err(self.malformed(from, format!("this escape needs {len} hexadecimal digits")));
            };
            let Some(char) = char::from_u32(code) else {
                return Err(self.malformed(from, format!("U+{code:04X} is no character of a UTF-8 text")));
            };
            push(char.encode_utf8(&mut [0; 4]), from, false);
            at += len;
        }
        places.push(base + raw.len());
        Ok((text, places))
    }
}
