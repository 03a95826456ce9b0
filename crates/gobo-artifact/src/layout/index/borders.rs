//! What a canonical index has beside its states: the encoder as whose tokens texts are cut, and the borders behind which tokens begin.
//!
//! A text stands in a state of the index, and its chunks stand in a state of theirs, which the encoder's tables have. Between two tokens, the pair of the two is a
//! *border*, if any token may begin there. Many states of an index have the same borders, with the same rows: those of a class.

use gobo_types::Digest;

use crate::layout::artifact::{Artifact, Span};
use crate::layout::error::ArtifactError;
use crate::layout::section as kinds;

/// In the place of the number of a border: no token begins.
pub(crate) const NO_BORDER: u32 = 0;

/// Where the borders lie.
#[derive(Debug, Clone)]
pub(crate) struct BorderSpans {
    /// The digest of the encoder's tables.
    pub(crate) encoder: Digest,
    /// `[states]`: the class of each.
    pub(crate) classes: Span,
    /// `[classes + 1]`: where the borders of each begin.
    pub(crate) starts: Span,
    /// `[borders]`: where the chunks stand, and the row.
    pub(crate) all: Span,
    /// Where texts go on with the last chunk of a prompt: whether its last token is taken back.
    pub(crate) heals: Option<bool>,
    /// Tokens behind which a chunk may have to end that spells a word, which it cannot: border, node of words, token.
    pub(crate) spelled: Option<Span>,
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
        if artifact.has_section(kinds::TOKEN_RANGES) {
            return Err(artifact.meaning("an index with token edges has borders"));
        }
        let heals =
            artifact.has_section(kinds::HEALS).then(|| {
                match artifact.get::<u32>(&artifact.span::<u32>(kinds::HEALS, 1)?) {
                    &[heals @ (0 | 1)] => Ok(heals == 1),
                    _ => Err(artifact
                        .meaning("whether the last token of a prompt is taken back is neither 0 nor 1")),
                }
            });
        let spelled = artifact
            .has_section(kinds::SPELLED_WORDS)
            .then(|| artifact.open_span::<[u32; 3]>(kinds::SPELLED_WORDS))
            .transpose()?;
        Ok(Some(Self {
            encoder: Digest(encoder),
            classes: artifact.span::<u32>(kinds::BORDER_CLASSES, states.into())?,
            starts: artifact.open_span::<u32>(kinds::BORDER_STARTS)?,
            all: artifact.open_span::<[u32; 2]>(kinds::BORDERS)?,
            heals: heals.transpose()?,
            spelled,
        }))
    }
}
