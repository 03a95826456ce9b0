//! Places between lexemes, what is read there, and what is known of newlines: plain data.

use std::collections::HashMap;

use gobo_automata::{CharSet, Language};
use gobo_types::{Table, dense_id};

use super::super::super::syntax::TokenBudget;
use super::super::grammar::TerminalId;
use super::guards::{CutId, GuardId};

dense_id! {
    /// A set of active terminals.
    pub(in super::super) struct ActiveId;

    /// A language of letters or tails.
    pub(in super::super) struct TextsId;

    /// A place between lexemes.
    pub(in super::super) struct PlaceId;

    /// A language of blanks with which a newline ends.
    pub(in super::super) struct RestId;
}

impl TextsId {
    /// The empty text alone.
    pub(in super::super) const EMPTY: Self = Self(0);
}

/// Texts of letters and tails.
pub(in super::super) enum Texts {
    Plain(Language),
    /// Those of a language in which so many tokens may begin.
    Budgeted(TextsId, TokenBudget),
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
    /// How lines are indented here, if that matters.
    pub(in super::super) levels: Levels,
    /// At the beginning of a line whose blanks are not read yet; such a place has no letters.
    pub(in super::super) begins: Option<Beginning>,
}

/// How lines are indented at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(in super::super) struct Levels {
    /// The levels of the blocks that are open; `None` where the caller of a rule knows.
    pub(in super::super) open: Option<u8>,
    /// Whether a block may begin here.
    pub(in super::super) may_indent: bool,
    /// Whether a block may end here, because a line begins or the text ends.
    pub(in super::super) may_dedent: bool,
}

/// What is left of a newline where its line begins.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in super::super) struct Beginning {
    pub(super) rest: RestId,
    /// The guard of the newline, after its blanks; that which passes where no block begins or ends any more.
    pub(super) guard: GuardId,
    /// The ignored texts that may follow the blanks, each with the place after it.
    pub(super) after: Vec<(TextsId, PlaceId)>,
}

/// Newlines as far as they were divided.
#[derive(Default)]
pub(in super::super) struct Lines {
    /// The terminals of a newline, and of the beginning and the end of a block.
    pub(in super::super) terminals: Option<[TerminalId; 3]>,
    pub(super) rests: Table<RestId, Language>,
    pub(super) rest_of: HashMap<Language, RestId>,
    pub(super) divided: HashMap<TextsId, Vec<(TextsId, RestId)>>,
    pub(super) blanks: HashMap<(RestId, u32), Option<TextsId>>,
    pub(super) at_levels: HashMap<(PlaceId, Option<u8>), PlaceId>,
    /// Whether some newline may end in other characters than a line feed and blanks.
    pub(in super::super) has_others: bool,
}
