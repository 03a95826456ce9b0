//! From an index to masks in memory.
//!
//! - `ids.rs`: token ids as Python gives them.
//! - `rows.rs`: rows of a matrix that is bound, or is bound for one call. `fault.rs`: what goes wrong with them.
//! - `matcher.rs`: one text being decoded. `batch.rs`: the masks of many. `apply.rs`: logits under masks.
//!
//! The GIL is kept for one mask, because giving it up costs more, and given up for a batch. Locks are taken in one order: the matrix,
//! then a matcher, or several by their addresses. Nobody runs Python with a lock in his hands, exceptions included: Python may give the
//! GIL to another thread, which may wait for that lock and keep the GIL meanwhile. So arguments are read before, and exceptions made after.

pub(crate) mod apply;
pub(crate) mod batch;
mod fault;
pub(crate) mod ids;
pub(crate) mod matcher;
pub(crate) mod rows;
