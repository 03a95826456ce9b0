//! The canonical id → bytes table of a tokenizer, and the vocabulary file built from it once.
#![forbid(unsafe_code)]

mod table;

pub use table::{Token, TokenTable, VocabError};
