//! A text, read byte by byte.

use std::sync::Arc;

use gobo_artifact::layout::DEAD;
use gobo_artifact::{ByteReader, Fill, Index, IndexClass, Matcher, MatcherError};

use crate::bytes::ids_of;

/// A text read byte by byte.
pub(crate) enum Reader {
    /// Under an index without calls, where the bytes may end inside a character or a longer token: no matcher stands there.
    State { index: Arc<Index>, state: u32 },
    /// Under a canonical index, wherever tokens may end.
    Canonical(Box<ByteReader>),
    /// Under an index with calls, where only a matcher knows the stack, and each byte is a token.
    Stack(Box<Matcher>),
}

impl Reader {
    /// From where the matcher stands.
    pub(crate) fn at(matcher: &Matcher) -> Self {
        if let Some(reader) = matcher.byte_reader() {
            return Self::Canonical(Box::new(reader));
        }
        match (matcher.index().class(), matcher.state()) {
            (IndexClass::Regular, state) => {
                Self::State { index: matcher.index().clone(), state: state.unwrap_or(DEAD) }
            }
            _ => Self::Stack(Box::new(matcher.clone())),
        }
    }

    pub(crate) fn state(&self) -> u32 {
        match self {
            Self::State { state, .. } => *state,
            Self::Canonical(reader) => reader.state(),
            Self::Stack(matcher) => matcher.state().unwrap_or(DEAD),
        }
    }

    pub(crate) fn step(&mut self, byte: u8) -> Result<(), MatcherError> {
        match self {
            Self::State { index, state } => match index.next_state(*state, byte) {
                DEAD => Err(MatcherError::RefusedByte { offset: 0, byte }),
                next => {
                    *state = next;
                    Ok(())
                }
            },
            Self::Canonical(reader) => {
                if reader.step(byte) {
                    Ok(())
                } else {
                    Err(MatcherError::RefusedByte { offset: 0, byte })
                }
            }
            Self::Stack(matcher) => matcher.advance_bytes(&[byte]),
        }
    }

    /// The bytes that the constraint lets come next; none where the text is past a limit.
    pub(crate) fn live_bytes(&self) -> Vec<u8> {
        match self {
            Self::State { index, state } => {
                (0..=u8::MAX).filter(|&byte| index.next_state(*state, byte) != DEAD).collect()
            }
            Self::Canonical(reader) => reader.live_bytes().bytes().collect(),
            Self::Stack(matcher) => {
                let mut probe = matcher.clone();
                let mut is_live =
                    |byte: u8| probe.advance_bytes(&[byte]).is_ok() && probe.rollback(1).is_ok();
                (0..=u8::MAX).filter(|&byte| is_live(byte)).collect()
            }
        }
    }
}

/// Reads a text as far as it is alive: how many bytes, and the limit that it goes past, if that ends it.
pub(crate) fn read(matcher: &Matcher, text: &[u8]) -> (Reader, usize, Option<String>) {
    let mut reader = Reader::at(matcher);
    for (taken, &byte) in text.iter().enumerate() {
        match reader.step(byte) {
            Ok(()) => {}
            Err(MatcherError::RefusedByte { .. }) => return (reader, taken, None),
            Err(past) => return (reader, taken, Some(past.to_string())),
        }
    }
    (reader, text.len(), None)
}

/// The ids allowed next; none where the text has ended. O(words of a mask).
///
/// # Errors
/// Those of [`Matcher::fill`].
pub fn allowed(matcher: &Matcher) -> Result<Vec<u32>, MatcherError> {
    let mut mask = vec![0; matcher.mask_words()];
    Ok(match matcher.fill(&mut mask)? {
        Fill::Masked => ids_of(&mask),
        Fill::Ended => Vec::new(),
    })
}
