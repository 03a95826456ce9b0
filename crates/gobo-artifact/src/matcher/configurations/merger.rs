//! What a byte over a graph of stacks keeps beside it: the nodes to be popped, the states returned to, and what was found.

use std::cmp::Reverse;

use gobo_types::{CharCount, LengthRange};

use crate::matcher::stacks::Configuration;
use crate::matcher::stacks::set::{Marks, Union};

/// A state to which a way down the stacks has returned.
#[derive(Debug, Clone, Copy)]
pub(super) struct Returned {
    pub(super) state: u32,
    /// The characters that were read there, none but at the first.
    pub(super) count: CharCount,
    /// The one before on the same way; itself for the first.
    pub(super) before: usize,
}

/// A node to be popped.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pop {
    pub(super) node: u32,
    /// The state above.
    pub(super) state: u32,
    pub(super) count: CharCount,
    /// The last new state on the way.
    pub(super) returned: usize,
}

/// What configurations have in common that become one.
pub(super) type Group = (u32, CharCount, Option<LengthRange>);

/// A configuration by its place in the order: its group, its depth, when it was found, and its node.
pub(super) type Found = (Group, Reverse<u32>, usize, u32);

/// What the walks over the graph need from byte to byte: room alone.
#[derive(Debug, Clone, Default)]
pub(super) struct Merger {
    /// The configurations after the byte, several of one state among them.
    pub(super) found: Vec<Configuration>,
    pub(super) marks: Marks,
    pub(super) pops: Vec<Pop>,
    pub(super) returned: Vec<Returned>,
    pub(super) order: Vec<Found>,
    pub(super) union: Union,
}
