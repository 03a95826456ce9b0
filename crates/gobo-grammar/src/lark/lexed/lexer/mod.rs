//! Lexemes: the order in which terminals are tried, what may not follow a match, and the texts between two places.

mod asked;
mod guards;
mod lexemes;
mod lines;
mod order;

pub(super) use guards::{Cut, CutId, GuardId};
pub(super) use lexemes::{ActiveId, Lexemes, PlaceId, TextsId};
pub(super) use lines::Levels;
pub(super) use order::lexer;
