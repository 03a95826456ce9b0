//! Grammars: the readers of grammar dialects, and the grammar of JSON texts.
//!
//! Each module makes a [`Grammar`](gobo_automata::Grammar) or parts of one: [`gbnf`], [`ebnf`] and [`lark`] from the text of a user,
//! which [`Written`] chooses by its dialect, [`json`] from RFC 8259 and a text policy. None knows of vocabularies.
#![forbid(unsafe_code)]

mod bnf;
mod dialects;
pub mod ebnf;
mod edges;
pub mod gbnf;
pub mod json;
pub mod lark;
pub mod lint;
mod misfit;
pub mod near;
mod outline;
pub mod regex;
mod words;
mod written;

pub use edges::MAX_TOKEN_SETS;
pub use written::{Read, SchemaReader, Texts, Written};
