use gobo_store::PendingIndex;
use gobo_types::{ArtifactDigest, CompileLimits, OverBudget, Refusal};
use serde::{Deserialize, Serialize};

use crate::object::Rejected;

/// What a bucket knows of a key.
#[derive(Debug)]
pub enum Answer {
    /// Its index, whole, in a temporary file of the store.
    Index {
        /// To be published, which verifies it as a file of its format.
        file: PendingIndex,
        /// blake3 of it, which is that of the object's head.
        digest: ArtifactDigest,
    },
    /// The constraint is refused, under any limits.
    Refused(Box<Refusal>),
    /// A compile under these limits went over one of them.
    OverBudget(Box<OverBudget>, CompileLimits),
    /// Nothing.
    Absent,
    /// Something that is not to be used.
    Rejected(Rejected),
    /// It did not answer in time, or is not asked for a while because it did not before.
    Unknown,
}

impl Answer {
    /// Whether a compile can be spared.
    pub fn is_found(&self) -> bool {
        matches!(self, Self::Index { .. } | Self::Refused(_) | Self::OverBudget(..))
    }
}

/// The content of an over-budget object.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct OverBudgetContent {
    pub(crate) limits: CompileLimits,
    pub(crate) verdict: OverBudget,
}
