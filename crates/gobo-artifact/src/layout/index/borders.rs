//! What a canonical index has beside its states: the encoder as whose tokens texts are cut, and where the borders between tokens lead.

use gobo_types::Digest;

use crate::layout::artifact::{Artifact, Span};
use crate::layout::error::ArtifactError;
use crate::layout::section as kinds;

/// Where the borders lie.
#[derive(Debug, Clone)]
pub(crate) struct BorderSpans {
    /// The digest of the encoder's tables.
    pub(crate) encoder: Digest,
    /// `[states]`: the states behind the border of two tokens of a chunk, and of two chunks.
    pub(crate) states: Span,
}

impl BorderSpans {
    /// The borders of an index, if it is canonical.
    pub(crate) fn open(artifact: &Artifact, states: u32) -> Result<Option<Self>, ArtifactError> {
        if !artifact.has_section(kinds::ENCODER_DIGEST) {
            return Ok(None);
        }
        let Ok(encoder) = artifact.section_bytes(kinds::ENCODER_DIGEST).try_into() else {
            return Err(artifact.meaning("the encoder's digest has not 32 bytes"));
        };
        if artifact.has_section(kinds::CALLS) || artifact.has_section(kinds::TOKEN_RANGES) {
            return Err(artifact.meaning("an index with calls or token edges has borders"));
        }
        let states = artifact.span::<[u32; 2]>(kinds::BORDERS, states.into())?;
        Ok(Some(Self { encoder: Digest(encoder), states }))
    }
}
