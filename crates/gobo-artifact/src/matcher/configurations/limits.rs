//! The limits on the stacks of a text, which are looked at before its mask and never within a token.
//!
//! A token that a mask shows is taken whatever it makes of the stacks; the text is past the limit after it, and has no mask and goes no
//! further. It goes past by at most the token's bytes times what one byte pushes. So no limit decides which tokens may come next.

use super::{Configuration, Configurations};
use crate::matcher::error::MatcherError;
use crate::matcher::stacks::Stacks;

/// Most frames of a stack unless told otherwise.
///
/// ```
/// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
/// use gobo_artifact::{DEFAULT_MAX_STACK_DEPTH, Matcher, MatcherError};
///
/// # let (index, vocabulary, binding) = small::brackets();
/// let mut matcher = Matcher::new(index, vocabulary, &binding)?;
/// let mut mask = vec![0; matcher.mask_words()];
/// // A text of brackets may be nested as deep as the stack may get, and one bracket more.
/// matcher.advance_bytes(&vec![b'['; DEFAULT_MAX_STACK_DEPTH as usize + 1])?;
/// assert!(matcher.fill(&mut mask).is_ok());
/// matcher.advance(0)?;
/// let limit = DEFAULT_MAX_STACK_DEPTH;
/// assert_eq!(matcher.fill(&mut mask), Err(MatcherError::StackDepth { limit, frames: limit + 1 }));
/// # Ok::<(), MatcherError>(())
/// ```
pub const DEFAULT_MAX_STACK_DEPTH: u32 = 65_536;

/// Most nodes of the stacks of one text unless told otherwise, 32 bytes each: frames, and links of sets of several stacks, which
/// ambiguous texts alone have.
///
/// ```
/// use gobo_artifact::{DEFAULT_MAX_STACK_NODES, MatcherError};
///
/// let error = MatcherError::StackNodes { limit: DEFAULT_MAX_STACK_NODES, nodes: 262_145 };
/// assert_eq!(error.to_string(), "the stacks of the text have 262145 nodes, more than the limit of 262144");
/// ```
pub const DEFAULT_MAX_STACK_NODES: u32 = 1 << 18;

/// Plain stacks of one text that may be as deep as their limit.
const FEW_STACKS: u32 = 4;

/// The limits on the stacks of one text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) depth: u32,
    pub(crate) nodes: u32,
}

/// What a text has more of than it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PastLimit {
    Depth { limit: u32, frames: u32 },
    Nodes { limit: u32, nodes: usize },
}

impl From<PastLimit> for MatcherError {
    #[cold]
    fn from(past: PastLimit) -> Self {
        match past {
            PastLimit::Depth { limit, frames } => Self::StackDepth { limit, frames },
            PastLimit::Nodes { limit, nodes } => Self::StackNodes { limit, nodes },
        }
    }
}

impl Limits {
    /// The limits of a matcher that is told of depth alone: few plain stacks of that depth have the nodes that they need.
    pub(crate) fn of_depth(depth: u32) -> Self {
        Self { depth, nodes: DEFAULT_MAX_STACK_NODES.max(depth.saturating_mul(FEW_STACKS)) }
    }

    /// Whether stacks are within the limits. O(configurations), unless more nodes are kept for all texts together than one may have.
    #[inline]
    pub(crate) fn check(self, stacks: &Stacks, all: &[Configuration]) -> Result<(), PastLimit> {
        let frames = deepest(stacks, all);
        if frames > self.depth {
            return Err(PastLimit::Depth { limit: self.depth, frames });
        }
        if stacks.places() > self.nodes as usize + 1 {
            return self.count(stacks, all);
        }
        Ok(())
    }

    #[cold]
    fn count(self, stacks: &Stacks, all: &[Configuration]) -> Result<(), PastLimit> {
        let (frames, links) = stacks.nodes_of(all.iter().map(|at| at.frame));
        let nodes = frames + links;
        if nodes > self.nodes as usize { Err(PastLimit::Nodes { limit: self.nodes, nodes }) } else { Ok(()) }
    }
}

#[inline]
fn deepest(stacks: &Stacks, all: &[Configuration]) -> u32 {
    all.iter().map(|at| stacks.depth(at.frame)).max().unwrap_or(0)
}

impl Configurations {
    /// The deepest of the present stacks, in frames. O(configurations).
    pub(crate) fn depth(&self) -> u32 {
        deepest(&self.stacks, &self.now)
    }

    /// Frames and links of the present stacks. O(nodes kept).
    pub(crate) fn nodes(&self) -> (usize, usize) {
        self.stacks.nodes_of(self.now.iter().map(|at| at.frame))
    }

    /// Whether the text is within the limits.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), PastLimit> {
        self.limits.check(&self.stacks, &self.now)
    }

    /// Other limits, from now on.
    pub(crate) fn set_max_nodes(&mut self, nodes: u32) {
        self.limits.nodes = nodes;
    }
}
