//! Structural tags: text, tokens and formats in between, as engines send them for calls of tools.
//!
//! - `read.rs`: the JSON text of a tag as formats, with everything that its form asks.
//! - `format.rs`: what formats are.
//! - `check.rs`: what formats ask of each other, such as that each tag has one trigger.
//! - `specials.rs`: strings that hold the texts of special tokens.
//! - `write.rs`: formats as a grammar.
//!
//! The types and fields are those of `XGrammar` 0.1 and later (its documentation, *Structural Tag*). The texts of a format are a set: free text is any text
//! without certain phrases in it, and wherever several ways through a tag read the same, all of them stay alive.

mod check;
mod format;
mod read;
mod specials;
mod write;

/// The phase that verdicts name.
const PHASE: &str = "writing structural tags";

pub(crate) use self::write::{Input, tag};
