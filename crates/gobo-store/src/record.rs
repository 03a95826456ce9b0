use std::time::SystemTime;

use gobo_artifact::Index;
use gobo_types::{
    ArtifactDigest, CompileLimits, ConstraintDigest, Digest, KeyHasher, OverBudget, Refusal, VocabularyDigest,
};
use serde::{Deserialize, Serialize};

use crate::clock::unix_ms;

/// What the catalog knows of a published index. All of it is in the file too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexRecord {
    /// blake3 of the file.
    pub artifact_digest: ArtifactDigest,
    /// blake3 of the file's header, by which another file in its place is told at once. None in records of older versions.
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
}

impl IndexRecord {
    /// The record of an open index. `artifact_digest` is what publishing returned. O(1).
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
        }
    }
}

/// A verdict that need not be found out again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CachedVerdict {
    /// Refused, under any limits.
    Refused(Refusal),
    /// Over one of the limits asked with.
    OverBudget(OverBudget),
}

/// A cached verdict as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct VerdictRecord {
    pub(crate) verdict: CachedVerdict,
    pub(crate) expires_unix_ms: u64,
}

/// The limits as part of a key: over-budget verdicts hold only under equal ones.
pub(crate) fn limits_digest(limits: &CompileLimits) -> Digest {
    // Taken apart, so that a new limit cannot be forgotten here.
    let CompileLimits { max_states, max_steps, max_bytes } = *limits;
    KeyHasher::new("gobo compile limits v1")
        .field("max_states", &max_states.to_le_bytes())
        .field("max_steps", &max_steps.to_le_bytes())
        .field("max_bytes", &max_bytes.to_le_bytes())
        .finish()
}
