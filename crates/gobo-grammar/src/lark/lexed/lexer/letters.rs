//! What is read at a place: letters, and the texts of them.

use gobo_automata::{CharSet, Language};
use gobo_types::dense_id;

use super::super::grammar::TerminalId;
use super::guards::{CutId, GuardId};

dense_id! {
    /// A language of letters or tails.
    pub(in super::super) struct TextsId;

    /// A place between lexemes.
    pub(in super::super) struct PlaceId;
}

impl TextsId {
    /// The empty text alone.
    pub(in super::super) const EMPTY: Self = Self(0);
}

/// Texts of letters and tails.
pub(in super::super) enum Texts {
    Plain(Language),
    /// Those of a terminal that stands for another grammar, or of them those that begin with some characters.
    Nested {
        terminal: TerminalId,
        first: Option<CharSet>,
    },
}

/// Texts that are read as a terminal at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in super::super) struct Letter {
    pub(in super::super) terminal: TerminalId,
    pub(in super::super) texts: TextsId,
    pub(in super::super) guard: GuardId,
}

/// A place between lexemes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in super::super) struct Place {
    pub(in super::super) may_end: bool,
    /// Ascending.
    pub(in super::super) letters: Vec<Letter>,
    /// Guards that are cut while a text of the terminal is read, ascending.
    pub(in super::super) cuts: Vec<(CutId, TerminalId)>,
}
