//! Writes a vocabulary file.

use std::ops::Range;

use gobo_types::{TokenId, VocabularyDigest, beside};
use zerocopy::IntoBytes;

use crate::file::AlignedBytes;
use crate::layout::kind::ArtifactKind;
use crate::layout::section as kinds;
use crate::layout::vocabulary::root::VocabularyRoot;
use crate::layout::vocabulary::slice::SliceEntry;
use crate::layout::vocabulary::slice_tables::SliceTables;
use crate::layout::vocabulary::trie::TrieNode;
use crate::write::encoder::EncoderParts;
use crate::write::file::{ArtifactWriter, archive, count};

/// The parts of a vocabulary file.
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
    /// How the tokenizer cuts texts, or why that is not known; `None` if nobody has looked.
    pub encoder: Option<EncoderParts>,
}

/// The parts of a slice; lengths and characters follow from its tokens.
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
    /// The character with which each of its tokens begins. Every token has more after it. Not U+0000.
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
    if let Some(encoder) = &parts.encoder {
        encoder.write(&mut writer);
    }
    writer.finish()
}

/// Where the tables of each slice lie, and those tables one after the other.
fn slice_tables(parts: &VocabularyParts<'_>) -> (Vec<SliceEntry>, SliceTables) {
    let row_words = parts.special.len();
    let mut entries: Vec<SliceEntry> = Vec::new();
    let mut all = SliceTables::default();
    for slice in &parts.slices {
        let ids = &parts.trie_order[slice.order.clone()];
        let tokens = ids.iter().copied().zip(parts.trie_bytes[slice.order.clone()].iter().copied());
        let tables = SliceTables::new(tokens, slice.is_text, slice.lead, row_words)
            .expect("the tokens of a slice of text are UTF-8 after its lead");
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
