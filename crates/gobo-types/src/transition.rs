//! How transitions over bytes are numbered, in automata and in index files alike.

/// The number of the dead state: no text leads on from it.
pub const DEAD: u32 = 0;

/// The relative transition that leads to the dead state. Any other is the number of the next state less that of the present one.
pub const NO_STEP: i32 = i32::MIN;
