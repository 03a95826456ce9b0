//! Texts that go on with the last chunk of a prompt, under a canonical index. The tokens of the prompt are read beside the automaton of chunks alone, from the last
//! special one on, behind which a chunk begins.

use std::sync::Arc;

use gobo_types::TokenId;

use crate::matcher::Matcher;
use crate::matcher::error::MatcherError;
use crate::matcher::readings::{Frames, Healing, MAX_HEALED, Readings, Tables};
use crate::read::borders::PromptEnd;

impl Matcher {
    /// The same matcher at the beginning of a text behind `prompt`, the tokens since the last special one at least, of which those before it are not looked at.
    /// Under an index of `canonical-strict` no token comes that the tokenizer would not have written behind the prompt. Under one of `canonical-heal` the
    /// last token of the prompt is taken back, unless it is special, and its bytes are written anew ([`Self::taken_back`]). Under others the prompt
    /// excludes nothing.
    ///
    /// O(tokens × their bytes); with a token that is taken back also a walk of the vocabulary below its bytes, which forks share.
    ///
    /// # Errors
    /// [`MatcherError::Prompt`] where the tokenizer would have written the prompt otherwise; [`MatcherError::NothingFollows`] if it would write no text of the constraint
    /// behind it; [`MatcherError::StuckWord`]; [`MatcherError::PrefixLength`] for a last token of more than 256 bytes.
    pub fn after_prompt(mut self, prompt: &[TokenId]) -> Result<Self, MatcherError> {
        let Some(end) = self.index.prompt_end() else {
            self.reset();
            return Ok(self);
        };
        let mut since = prompt.iter().rposition(|&id| self.vocabulary.is_special(id)).map_or(0, |at| at + 1);
        let (mut kept, mut bytes) = (prompt, Vec::new());
        if let (PromptEnd::TakenBack, Some((last, before))) = (end, prompt[since..].split_last()) {
            bytes = self.vocabulary.bytes(*last).to_vec();
            kept = &prompt[..since + before.len()];
        }
        let taken_back = prompt.len() - kept.len();
        since = since.min(kept.len());
        let behind = Readings::of_prompt(&self.tables()?, &kept[since..])
            .map_err(|at| MatcherError::Prompt { at: since + at, id: kept[since + at] })?;
        self.begin(&behind, &bytes, taken_back)?;
        Ok(self)
    }

    /// How many tokens of the prompt were taken back, and are not part of the output any more: one at most, and none under an index that does not take them back. O(1).
    pub fn taken_back(&self) -> usize {
        self.canonical.as_ref().map_or(0, |canonical| canonical.taken_back)
    }

    /// Begins anew behind readings of a prompt, with some bytes to write before the constraint's text.
    ///
    /// # Errors
    /// [`MatcherError::NothingFollows`], [`MatcherError::StuckWord`], [`MatcherError::PrefixLength`].
    pub(in crate::matcher) fn begin(
        &mut self,
        behind: &Readings,
        bytes: &[u8],
        taken_back: usize,
    ) -> Result<(), MatcherError> {
        if bytes.len() > MAX_HEALED {
            return Err(MatcherError::PrefixLength { given: bytes.len(), limit: MAX_HEALED });
        }
        let max_depth = self.canonical.as_ref().map_or(0, |canonical| canonical.frames.max_depth());
        let (mut frames, frame) = Frames::at_start(&self.index, max_depth);
        let tables = Tables { healing: None, ..self.tables()? };
        let (healing, beginning) = if bytes.is_empty() {
            (None, behind.in_text(&self.index, frame))
        } else {
            let (healing, beginning) = Healing::new(&tables, (&mut frames, frame), bytes, behind);
            (Some(Arc::new(healing)), beginning)
        };
        let tables = Tables { healing: healing.as_deref(), ..tables };
        let mut words = vec![0; self.index.row_words()];
        let is_empty = beginning.all().is_empty() || beginning.fill(&tables, &frames, &mut words)?;
        let is_stuck = match &healing {
            Some(healing) => healing.is_stuck,
            None => beginning.all().iter().any(|reading| reading.may_be_stuck(&tables, &mut frames)),
        };
        if is_stuck {
            return Err(MatcherError::StuckWord);
        }
        if is_empty && !beginning.are_complete(&tables, &frames) {
            return Err(MatcherError::NothingFollows);
        }
        if let Some(canonical) = &mut self.canonical {
            canonical.beginning = beginning;
            canonical.frames = frames;
            canonical.healing = healing;
            canonical.taken_back = taken_back;
        }
        self.reset();
        Ok(())
    }
}
