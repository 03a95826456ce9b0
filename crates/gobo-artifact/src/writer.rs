use gobo_types::{
    ArtifactDigest, COMPILER_EPOCH, ConstraintDigest, Digest, IndexKey, Report, TokenId, VocabularyDigest,
};

use crate::AlignedBytes;
use crate::header::{ArtifactKind, Header, Section, align_up, header_bytes};
use crate::index::{DEAD, NO_ROW};
use crate::root::{IndexRoot, VocabularyRoot};
use crate::row::RowEncoder;
use crate::section as kinds;
use crate::trie::TrieNode;

/// Lays out the sections of one file behind its header.
#[derive(Debug)]
pub struct ArtifactWriter {
    kind: ArtifactKind,
    key: [u8; 32],
    sections: Vec<(u32, u32, Vec<u8>)>,
}

impl ArtifactWriter {
    /// A file of `kind` whose header carries `key`.
    pub fn new(kind: ArtifactKind, key: [u8; 32]) -> Self {
        Self { kind, key, sections: Vec::new() }
    }

    /// Adds a section. The caller adds them in file order; a reader refuses any other.
    pub fn section(&mut self, kind: u32, storage: u32, bytes: Vec<u8>) {
        self.sections.push((kind, storage, bytes));
    }

    /// The whole file. Each byte depends on the sections and the key alone.
    pub fn finish(self) -> AlignedBytes {
        let up =
            |offset: u64| align_up(offset).expect("sections lie in memory, so their sum is far below 2^64");
        let mut offset = header_bytes(self.sections.len()) as u64;
        let mut table = Vec::with_capacity(self.sections.len());
        for (kind, storage, bytes) in &self.sections {
            offset = up(offset);
            let length = bytes.len() as u64;
            table.push(Section {
                kind: *kind,
                storage: *storage,
                offset,
                length,
                digest: Digest::of(bytes).0,
            });
            offset += length;
        }
        let header = Header { kind: self.kind, total_bytes: offset, key: self.key, sections: table };
        let total = usize::try_from(offset).expect("sections lie in memory");
        let mut out = AlignedBytes::with_capacity(total);
        out.extend_from_slice(&header.encode());
        for ((_, _, bytes), section) in self.sections.iter().zip(&header.sections) {
            out.resize(usize::try_from(section.offset).expect("below the total"), 0);
            out.extend_from_slice(bytes);
        }
        out
    }
}

fn le_u32(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn archive<T>(value: &T) -> Vec<u8>
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

/// What a vocabulary file is made of.
#[derive(Debug)]
pub struct VocabularyParts<'a> {
    /// Digest of the canonical table.
    pub digest: VocabularyDigest,
    /// Counts and byte sets.
    pub root: VocabularyRoot,
    /// `[len]`: the bytes of each id.
    pub tokens: &'a [&'a [u8]],
    /// The special ids, as a row.
    pub special: Vec<u32>,
    /// `[nodes]`, block by block.
    pub trie: Vec<TrieNode>,
    /// Ids by bytes, then by number.
    pub trie_order: Vec<TokenId>,
    /// `[nodes]`.
    pub trie_set_ids: Vec<u16>,
    /// `[sets]`; set 0 holds all bytes.
    pub trie_sets: Vec<[u32; 8]>,
}

/// The bytes of a vocabulary file.
pub fn write_vocabulary(parts: &VocabularyParts<'_>) -> AlignedBytes {
    let mut writer = ArtifactWriter::new(ArtifactKind::Vocabulary, *parts.digest.as_bytes());
    let mut offsets = vec![0_u32];
    for token in parts.tokens {
        let end = *offsets.last().expect("never empty") as usize + token.len();
        offsets.push(u32::try_from(end).expect("the table's limits keep token bytes below 4 GiB"));
    }
    let mut plain = |kind: u32, bytes: Vec<u8>| writer.section(kind, kinds::PLAIN, bytes);
    plain(kinds::ROOT, archive(&parts.root));
    plain(kinds::TOKEN_OFFSETS, le_u32(offsets));
    plain(kinds::TOKEN_BYTES, parts.tokens.concat());
    plain(kinds::SPECIAL, le_u32(parts.special.iter().copied()));
    plain(kinds::TRIE, TrieNode::write(&parts.trie));
    plain(kinds::TRIE_ORDER, le_u32(parts.trie_order.iter().copied()));
    plain(kinds::TRIE_SET_IDS, parts.trie_set_ids.iter().flat_map(|id| id.to_le_bytes()).collect());
    plain(kinds::TRIE_SETS, le_u32(parts.trie_sets.iter().flatten().copied()));
    writer.finish()
}

