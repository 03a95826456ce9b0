//! What a byte over a graph of stacks keeps beside it: the sets to be popped, the states returned to, what is pushed, and what was found.

use gobo_types::{CharCount, LengthRange};

use crate::layout::index::calls::PushTransition;
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

/// A set to be popped.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pop {
    pub(super) node: u32,
    /// The state above.
    pub(super) state: u32,
    pub(super) count: CharCount,
    /// The last new state on the way.
    pub(super) returned: usize,
}

/// A push transition that the byte leads on from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Push {
    /// The state after the byte.
    pub(super) state: u32,
    /// Whose return states are pushed.
    pub(super) transition: PushTransition,
    /// What is counted until the set is popped.
    pub(super) lengths: Option<LengthRange>,
    /// The stacks on which they are pushed.
    pub(super) node: u32,
}

/// What configurations have in common that become one.
pub(super) type Group = (u32, CharCount, Option<LengthRange>);

/// What the walks over the graph need from byte to byte: room alone.
#[derive(Debug, Clone, Default)]
pub(super) struct Merger {
    /// The configurations before or after the byte, several of one state among them.
    pub(super) found: Vec<Configuration>,
    pub(super) marks: Marks,
    pub(super) pops: Vec<Pop>,
    pub(super) returned: Vec<Returned>,
    pub(super) pushes: Vec<Push>,
    pub(super) order: Vec<(Group, u32)>,
    pub(super) union: Union,
}
