//! The header of a file: magic, version, lengths, checksum, key, and the table of sections.
//!
//! Given sections have one header only. A reader checks the whole header at open, in O(sections), and every section lies within
//! the file afterwards; the contents of the sections are checked at use, or by `verify`.

use gobo_types::FORMAT_EPOCH;

use crate::file::SECTION_ALIGN;
use crate::layout::error::Fault;
use crate::layout::kind::ArtifactKind;
use crate::layout::section as kinds;

/// The first eight bytes of every artifact. A byte beyond ASCII, a line end and an end-of-file sign, so that a
/// transfer in text mode breaks it visibly.
pub const MAGIC: [u8; 8] = *b"\x89gobo\r\n\x1a";
/// Length of the fixed part of the header in bytes.
pub const HEADER_PREFIX_BYTES: usize = 128;
/// Length of one entry of the section table in bytes.
pub const SECTION_ENTRY_BYTES: usize = 64;
/// Most sections of a file.
pub const MAX_SECTIONS: usize = 32;
/// Where the checksum stands in the header.
pub(crate) const CHECKSUM_AT: usize = 96;

/// One entry of the section table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section {
    /// Its kind: a number of [`section`](mod@crate::layout::section).
    pub kind: u32,
    /// How it is stored.
    pub storage: u32,
    /// Where it begins, in bytes from the start of the file; a multiple of [`SECTION_ALIGN`](crate::file::SECTION_ALIGN).
    pub offset: u64,
    /// Its exact length in bytes.
    pub length: u64,
    /// blake3 of its bytes.
    pub digest: [u8; 32],
}

impl Section {
    /// The section's name.
    pub fn name(&self) -> &'static str {
        kinds::name(self.kind).unwrap_or("unknown")
    }
}

/// The decoded header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: ArtifactKind,
    pub(crate) total_bytes: u64,
    pub(crate) key: [u8; 32],
    pub(crate) sections: Vec<Section>,
    /// blake3 of the header without this field; zeros in one that was not read from a file.
    pub(crate) digest: [u8; 32],
}

pub(crate) fn align_up(offset: u64) -> Option<u64> {
    offset.checked_next_multiple_of(SECTION_ALIGN as u64)
}

pub(crate) fn header_bytes(sections: usize) -> usize {
    HEADER_PREFIX_BYTES + sections * SECTION_ENTRY_BYTES
}

impl Header {
    /// Reads and checks the header of a whole file, in this order: magic, version, lengths, checksum, kind, reserved
    /// fields, sections. O(number of sections).
    pub(crate) fn decode(file: &[u8], expected: ArtifactKind) -> Result<Self, Fault> {
        let length_fault =
            |expected: usize| Fault::Length { found: file.len() as u64, expected: expected as u64 };
        // A short file that does not even begin like an artifact is foreign, not truncated.
        if !file.starts_with(&MAGIC[..file.len().min(MAGIC.len())]) || file.is_empty() {
            return Err(Fault::Magic);
        }
        let prefix = file.get(..HEADER_PREFIX_BYTES).ok_or_else(|| length_fault(HEADER_PREFIX_BYTES))?;
        let version = u32_at(prefix, 8);
        if version != FORMAT_EPOCH {
            return Err(Fault::Version { found: version, expected: FORMAT_EPOCH });
        }
        let count = u32_at(prefix, 16) as usize;
        if count > MAX_SECTIONS {
            return Err(Fault::Header { what: format!("{count} sections, more than {MAX_SECTIONS}") });
        }
        let header_length = header_bytes(count);
        if u32_at(prefix, 20) as usize != header_length {
            return Err(Fault::Header { what: format!("a header of {} bytes", u32_at(prefix, 20)) });
        }
        let total_bytes = u64_at(prefix, 24);
        if total_bytes != file.len() as u64 {
            return Err(Fault::Length { found: file.len() as u64, expected: total_bytes });
        }
        let header = file.get(..header_length).ok_or_else(|| length_fault(header_length))?;
        let mut hasher = blake3::Hasher::new();
        hasher.update(&header[..CHECKSUM_AT]).update(&[0; 32]).update(&header[CHECKSUM_AT + 32..]);
        if hasher.finalize().as_bytes() != &header[CHECKSUM_AT..CHECKSUM_AT + 32] {
            return Err(Fault::HeaderChecksum);
        }
        let code = u32_at(prefix, 12);
        let Some(kind) = ArtifactKind::of_code(code) else {
            return Err(Fault::Kind { found: format!("kind {code}"), expected });
        };
        if kind != expected {
            return Err(Fault::Kind { found: kind.to_string(), expected });
        }
        if header[64..CHECKSUM_AT].iter().any(|&byte| byte != 0) {
            return Err(Fault::Header { what: "reserved bytes that are not zero".into() });
        }
        let mut key = [0; 32];
        key.copy_from_slice(&prefix[32..64]);
        let sections = header[HEADER_PREFIX_BYTES..]
            .chunks_exact(SECTION_ENTRY_BYTES)
            .map(Self::decode_section)
            .collect::<Result<Vec<_>, _>>()?;
        let mut digest = [0; 32];
        digest.copy_from_slice(&header[CHECKSUM_AT..CHECKSUM_AT + 32]);
        let decoded = Self { kind, total_bytes, key, sections, digest };
        decoded.check_sections()?;
        Ok(decoded)
    }

