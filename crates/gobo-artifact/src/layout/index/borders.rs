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
    /// Where texts begin behind prompts, if they may.
    pub(crate) prompts: Option<PromptSpans>,
    /// Tokens behind which a chunk may have to end that spells a word, which it cannot: state behind a border, node of words, token.
    pub(crate) spelled: Option<Span>,
}

/// Where texts begin behind prompts.
#[derive(Debug, Clone)]
pub(crate) struct PromptSpans {
    /// `[chunk states between characters]`: the state at the beginning of the text.
    pub(crate) starts: Span,
    /// Whether the last token of a prompt is taken back.
    pub(crate) heals: bool,
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
        let states = artifact.span::<[u32; 2]>(kinds::BORDERS, states.into())?;
        let prompts =
            artifact.has_section(kinds::STARTS).then(|| {
                let starts = artifact.open_span::<u32>(kinds::STARTS)?;
                match artifact.get::<u32>(&artifact.span::<u32>(kinds::HEALS, 1)?) {
                    &[heals @ (0 | 1)] => Ok(PromptSpans { starts, heals: heals == 1 }),
                    _ => Err(artifact
                        .meaning("whether the last token of a prompt is taken back is neither 0 nor 1")),
                }
            });
        let spelled = artifact
            .has_section(kinds::SPELLED_WORDS)
            .then(|| artifact.open_span::<[u32; 3]>(kinds::SPELLED_WORDS))
            .transpose()?;
        Ok(Some(Self { encoder: Digest(encoder), states, prompts: prompts.transpose()?, spelled }))
    }
}
