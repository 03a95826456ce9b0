//! The syntax tree of a pattern.

use gobo_automata::CharSet;
use gobo_grammar::regex::Direction;
use gobo_types::{Table, dense_id};

/// A pattern as far as it decides which texts match: captures and the order of matches are left out.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) node: Node,
    /// The look-arounds; those inside another come before it.
    pub(super) looks: Table<LookId, Look>,
}

/// A look-around.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) body: Node,
    pub(super) direction: Direction,
    pub(super) is_negated: bool,
    /// Whether it depends on what precedes the position where it is tried.
    pub(super) needs_context: bool,
}

dense_id! {
    /// A look-around: an index in [`Pattern::looks`].
    pub(super) struct LookId;
}

/// A part of a pattern.
#[derive(Debug)]
pub(super) enum Node {
    /// The empty text.
    Empty,
    /// This character.
    Char(char),
    /// One character of a class, which may be empty.
    Class(CharSet),
    Concat(Vec<Node>),
    Alternate(Vec<Node>),
    Repeat {
        node: Box<Node>,
        min: u32,
        max: Option<u32>,
    },
    /// `^`.
    Start,
    /// `$`.
    End,
    /// `\b`, or `\B`.
    Boundary {
        is_negated: bool,
    },
    Look(LookId),
}

impl Node {
    /// Whether it depends on the characters around a position, and not only on where the text begins and ends.
    pub(super) fn looks_around(&self) -> bool {
        self.has(&|leaf| matches!(leaf, Self::Boundary { .. } | Self::Look(_)))
    }

    /// Whether it contains `$`, look-aheads apart.
    pub(super) fn has_end(&self) -> bool {
        self.has(&|leaf| matches!(leaf, Self::End))
    }

    /// Whether it depends on what precedes the position where it is matched; `look_needs_context` answers for look-aheads.
    pub(super) fn needs_context(&self, look_needs_context: impl Fn(LookId) -> bool) -> bool {
        self.has(&|leaf| match leaf {
            Self::Start | Self::Boundary { .. } => true,
            Self::Look(look) => look_needs_context(*look),
            _ => false,
        })
    }

    /// Whether some leaf satisfies a predicate.
    fn has(&self, is: &impl Fn(&Self) -> bool) -> bool {
        match self {
            Self::Concat(parts) | Self::Alternate(parts) => parts.iter().any(|part| part.has(is)),
            Self::Repeat { node, .. } => node.has(is),
            leaf => is(leaf),
        }
    }
}
