//! Bindings: how one model uses a vocabulary.

use serde::{Deserialize, Serialize};

use crate::TokenId;

/// How one model uses a vocabulary: which ids end a text, and how wide its logits are.
///
/// Models that share a vocabulary differ in both (base and instruct; padded logits), so a binding belongs to a
/// vocabulary's name or to a matcher, never to a vocabulary or an index file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Binding {
    /// The ids that end a text, ascending; allowed exactly where the text so far is complete. May be empty.
    pub eos: Vec<TokenId>,
    /// The id that begins a text, for the builder of the prompt: no mask depends on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bos: Option<TokenId>,
    /// The id that fills up a batch: no mask depends on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pad: Option<TokenId>,
    /// Number of logits of the model; at least the vocabulary length.
    pub logits_width: u32,
}

impl Binding {
    /// A binding with the fields that masks depend on; `eos` is sorted and deduplicated.
    pub fn new(mut eos: Vec<TokenId>, logits_width: u32) -> Self {
        eos.sort_unstable();
        eos.dedup();
        Self { eos, logits_width, ..Self::default() }
    }

    /// Number of u32 words that a mask of this width takes: `ceil(logits_width / 32)`.
    pub fn mask_words(&self) -> usize {
        self.logits_width.div_ceil(32) as usize
    }

    /// Whether `id` ends a text.
    pub fn is_eos(&self, id: TokenId) -> bool {
        self.eos.contains(&id)
    }
}
