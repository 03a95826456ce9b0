//! Imports into a store: built-in vocabularies at their first use, and vocabulary files that callers send.

mod builtin;
mod file;

pub(crate) use builtin::is_builtin;
pub use file::{ImportRequest, MAX_VOCABULARIES};
