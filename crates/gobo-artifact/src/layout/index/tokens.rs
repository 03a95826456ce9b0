//! The tables of an index with token edges: which class of tokens each id belongs to, and the letter of each class.
//!
//! An edge reads one whole token, whatever its bytes are. The transitions read a letter instead: one to three bytes that no text has, 0xF5 to
//! 0xFE, the same number of them for all classes. A token of a class leads where its letter leads; one with bytes of its own leads also
//! where these lead, and these are never letters.

use std::ops::RangeInclusive;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::layout::artifact::{Artifact, Span};
use crate::layout::error::ArtifactError;
use crate::layout::index::root::IndexRoot;
use crate::layout::section as kinds;

/// The bytes of letters, which no text has.
pub(crate) const LETTER_BYTES: RangeInclusive<u8> = 0xF5..=0xFE;

/// A range of ids that belong to one class: 12 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct TokenRange {
    /// The first id.
    pub(crate) first: u32,
    /// The last one.
    pub(crate) last: u32,
    /// The number of the class.
    pub(crate) class: u32,
}

/// A class of tokens: 8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct TokenClassEntry {
    /// The bytes of its letter, then zeros.
    pub(crate) letter: [u8; 4],
    /// 1 if an edge names its ids; 0 if only complements have them; [`SPENT`] if it has none.
    pub(crate) is_named: u32,
}

/// Of the class whose letter is read where a budget of tokens is spent: it has no ids, and is the last one.
pub(crate) const SPENT: u32 = 2;

impl TokenClassEntry {
    /// The bytes of its letter.
    #[inline]
    pub(crate) fn letter(&self) -> &[u8] {
        let len = self.letter.iter().position(|&byte| byte == 0).unwrap_or(self.letter.len());
        &self.letter[..len]
    }
}

/// Where the tables lie in a file.
#[derive(Debug)]
pub(crate) struct TokenSpans {
    ranges: Span,
    classes: Span,
}

impl TokenSpans {
    pub(crate) fn open(artifact: &Artifact) -> Result<Self, ArtifactError> {
        Ok(Self {
            ranges: artifact.open_span::<TokenRange>(kinds::TOKEN_RANGES)?,
            classes: artifact.open_span::<TokenClassEntry>(kinds::TOKEN_CLASSES)?,
        })
    }

    #[inline]
    pub(crate) fn tables<'a>(&self, artifact: &'a Artifact) -> TokenTables<'a> {
        TokenTables { ranges: artifact.get(&self.ranges), classes: artifact.get(&self.classes) }
    }
}

/// See the [module](self). Whatever a file says, no look panics.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TokenTables<'a> {
    /// Ascending.
    ranges: &'a [TokenRange],
    classes: &'a [TokenClassEntry],
}

impl<'a> TokenTables<'a> {
    /// The class of an id, if an edge may read it. O(log ranges).
    #[inline]
    pub(crate) fn class_of(&self, id: u32) -> Option<&'a TokenClassEntry> {
        let at = self.ranges.partition_point(|range| range.last < id);
        let range = self.ranges.get(at).filter(|range| range.first <= id)?;
        self.classes.get(range.class as usize)
    }

    /// The letter that is read where a budget of tokens is spent, if there are budgets. O(1).
    #[inline]
    pub(crate) fn spent(&self) -> Option<&'a [u8]> {
        self.classes.last().filter(|class| class.is_named == SPENT).map(TokenClassEntry::letter)
    }

    pub(crate) fn verify(&self, root: &IndexRoot) -> Result<(), &'static str> {
        let letter = |class: &TokenClassEntry| class.letter().to_vec();
        let width = self.classes.first().map_or(0, |class| class.letter().len());
        let is_letter = |class: &TokenClassEntry| {
            let (bytes, rest) = class.letter.split_at(class.letter().len());
            bytes.len() == width
                && (1..4).contains(&width)
                && bytes.iter().all(|byte| LETTER_BYTES.contains(byte))
                && rest.iter().all(|&byte| byte == 0)
                && class.is_named <= SPENT
        };
        if !self.classes.iter().all(is_letter)
            || !self.classes.windows(2).all(|two| letter(&two[0]) < letter(&two[1]))
        {
            return Err("the letters of token classes are no ascending numbers of one width");
        }
        let fits = |range: &TokenRange| {
            range.first <= range.last
                && range.last < root.vocabulary_len
                && (range.class as usize) < self.classes.len()
        };
        if !self.ranges.iter().all(fits) || !self.ranges.windows(2).all(|two| two[0].last < two[1].first) {
            return Err("the ids of token classes do not lie one after the other");
        }
        let mut has_ids = vec![false; self.classes.len()];
        self.ranges.iter().for_each(|range| has_ids[range.class as usize] = true);
        let has_its_own = |(class, has_ids): (&TokenClassEntry, &bool)| *has_ids != (class.is_named == SPENT);
        if has_ids.is_empty() || !self.classes.iter().zip(&has_ids).all(has_its_own) {
            return Err("a token class has no ids");
        }
        if self.classes.iter().rev().skip(1).any(|class| class.is_named == SPENT) {
            return Err("budgets of tokens have a class that is not the last");
        }
        Ok(())
    }
}
