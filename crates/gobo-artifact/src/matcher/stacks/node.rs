//! What is kept of a frame or a link: 32 bytes.

/// No node.
pub(super) const NONE: u32 = u32::MAX;

/// Of the marks of a node: the text is complete once all frames of one of its stacks are popped.
pub(super) const COMPLETES: u32 = 1;

/// Of the marks of a node: it is one stack.
pub(super) const PLAIN: u32 = 2;

/// Of the marks of a node: it is a link.
pub(super) const LINK: u32 = 4;

/// The other bits of the marks: a hash of all that the node stands for.
const HASH: u32 = !(COMPLETES | PLAIN | LINK);

/// A frame or a link.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    /// The number of the return state of a frame; that of the first frame of a link.
    pub(super) top: u32,
    /// The set below a frame; the other members of a link.
    pub(super) below: u32,
    /// How many frames lie below on the deepest of its stacks, the bottom included.
    pub(super) depth: u32,
    /// Nodes above, and configurations that hold this one.
    pub(super) holders: u32,
    /// The last frame made on this set.
    pub(super) above: u32,
    /// The frame made before this one on the same set; the next link in the same place of the table.
    pub(super) beside: u32,
    /// The first node below a frame that is no frame of the same return state; the first member of a link.
    pub(super) below_run: u32,
    /// [`COMPLETES`], [`PLAIN`], [`LINK`] and the [`HASH`].
    pub(super) marks: u32,
}

impl Node {
    #[inline]
    pub(super) fn has(&self, mark: u32) -> bool {
        self.marks & mark != 0
    }
}

/// The hash of a node by those of its parts, or by what else they are: the finalizer of `MurmurHash3`.
#[inline]
pub(super) fn mix(one: u32, other: u32) -> u32 {
    let mixed = (one.wrapping_mul(0x9e37_79b9).rotate_left(13) ^ other).wrapping_mul(0x85eb_ca6b);
    (mixed ^ (mixed >> 15)) & HASH
}
