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

/// The root of a vocabulary file.
#[derive(Debug, Clone, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub struct VocabularyRoot {
    /// Highest id + 1.
    pub len: u32,
    /// Ids that name a token: neither holes nor ids without bytes.
    pub tokens: u32,
    /// Ordinary tokens: ids with bytes that are not special.
    pub ordinary: u32,
    /// Special ids.
    pub special: u32,
    /// Length of the longest ordinary token in bytes.
    pub longest_token_bytes: u32,
    /// Most characters of an ordinary token, a partial one at either end counting as one.
    pub longest_token_chars: u32,
    /// The same over the tokens that begin inside a character; 0 if there are none.
    pub longest_inner_chars: u32,
    /// Number of nodes of all tries, roots not counted.
    pub trie_nodes: u32,
    /// Bytes that occur in some ordinary token: bit `b & 31` of word `b >> 5`.
    pub spellable: [u32; 8],
    /// Bytes that are an ordinary token by themselves, likewise.
    pub single: [u32; 8],
}
