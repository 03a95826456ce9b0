//! Pieces of SentencePiece, and of GGUF files, which use the same types: normal, unknown, control, user-defined, unused, byte.

use super::Spelling;
use super::byte_fallback;
use crate::BinaryProblem;

/// The mark of SentencePiece for a space.
pub(crate) const SPACE_MARK: char = '\u{2581}';

/// How added tokens beside such pieces are written.
pub(crate) const SPELLING: Spelling = Spelling::Marked { space_mark: SPACE_MARK, byte_tokens: true };

/// The type of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PieceKind {
    Normal,
    Unknown,
    Control,
    UserDefined,
    Unused,
    Byte,
}

impl PieceKind {
    /// The kind by its number in files.
    pub(crate) fn from_number(number: u64) -> Result<Self, BinaryProblem> {
        match number {
            1 => Ok(Self::Normal),
            2 => Ok(Self::Unknown),
            3 => Ok(Self::Control),
            4 => Ok(Self::UserDefined),
            5 => Ok(Self::Unused),
            6 => Ok(Self::Byte),
            kind => Err(BinaryProblem::PieceKind { kind }),
        }
    }
}

/// The bytes of a piece that is no control piece: text with marks for its spaces, a byte, or nothing.
pub(crate) fn decode(kind: PieceKind, text: &str) -> Result<Vec<u8>, BinaryProblem> {
    match kind {
        PieceKind::Unknown => Ok(Vec::new()),
        PieceKind::Byte => byte_fallback::single_byte(text)
            .map(|byte| vec![byte])
            .ok_or_else(|| BinaryProblem::ByteName { token: text.to_owned() }),
        _ => Ok(byte_fallback::with_spaces(text, SPACE_MARK)),
    }
}
