use std::borrow::Cow;
use std::ops::Range;

use gobo_types::{
    ArtifactDigest, COMPILER_EPOCH, ConstraintDigest, Digest, IndexKey, Report, TokenId, VocabularyDigest,
    beside,
};

use zerocopy::IntoBytes;

use crate::AlignedBytes;
use crate::calls::CallParts;
use crate::header::{ArtifactKind, Header, Section, align_up, header_bytes};
use crate::index::{IndexClass, NO_ROW};
use crate::root::{IndexRoot, VocabularyRoot};
use crate::row::RowEncoder;
use crate::section as kinds;
use crate::slice::{SliceEntry, SliceTables};
use crate::transitions;
use crate::trie::TrieNode;

/// Lays out the sections of one file behind its header.
#[derive(Debug)]
pub struct ArtifactWriter<'a> {
    kind: ArtifactKind,
    key: [u8; 32],
    /// What the file says of each, in no place yet, and its bytes.
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
        out.extend_from_slice(&header.encode());
        for (bytes, section) in bytes.iter().zip(&header.sections) {
            out.resize(usize::try_from(section.offset).expect("below the total"), 0);
            out.extend_from_slice(bytes);
        }
        out
    }
}

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
    /// `[nodes]`, block by block: the trie of all ordinary tokens, then that of each slice.
    pub trie: Vec<TrieNode>,
    /// Ids by bytes, then by number: of all, then slice by slice.
    pub trie_order: Vec<TokenId>,
    /// `[ids of the trie order]`: the bytes of each once more, so that they need not be fetched from all over the table.
    pub trie_bytes: &'a [&'a [u8]],
    /// `[nodes]`.
    pub trie_set_ids: Vec<u16>,
    /// `[sets]`; set 0 holds all bytes.
    pub trie_sets: Vec<[u32; 8]>,
    /// The slices, none of them empty.
    pub slices: Vec<SliceParts>,
    /// `[shared rows, row words]`: rows for indices to refer to, none of them empty.
    pub shared_rows: Vec<u32>,
}

/// What a vocabulary file has to be told of a slice; lengths and characters follow from its tokens.
#[derive(Debug)]
pub struct SliceParts {
    /// Number of the first node of its trie.
    pub root: usize,
    /// Where its ids lie in the trie order.
    pub order: Range<usize>,
    /// Each of its tokens has one of these bytes.
    pub needs: [u32; 8],
    /// Whether its tokens are UTF-8, each by itself.
    pub is_text: bool,
    /// A character with which each of its tokens begins, and behind which each has more. Not U+0000.
    pub lead: Option<u32>,
}

/// The bytes of a vocabulary file.
///
/// # Panics
/// If a token of a slice of text is not UTF-8, or is not its lead and more.
pub fn write_vocabulary(parts: &VocabularyParts<'_>) -> AlignedBytes {
    let (archived, token_bytes) = (archive(&parts.root), parts.tokens.concat());
    let mut offsets = Vec::with_capacity(1 + parts.tokens.len());
    offsets.push(0_u32);
    let mut end = 0;
    for token in parts.tokens {
        end += token.len();
        offsets.push(u32::try_from(end).expect("the table's limits keep token bytes below 4 GiB"));
    }
    let mut writer = ArtifactWriter::new(ArtifactKind::Vocabulary, *parts.digest.as_bytes());
    let mut plain = |kind: u32, bytes| writer.section(kind, kinds::PLAIN, bytes);
    // The digests of the sections take about as long as the tables of the slices.
    let ((), (entries, all)) = beside(
        parts.tokens.len(),
        || {
            plain(kinds::ROOT, archived.as_slice());
            plain(kinds::TOKEN_OFFSETS, offsets.as_bytes());
            plain(kinds::TOKEN_BYTES, &token_bytes);
            plain(kinds::SPECIAL, parts.special.as_bytes());
            plain(kinds::TRIE, parts.trie.as_bytes());
            plain(kinds::TRIE_ORDER, parts.trie_order.as_bytes());
            plain(kinds::TRIE_SET_IDS, parts.trie_set_ids.as_bytes());
            plain(kinds::TRIE_SETS, parts.trie_sets.as_bytes());
        },
        || slice_tables(parts),
    );
    plain(kinds::SLICES, entries.as_bytes());
    plain(kinds::SLICE_CHARS, all.chars.as_bytes());
    plain(kinds::SLICE_ROWS, all.rows.as_bytes());
    plain(kinds::SLICE_LONG, all.long.as_bytes());
    plain(kinds::SHARED_ROWS, parts.shared_rows.as_bytes());
    writer.finish()
}

