//! The derivation of keys, and the epochs in them.

use crate::{ConstraintDigest, Digest, IndexKey, VocabularyDigest};

/// The version of the file layout. Version 0 changes freely until 0.1.0 is tagged.
pub const FORMAT_EPOCH: u32 = 0;

/// Bumped by any change to the bytes that the compiler writes for some key; the pinned versions of
/// `regex-syntax`, `regex-automata` and their Unicode tables count as part of the compiler.
pub const COMPILER_EPOCH: u32 = 18;

/// The version of the sets that vocabulary files carry: which tokens make up which slice, and which rows are shared.
pub const SLICE_SET_EPOCH: u32 = 2;

/// A blake3 hasher over tagged, length-prefixed fields, so that no two different lists of fields can feed it
/// the same bytes.
#[derive(Debug, Clone)]
pub struct KeyHasher(blake3::Hasher);

impl KeyHasher {
    /// A hasher in its own domain. `context` is a constant of the program, never input.
    pub fn new(context: &str) -> Self {
        Self(blake3::Hasher::new_derive_key(context))
    }

    /// Adds one field: the length of the tag, the tag, the length of the value (u64, little-endian), the value.
    #[must_use]
    pub fn field(mut self, tag: &str, value: &[u8]) -> Self {
        for part in [tag.as_bytes(), value] {
            self.0.update(&(part.len() as u64).to_le_bytes());
            self.0.update(part);
        }
        self
    }

    /// The digest of the fields so far.
    pub fn finish(&self) -> Digest {
        Digest(*self.0.finalize().as_bytes())
    }
}

/// The key of the index of one constraint over one vocabulary, made by this version of gobo.
///
/// Stop tokens, logits width, thread counts and budgets are not in it: they never change the file's bytes.
pub fn index_key(vocabulary: &VocabularyDigest, constraint: &ConstraintDigest) -> IndexKey {
    IndexKey(
        KeyHasher::new("gobo index key v1")
            .field("format epoch", &FORMAT_EPOCH.to_le_bytes())
            .field("compiler epoch", &COMPILER_EPOCH.to_le_bytes())
            .field("slice-set epoch", &SLICE_SET_EPOCH.to_le_bytes())
            .field("vocabulary", vocabulary.as_bytes())
            .field("constraint", constraint.as_bytes())
            .finish(),
    )
}

/// The key of the index of a constraint whose texts are cut into tokens as the tokenizer itself cuts them: that of
/// [`index_key`], and the digest of the tables by which it does.
pub fn canonical_index_key(
    vocabulary: &VocabularyDigest,
    encoder: &Digest,
    constraint: &ConstraintDigest,
) -> IndexKey {
    let plain = index_key(vocabulary, constraint);
    let hasher = KeyHasher::new("gobo canonical index key v1").field("plain key", plain.as_bytes());
    IndexKey(hasher.field("encoder", &encoder.0).finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wrong key hands out another constraint's file: the derivation is pinned by golden values.
    #[test]
    fn golden_index_key() {
        let key = index_key(&VocabularyDigest::from([1; 32]), &ConstraintDigest::from([2; 32]));
        assert_eq!(key.to_string(), GOLDEN);
    }
    const GOLDEN: &str = "ef938f37c7c331106bf853f4bbe024ba09f042fb2c2b9bc162dd497ff5913cea";

    #[test]
    fn moving_a_byte_between_fields_changes_the_digest() {
        let digest = |a: &[u8], b: &[u8]| KeyHasher::new("test").field("x", a).field("x", b).finish();
        assert_ne!(digest(b"ab", b"c"), digest(b"a", b"bc"));
        assert_ne!(KeyHasher::new("test").finish(), KeyHasher::new("test").field("", b"").finish());
    }
}
