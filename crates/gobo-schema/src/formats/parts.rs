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
    /// The shorter texts, by a count of whole texts: ascending by [`Capped::most`], up to the longest text.
    pub(crate) capped: Vec<Capped>,
}

/// A language that has the same texts as another one of every length up to a bound: it leaves out counts of parts that are too short there
/// for their bounds to matter.
#[derive(Debug)]
pub(crate) struct Capped {
    /// Up to so many characters.
    pub(crate) most: u64,
    pub(crate) language: Language,
    /// The most characters before the last `@` of a text, if they are not counted by the language.
    pub(crate) head: Option<u32>,
}

/// A part of a text.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    /// A text of a language.
    Of(Language),
    /// A text of a language of at most so many characters.
    UpTo(u32, Language),
}
