//! Fields that several formats share, checked while they are read: the map of ids, lists of bounded length, merges.
//!
//! This floor uses the errors alone. Nothing is allocated for an id before it is known to be below the limit.

mod capped;
mod id_map;
pub(crate) mod merges;

pub(crate) use capped::Capped;
pub(crate) use id_map::{ID_LIMIT, Index, Vocab, index};
pub(crate) use merges::Merge;
