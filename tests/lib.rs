//! Oracles that judge compiled indices and share no code with the compiler.
//!
//! [`Language`] decides which byte strings a regular constraint accepts, by partial derivatives over classes that are
//! [`Characters`], and [`Earley`] does so for grammars and JSON; [`NaiveIndex`] tries every token at every state. All are
//! slow on purpose: each line should be seen to be right by reading it.
#![forbid(unsafe_code)]

mod characters;
mod earley;
mod gbnf;
mod grammar;
mod index;
mod interner;
mod json;
mod language;
mod pattern;
mod spelling;
mod tokens;

pub use characters::Characters;
pub use earley::{Earley, SetId, SortedTokens};
pub use gbnf::{GbnfError, read_gbnf};
pub use grammar::{Grammar, RuleId, Symbol};
pub use index::{NaiveIndex, Row, allowed_where_every_byte_is_a_token};
pub use json::json_grammar;
pub use language::{Language, LanguageError, StateId};
pub use spelling::spellable;
pub use tokens::{Segmenter, Tokens};
