//! The two kinds of files.

use std::fmt;

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ArtifactKind {
    /// The id → bytes table of a tokenizer, its trie and its flags.
    Vocabulary,
    /// The masks of one constraint over one vocabulary.
    Index,
}

impl ArtifactKind {
    /// The number in the header.
    pub(crate) fn code(self) -> u32 {
        match self {
            Self::Vocabulary => 1,
            Self::Index => 2,
        }
    }

    pub(crate) fn of_code(code: u32) -> Option<Self> {
        [Self::Vocabulary, Self::Index].into_iter().find(|kind| kind.code() == code)
    }
}

impl fmt::Display for ArtifactKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Vocabulary => "a vocabulary",
            Self::Index => "an index",
        })
    }
}
