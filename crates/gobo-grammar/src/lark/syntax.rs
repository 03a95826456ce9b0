//! Statements of a grammar, as they are written.

use gobo_automata::CharSet;

use super::values::{Condition, Value};
use crate::regex::{Flags, Node};

/// Whose grammars are read: they differ in the escapes of texts, in regular expressions, and in which lexers can follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Home {
    Lark,
    Llguidance,
}

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
    /// One token of a set, or those of a class.
    Tokens(Node),
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
    /// The values of a JSON Schema.
    Schema(String),
    /// A rule with a parameter.
    Valued(String, Value),
    /// The part, where the parameter of the rule meets the condition.
    Where(Box<At<Item>>, Condition),
}

/// What makes a rule one lexeme.
#[derive(Debug, Clone, Default)]
pub(super) struct Attributes {
    /// Where its texts end.
    pub(super) end: Option<End>,
    /// How many tokens may begin in them.
    pub(super) budget: Option<TokenBudget>,
}

impl Attributes {
    /// Whether there is any.
    pub(super) fn are_set(&self) -> bool {
        self.end.is_some() || self.budget.is_some()
    }
}

/// How many tokens may begin in a text before it ends as soon as it can.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct TokenBudget {
    pub(super) most: u32,
    /// What is read where it is spent ([`gobo_automata::Language::spent`]).
    pub(super) spent: CharSet,
}

/// Where the texts of a rule end that is one lexeme.
#[derive(Debug, Clone)]
pub(super) enum End {
    /// At the first text.
    Lazy,
    /// At the first text that is followed by one of these, which belongs to it.
    Suffix(Box<At<Item>>),
    /// Before the first one of these.
    Stop(Box<At<Item>>),
}

impl End {
    /// The word of the attribute.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Lazy => "lazy",
            Self::Suffix(_) => "suffix",
            Self::Stop(_) => "stop",
        }
    }

    /// Whether texts end early: with an empty suffix or stop they do not.
    pub(super) fn is_early(&self) -> bool {
        match self {
            Self::Lazy => true,
            Self::Suffix(text) | Self::Stop(text) => {
                !matches!(&text.what, Item::Text { text, .. } if text.is_empty())
            }
        }
    }
}

/// A regular expression as it is written.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    /// Without the slashes, and in Lark with the escapes that stand for one character everywhere replaced.
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
    /// Whether it has a number for a parameter.
    pub(super) is_parametric: bool,
    pub(super) attributes: Attributes,
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
