//! Files taken apart and signed again, so that what is wrong with them is not only a checksum.

use gobo_artifact::layout::{ArtifactKind, MAGIC, vocabulary_digest};
use gobo_artifact::write::ArtifactWriter;
use gobo_artifact::{Index, Vocabulary};
use gobo_types::Digest;

const CHECKSUM_AT: usize = 96;

/// Where an entry of the section table lies.
pub(crate) fn entry(position: usize) -> usize {
    128 + 64 * position
}

pub(crate) fn put_u32(file: &mut [u8], at: usize, value: u32) {
    file[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

pub(crate) fn put_u64(file: &mut [u8], at: usize, value: u64) {
    file[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

fn u32_at(file: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(file[at..at + 4].try_into().unwrap())
}

fn u64_at(file: &[u8], at: usize) -> usize {
    usize::try_from(u64::from_le_bytes(file[at..at + 8].try_into().unwrap())).unwrap()
}

/// Makes the header's checksum right again; `length` is the header's, whatever it says itself.
pub(crate) fn sign_header_of(file: &mut [u8], length: usize) {
    file[CHECKSUM_AT..CHECKSUM_AT + 32].fill(0);
    let checksum = Digest::of(&file[..length]);
    file[CHECKSUM_AT..CHECKSUM_AT + 32].copy_from_slice(&checksum.0);
}

pub(crate) fn sign_header(file: &mut [u8]) {
    let length = u32_at(file, 20) as usize;
    sign_header_of(file, length);
}

/// A file as its sections.
#[derive(Debug, Clone)]
pub(crate) struct Parts {
    pub(crate) kind: ArtifactKind,
    pub(crate) key: [u8; 32],
    pub(crate) sections: Vec<(u32, u32, Vec<u8>)>,
}

impl Parts {
    /// Reads the header by the layout in the documentation.
    pub(crate) fn of(file: &[u8]) -> Self {
        assert!(file.starts_with(&MAGIC));
        let kind = [ArtifactKind::Vocabulary, ArtifactKind::Index][u32_at(file, 12) as usize - 1];
        let sections = (0..u32_at(file, 16) as usize)
            .map(|position| {
                let at = entry(position);
                let (offset, length) = (u64_at(file, at + 8), u64_at(file, at + 16));
                (u32_at(file, at), u32_at(file, at + 4), file[offset..offset + length].to_vec())
            })
            .collect();
        Self { kind, key: file[32..64].try_into().unwrap(), sections }
    }

    /// The bytes of one section.
    pub(crate) fn section(&mut self, kind: u32) -> &mut Vec<u8> {
        &mut self.sections.iter_mut().find(|section| section.0 == kind).unwrap().2
    }

    /// The same with one word of one section replaced.
    pub(crate) fn with_word(mut self, kind: u32, word: usize, value: u32) -> Self {
        put_u32(self.section(kind), 4 * word, value);
        self
    }

    /// The file, with all checksums right.
    pub(crate) fn file(&self) -> Vec<u8> {
        let mut writer = ArtifactWriter::new(self.kind, self.key);
        for (kind, storage, bytes) in &self.sections {
            writer.section(*kind, *storage, bytes.clone());
        }
        writer.finish().to_vec()
    }

    /// Makes the key of a vocabulary the digest of what its table now says, if it opens.
    pub(crate) fn name_honestly(&mut self) {
        if let Ok(vocabulary) = Vocabulary::from_bytes(&self.file())
            // The root may claim ids that share the few bytes there are.
            && vocabulary.len() < 1 << 12
        {
            let ids = (0..vocabulary.len()).map(|id| (vocabulary.bytes(id), vocabulary.is_special(id)));
            self.key = *vocabulary_digest(ids).as_bytes();
        }
    }

    /// What `open`, or else `verify`, has against the file.
    pub(crate) fn fault(&self) -> Option<gobo_artifact::Fault> {
        let file = self.file();
        let result = match self.kind {
            ArtifactKind::Vocabulary => Vocabulary::from_bytes(&file).and_then(|open| open.verify()),
            ArtifactKind::Index => Index::from_bytes(&file).and_then(|open| open.verify()),
        };
        result.err().map(super::fault)
    }
}
