//! The text of a constraint as a person wrote it, and places in it.

use std::collections::HashMap;
use std::path::Path;

use gobo_types::{Span, compact_json};
use serde_json::value::RawValue;

/// The text of a constraint as a person wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// A file, or the option that gave the text.
    pub name: String,
    /// The text.
    pub text: String,
    /// Whether it is a schema, whose places are JSON pointers, and which was read without the whitespace between its tokens.
    pub is_schema: bool,
}

/// A place in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The bytes.
    pub span: Span,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl Written {
    /// The text of a file.
    pub fn file(file: &Path, text: String) -> Self {
        Self { name: file.display().to_string(), text, is_schema: false }
    }

    /// The text that an option gave.
    pub fn option(name: &str, text: &str) -> Self {
        Self { name: name.to_owned(), text: text.to_owned(), is_schema: false }
    }

    /// The place that a verdict names; `None` if it is about the whole, or about another document.
    pub fn find(&self, place: &str, span: Option<Span>) -> Option<Found> {
        let span = match span {
            Some(span) if self.is_schema => self.of_compact(span),
            Some(span) => span,
            None if self.is_schema && !place.is_empty() => self.at_pointer(place)?,
            None => return None,
        };
        let (line, column) = span.line_and_column(&self.text);
        Some(Found { span, line, column })
    }

    /// The value that a JSON pointer (RFC 6901) leads to, or the innermost one on the way there.
    fn at_pointer(&self, pointer: &str) -> Option<Span> {
        let mut value: &RawValue = serde_json::from_str(&self.text).ok()?;
        for token in pointer.strip_prefix('/')?.split('/') {
            let token = token.replace("~1", "/").replace("~0", "~");
            let inner = match value.get().as_bytes().first() {
                Some(b'{') => {
                    let mut object: HashMap<String, &RawValue> = serde_json::from_str(value.get()).ok()?;
                    object.remove(&token)
                }
                Some(b'[') => {
                    let array: Vec<&RawValue> = serde_json::from_str(value.get()).ok()?;
                    token.parse().ok().and_then(|at: usize| array.get(at).copied())
                }
                _ => None,
            };
            let Some(inner) = inner else { break };
            value = inner;
        }
        // The value borrows from the text.
        let start = value.get().as_ptr().addr() - self.text.as_ptr().addr();
        Some((start..start + value.get().len()).into())
    }

    /// Bytes of the text without whitespace between its tokens, as bytes of the text.
    fn of_compact(&self, span: Span) -> Span {
        let compact = compact_json(&self.text);
        let range = span.within(&compact);
        let mut chars = self.text.char_indices().peekable();
        let mut at = |offset: usize| {
            let mut wanted = compact[..offset].chars();
            let mut next = wanted.next();
            while let Some(char) = next {
                match chars.peek() {
                    None => break,
                    Some(&(_, written)) if written == char => {
                        chars.next();
                        next = wanted.next();
                    }
                    Some(&(_, written)) if written.is_ascii_whitespace() => {
                        chars.next();
                    }
                    // A space that stands for other whitespace.
                    Some(_) => next = wanted.next(),
                }
            }
            chars.clone().find(|(_, char)| !char.is_ascii_whitespace()).map_or(self.text.len(), |(at, _)| at)
        };
        let start = at(range.start);
        let mut width = 0;
        for char in compact[range].chars() {
            width += char.len_utf8();
        }
        (start..start + width).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(text: &str) -> Written {
        Written { name: "a.json".to_owned(), text: text.to_owned(), is_schema: true }
    }

    #[test]
    fn a_pointer_leads_to_its_value() {
        let written = schema("{\n  \"a/b\": [1,\n    {\"ü~\": 12}]\n}");
        let of = |pointer| {
            let found = written.find(pointer, None)?;
            Some((&written.text[found.span.within(&written.text)], found.line, found.column))
        };
        assert_eq!(of("/a~1b/1/ü~0"), Some(("12", 3, 12)));
        assert_eq!(of("/a~1b/0"), Some(("1", 2, 11)));
        assert_eq!(of("/a~1b/7/x"), Some(("[1,\n    {\"ü~\": 12}]", 2, 10)), "as far as it leads");
        assert_eq!(of(""), None, "the whole");
        assert_eq!(of("document 1:/a"), None);
        assert_eq!(schema("{").find("/a", None), None);
    }

    #[test]
    fn an_offset_without_whitespace_is_found_in_the_text() {
        for (text, compact, expected) in [
            ("{ \"a b\" : 1 ,\n }", "}", (2, 2)),
            (" [1 , 2\n x]", "x", (2, 2)),
            ("[1\n2]", "2", (2, 1)),
            ("[\"é\" ,]", "]", (1, 7)),
        ] {
            let written = schema(text);
            let at = compact_json(text).find(compact).unwrap();
            let found = written.find("", Some((at..at + 1).into())).unwrap();
            assert_eq!((found.line, found.column), expected, "{text}");
        }
    }
}
