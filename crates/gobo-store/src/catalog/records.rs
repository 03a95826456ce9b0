//! The records of the catalog: their keys, and their values as JSON.
//!
//! A key is a prefix, which a migration declares, and what the record is about.

use std::time::SystemTime;

use gobo_artifact::Index;
use gobo_types::{
    ArtifactDigest, CompileLimits, ConstraintDigest, Digest, IndexKey, KeyHasher, OverBudget, Refusal,
    ReportEntry, VocabularyDigest,
};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::clock::unix_ms;

/// `i/<index key>` → [`IndexRecord`]; declared by `migrations/0001_indices.toml`.
pub(super) const INDICES: &[u8] = b"i/";
/// `r/<index key><digest of the limits, or zeros>` → a cached verdict; `migrations/0002_verdicts.toml`.
pub(super) const VERDICTS: &[u8] = b"r/";
/// `s/<index key>` → when the index was last used, in milliseconds since 1970; `migrations/0003_uses.toml`.
pub(super) const USES: &[u8] = b"s/";
/// Stands for the limits in the key of a refusal, which holds under any limits.
pub(super) const ANY_LIMITS: Digest = Digest([0; 32]);

/// The key of a verdict's record.
pub(super) type VerdictKey = [u8; 66];

/// The facts that the catalog keeps of a published index. All of them are in the file too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexRecord {
    /// blake3 of the file.
    pub artifact_digest: ArtifactDigest,
    /// blake3 of the file's header, which exposes another file in its place at once. None in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header_digest: Option<Digest>,
    /// Length of the file.
    pub bytes: u64,
    /// The vocabulary it was compiled against.
    pub vocabulary: VocabularyDigest,
    /// The constraint it was compiled from.
    pub constraint: ConstraintDigest,
    /// `regex` or `choice`.
    pub constraint_kind: String,
    /// Number of states.
    pub states: u32,
    /// Number of distinct mask rows.
    pub rows: u32,
    /// When it was published, in milliseconds since 1970.
    pub created_unix_ms: u64,
    /// The first notes of its report. None in records of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<ReportEntry>,
}

impl IndexRecord {
    /// The record of an open index. `artifact_digest` is what publishing returned. O(report); a report that cannot be read has
    /// no notes.
    pub fn of(index: &Index, artifact_digest: ArtifactDigest, created: SystemTime) -> Self {
        Self {
            artifact_digest,
            header_digest: Some(index.artifact().header_digest()),
            bytes: index.file_bytes().len() as u64,
            vocabulary: index.vocabulary_digest(),
            constraint: index.constraint_digest(),
            constraint_kind: index.constraint_kind().to_owned(),
            states: index.states(),
            rows: index.rows(),
            created_unix_ms: unix_ms(created),
            notes: index.report().map(|report| report.notes_told().cloned().collect()).unwrap_or_default(),
        }
    }
}

/// A cached verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CachedVerdict {
    /// Refused, under any limits.
    Refused(Refusal),
    /// Over one of the limits of the request.
    OverBudget(OverBudget),
}

/// A cached verdict as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct VerdictRecord {
    pub(super) verdict: CachedVerdict,
    pub(super) expires_unix_ms: u64,
}

/// The limits as part of a key: over-budget verdicts hold only under equal ones.
pub(super) fn limits_digest(limits: &CompileLimits) -> Digest {
    // Destructured, so that a new limit cannot be forgotten here.
    let CompileLimits { max_states, max_steps, max_bytes } = *limits;
    KeyHasher::new("gobo compile limits v1")
        .field("max_states", &max_states.to_le_bytes())
        .field("max_steps", &max_steps.to_le_bytes())
        .field("max_bytes", &max_bytes.to_le_bytes())
        .finish()
}

pub(super) fn encode(record: &impl Serialize) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(record)
        .map_err(|source| StoreError::Encode { what: "a record of the catalog", source })
}

fn of_index(prefix: &[u8], key: &IndexKey) -> [u8; 34] {
    let mut record = [0; 34];
    record[..2].copy_from_slice(prefix);
    record[2..].copy_from_slice(key.as_bytes());
    record
}

pub(super) fn index_record(key: &IndexKey) -> [u8; 34] {
    of_index(INDICES, key)
}

pub(super) fn use_record(key: &IndexKey) -> [u8; 34] {
    of_index(USES, key)
}

/// The index that a record is about, if its key has the length for it.
pub(super) fn key_in(record: &[u8]) -> Option<IndexKey> {
    let bytes: [u8; 32] = record.get(INDICES.len()..)?.try_into().ok()?;
    Some(IndexKey::from(bytes))
}

pub(super) fn verdict_record(key: &IndexKey, limits: Digest) -> VerdictKey {
    let mut record = [0; 66];
    record[..34].copy_from_slice(&of_index(VERDICTS, key));
    record[34..].copy_from_slice(&limits.0);
    record
}

/// A key for a person.
pub(super) fn name(key: &[u8]) -> String {
    key.escape_ascii().to_string()
}
