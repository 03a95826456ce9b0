//! The root of a vocabulary file.

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
