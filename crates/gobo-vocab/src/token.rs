//! One token of a vocabulary.

/// The token of one id.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Token {
    /// The exact bytes that the token adds to the text; empty for a hole. May end inside a UTF-8 character.
    pub bytes: Vec<u8>,
    /// A control token: never reached by spelling its bytes, which are then its name.
    pub special: bool,
}
