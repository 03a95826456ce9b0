//! The formats of structural tags.

use gobo_automata::TokenItem;
use gobo_schema::Arguments;

/// A format, and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    /// JSON pointer into the text of the tag.
    pub(super) pointer: String,
    pub(super) format: Format,
}

/// What is written.
#[derive(Debug, Clone)]
pub(super) enum Format {
    /// This text.
    Const(String),
    /// The values of a schema.
    Schema(Schema),
    /// The texts of a grammar in EBNF.
    Grammar(String),
    /// The texts that a pattern of ECMA-262 matches.
    Regex(String),
    /// Any text without the excludes in it, and without the ends of the nearest tag around it.
    AnyText {
        excludes: Vec<String>,
        max_chars: Option<u32>,
        max_tokens: Option<u32>,
    },
    Sequence(Vec<Placed>),
    Or(Vec<Placed>),
    Repeat {
        content: Box<Placed>,
        min: u32,
        max: Option<u32>,
    },
    Tag(Box<Tag>),
    /// Free text and tags after triggers.
    Triggered {
        triggers: Vec<String>,
        excludes: Vec<String>,
        tags: Vec<Tag>,
        flow: Flow,
    },
    /// Tags with a text between any two.
    Separated {
        separator: String,
        tags: Vec<Tag>,
        flow: Flow,
    },
    /// Free text, and what stands behind each pattern.
    Dispatch {
        rules: Vec<(String, Placed)>,
        excludes: Vec<String>,
        is_loop: bool,
    },
    /// One of these tokens.
    Token(TokenItem),
    /// One other token than these, and than the end of the nearest tag.
    ExcludeToken(Vec<TokenItem>),
    /// Any number of other tokens.
    AnyTokens {
        excludes: Vec<TokenItem>,
        max_tokens: Option<u32>,
    },
    /// Free tokens and tags that begin with triggers.
    TokenTriggered {
        triggers: Vec<TokenItem>,
        excludes: Vec<TokenItem>,
        tags: Vec<Tag>,
        flow: Flow,
    },
    /// Free tokens, and what stands behind each of these.
    TokenDispatch {
        rules: Vec<(TokenItem, Placed)>,
        excludes: Vec<TokenItem>,
        is_loop: bool,
    },
}

/// How many tags there are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flow {
    /// A tag comes first.
    pub(super) at_least_one: bool,
    /// Nothing comes after the first tag.
    pub(super) stop_after_first: bool,
}

/// A beginning, a content and an end.
#[derive(Debug, Clone)]
pub(super) struct Tag {
    pub(super) pointer: String,
    pub(super) begin: Begin,
    pub(super) content: Placed,
    pub(super) end: End,
}

#[derive(Debug, Clone)]
pub(super) enum Begin {
    Text(String),
    Token(TokenItem),
}

#[derive(Debug, Clone)]
pub(super) enum End {
    /// One of these texts.
    Texts(Vec<String>),
    Token(TokenItem),
}

/// The values of a schema, and how they are written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Schema {
    /// Its text.
    pub(super) text: String,
    pub(super) arguments: Arguments,
    pub(super) any_order: bool,
    /// Most characters of whitespace in a row, where it says so.
    pub(super) max_whitespace: Option<u32>,
}

impl Format {
    /// The name of its type.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Const(_) => "const_string",
            Self::Schema(_) => "json_schema",
            Self::Grammar(_) => "grammar",
            Self::Regex(_) => "regex",
            Self::AnyText { .. } => "any_text",
            Self::Sequence(_) => "sequence",
            Self::Or(_) => "or",
            Self::Repeat { .. } => "repeat",
            Self::Tag(_) => "tag",
            Self::Triggered { .. } => "triggered_tags",
            Self::Separated { .. } => "tags_with_separator",
            Self::Dispatch { .. } => "dispatch",
            Self::Token(_) => "token",
            Self::ExcludeToken(_) => "exclude_token",
            Self::AnyTokens { .. } => "any_tokens",
            Self::TokenTriggered { .. } => "token_triggered_tags",
            Self::TokenDispatch { .. } => "token_dispatch",
        }
    }

    /// Whether its texts may go on with any free text, so that something has to end them.
    pub(super) fn is_endless(&self) -> bool {
        match self {
            Self::AnyText { excludes, max_chars, max_tokens } => {
                excludes.is_empty() && max_chars.is_none() && max_tokens.is_none()
            }
            Self::Triggered { excludes, flow, .. } => excludes.is_empty() && !flow.stop_after_first,
            Self::Dispatch { excludes, is_loop, .. } => excludes.is_empty() && *is_loop,
            Self::AnyTokens { excludes, max_tokens } => excludes.is_empty() && max_tokens.is_none(),
            Self::TokenTriggered { excludes, flow, .. } => excludes.is_empty() && !flow.stop_after_first,
            Self::TokenDispatch { excludes, is_loop, .. } => excludes.is_empty() && *is_loop,
            Self::Sequence(parts) => parts.last().is_some_and(|last| last.format.is_endless()),
            Self::Or(parts) => parts.iter().any(|part| part.format.is_endless()),
            Self::Repeat { content, .. } => content.format.is_endless(),
            Self::Const(_)
            | Self::Schema(_)
            | Self::Grammar(_)
            | Self::Regex(_)
            | Self::Tag(_)
            | Self::Separated { .. }
            | Self::Token(_)
            | Self::ExcludeToken(_) => false,
        }
    }
}
