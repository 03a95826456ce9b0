//! Inputs that options name, read: constraints and schemas from files, vocabularies from the store, from files and from the
//! built-in encodings.

mod constraint;
mod schema;
mod text;
mod vocabulary;

pub use constraint::{Given, choice_file, grammar_file, regex};
pub use schema::{read_documents, schema_file};
pub use vocabulary::Loaded;
