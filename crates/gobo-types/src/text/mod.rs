//! Texts for a person: of bounded length, and quantities with their units.

mod clipped;
mod quantity;

pub use clipped::Clipped;
pub use quantity::{grouped, human_bytes};
