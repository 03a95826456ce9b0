//! From an index to masks in memory.
//!
//! - `ids.rs`: token ids as Python gives them.
//! - `rows.rs`: rows of a matrix that is bound, or is bound for one call.
//! - `matcher.rs`: one text being decoded. `batch.rs`: the masks of many. `apply.rs`: logits under masks.
//!
//! The GIL is kept for one mask, because giving it up costs more, and given up for a batch. Locks are taken in one order: the matrix,
//! then a matcher, or several by their addresses; and nobody waits for the GIL with a lock in his hands.

pub(crate) mod apply;
pub(crate) mod batch;
pub(crate) mod ids;
pub(crate) mod matcher;
pub(crate) mod rows;
