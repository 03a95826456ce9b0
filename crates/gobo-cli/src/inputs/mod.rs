//! Inputs that options name, read: constraints and schemas from files, vocabularies from the store, from files and from the
//! built-in encodings.

mod constraint;
mod given;
mod grammar;
mod key;
mod pieces;
mod schema;
mod text;
mod vocabulary;

pub use constraint::{choice_file, regex};
pub use given::Given;
pub use grammar::{GrammarDefaults, grammar_file};
pub use key::{KeyError, MIN_DIGITS, advised, begins_key, index_file, key_of, keys_of, open_index};
pub use pieces::{Piece, Pieces, TokenName};
pub use schema::{read_documents, schema_file, tag_file};
pub use vocabulary::{Loaded, like, unknown_tokenizer};
