//! Manifests: what a host is to have before it is warm. Each shard of a prewarm writes one part; a manifest is all parts below its name.
//!
//! A part is `u32` length, so many bytes of JSON (the vocabularies and their names), and then 48 bytes for each key: its position in
//! the library, the key, the length of its object. What is in demand first stands first in a library, so positions are an order.

use std::collections::HashSet;

use gobo_store::{NamedVocabulary, Store};
use gobo_types::{Digest, IndexKey, KeyHasher};
use serde::{Deserialize, Serialize};

use super::Rejected;

/// Most bytes of JSON of one part.
const MAX_HEAD_BYTES: usize = 1 << 20;
/// Most keys of a manifest, 400 MiB of them in memory.
pub const MAX_ENTRIES: usize = 1 << 22;
/// Most vocabularies of a manifest.
pub const MAX_VOCABULARIES: usize = 1 << 10;
/// Length of one key with its position and length.
const ENTRY_BYTES: usize = 48;

/// A name, and what it stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestName {
    /// The name of the vocabulary.
    pub name: String,
    /// What it stands for, without the path it was imported from.
    pub named: NamedVocabulary,
}

/// A key of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its position in the library.
    pub position: u64,
    /// The key.
    pub key: IndexKey,
    /// Length of its object, as it was when the part was written.
    pub bytes: u64,
}

/// What one shard says, or a whole manifest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest {
    /// Vocabularies and their names.
    pub names: Vec<ManifestName>,
    /// The keys of indices and verdicts.
    pub entries: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Head {
    names: Vec<ManifestName>,
}

impl Manifest {
    /// The name of the object of one part.
    pub fn part_name(shard: u32, of: u32) -> String {
        format!("{shard}-of-{of}")
    }

    /// What stands for the key in the head of a part's object: the names of the manifest and of the part.
    pub fn part_key(name: &str, part: &str) -> Digest {
        KeyHasher::new("gobo manifest part v1")
            .field("manifest", name.as_bytes())
            .field("part", part.as_bytes())
            .finish()
    }

    /// The content of a part.
    pub fn to_bytes(&self) -> Vec<u8> {
        let names = self.names.iter().cloned().map(|ManifestName { name, named }| {
            // A path of the host that wrote it means nothing to others.
            ManifestName { name, named: NamedVocabulary { source: None, ..named } }
        });
        // Names, numbers and digests: nothing of that fails to be written.
        let head = serde_json::to_vec(&Head { names: names.collect() }).unwrap_or_default();
        let mut bytes = Vec::with_capacity(4 + head.len() + self.entries.len() * ENTRY_BYTES);
        bytes.extend(u32::try_from(head.len()).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend(head);
        for Entry { position, key, bytes: length } in &self.entries {
            bytes.extend(position.to_le_bytes());
            bytes.extend(key.as_bytes());
            bytes.extend(length.to_le_bytes());
        }
        bytes
    }

    /// Adds what a part says. Names that are none are left out; of what is said twice the first counts. O(entries).
    ///
    /// # Errors
    /// [`Rejected::Unsound`] for bytes that are no part, and for more than [`MAX_ENTRIES`] keys or [`MAX_VOCABULARIES`] names in all.
    pub fn add(&mut self, part: &[u8]) -> Result<(), Rejected> {
        let (length, rest) = part.split_first_chunk::<4>().ok_or(Rejected::Unsound)?;
        let length = u32::from_le_bytes(*length) as usize;
        if length > MAX_HEAD_BYTES || length > rest.len() {
            return Err(Rejected::Unsound);
        }
        let (head, entries) = rest.split_at(length);
        let head: Head = serde_json::from_slice(head).map_err(|_| Rejected::Unsound)?;
        let number = entries.len() / ENTRY_BYTES;
        if entries.len() % ENTRY_BYTES != 0
            || self.entries.len() + number > MAX_ENTRIES
            || self.names.len() + head.names.len() > MAX_VOCABULARIES
        {
            return Err(Rejected::Unsound);
        }
        let new = head.names.into_iter().filter(|new| Store::check_name(&new.name).is_ok());
        for name in new {
            if self.names.iter().all(|known| known.name != name.name) {
                self.names.push(name);
            }
        }
        self.entries.extend(entries.chunks_exact(ENTRY_BYTES).map(|entry| {
            let word = |at: usize| {
                let mut word = [0; 8];
                word.copy_from_slice(&entry[at..at + 8]);
                u64::from_le_bytes(word)
            };
            let mut key = [0; 32];
            key.copy_from_slice(&entry[8..40]);
            Entry { position: word(0), key: IndexKey::from(key), bytes: word(40) }
        }));
        Ok(())
    }

    /// Puts the keys in the order of the library, each once. O(entries × log entries).
    pub fn sort(&mut self) {
        self.entries.sort_unstable();
        let mut seen = HashSet::with_capacity(self.entries.len());
        self.entries.retain(|entry| seen.insert(entry.key));
    }
}

#[cfg(test)]
mod tests {
    use gobo_types::{Binding, VocabularyDigest};

    use super::*;

    fn named(name: &str) -> ManifestName {
        let binding = Binding { eos: vec![2], bos: None, pad: Some(0), logits_width: 128 };
        let named = NamedVocabulary {
            vocabulary: VocabularyDigest::from([3; 32]),
            binding,
            kind: "test".into(),
            tokens: 5,
            special: 1,
            source: Some("/home/somebody".into()),
            source_digest: None,
        };
        ManifestName { name: name.into(), named }
    }

    fn entry(position: u64, key: u8) -> Entry {
        Entry { position, key: IndexKey::from([key; 32]), bytes: 7 }
    }

    #[test]
    fn parts_make_a_manifest_in_the_order_of_the_library() {
        let one = Manifest { names: vec![named("a")], entries: vec![entry(1, 1), entry(4, 4), entry(9, 1)] };
        let two =
            Manifest { names: vec![named("a"), named("../b")], entries: vec![entry(0, 5), entry(4, 3)] };
        let mut whole = Manifest::default();
        whole.add(&one.to_bytes()).unwrap();
        whole.add(&two.to_bytes()).unwrap();
        whole.sort();
        assert_eq!(whole.entries, [entry(0, 5), entry(1, 1), entry(4, 3), entry(4, 4)]);
        let [only] = &whole.names[..] else { panic!("{:?}", whole.names) };
        assert_eq!((&*only.name, &only.named.source), ("a", &None));
        assert_eq!(only.named.binding, named("a").named.binding);
    }

    #[test]
    fn bytes_that_are_no_part_change_nothing_or_are_refused() {
        let part = Manifest { names: vec![named("a")], entries: vec![entry(0, 1)] }.to_bytes();
        // Without its one key it is a part, too.
        for length in (0..part.len()).filter(|length| *length != part.len() - ENTRY_BYTES) {
            assert_eq!(Manifest::default().add(&part[..length]), Err(Rejected::Unsound), "{length}");
        }
        let mut long = part.clone();
        long[..4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(Manifest::default().add(&long), Err(Rejected::Unsound));
        let many = [&part[..], &vec![0; MAX_ENTRIES * ENTRY_BYTES]].concat();
        assert_eq!(Manifest::default().add(&many), Err(Rejected::Unsound), "10^7 keys would be");
        let names = (0..=MAX_VOCABULARIES).map(|number| named(&number.to_string())).collect();
        assert_eq!(
            Manifest::default().add(&Manifest { names, entries: vec![] }.to_bytes()),
            Err(Rejected::Unsound)
        );
    }
}
