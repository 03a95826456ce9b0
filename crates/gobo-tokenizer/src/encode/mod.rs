//! The tokenizer's own encoder and decoder: judges of an import, and a way to encode texts as a model does.
//!
//! [`encoder`] loads a tokenizer by its library, [`continuation`] encodes a text after a prompt, [`conformance`] compares a
//! vocabulary with the decoder. This is the top floor.

mod conformance;
mod continuation;
mod encoder;

pub use conformance::{CORPUS, Conformance, Mismatch, RoundTrip};
pub use continuation::ordinary_bytes;
pub use encoder::{EncodeError, Encoder};
