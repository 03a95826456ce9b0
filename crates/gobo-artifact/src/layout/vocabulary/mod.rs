//! The sections of a vocabulary file: the bytes of all tokens, tries over them, slices, and rows that indices share.

pub(crate) mod encoder;
pub(crate) mod merges;
pub(crate) mod root;
#[cfg(feature = "write")]
pub(crate) mod shared_rows;
pub(crate) mod slice;
pub(crate) mod slice_tables;
pub(crate) mod token_bytes;
pub(crate) mod trie;
