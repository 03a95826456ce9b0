//! Writes the tables of an encoder.

use gobo_types::{Digest, TokenId};
use zerocopy::IntoBytes;

use crate::layout::section as kinds;
use crate::layout::vocabulary::encoder::EncoderRoot;
use crate::layout::vocabulary::merges::{Cut, SpineToken};
use crate::write::file::{ArtifactWriter, archive};

/// The tables of an encoder. They are of the vocabulary that they are written with.
#[derive(Debug, Clone)]
pub struct EncoderParts {
    /// Counts, and the digest of the other tables.
    pub root: EncoderRoot,
    /// `[ids + 1]`.
    pub tokens: Vec<SpineToken>,
    /// `[proper tokens]`.
    pub order: Vec<TokenId>,
    /// `[cuts]`.
    pub cuts: Vec<Cut>,
    /// `[256]`.
    pub classes: [u8; 256],
    /// `[chunk states, chunk classes]`.
    pub steps: Vec<u16>,
    /// `[chunk states]`.
    pub states: Vec<[u16; 4]>,
    /// `[ids]`.
    pub class_of: Vec<u16>,
    /// `[classes of tokens, states between characters]`.
    pub class_steps: Vec<u16>,
    /// The trie of the spellings of whole chunks: node, token, next node.
    pub words: Vec<[u32; 3]>,
}

impl EncoderParts {
    /// No tables, for this reason.
    pub fn refused(reason: impl Into<String>) -> Self {
        let root = EncoderRoot {
            refused: reason.into(),
            only: String::new(),
            digest: [0; 32],
            proper: 0,
            cuts: 0,
            chunk_states: 0,
            chunk_classes: 0,
            chunk_start: 0,
            chunk_between: 0,
            token_classes: 0,
            words: 0,
        };
        Self {
            root,
            tokens: Vec::new(),
            order: Vec::new(),
            cuts: Vec::new(),
            classes: [0; 256],
            steps: Vec::new(),
            states: Vec::new(),
            class_of: Vec::new(),
            class_steps: Vec::new(),
            words: Vec::new(),
        }
    }

    fn sections(&self) -> [(u32, &[u8]); 9] {
        [
            (kinds::MERGE_TOKENS, self.tokens.as_bytes()),
            (kinds::MERGE_ORDER, self.order.as_bytes()),
            (kinds::MERGE_CUTS, self.cuts.as_bytes()),
            (kinds::CHUNK_CLASSES, &self.classes),
            (kinds::CHUNK_STEPS, self.steps.as_bytes()),
            (kinds::CHUNK_STATES, self.states.as_bytes()),
            (kinds::TOKEN_CHUNKS, self.class_of.as_bytes()),
            (kinds::TOKEN_CHUNK_STEPS, self.class_steps.as_bytes()),
            (kinds::WORDS, self.words.as_bytes()),
        ]
    }

    /// The digest of the tables, and of what else decides how texts are cut. O(bytes).
    pub fn digest(&self) -> Digest {
        self.root.digest_of(self.sections())
    }

    pub(super) fn write<'a>(&'a self, writer: &mut ArtifactWriter<'a>) {
        writer.section(kinds::ENCODER, kinds::PLAIN, archive(&self.root));
        if self.root.refused.is_empty() {
            self.sections().into_iter().for_each(|(kind, bytes)| writer.section(kind, kinds::PLAIN, bytes));
        }
    }
}
