//! Lays out the sections of a file after its header. Each byte depends on the sections and the key alone.

use std::borrow::Cow;

use gobo_types::{Digest, FORMAT_EPOCH};

use crate::file::AlignedBytes;
use crate::layout::header::{
    CHECKSUM_AT, HEADER_PREFIX_BYTES, Header, MAGIC, Section, align_up, header_bytes,
};
use crate::layout::kind::ArtifactKind;

/// Lays out the sections of one file after its header.
#[derive(Debug)]
pub struct ArtifactWriter<'a> {
    kind: ArtifactKind,
    key: [u8; 32],
    /// The entry of each in the section table, still without its offset, and its bytes.
    sections: Vec<(Section, Cow<'a, [u8]>)>,
}

impl<'a> ArtifactWriter<'a> {
    /// A file of `kind` whose header carries `key`.
    pub fn new(kind: ArtifactKind, key: [u8; 32]) -> Self {
        Self { kind, key, sections: Vec::new() }
    }

    /// Adds a section. The caller adds them in file order; a reader refuses any other.
    pub fn section(&mut self, kind: u32, storage: u32, bytes: impl Into<Cow<'a, [u8]>>) {
        let bytes = bytes.into();
        let (length, digest) = (bytes.len() as u64, Digest::of(&bytes).0);
        self.sections.push((Section { kind, storage, offset: 0, length, digest }, bytes));
    }

    /// The whole file. Each byte depends on the sections and the key alone.
    pub fn finish(self) -> AlignedBytes {
        let up =
            |offset: u64| align_up(offset).expect("sections lie in memory, so their sum is far below 2^64");
        let mut offset = header_bytes(self.sections.len()) as u64;
        let (mut table, bytes): (Vec<Section>, Vec<_>) = self.sections.into_iter().unzip();
        for section in &mut table {
            section.offset = up(offset);
            offset = section.offset + section.length;
        }
        let header =
            Header { kind: self.kind, total_bytes: offset, key: self.key, sections: table, digest: [0; 32] };
        let total = usize::try_from(offset).expect("sections lie in memory");
        let mut out = AlignedBytes::with_capacity(total);
        out.extend_from_slice(&encode(&header));
        for (bytes, section) in bytes.iter().zip(&header.sections) {
            out.resize(usize::try_from(section.offset).expect("below the total"), 0);
            out.extend_from_slice(bytes);
        }
        out
    }
}

/// The header's bytes, checksum included.
fn encode(header: &Header) -> Vec<u8> {
    let length = header_bytes(header.sections.len());
    let mut out = Vec::with_capacity(length);
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&FORMAT_EPOCH.to_le_bytes());
    out.extend_from_slice(&header.kind.code().to_le_bytes());
    let count = u32::try_from(header.sections.len()).expect("a file has at most MAX_SECTIONS sections");
    out.extend_from_slice(&count.to_le_bytes());
    out.extend_from_slice(&u32::try_from(length).expect("MAX_SECTIONS bounds the header").to_le_bytes());
    out.extend_from_slice(&header.total_bytes.to_le_bytes());
    out.extend_from_slice(&header.key);
    out.resize(HEADER_PREFIX_BYTES, 0);
    for section in &header.sections {
        out.extend_from_slice(&section.kind.to_le_bytes());
        out.extend_from_slice(&section.storage.to_le_bytes());
        out.extend_from_slice(&section.offset.to_le_bytes());
        out.extend_from_slice(&section.length.to_le_bytes());
        out.extend_from_slice(&[0; 8]);
        out.extend_from_slice(&section.digest);
    }
    let checksum = blake3::hash(&out);
    out[CHECKSUM_AT..CHECKSUM_AT + 32].copy_from_slice(checksum.as_bytes());
    out
}

/// The rkyv archive of a value.
pub(crate) fn archive<T>(value: &T) -> Vec<u8>
where
    T: for<'a> rkyv::Serialize<
            rkyv::api::high::HighSerializer<
                rkyv::util::AlignedVec,
                rkyv::ser::allocator::ArenaHandle<'a>,
                rkyv::rancor::Panic,
            >,
        >,
{
    rkyv::to_bytes::<rkyv::rancor::Panic>(value).expect("writing to memory does not fail").to_vec()
}

/// A count as it is written.
pub(crate) fn count(n: usize) -> u32 {
    u32::try_from(n).expect("limits and budgets keep every count below 2^32")
}
