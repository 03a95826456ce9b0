//! Regular constraints: what a pattern means, which texts it accepts, and the index of a vocabulary over it.

pub(crate) mod characters;
pub(crate) mod error;
pub(crate) mod language;
pub(crate) mod naive_index;
pub(crate) mod pattern;
