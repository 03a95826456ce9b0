//! Where the tables of an encoder lie in a vocabulary file.

use gobo_types::TokenId;

use crate::layout::artifact::{Artifact, Span};
use crate::layout::error::ArtifactError;
use crate::layout::section as kinds;
use crate::layout::vocabulary::encoder::{EncoderRoot, NO_CHUNK};
use crate::layout::vocabulary::merges::{Cut, SpineToken};

/// Where the tables of an encoder lie.
#[derive(Debug)]
pub(crate) struct EncoderSpans {
    pub(super) root: EncoderRoot,
    pub(super) tables: Option<Tables>,
}

#[derive(Debug)]
pub(super) struct Tables {
    pub(super) tokens: Span,
    pub(super) order: Span,
    pub(super) cuts: Span,
    pub(super) classes: Span,
    pub(super) steps: Span,
    pub(super) states: Span,
    pub(super) class_of: Span,
    pub(super) class_steps: Span,
    pub(super) words: Span,
}

impl EncoderSpans {
    /// The tables of a vocabulary of `len` ids, if its file says anything about an encoder.
    pub(super) fn open(artifact: &Artifact, len: u32) -> Result<Option<Self>, ArtifactError> {
        if !artifact.has_section(kinds::ENCODER) {
            return Ok(None);
        }
        let root: EncoderRoot = artifact.archive(kinds::ENCODER)?;
        if artifact.has_section(kinds::MERGE_TOKENS) != root.refused.is_empty() {
            return Err(artifact.meaning("an encoder has tables or a reason why it has none"));
        }
        if !root.refused.is_empty() {
            return Ok(Some(Self { root, tables: None }));
        }
        let states = u64::from(root.chunk_states);
        let is_start = root.chunk_start < root.chunk_states && root.chunk_start != u32::from(NO_CHUNK);
        let are_between = (1..=root.chunk_states).contains(&root.chunk_between);
        if !is_start
            || !are_between
            || root.chunk_states > 1 << 16
            || !(1..=256).contains(&root.chunk_classes)
        {
            return Err(artifact.meaning("the counts of the automaton of chunks"));
        }
        let tables = Tables {
            tokens: artifact.span::<SpineToken>(kinds::MERGE_TOKENS, u64::from(len) + 1)?,
            order: artifact.span::<TokenId>(kinds::MERGE_ORDER, root.proper.into())?,
            cuts: artifact.span::<Cut>(kinds::MERGE_CUTS, root.cuts.into())?,
            classes: artifact.span::<u8>(kinds::CHUNK_CLASSES, 256)?,
            steps: artifact.span::<u16>(kinds::CHUNK_STEPS, states * u64::from(root.chunk_classes))?,
            states: artifact.span::<[u16; 4]>(kinds::CHUNK_STATES, states)?,
            class_of: artifact.span::<u16>(kinds::TOKEN_CHUNKS, len.into())?,
            class_steps: artifact.span::<u16>(
                kinds::TOKEN_CHUNK_STEPS,
                u64::from(root.token_classes) * u64::from(root.chunk_between),
            )?,
            words: artifact.span::<[u32; 3]>(kinds::WORDS, root.words.into())?,
        };
        Ok(Some(Self { root, tables: Some(tables) }))
    }
}
