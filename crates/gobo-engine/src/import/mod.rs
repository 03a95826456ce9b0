//! Vocabularies that callers ask for, and imports into a store: built-in ones at their first use, and files that callers send.

mod builtin;
mod file;
mod open;

pub use file::{ImportRequest, MAX_VOCABULARIES};
