//! The borders of a canonical index.

use gobo_types::Digest;

use crate::layout::error::ArtifactError;
use crate::layout::index::borders::BorderSpans;
use crate::layout::index::states::DEAD;
use crate::read::index::Index;

/// What becomes of the last token of a prompt behind which a text begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptEnd {
    /// It stays as it is.
    Kept,
    /// It is taken back, and its bytes are written anew.
    TakenBack,
}

impl Index {
    /// The encoder as whose tokens texts are cut; `None` if they may be cut in any way. O(1).
    pub fn encoder_digest(&self) -> Option<Digest> {
        self.borders.as_ref().map(|borders| borders.encoder)
    }

    /// What becomes of the last token of a prompt, where texts go on with its last chunk; `None` where they begin a chunk of their own. O(1).
    pub fn prompt_end(&self) -> Option<PromptEnd> {
        let prompts = self.borders.as_ref()?.prompts.as_ref()?;
        Some(if prompts.heals { PromptEnd::TakenBack } else { PromptEnd::Kept })
    }

    /// The state at the beginning of the text behind a prompt whose chunks stand at `chunk`: [`DEAD`] where no text goes on there. O(1).
    pub(crate) fn start_behind(&self, chunk: u16) -> u32 {
        let prompts = self.borders.as_ref().and_then(|borders| borders.prompts.as_ref());
        let starts = prompts.map(|prompts| self.artifact.get::<u32>(&prompts.starts)).unwrap_or_default();
        starts.get(usize::from(chunk)).copied().filter(|&state| state < self.states()).unwrap_or(DEAD)
    }

    /// The tokens behind which a chunk may have to end that spells a word, if they are read behind a border, at a node of words: the state there, the node, and the
    /// token. O(log tokens).
    #[inline]
    pub(crate) fn spelled(&self, border: u32, node: u32) -> &[[u32; 3]] {
        let Some(spelled) = self.borders.as_ref().and_then(|borders| borders.spelled.as_ref()) else {
            return &[];
        };
        let all = self.artifact.get::<[u32; 3]>(spelled);
        let from = all.partition_point(|of| (of[0], of[1]) < (border, node));
        let to = all.partition_point(|of| (of[0], of[1]) <= (border, node));
        all.get(from..to).unwrap_or_default()
    }

    /// Checks that spelled words stand in order, behind borders. O(tokens).
    pub(super) fn verify_spelled(&self) -> Result<(), ArtifactError> {
        let Some(spelled) = self.borders.as_ref().and_then(|borders| borders.spelled.as_ref()) else {
            return Ok(());
        };
        let all = self.artifact.get::<[u32; 3]>(spelled);
        let is_wrong =
            |of: &[u32; 3]| of[0] == DEAD || of[0] >= self.states() || of[2] >= self.root.vocabulary_len;
        if all.is_empty() || !all.is_sorted_by(|one, other| one < other) || all.iter().any(is_wrong) {
            return Err(self.artifact.meaning("the spelled words are no tokens behind borders, ascending"));
        }
        Ok(())
    }

    /// Checks that texts behind prompts begin at states. O(states of chunks).
    pub(super) fn verify_starts(&self) -> Result<(), ArtifactError> {
        let Some(prompts) = self.borders.as_ref().and_then(|borders| borders.prompts.as_ref()) else {
            return Ok(());
        };
        if self.artifact.get::<u32>(&prompts.starts).iter().any(|&state| state >= self.states()) {
            return Err(self.artifact.meaning("a text behind a prompt begins at no state"));
        }
        Ok(())
    }

    /// The states behind the border of two tokens of a chunk, and of two chunks, after a token that ends in `state`; [`DEAD`] where no token
    /// follows such a border. O(1).
    #[inline]
    pub fn borders(&self, state: u32) -> [u32; 2] {
        let Some(BorderSpans { states, .. }) = &self.borders else { return [DEAD; 2] };
        self.artifact.get::<[u32; 2]>(states).get(state as usize).copied().unwrap_or([DEAD; 2])
    }
}
