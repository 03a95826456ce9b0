use gobo_automata::CharSet;

/// A pattern, as far as it decides which texts match: what groups capture and which match is found first is left out.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) node: Node,
    /// The look-aheads, those inside of others before them.
    pub(super) looks: Vec<Look>,
}

/// A look-ahead.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) body: Node,
    pub(super) is_negated: bool,
    /// Whether it matters what stands before the place where it is tried.
    pub(super) needs_context: bool,
}

/// The place of a look-ahead in [`Pattern::looks`].
pub(super) type LookId = usize;

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
    /// Whether it can be matched only with knowledge of what stands around it, beyond where the text begins and ends.
    pub(super) fn looks_around(&self) -> bool {
        self.has(&|leaf| matches!(leaf, Self::Boundary { .. } | Self::Look(_)))
    }

    /// Whether `$` is in it, outside of look-aheads.
    pub(super) fn has_end(&self) -> bool {
        self.has(&|leaf| matches!(leaf, Self::End))
    }

    /// Whether it matters what stands before the place where it is matched.
    /// `look_needs_context` says so of look-aheads.
    pub(super) fn needs_context(&self, look_needs_context: impl Fn(LookId) -> bool) -> bool {
        self.has(&|leaf| match leaf {
            Self::Start | Self::Boundary { .. } => true,
            Self::Look(look) => look_needs_context(*look),
            _ => false,
        })
    }

    /// Whether some leaf is so.
    fn has(&self, is: &impl Fn(&Self) -> bool) -> bool {
        match self {
            Self::Concat(parts) | Self::Alternate(parts) => parts.iter().any(|part| part.has(is)),
            Self::Repeat { node, .. } => node.has(is),
            leaf => is(leaf),
        }
    }
}
