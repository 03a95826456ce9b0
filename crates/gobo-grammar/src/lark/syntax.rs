//! Statements of a grammar, as they are written.

use gobo_automata::CharSet;

use crate::regex::Flags;

/// Something and the byte where it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct At<T> {
    pub(super) what: T,
    pub(super) at: usize,
}

/// What a definition stands for, and where.
pub(super) type Body = At<Item>;

/// A part of a body.
#[derive(Debug, Clone)]
pub(super) enum Item {
    /// A rule, a terminal, or a parameter of a template.
    Name(String),
    /// A template and its arguments.
    Template(String, Vec<At<Item>>),
    /// A text, in any case if so flagged.
    Text { text: String, ignores_case: bool },
    /// A regular expression.
    Regex(Box<Pattern>),
    /// One character of a range, and the number of characters that its bounds are written in.
    Range(CharSet, u64),
    /// One after the other.
    Concat(Vec<At<Item>>),
    /// Any one of these.
    Alternate(Vec<At<Item>>),
    /// `min` to `max` times.
    Repeat(Box<At<Item>>, u32, Option<u32>),
    /// The texts of all of these, of terminals alone.
    And(Vec<At<Item>>),
    /// All other texts, of a terminal.
    Not(Box<At<Item>>),
    /// Runs of neighbours among these pieces, the empty one too.
    Chain(Vec<String>),
}

/// A regular expression as it is written.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    /// Without the slashes, and with the escapes that stand for one character everywhere replaced.
    pub(super) source: String,
    /// `[bytes of source + 1]`: where each byte comes from.
    pub(super) places: Vec<usize>,
    pub(super) flags: Flags,
}

/// A definition of a rule or of a terminal.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    pub(super) name: At<String>,
    /// The parameters of a template.
    pub(super) parameters: Vec<String>,
    /// What is written at it and means nothing here.
    pub(super) remarks: Vec<&'static str>,
    pub(super) priority: i64,
    pub(super) body: Body,
}

/// How a definition relates to another one of that name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    New,
    Override,
    Extend,
}

/// A name that is imported.
#[derive(Debug, Clone)]
pub(super) struct Import {
    /// Whether the path begins at the folder of the grammar itself.
    pub(super) is_relative: bool,
    /// The names of the path, without that of the definition.
    pub(super) path: Vec<String>,
    pub(super) name: String,
    /// The name here.
    pub(super) alias: String,
    pub(super) at: usize,
}

/// A statement.
#[derive(Debug, Clone)]
pub(super) enum Statement {
    Define(Mode, Definition),
    Ignore(Body),
    Import(Import),
    Declare(At<String>),
    /// Whether ignored text may stand before the first terminal.
    InitialSkip(bool),
}

/// Whether a name is one of a terminal: its first letter is upper case.
pub(super) fn is_terminal(name: &str) -> bool {
    name.trim_start_matches('_').starts_with(|char: char| char.is_ascii_uppercase())
}
