//! Lexemes: the order in which terminals are tried, what may not follow a match, and the texts between two places.

mod asked;
mod graph;
mod guards;
mod lexemes;
mod lines;
mod order;
mod places;
mod texts;

pub(super) use guards::{Cut, CutId, GuardId};
pub(super) use lexemes::Lexemes;
pub(super) use order::lexer;
pub(super) use places::{ActiveId, Letter, Levels, PlaceId, RestId, Texts, TextsId};