    fn decode_section(entry: &[u8]) -> Result<Section, Fault> {
        if u64_at(entry, 24) != 0 {
            return Err(Fault::Header { what: "reserved bytes of a section that are not zero".into() });
        }
        let mut digest = [0; 32];
        digest.copy_from_slice(&entry[32..64]);
        Ok(Section {
            kind: u32_at(entry, 0),
            storage: u32_at(entry, 4),
            offset: u64_at(entry, 8),
            length: u64_at(entry, 16),
            digest,
        })
    }

    /// The table holds exactly the sections of its kind, in order, one after the other to the end of the file: there
    /// is one way only to write given sections.
    fn check_sections(&self) -> Result<(), Fault> {
        let has = |kind: u32| self.sections.iter().any(|section| section.kind == kind);
        let mut kinds: Vec<u32> = match self.kind {
            ArtifactKind::Vocabulary => kinds::OF_VOCABULARY.to_vec(),
            ArtifactKind::Index => kinds::OF_INDEX.to_vec(),
        };
        if self.kind == ArtifactKind::Vocabulary && has(kinds::ENCODER) {
            let tables = kinds::OF_ENCODER.iter().skip(1).any(|&kind| has(kind));
            kinds.extend(&kinds::OF_ENCODER[..if tables { kinds::OF_ENCODER.len() } else { 1 }]);
        }
        if self.kind == ArtifactKind::Index {
            // Compiler epochs before 9 wrote none.
            kinds.retain(|&kind| kind != kinds::CONSTRAINT_OPTIONS || has(kind));
            if kinds::OF_CALLS.iter().any(|&kind| has(kind)) {
                kinds.extend(kinds::OF_CALLS);
                if kinds::OF_LENGTHS.iter().any(|&kind| has(kind)) {
                    kinds.extend(kinds::OF_LENGTHS);
                    if kinds::OF_HEADS.iter().any(|&kind| has(kind)) {
                        kinds.extend(kinds::OF_HEADS);
                    }
                    if kinds::OF_BUDGETS.iter().any(|&kind| has(kind)) {
                        kinds.extend(kinds::OF_BUDGETS);
                    }
                }
                if kinds::OF_EXITS.iter().any(|&kind| has(kind)) {
                    kinds.extend(kinds::OF_EXITS);
                }
            }
            if kinds::OF_TOKENS.iter().any(|&kind| has(kind)) {
                kinds.extend(kinds::OF_TOKENS);
            }
            if kinds::OF_CANONICAL.iter().any(|&kind| has(kind)) {
                kinds.extend(kinds::OF_CANONICAL);
            }
            if kinds::OF_PROMPTS.iter().any(|&kind| has(kind)) {
                kinds.extend(kinds::OF_PROMPTS);
            }
            if kinds::OF_SPELLED.iter().any(|&kind| has(kind)) {
                kinds.extend(kinds::OF_SPELLED);
            }
        }
        let kind_at = |position: usize| kinds.get(position).copied();
        let fault = |section: u32, what: &str| Fault::Section {
            section: kinds::name(section).map_or_else(|| format!("number {section}"), Into::into),
            what: what.into(),
        };
        let mut end = header_bytes(self.sections.len()) as u64;
        for (position, section) in self.sections.iter().enumerate() {
            match kind_at(position) {
                Some(kind) if kind == section.kind => {}
                _ if kinds.contains(&section.kind) => {
                    return Err(fault(section.kind, "it is out of order"));
                }
                _ => return Err(fault(section.kind, "this program does not know it")),
            }
            let storages: &[u32] = match section.kind {
                kinds::TRANSITIONS => &[kinds::DENSE_U16, kinds::DENSE_U32, kinds::SHARED],
                _ => &[kinds::PLAIN],
            };
            if !storages.contains(&section.storage) {
                return Err(fault(section.kind, "this program does not know its storage"));
            }
            if Some(section.offset) != align_up(end) {
                return Err(fault(section.kind, "it does not begin where the one before ends"));
            }
            end = section
                .offset
                .checked_add(section.length)
                .ok_or_else(|| fault(section.kind, "it is too long"))?;
        }
        if let Some(missing) = kind_at(self.sections.len()) {
            return Err(fault(missing, "it is missing"));
        }
        if end != self.total_bytes {
            return Err(Fault::Length { found: self.total_bytes, expected: end });
        }
        Ok(())
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
