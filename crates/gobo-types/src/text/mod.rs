//! Texts for a person, of bounded length, and quantities with their units; the characters of a string's text, and places inside of one.

mod char_count;
mod clipped;
mod quantity;
mod utf8_place;

pub use char_count::{CharCount, LengthRange};
pub use clipped::Clipped;
pub use quantity::{grouped, human_bytes};
pub use utf8_place::Utf8Place;
