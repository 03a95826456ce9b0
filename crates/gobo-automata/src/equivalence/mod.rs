//! Which states cannot be told apart: partition refinement, to the end or for so many rounds.

mod refine;

pub(crate) use refine::{BlockId, Edges, Partition, refine, refine_watched, useful};
