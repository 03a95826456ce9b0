//! One token: which a person means, and why it may or may not come next.

use std::fmt;

use gobo_artifact::{Matcher, MatcherError, Vocabulary};
use gobo_types::grouped;

use crate::bytes::byte_ranges;
use crate::reader::{Reader, allowed};

/// No token of the vocabulary has this text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoSuchToken {
    text: String,
    /// The longest token that it begins with.
    longest: Option<(u32, String)>,
}

impl fmt::Display for NoSuchToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no token of the vocabulary is {:?}", self.text)?;
        match &self.longest {
            Some((id, bytes)) => {
                write!(f, "\nhint: its longest beginning that is one is {bytes:?}, token {id}")
            }
            None => Ok(()),
        }
    }
}

impl std::error::Error for NoSuchToken {}

/// The id of `token`, which is an id if it is a number and a text otherwise, or of `text`, which is always a text. Of several
/// tokens with the same bytes the first, an ordinary one before a special one. O(ids).
///
/// # Errors
/// [`NoSuchToken`].
pub fn token_of(
    vocabulary: &Vocabulary,
    token: Option<&str>,
    text: Option<&str>,
) -> Result<Option<u32>, NoSuchToken> {
    let text = match (token.map(str::parse), token.or(text)) {
        (Some(Ok(id)), _) => return Ok(Some(id)),
        (_, None) => return Ok(None),
        (_, Some(text)) => text,
    };
    let ids = || (0..vocabulary.len()).filter(|&id| !vocabulary.bytes(id).is_empty());
    let mut called = ids().filter(|&id| vocabulary.bytes(id) == text.as_bytes());
    let first = called.next();
    if let Some(first) = first {
        let ordinary = std::iter::once(first).chain(called).find(|&id| !vocabulary.is_special(id));
        return Ok(ordinary.or(Some(first)));
    }
    let begins = |&id: &u32| text.as_bytes().starts_with(vocabulary.bytes(id)) && !vocabulary.is_special(id);
    let longest = ids().filter(begins).max_by_key(|&id| (vocabulary.bytes(id).len(), std::cmp::Reverse(id)));
    Err(NoSuchToken {
        text: text.to_owned(),
        longest: longest.map(|id| (id, String::from_utf8_lossy(vocabulary.bytes(id)).into_owned())),
    })
}

/// Why a canonical index does not let a token come next whose bytes may.
fn not_canonical(matcher: &Matcher, id: u32) -> String {
    let vocabulary = matcher.vocabulary();
    let shown = |id: u32| format!("{:?}", String::from_utf8_lossy(vocabulary.bytes(id)));
    if vocabulary.encoder().is_ok_and(|encoder| !encoder.merges.is_proper(id)) {
        return "the tokenizer never writes it, whatever the text".to_owned();
    }
    match matcher.merge_before(id) {
        Some((last, left, right)) => format!(
            "the tokenizer would have merged {} and {} where it meets the last token {}",
            shown(left),
            shown(right),
            shown(last)
        ),
        None => "whatever follows, the tokenizer would merge it with that, cut the text in another place, or write the word as one token"
            .to_owned(),
    }
}

/// Why a token may or may not come next, in one sentence; and how many of its bytes are taken, if another one is not.
pub(crate) fn why(matcher: &Matcher, id: u32) -> (String, Option<usize>) {
    let mut taken = None;
    (sentence(matcher, id, &mut taken), taken)
}

fn sentence(matcher: &Matcher, id: u32, refused_after: &mut Option<usize>) -> String {
    let vocabulary = matcher.vocabulary();
    let bytes = vocabulary.bytes(id);
    let shown = String::from_utf8_lossy(bytes);
    let has_edge = matcher.index().has_token_edges();
    if has_edge
        && matcher.allows(id)
        && (vocabulary.is_special(id) || matcher.binding().is_eos(id))
        && !matcher.is_complete()
    {
        return format!("token {id} {shown:?} is allowed: a token edge reads it");
    }
    if matcher.binding().is_eos(id) {
        return if matcher.is_complete() {
            format!("token {id} {shown:?} is allowed: it is an EOS, and the text is complete")
        } else {
            format!("token {id} {shown:?} is refused: it is an EOS, and the text is not complete")
        };
    }
    if id >= vocabulary.len() {
        let ids = grouped(vocabulary.len().into());
        return format!("token {id} is refused: it lies beyond the vocabulary of {ids} ids");
    }
    if vocabulary.is_special(id) {
        return match edges_of(matcher) {
            _ if !has_edge => {
                format!("token {id} {shown:?} is refused: special tokens are never reached by spelling")
            }
            _ if matcher.allows(id) => format!("token {id} {shown:?} is allowed: a token edge reads it"),
            edges if edges.is_empty() => {
                format!("token {id} {shown:?} is refused: no token edge leads on from here")
            }
            edges => format!(
                "token {id} {shown:?} is refused: the token edges that lead on from here read {}",
                edges.join(" ")
            ),
        };
    }
    if bytes.is_empty() {
        return format!("token {id} is refused: the id is a hole, it names no token");
    }
    let mut reader = Reader::at(matcher);
    for (offset, &byte) in bytes.iter().enumerate() {
        match reader.step(byte) {
            Ok(()) => {}
            Err(MatcherError::RefusedByte { .. }) => {
                *refused_after = Some(offset);
                let taken = String::from_utf8_lossy(&bytes[..offset]);
                let instead = byte_ranges(&reader.live_bytes());
                let instead = if instead.is_empty() { "nothing".to_owned() } else { instead };
                return format!(
                    "token {id} {shown:?} is refused: after its {taken:?} byte {} leads nowhere; there may come {instead}",
                    byte_ranges(&[byte])
                );
            }
            Err(limit) => return format!("token {id} {shown:?} cannot be taken: {limit}"),
        }
    }
    if matcher.allows(id) {
        return format!("token {id} {shown:?} is allowed");
    }
    if matcher.index().encoder_digest().is_some() {
        return format!("token {id} {shown:?} is refused: {}", not_canonical(matcher, id));
    }
    format!("token {id} {shown:?} is refused: no sequence of tokens leads from there to the end")
}

/// Some special tokens that may come next.
pub(crate) fn edges_of(matcher: &Matcher) -> Vec<String> {
    const SHOWN: usize = 8;
    let ids = allowed(matcher).unwrap_or_default();
    let vocabulary = matcher.vocabulary();
    let special = ids.into_iter().filter(|&id| vocabulary.is_special(id) && !matcher.binding().is_eos(id));
    let mut shown: Vec<String> = special
        .map(|id| String::from_utf8_lossy(vocabulary.bytes(id)).into_owned())
        .take(SHOWN + 1)
        .collect();
    if shown.len() > SHOWN {
        shown.truncate(SHOWN);
        shown.push("…".to_owned());
    }
    shown
}
