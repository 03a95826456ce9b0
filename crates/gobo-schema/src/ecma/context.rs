//! What precedes the text that a pattern is matched against.

/// What precedes a position of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Context {
    /// Nothing: the text begins here.
    Start,
    /// A character of `\w`.
    Word,
    /// Another character, or any if the two need not be distinguished.
    Other,
}

/// The position where the match of a pattern begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct MatchStart {
    /// Whether the match begins where the text does, and not anywhere.
    pub(super) is_anchored: bool,
    /// What precedes the text, which may be the rest of a longer one.
    pub(super) context: Context,
}
