//! Equivalence of states: partition refinement, to the end or for a bounded number of rounds.

mod refine;

pub(crate) use refine::{BlockId, Edges, Partition, refine, refine_watched, useful};
