//! Formats in parts, whose lengths are counted apart from the states.

use gobo_automata::Language;

/// A language as a choice of sequences of parts. Where a part that is counted may end, a character follows with which no text of the part
/// goes on.
#[derive(Debug)]
pub(crate) struct Parts {
    /// The sequences.
    pub(crate) ways: Vec<Vec<Part>>,
    /// Characters of the longest text.
    pub(crate) longest: u64,
}

/// A part of a text.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    /// A text of a language.
    Of(Language),
    /// A text of a language of at most so many characters.
    UpTo(u32, Language),
}
