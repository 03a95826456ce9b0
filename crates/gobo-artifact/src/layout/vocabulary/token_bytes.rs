//! Facts that follow from the bytes of tokens: numbers of characters, sets of bytes, the digest of the whole table.

use gobo_types::{KeyHasher, VocabularyDigest};

/// How many characters some bytes are: each byte that does not continue a character begins one, and what continues one
/// from before counts as one more. Of text, its number of characters; of any piece of a text, how many it touches.
pub fn count_chars(bytes: &[u8]) -> u32 {
    let begun = bytes.iter().filter(|&&byte| !continues(byte)).count();
    u32::try_from(begun).unwrap_or(u32::MAX).saturating_add(u32::from(begins_inside(bytes)))
}

/// Whether some bytes begin inside a UTF-8 character.
pub fn begins_inside(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|&byte| continues(byte))
}

fn continues(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// The digest over every id's bytes and special flag, in id order, holes included: tables are equal exactly if their
/// digests are. O(bytes).
///
/// # Panics
/// If a token has 4 GiB, which neither a table nor a file can hold.
pub fn vocabulary_digest<'a>(ids: impl Iterator<Item = (&'a [u8], bool)> + Clone) -> VocabularyDigest {
    // A flag, a length and the bytes of each: counted first, as some megabytes are moved often while they grow.
    let mut flat = Vec::with_capacity(ids.clone().map(|(bytes, _)| 5 + bytes.len()).sum());
    for (bytes, special) in ids {
        flat.push(u8::from(special));
        let length = u32::try_from(bytes.len()).expect("tables and files keep token bytes below 4 GiB");
        flat.extend_from_slice(&length.to_le_bytes());
        flat.extend_from_slice(bytes);
    }
    VocabularyDigest(KeyHasher::new("gobo vocabulary v1").field("table", &flat).finish())
}