/// What an index file is made of.
#[derive(Debug)]
pub struct IndexParts<'a> {
    /// The key of the inputs.
    pub key: IndexKey,
    /// The vocabulary whose ids the rows hold.
    pub vocabulary_digest: VocabularyDigest,
    /// Highest id + 1.
    pub vocabulary_len: u32,
    /// The constraint's digest.
    pub constraint_digest: ConstraintDigest,
    /// `regex` or `choice`.
    pub constraint_kind: &'a str,
    /// Its canonical text.
    pub constraint_text: &'a str,
    /// What is enforced.
    pub report: &'a Report,
    /// The state of the empty text.
    pub start: u32,
    /// The class of each byte.
    pub byte_classes: &'a [u8; 256],
    /// Number of classes.
    pub classes: u32,
    /// `[states, classes]`; state 0 is dead.
    pub transitions: &'a [u32],
    /// `[states]`: the row of each state, `None` where no token may end; and whether the text may end there.
    pub states: &'a [(Option<u32>, bool)],
    /// The distinct rows.
    pub rows: &'a RowEncoder,
    /// How many groups of states had their row computed.
    pub row_computations: u32,
}

/// The bytes of an index file, and their digest.
pub fn write_index(parts: &IndexParts<'_>) -> (AlignedBytes, ArtifactDigest) {
    let count = |len: usize| u32::try_from(len).expect("budgets keep every count below 2^31");
    let root = IndexRoot {
        vocabulary_digest: *parts.vocabulary_digest.as_bytes(),
        constraint_digest: *parts.constraint_digest.as_bytes(),
        constraint_kind: parts.constraint_kind.into(),
        compiler_epoch: COMPILER_EPOCH,
        class: 0,
        vocabulary_len: parts.vocabulary_len,
        states: count(parts.states.len()),
        start: parts.start,
        classes: parts.classes,
        rows: count(parts.rows.len()),
        row_computations: parts.row_computations,
    };
    debug_assert!(parts.transitions[..parts.classes as usize].iter().all(|&next| next == DEAD));
    let mut writer = ArtifactWriter::new(ArtifactKind::Index, *parts.key.as_bytes());
    let mut plain = |kind: u32, bytes: Vec<u8>| writer.section(kind, kinds::PLAIN, bytes);
    plain(kinds::ROOT, archive(&root));
    plain(kinds::REPORT, archive(parts.report));
    plain(kinds::CONSTRAINT, parts.constraint_text.as_bytes().to_vec());
    plain(kinds::BYTE_CLASSES, parts.byte_classes.to_vec());
    let narrow: Result<Vec<u16>, _> = parts.transitions.iter().map(|&next| u16::try_from(next)).collect();
    match narrow {
        Ok(narrow) => {
            let bytes = narrow.into_iter().flat_map(u16::to_le_bytes).collect();
            writer.section(kinds::TRANSITIONS, kinds::DENSE_U16, bytes);
        }
        Err(_) => {
            writer.section(kinds::TRANSITIONS, kinds::DENSE_U32, le_u32(parts.transitions.iter().copied()));
        }
    }
    let state_word =
        |&(row, complete): &(Option<u32>, bool)| row.unwrap_or(NO_ROW) << 1 | u32::from(complete);
    let mut plain = |kind: u32, bytes: Vec<u8>| writer.section(kind, kinds::PLAIN, bytes);
    plain(kinds::STATES, le_u32(parts.states.iter().map(state_word)));
    plain(kinds::ROW_TABLE, parts.rows.table_bytes());
    plain(kinds::DENSE_ROWS, le_u32(parts.rows.dense.iter().copied()));
    plain(kinds::ROW_IDS, le_u32(parts.rows.ids.iter().copied()));
    plain(kinds::ROW_PATCHES, le_u32(parts.rows.patches.iter().flatten().copied()));
    let bytes = writer.finish();
    let digest = ArtifactDigest(Digest::of(&bytes));
    (bytes, digest)
}
