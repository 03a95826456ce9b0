//! From the text of a token to its bytes, one file for each kind of tokenizer.
//!
//! [`spelling`] chooses among the kinds, [`piece`] has the types of SentencePiece's pieces. This floor uses the errors alone.

pub(crate) mod byte_fallback;
pub(crate) mod byte_level;
pub(crate) mod piece;
mod spelling;
mod word_piece;

pub(crate) use spelling::Spelling;
pub(crate) use word_piece::WordPieces;
