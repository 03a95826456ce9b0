//! Formats of tokenizer files, one file for each: from bytes to named tokens.
//!
//! [`recognize`] finds a tokenizer and tells its format. [`hugging_face`] (with [`pipeline`]), [`tekken`], [`ranks`],
//! [`sentence_piece`] (over [`protobuf`]) and [`gguf`] (over [`gguf_reader`]) read one format each. All but the first also
//! make a surrogate for the `tokenizers` library. This floor uses `bytes` and `checked`, and knows no model folder.

pub(crate) mod gguf;
mod gguf_reader;
pub(crate) mod hugging_face;
mod pipeline;
mod protobuf;
pub(crate) mod ranks;
mod recognize;
pub(crate) mod sentence_piece;
pub(crate) mod tekken;

pub(crate) use recognize::{Content, SourceFile, find};
