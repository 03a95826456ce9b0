//! Oracles that judge compiled indices and share no code with the compiler.
//!
//! [`Language`] decides which byte strings a constraint accepts, by partial derivatives; [`NaiveIndex`] tries every
//! token at every state. Both are slow on purpose: each line should be seen to be right by reading it.
#![forbid(unsafe_code)]

mod index;
mod interner;
mod language;
mod spelling;
mod tokens;

pub use index::{NaiveIndex, Row, allowed_where_every_byte_is_a_token};
pub use language::{Language, LanguageError, StateId};
pub use spelling::spellable;
pub use tokens::{Segmenter, Tokens};
