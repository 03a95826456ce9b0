//! What stands in the place of a state where a text is in none: behind an EOS, and before a prefix is spelled.

use std::sync::OnceLock;

use gobo_types::{Binding, TokenId};

use crate::matcher::error::MatcherError;
use crate::read::vocabulary::Vocabulary;

/// Stands for the state after an EOS, in [`super::Matcher::state`] and in the history.
pub(super) const ENDED: u32 = u32::MAX;

/// Most bytes of a prefix.
pub(super) const MAX_PREFIX: usize = 1 << 16;

/// From here on a number stands for no state of an automaton: the end, and how much of a prefix is spelled.
pub(super) const FIRST_APART: u32 = ENDED - 1 - (1 << 16);

/// The bytes that a text begins with.
#[derive(Debug, Default)]
pub(super) struct Prefix {
    bytes: Box<[u8]>,
    /// `[bytes][row words]`: the mask after so many of them.
    pub(super) masks: Box<[OnceLock<Box<[u32]>>]>,
}

/// Where a token leads before the whole prefix is spelled.
#[derive(Debug, Clone, Copy)]
pub(super) enum Spelled<'a> {
    /// So many bytes of it are.
    Part(u32),
    /// All of it is, and these bytes of the constraint's text.
    All(&'a [u8]),
}

/// What stands in the place of a state where so many bytes are spelled.
fn place(spelled: usize) -> u32 {
    ENDED - 1 - u32::try_from(spelled).expect("a prefix has 65,536 bytes at most")
}

/// How many bytes of a prefix are spelled, by what stands in the place of a state.
pub(super) fn spelled(state: u32) -> Option<usize> {
    (FIRST_APART..ENDED).contains(&state).then(|| (ENDED - 1 - state) as usize)
}

impl Prefix {
    pub(super) fn new(bytes: &[u8]) -> Self {
        Self { bytes: bytes.into(), masks: bytes.iter().map(|_| OnceLock::new()).collect() }
    }

    /// What stands in the place of a state before any token; `None` if there is nothing to spell.
    pub(super) fn beginning(&self) -> Option<u32> {
        (!self.bytes.is_empty()).then(|| place(0))
    }

    /// The bytes that are not spelled yet, by what stands in the place of a state; nothing after them, and after the text.
    pub(super) fn rest(&self, state: u32) -> &[u8] {
        spelled(state).and_then(|spelled| self.bytes.get(spelled..)).unwrap_or_default()
    }

    /// Where a token leads; the text has not come to a state.
    pub(super) fn step<'v>(
        &self,
        state: u32,
        id: TokenId,
        vocabulary: &'v Vocabulary,
        binding: &Binding,
    ) -> Result<Spelled<'v>, MatcherError> {
        if state == ENDED {
            return Err(MatcherError::Ended);
        }
        let (bytes, rest) = (vocabulary.bytes(id), self.rest(state));
        if bytes.is_empty() || binding.is_eos(id) || vocabulary.is_special(id) {
            return Err(MatcherError::Refused { id });
        }
        match bytes.strip_prefix(rest) {
            Some(text) => Ok(Spelled::All(text)),
            None if rest.starts_with(bytes) => {
                Ok(Spelled::Part(place(self.bytes.len() - rest.len() + bytes.len())))
            }
            None => Err(MatcherError::Refused { id }),
        }
    }
}
