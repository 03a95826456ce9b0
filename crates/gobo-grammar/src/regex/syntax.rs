//! Trees of regular expressions.

use std::sync::Arc;

use gobo_automata::{CharSet, Language};

/// Deepest nesting of looks: each level is built twice, or once for each way in which what stands before it may be.
pub(super) const LOOK_LIMIT: u32 = 8;

/// A node of a tree: a set of texts, with conditions on what stands around them.
#[derive(Debug, Clone)]
pub enum Node {
    /// Exactly this text; the empty one too.
    Text(String),
    /// One character of a set.
    Chars(CharSet),
    /// One after the other.
    Concat(Vec<Node>),
    /// Any one of these.
    Alternate(Vec<Node>),
    /// `min` to `max` times.
    Repeat {
        /// What is repeated.
        node: Box<Node>,
        /// Least number of times.
        min: u32,
        /// Most, if there is a limit.
        max: Option<u32>,
        /// Whether fewer times are preferred, which matters to lexers alone.
        lazy: bool,
    },
    /// Reads nothing, and looks at what stands before or after.
    Look(Arc<Look>),
    /// A language that was computed before.
    Texts(Arc<Language>),
    /// The same, with the name of the group that it was. In outlines alone.
    Named(String, Box<Node>),
}

/// A condition on what stands before or after a position.
#[derive(Debug)]
pub struct Look {
    pub(crate) direction: Direction,
    /// Whether the condition is that the node does not match.
    pub(crate) negated: bool,
    /// Whether the node reads all that stands there, to the end or from the start of the text.
    pub(crate) whole: bool,
    /// Whether the condition is given up where a text in a longer one ends: that of a possessive repetition, which holds of the
    /// text itself.
    pub(crate) soft: bool,
    pub(crate) node: Node,
}

/// Where a [`Look`] looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// At what follows.
    Ahead,
    /// At what stands before.
    Behind,
}

impl Node {
    /// The node without texts but the empty one.
    pub fn empty() -> Self {
        Self::Text(String::new())
    }

    /// One node after the other.
    pub(crate) fn concat(mut parts: Vec<Self>) -> Self {
        if parts.len() == 1 { parts.swap_remove(0) } else { Self::Concat(parts) }
    }

    /// Any one of the nodes.
    pub(crate) fn alternate(mut parts: Vec<Self>) -> Self {
        if parts.len() == 1 { parts.swap_remove(0) } else { Self::Alternate(parts) }
    }

    /// The node `min` to `max` times.
    #[must_use]
    pub fn repeat(self, min: u32, max: Option<u32>) -> Self {
        Self::Repeat { node: Box::new(self), min, max, lazy: false }
    }

    /// Of a repetition the one that prefers fewer times.
    pub(crate) fn preferring_fewer(self) -> Self {
        match self {
            Self::Repeat { node, min, max, .. } => Self::Repeat { node, min, max, lazy: true },
            other => other,
        }
    }

    /// A condition.
    pub fn look(direction: Direction, negated: bool, node: Self) -> Self {
        Self::Look(Arc::new(Look { direction, negated, whole: false, soft: false, node }))
    }

    /// A condition on all that stands before or after.
    pub fn whole(direction: Direction, node: Self) -> Self {
        Self::Look(Arc::new(Look { direction, negated: false, whole: true, soft: false, node }))
    }

    /// Whether it looks at what stands before or after some position.
    pub(crate) fn looks_around(&self) -> bool {
        match self {
            Self::Text(_) | Self::Chars(_) | Self::Texts(_) => false,
            Self::Concat(parts) | Self::Alternate(parts) => parts.iter().any(Self::looks_around),
            Self::Repeat { node, .. } | Self::Named(_, node) => node.looks_around(),
            Self::Look(_) => true,
        }
    }

    /// How many levels of looks nest.
    pub(super) fn look_depth(&self) -> u32 {
        match self {
            Self::Text(_) | Self::Chars(_) | Self::Texts(_) => 0,
            Self::Concat(parts) | Self::Alternate(parts) => {
                parts.iter().map(Self::look_depth).max().unwrap_or_default()
            }
            Self::Repeat { node, .. } | Self::Named(_, node) => node.look_depth(),
            Self::Look(look) => 1 + look.node.look_depth(),
        }
    }

    /// The least and the most number of characters of its texts, as Python counts them: looks read nothing, and without a limit it
    /// is the highest number.
    pub(crate) fn widths(&self) -> (u64, u64) {
        match self {
            Self::Text(text) => {
                let chars = text.chars().count() as u64;
                (chars, chars)
            }
            Self::Chars(_) => (1, 1),
            Self::Concat(parts) => parts
                .iter()
                .map(Self::widths)
                .fold((0, 0), |(min, max), of| (min.saturating_add(of.0), max.saturating_add(of.1))),
            Self::Alternate(parts) => {
                let widths = parts.iter().map(Self::widths);
                widths.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1))).unwrap_or((0, 0))
            }
            Self::Repeat { node, min, max, .. } => {
                let of = node.widths();
                let most = match max {
                    Some(max) => of.1.saturating_mul(u64::from(*max)),
                    None if of.1 > 0 => u64::MAX,
                    None => 0,
                };
                (of.0.saturating_mul(u64::from(*min)), most)
            }
            Self::Look(_) => (0, 0),
            Self::Named(_, node) => node.widths(),
            // Lark's lexers, to which more matters, have no languages.
            Self::Texts(language) => (u64::from(!language.may_end(language.start())), u64::MAX),
        }
    }

    /// The number of characters of all its texts, if that is one number.
    pub(crate) fn width(&self) -> Option<u64> {
        match self {
            Self::Text(text) => Some(text.chars().count() as u64),
            Self::Chars(_) => Some(1),
            Self::Concat(parts) => parts.iter().map(Self::width).sum(),
            Self::Alternate(parts) => {
                let mut widths = parts.iter().map(Self::width);
                let first = widths.next()??;
                widths.all(|width| width == Some(first)).then_some(first)
            }
            Self::Repeat { node, min, max, .. } => {
                let (width, times) = (node.width()?, u64::from(*min));
                (*max == Some(*min) || width == 0).then(|| width.saturating_mul(times))
            }
            Self::Look(_) => Some(0),
            Self::Named(_, node) => node.width(),
            Self::Texts(_) => None,
        }
    }
}
