//! The canonical id → bytes table of a tokenizer, and the vocabulary file built from it once.
#![forbid(unsafe_code)]

mod encoder;
mod shared_rows;
mod slices;
mod table;
mod token;
mod trie_builder;
mod trie_order;
mod vocabulary_file;

pub use encoder::{BytePairEncoder, EncoderError, MAX_MERGED_BYTES, Merge, PatternError, Symbols};
pub use table::{MAX_TOKEN_BYTES, MAX_VOCABULARY_LEN, TokenTable, VocabError};
pub use token::Token;