/// Where the tables of each slice lie, and those tables one behind the other.
fn slice_tables(parts: &VocabularyParts<'_>) -> (Vec<SliceEntry>, SliceTables) {
    let row_words = parts.special.len();
    let mut entries: Vec<SliceEntry> = Vec::new();
    let mut all = SliceTables::default();
    for slice in &parts.slices {
        let ids = &parts.trie_order[slice.order.clone()];
        let tokens = ids.iter().copied().zip(parts.trie_bytes[slice.order.clone()].iter().copied());
        let tables = SliceTables::new(tokens, slice.is_text, slice.lead, row_words)
            .expect("the tokens of a slice of text are UTF-8 behind its lead");
        let (chars, rows, long) = (all.chars.len(), all.rows.len(), all.long.len());
        all.chars.extend(tables.chars);
        all.rows.extend(tables.rows);
        all.long.extend(tables.long);
        entries.push(SliceEntry {
            root: count(slice.root),
            order: [count(slice.order.start), count(slice.order.end)],
            max_chars: tables.max_chars,
            chars: [count(chars), count(all.chars.len())],
            rows: count(rows / row_words),
            long: [count(long), count(all.long.len())],
            lead: slice.lead.unwrap_or(0),
            needs: slice.needs,
        });
    }
    (entries, all)
}

fn count(n: usize) -> u32 {
    u32::try_from(n).expect("limits and budgets keep every count below 2^32")
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
    /// Its options: [`gobo_types::Constraint::options_json`].
    pub constraint_options: &'a str,
    /// What is enforced.
    pub report: &'a Report,
    /// The state of the empty text.
    pub start: u32,
    /// The class of each byte.
    pub byte_classes: &'a [u8; 256],
    /// Number of classes.
    pub classes: u32,
    /// `[states]`: the row of transitions of each state; state 0 is dead.
    pub row_of: &'a [u32],
    /// `[transition rows, classes]`: the next state less the present one, or [`NO_STEP`](crate::NO_STEP).
    pub deltas: &'a [i32],
    /// `[states]`: the row of each state, `None` where no token may end; and whether the text may end there.
    pub states: &'a [(Option<u32>, bool)],
    /// The distinct rows.
    pub rows: &'a RowEncoder<'a>,
    /// How many groups of states had their row computed.
    pub row_computations: u32,
    /// The tables of calls, where there are any.
    pub calls: Option<&'a CallParts>,
}

/// The bytes of an index file, and their digest.
pub fn write_index(parts: &IndexParts<'_>) -> (AlignedBytes, ArtifactDigest) {
    let root = IndexRoot {
        vocabulary_digest: *parts.vocabulary_digest.as_bytes(),
        constraint_digest: *parts.constraint_digest.as_bytes(),
        constraint_kind: parts.constraint_kind.into(),
        compiler_epoch: COMPILER_EPOCH,
        class: match parts.calls {
            None => IndexClass::Regular,
            Some(calls) if calls.is_deterministic => IndexClass::Deterministic,
            Some(_) => IndexClass::Ambiguous,
        }
        .number(),
        vocabulary_len: parts.vocabulary_len,
        states: count(parts.states.len()),
        start: parts.start,
        classes: parts.classes,
        rows: count(parts.rows.len()),
        row_computations: parts.row_computations,
        shared_rows: count(parts.rows.shared.len()),
        shared_rows_digest: parts.rows.shared.digest.0,
    };
    debug_assert_eq!(parts.row_of.len(), parts.states.len());
    let mut writer = ArtifactWriter::new(ArtifactKind::Index, *parts.key.as_bytes());
    let mut plain = |kind: u32, bytes: Vec<u8>| writer.section(kind, kinds::PLAIN, bytes);
    plain(kinds::ROOT, archive(&root));
    plain(kinds::REPORT, archive(parts.report));
    plain(kinds::CONSTRAINT, parts.constraint_text.as_bytes().to_vec());
    plain(kinds::CONSTRAINT_OPTIONS, parts.constraint_options.as_bytes().to_vec());
    plain(kinds::BYTE_CLASSES, parts.byte_classes.to_vec());
    let (storage, table, rows) = transitions::encode(parts.row_of, parts.deltas, parts.classes as usize);
    writer.section(kinds::TRANSITIONS, storage, table);
    writer.section(kinds::TRANSITION_ROWS, kinds::PLAIN, rows);
    let state_word =
        |&(row, complete): &(Option<u32>, bool)| row.unwrap_or(NO_ROW) << 1 | u32::from(complete);
    let mut plain = |kind: u32, bytes: Vec<u8>| writer.section(kind, kinds::PLAIN, bytes);
    plain(kinds::STATES, parts.states.iter().map(state_word).flat_map(u32::to_le_bytes).collect());
    plain(kinds::ROW_TABLE, parts.rows.table.as_bytes().to_vec());
    plain(kinds::DENSE_ROWS, parts.rows.dense.as_bytes().to_vec());
    plain(kinds::ROW_PATCHES, parts.rows.patches.as_bytes().to_vec());
    for (kind, bytes) in parts.calls.map(CallParts::sections).unwrap_or_default() {
        plain(kind, bytes);
    }
    let bytes = writer.finish();
    let digest = ArtifactDigest(Digest::of(&bytes));
    (bytes, digest)
}
