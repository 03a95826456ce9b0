//! A text token by token.
//!
//! Which tokens a model would write is not known: a text has many segmentations. Shown is the one that takes the longest token
//! that the mask allows at each place. Where it comes to an end before the text does, another one may go on; [`explain`](crate::explain) reads
//! bytes, and says how far the text itself is alive.

use gobo_artifact::{Matcher, MatcherError};
use gobo_types::{ErrorKind, TokenId};

use crate::reader::allowed;
use crate::token::why;

/// One token of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenStep {
    /// Where it begins in the text.
    pub from: usize,
    /// Which one.
    pub id: TokenId,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// How many tokens the mask allowed in its place.
    pub allowed: usize,
    /// Whether the text could have ended before it.
    pub may_end: bool,
}

/// A text as far as tokens were found for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steps {
    /// The tokens, at most as many as were asked for.
    pub tokens: Vec<TokenStep>,
    /// How many bytes they have.
    pub taken: usize,
    /// Why the text does not go on, and the token of that. `None` at its end, or where there would be more tokens than were asked for.
    pub refused: Option<(Option<TokenId>, String)>,
}

/// Cuts a text into the longest tokens that the mask allows, at most `most`, and leaves the matcher behind them.
///
/// O(tokens × words of a mask + bytes).
///
/// # Errors
/// Those of [`Matcher::fill`] and [`Matcher::advance`], other than limits, which end the text.
pub fn steps(matcher: &mut Matcher, text: &[u8], most: usize) -> Result<Steps, MatcherError> {
    let vocabulary = matcher.vocabulary().clone();
    let mut steps = Steps { tokens: Vec::new(), taken: 0, refused: None };
    while steps.taken < text.len() && steps.tokens.len() < most {
        let rest = &text[steps.taken..];
        let next = match allowed(matcher) {
            Err(limit) if limit.kind() == ErrorKind::Limit => {
                steps.refused = Some((None, limit.to_string()));
                return Ok(steps);
            }
            next => next?,
        };
        let found: Vec<(usize, TokenId)> = vocabulary
            .trie()
            .prefixes(rest)
            .flat_map(|(length, ids)| ids.iter().map(move |&id| (length, id)))
            .filter(|&(_, id)| !vocabulary.is_special(id))
            .collect();
        let taken = found.iter().rev().find(|(_, id)| next.binary_search(id).is_ok());
        let Some(&(length, id)) = taken else {
            steps.refused = Some(match found.last() {
                Some(&(_, id)) => (Some(id), why(matcher, id).0),
                None => (None, "no token of the vocabulary begins as the rest of the text does".to_owned()),
            });
            return Ok(steps);
        };
        let may_end = matcher.is_complete();
        matcher.advance(id)?;
        let bytes = rest[..length].to_vec();
        steps.tokens.push(TokenStep { from: steps.taken, id, bytes, allowed: next.len(), may_end });
        steps.taken += length;
    }
    Ok(steps)
}
