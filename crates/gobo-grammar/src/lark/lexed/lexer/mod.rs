//! Lexemes: the order in which terminals are tried, what may not follow a match, and the texts between two places.

mod graph;
mod guards;
mod letters;
mod lexemes;
mod order;

pub(super) use guards::{Cut, CutId, GuardId};
pub(super) use letters::{PlaceId, Texts, TextsId};
pub(super) use lexemes::{ActiveId, Lexemes};
