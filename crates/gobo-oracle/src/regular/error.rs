//! Patterns of which the oracle does not know the language.

use regex_syntax::ast::AssertionKind;

/// Why the oracle does not know what a pattern means.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LanguageError {
    /// Recursion: derivatives of a regular expression do not speak of it.
    #[error("not a regular constraint")]
    NotRegular,
    /// Not a pattern of `regex-syntax`, or one of bytes that are no characters.
    #[error("malformed pattern: {0}")]
    Malformed(String),
    /// Look-around other than `^`, `$`, `\A` and `\z` at the ends of the text.
    #[error("{0:?} is not a plain text anchor")]
    Unsupported(AssertionKind),
}
