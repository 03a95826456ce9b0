//! Texts for a person, of bounded length, and quantities with their units; the characters of a string's text.

mod char_count;
mod clipped;
mod quantity;

pub use char_count::{CharCount, LengthRange};
pub use clipped::Clipped;
pub use quantity::{grouped, human_bytes};
