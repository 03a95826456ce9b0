//! How the texts of a vocabulary stand for bytes, one variant for each kind of tokenizer.

use super::byte_fallback;
use super::word_piece::WordPieces;

/// How the texts of a vocabulary stand for bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Spelling {
    ByteLevel,
    /// `byte_tokens`: whether `<0xNN>` is a byte.
    Marked {
        space_mark: char,
        byte_tokens: bool,
    },
    WordPieces(WordPieces),
}

impl Spelling {
    /// The bytes of an added token that is not special.
    pub(crate) fn added(&self, text: &str) -> Vec<u8> {
        match self {
            // Added tokens are matched in the input before it is put into the byte alphabet.
            Self::ByteLevel => text.as_bytes().to_vec(),
            // Here they are written with the space mark: runs of spaces, for instance, are `▁▁▁`.
            Self::Marked { space_mark, byte_tokens } => {
                byte_fallback::decode(text, *space_mark, *byte_tokens)
            }
            // The decoder does not tell them from pieces.
            Self::WordPieces(pieces) => pieces.decode(text),
        }
    }
}
