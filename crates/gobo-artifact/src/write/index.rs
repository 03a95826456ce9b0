//! Writes an index file.

use gobo_types::{
    ArtifactDigest, COMPILER_EPOCH, ConstraintDigest, Digest, IndexKey, Report, TokenId, VocabularyDigest,
};
use zerocopy::IntoBytes;

use crate::file::AlignedBytes;
use crate::layout::index::root::{IndexClass, IndexRoot};
use crate::layout::index::states::NO_ROW;
use crate::layout::index::tokens::{SPENT, TokenClassEntry, TokenRange};
use crate::layout::kind::ArtifactKind;
use crate::layout::section as kinds;
use crate::write::calls::CallParts;
use crate::write::file::{ArtifactWriter, archive, count};
use crate::write::rows::RowEncoder;
use crate::write::transitions;

/// The parts of an index file.
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
    /// The enforcement report.
    pub report: &'a Report,
    /// The state of the empty text.
    pub start: u32,
    /// The class of each byte.
    pub byte_classes: &'a [u8; 256],
    /// Number of classes.
    pub classes: u32,
    /// `[states]`: the row of transitions of each state; state 0 is dead.
    pub row_of: &'a [u32],
    /// `[transition rows, classes]`: the next state less the present one, or [`NO_STEP`](crate::layout::NO_STEP).
    pub deltas: &'a [i32],
    /// `[states]`: the row of each state, `None` where no token may end; and whether the text may end there.
    pub states: &'a [(Option<u32>, bool)],
    /// The distinct rows.
    pub rows: &'a RowEncoder<'a>,
    /// How many groups of states had their row computed.
    pub row_computations: u32,
    /// The tables of calls, where there are any.
    pub calls: Option<&'a CallParts>,
    /// The classes of tokens that edges read, where there are any.
    pub tokens: Option<&'a [TokenClassPart]>,
    /// How texts are cut into tokens, where it matters.
    pub canonical: Option<CanonicalPart<'a>>,
}

/// What an index has whose masks let through only what the tokenizer itself would write.
#[derive(Debug, Clone, Copy)]
pub struct CanonicalPart<'a> {
    /// The digest of the tables by which the tokenizer cuts: [`EncoderRoot::digest`](crate::layout::EncoderRoot::digest).
    pub encoder: [u8; 32],
    /// The borders behind which tokens begin.
    pub borders: &'a BorderParts,
    /// Where texts go on with the last chunk of a prompt: whether its last token is taken back.
    pub heals: Option<bool>,
    /// Tokens behind which a chunk may have to end that spells a word: the border before them, the node of words there, and the token; ascending.
    pub spelled: &'a [[u32; 3]],
}

/// The borders of an index as they are written. A border is a state of the index with one of chunks, between two tokens.
#[derive(Debug)]
pub struct BorderParts {
    /// `[states]`: the class of each state, 0 where no token begins. States of one class have the same borders, with the same rows.
    pub classes: Vec<u32>,
    /// `[classes + 1]`: where the borders of each class begin.
    pub starts: Vec<u32>,
    /// Where the chunks stand, ascending within a class, and the row. Border 0 is none.
    pub all: Vec<[u32; 2]>,
}

/// A class of tokens that edges read, as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenClassPart {
    /// The bytes of its letter: one to three.
    pub letter: Vec<u8>,
    /// Whether an edge names its ids.
    pub is_named: bool,
    /// Whether it has no ids, and is read where a budget of tokens is spent.
    pub is_spent: bool,
    /// Its ids: ranges, both ends included, ascending.
    pub ids: Vec<(TokenId, TokenId)>,
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
    if let Some(classes) = parts.tokens {
        let (ranges, classes) = token_tables(classes);
        plain(kinds::TOKEN_RANGES, ranges.as_bytes().to_vec());
        plain(kinds::TOKEN_CLASSES, classes.as_bytes().to_vec());
    }
    if let Some(canonical) = parts.canonical {
        plain(kinds::ENCODER_DIGEST, canonical.encoder.to_vec());
        plain(kinds::BORDER_CLASSES, canonical.borders.classes.as_bytes().to_vec());
        plain(kinds::BORDER_STARTS, canonical.borders.starts.as_bytes().to_vec());
        plain(kinds::BORDERS, canonical.borders.all.as_bytes().to_vec());
        if let Some(heals) = canonical.heals {
            plain(kinds::HEALS, u32::from(heals).to_le_bytes().to_vec());
        }
        if !canonical.spelled.is_empty() {
            plain(kinds::SPELLED_WORDS, canonical.spelled.as_bytes().to_vec());
        }
    }
    let bytes = writer.finish();
    let digest = ArtifactDigest(Digest::of(&bytes));
    (bytes, digest)
}

/// The ids of all classes, ascending, and the classes.
fn token_tables(classes: &[TokenClassPart]) -> (Vec<TokenRange>, Vec<TokenClassEntry>) {
    let mut ranges: Vec<TokenRange> = Vec::new();
    let entry = |part: &TokenClassPart| {
        let mut letter = [0; 4];
        letter[..part.letter.len()].copy_from_slice(&part.letter);
        TokenClassEntry { letter, is_named: if part.is_spent { SPENT } else { u32::from(part.is_named) } }
    };
    for (number, class) in classes.iter().enumerate() {
        ranges.extend(class.ids.iter().map(|&(first, last)| TokenRange {
            first,
            last,
            class: count(number),
        }));
    }
    ranges.sort_unstable_by_key(|range| range.first);
    (ranges, classes.iter().map(entry).collect())
}
