//! Steps under an index with token edges, which read whole tokens.
//!
//! A token goes on by its bytes, if it is an ordinary one, and by the letter of its class, if an edge may read it. Special tokens have
//! the second way alone. Where an index has one state for a text, no token has both ways at a state, or its configurations are kept; there both are
//! taken.
//!
//! An EOS of the binding that an edge names goes on by that edge where it leads. It ends the text too where that is complete before it or
//! behind it. One that edges have as one of many, by a complement, stays what it is elsewhere: it ends complete texts, and is no text.

use gobo_types::{Binding, TokenId};

use crate::layout::DEAD;
use crate::layout::index::tokens::TokenClassEntry;
use crate::matcher::Matcher;
use crate::matcher::configurations::{Configurations, Stuck};
use crate::matcher::error::MatcherError;
use crate::matcher::places::ENDED;
use crate::read::index::Index;
use crate::read::vocabulary::Vocabulary;

/// How a token goes on.
struct Ways<'a> {
    /// Its bytes, if it is text.
    bytes: Option<&'a [u8]>,
    /// The letter of its class.
    letter: Option<&'a [u8]>,
}

impl<'a> Ways<'a> {
    fn of(index: &'a Index, vocabulary: &'a Vocabulary, binding: &Binding, id: TokenId) -> Self {
        let is_eos = binding.is_eos(id);
        let bytes = vocabulary.bytes(id);
        let is_text = !is_eos && !bytes.is_empty() && !vocabulary.is_special(id) && index.are_text(bytes);
        let class = index.tokens().and_then(|tokens| tokens.class_of(id));
        let class = class.filter(|class| !is_eos || class.is_named != 0);
        Self { bytes: is_text.then_some(bytes), letter: class.map(TokenClassEntry::letter) }
    }
}

impl Matcher {
    /// The state after a token, under an index without calls, with token edges.
    #[cold]
    pub(super) fn step_edges(&self, state: u32, id: TokenId) -> Result<u32, MatcherError> {
        let refused = Err(MatcherError::Refused { id });
        let is_eos = self.binding.is_eos(id);
        let was_complete = self.index.is_complete(state);
        let row = self.row(state).ok_or(MatcherError::Corrupt { state })?;
        let next = if row.contains(id) { self.after(state, id) } else { DEAD };
        match next {
            DEAD if is_eos && was_complete => Ok(ENDED),
            DEAD if is_eos || !row.contains(id) => refused,
            DEAD => Err(MatcherError::Corrupt { state }),
            next if is_eos && (was_complete || self.index.is_complete(next)) => Ok(ENDED),
            next => Ok(next),
        }
    }

    /// The state to which the one way leads that a token has; [`DEAD`] if it has none.
    fn after(&self, state: u32, id: TokenId) -> u32 {
        let Ways { bytes, letter } = Ways::of(&self.index, &self.vocabulary, &self.binding, id);
        let mut ways = [bytes, letter].into_iter().flatten().map(|way| self.index.walk(state, way));
        // Bytes alone may lead to a state from which no tokens go on.
        ways.find(|&next| self.index.row_number(next).is_some()).unwrap_or(DEAD)
    }

    /// Whether an edge reads the EOS `id` at a place; its bytes are no text.
    #[cold]
    pub(super) fn edge_takes(
        &self,
        state: u32,
        configurations: Option<&Configurations>,
        id: TokenId,
    ) -> bool {
        let Ways { letter: Some(letter), .. } = Ways::of(&self.index, &self.vocabulary, &self.binding, id)
        else {
            return false;
        };
        match configurations {
            None => self.index.row_number(self.index.walk(state, letter)).is_some(),
            Some(all) => all.check().is_ok() && all.probe(0).would_take_token(&self.index, letter),
        }
    }

    /// Whether a token leads on, tried where rows show more than that. It is no EOS.
    #[cold]
    pub(super) fn takes(&self, all: &Configurations, id: TokenId) -> bool {
        let Ways { bytes, letter } = Ways::of(&self.index, &self.vocabulary, &self.binding, id);
        let mut probe = all.probe(0);
        [bytes, letter].into_iter().flatten().any(|way| probe.would_take_token(&self.index, way))
    }

    /// Clears the bits of tokens that do not lead on. Whether any is left.
    #[cold]
    pub(super) fn keep_taken(&self, all: &Configurations, out: &mut [u32]) -> bool {
        for (first, word) in (0..).step_by(32).zip(out.iter_mut()) {
            for bit in 0..32 {
                if *word >> bit & 1 == 1 && !self.binding.is_eos(first + bit) && !self.takes(all, first + bit)
                {
                    *word &= !(1 << bit);
                }
            }
        }
        out.iter().any(|&word| word != 0)
    }

    /// The one token that must come next, whatever text it is: the text is not complete, and its mask has no other. That is how a token is told
    /// that an edge reads, before which [`Self::forced`] stops. The cost is that of a mask, and memory for one.
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// # let mut matcher = small::matcher();
    /// // Ids 0 `a`, 1 `b`, 2 `ab`; texts of (ab)*.
    /// assert_eq!(matcher.forced_token(), None);
    /// matcher.advance(0)?;
    /// assert_eq!(matcher.forced_token(), Some(1));
    /// # Ok::<(), gobo_artifact::MatcherError>(())
    /// ```
    pub fn forced_token(&self) -> Option<TokenId> {
        let mut mask = vec![0; self.mask_words()];
        if self.is_complete() || self.fill(&mut mask).is_err() {
            return None;
        }
        let mut words = (0..).zip(&mask).filter(|(_, word)| **word != 0);
        let (at, word): (u32, &u32) = words.next().filter(|(_, word)| word.is_power_of_two())?;
        words.next().is_none().then(|| at * 32 + word.trailing_zeros())
    }
}

/// As [`super::advance::advance_all`], under an index with token edges.
#[cold]
pub(super) fn advance_edges(
    all: &mut Configurations,
    index: &Index,
    vocabulary: &Vocabulary,
    binding: &Binding,
    id: TokenId,
) -> Result<u32, MatcherError> {
    let stuck = |stuck| match stuck {
        Stuck::Refused(_) => MatcherError::Refused { id },
        Stuck::Past(past) => past.into(),
    };
    let ways = Ways::of(index, vocabulary, binding, id);
    let was_complete = binding.is_eos(id) && all.is_complete(index);
    let advanced = match (ways.bytes, ways.letter) {
        (Some(bytes), Some(letter)) => all.advance_either(index, bytes, letter),
        (Some(way), None) | (None, Some(way)) => all.advance_token(index, way),
        (None, None) => Err(Stuck::Refused(0)),
    };
    match advanced {
        Ok(()) if binding.is_eos(id) && (was_complete || all.is_complete(index)) => Ok(ENDED),
        Ok(()) => Ok(DEAD),
        Err(_) if was_complete => {
            all.stay();
            Ok(ENDED)
        }
        Err(error) => Err(stuck(error)),
    }
}
