//! Places in the text of a grammar.

use std::ops::Range;

/// Where the parts of a grammar stand in its text, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// In the order of the rules of `gbnf`.
    pub rules: Vec<OutlinedRule>,
    /// The repetitions with braces.
    pub repetitions: Vec<OutlinedRepetition>,
}

/// A rule in its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlinedRule {
    /// Its name, where it is defined.
    pub name: Range<usize>,
    /// What it stands for.
    pub body: Range<usize>,
}

/// A repetition in its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlinedRepetition {
    /// The whole of it.
    pub span: Range<usize>,
    /// Its bounds with their braces.
    pub braces: Range<usize>,
    /// Least number of times.
    pub min: u32,
    /// Most, if there is a limit.
    pub max: Option<u32>,
}

/// The place of a byte of a grammar as refusals name it: its line and its column in characters, both from 1.
///
/// ```
/// assert_eq!(gobo_grammar::gbnf::place("a ::= b\nb ::= b", 8), "line 2, column 1");
/// ```
pub fn place(text: &str, at: usize) -> String {
    let (line, column) = line_and_column(text, at);
    format!("line {line}, column {column}")
}

/// The place of a byte of a grammar: its line and its column in characters, both from 1.
pub fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    // CR, LF and CRLF end a line.
    let before = &text[..at];
    let line = before.bytes().filter(|byte| *byte == b'\n').count()
        + before.match_indices('\r').filter(|(at, _)| !text[at + 1..].starts_with('\n')).count();
    let column = before.rsplit(is_line_end).next().unwrap_or(before).chars().count();
    (line + 1, column + 1)
}

pub(crate) fn is_line_end(char: char) -> bool {
    matches!(char, '\r' | '\n')
}
