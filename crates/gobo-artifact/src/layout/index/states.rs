//! State words: one u32 for each state, the number of its row shifted left by one, and whether the text may end there in bit 0.

pub use gobo_types::DEAD;

/// Row number in the state words of states that no token may end in.
pub(crate) const NO_ROW: u32 = u32::MAX >> 1;
