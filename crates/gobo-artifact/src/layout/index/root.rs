//! The root of an index file, and the class that it says.

/// The root of an index file: counts, so that a reader need not derive them, and the digests of the inputs.
#[derive(Debug, Clone, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub struct IndexRoot {
    /// Digest of the vocabulary that the rows belong to.
    pub vocabulary_digest: [u8; 32],
    /// Digest of the constraint.
    pub constraint_digest: [u8; 32],
    /// `regex`, `choice`, `grammar`, `json`.
    pub constraint_kind: String,
    /// Version of the compiler that wrote the file.
    pub compiler_epoch: u32,
    /// 0: regular; 1: deterministic with calls; 2: ambiguous.
    pub class: u32,
    /// Highest id + 1.
    pub vocabulary_len: u32,
    /// Number of states, the dead state 0 included.
    pub states: u32,
    /// The state of the empty text.
    pub start: u32,
    /// Number of byte classes, at most 256.
    pub classes: u32,
    /// Number of distinct rows.
    pub rows: u32,
    /// How many groups of states were told apart and had their row computed; at least the number of distinct rows.
    pub row_computations: u32,
    /// Number of shared rows in the vocabulary file.
    pub shared_rows: u32,
    /// blake3 of the vocabulary file's section of shared rows, which the rows of this file may be or differ from.
    pub shared_rows_digest: [u8; 32],
}

/// The class of an index: what a matcher keeps beside a state.
///
/// ```
/// use gobo_artifact::IndexClass;
///
/// assert_eq!(IndexClass::Deterministic.name(), "deterministic");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexClass {
    /// Nothing: no rule is called.
    Regular,
    /// One stack.
    Deterministic,
    /// Several configurations, each a state and a stack.
    Ambiguous,
}

impl IndexClass {
    /// The word in listings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Regular => "regular",
            Self::Deterministic => "deterministic",
            Self::Ambiguous => "ambiguous",
        }
    }

    /// The number in the root.
    pub(crate) fn number(self) -> u32 {
        self as u32
    }

    pub(crate) fn of_number(number: u32) -> Option<Self> {
        [Self::Regular, Self::Deterministic, Self::Ambiguous]
            .into_iter()
            .find(|class| class.number() == number)
    }
}
