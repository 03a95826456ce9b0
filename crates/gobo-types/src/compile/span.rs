//! Spans: which bytes of a text a message is about.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// A range of bytes of a text: of a pattern, a grammar, a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span {
    /// The first byte, from 0.
    pub start: u64,
    /// The byte after the last one; `start` where the span marks a place between two characters.
    pub end: u64,
}

impl Span {
    /// The bytes of a text that the span covers, clipped to the text and widened to whole characters.
    ///
    /// ```
    /// use gobo_types::Span;
    ///
    /// assert_eq!(Span::from(1..2).within("né"), 1..3);
    /// assert_eq!(Span::from(7..9).within("né"), 3..3);
    /// ```
    pub fn within(self, text: &str) -> Range<usize> {
        let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(text.len());
        let start = (0..=at(self.start)).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        let end = (at(self.end)..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
        start..end.max(start)
    }

    /// The line and the column of its first character in a text, both from 1; columns count characters. O(bytes before it).
    ///
    /// ```
    /// use gobo_types::Span;
    ///
    /// assert_eq!(Span::from(5..6).line_and_column("é\nab"), (2, 3));
    /// ```
    pub fn line_and_column(self, text: &str) -> (usize, usize) {
        let before = &text[..self.within(text).start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}

impl From<Range<usize>> for Span {
    fn from(bytes: Range<usize>) -> Self {
        Self { start: bytes.start as u64, end: bytes.end as u64 }
    }
}
