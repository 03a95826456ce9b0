//! Token edges of a grammar: the sets of tokens that it names, each once, and how ids are written.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use gobo_automata::{CharSet, TokenItem, TokenSet};
use gobo_types::TokenId;

use crate::outline::is_line_end;

/// Most token sets of a grammar.
pub const MAX_TOKEN_SETS: usize = 10_000;

/// The token sets of a grammar.
#[derive(Debug, Default)]
pub(crate) struct TokenSets {
    pub(crate) sets: Vec<TokenSet>,
    known: HashMap<(Vec<TokenItem>, bool), usize>,
}

impl TokenSets {
    /// What stands for one token of a set; an equal one is the same set. `None` past [`MAX_TOKEN_SETS`].
    pub(crate) fn edge(
        &mut self,
        mut items: Vec<TokenItem>,
        is_complement: bool,
        (place, span): (impl FnOnce() -> String, Option<Range<usize>>),
    ) -> Option<CharSet> {
        items.sort_unstable();
        items.dedup();
        let fresh = self.sets.len();
        let number = match self.known.entry((items, is_complement)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(_) if fresh == MAX_TOKEN_SETS => return None,
            Entry::Vacant(entry) => {
                let items = entry.key().0.clone();
                self.sets.push(TokenSet { items, is_complement, place: place(), span });
                *entry.insert(fresh)
            }
        };
        Some(CharSet::token_set(number))
    }
}

/// A token edge in angle brackets, after `!` or not: `<[7]>`, `<[5-9,12]>`, `<[^7]>`, `<[*]>`, `<think>`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Bracketed {
    pub(crate) items: Vec<TokenItem>,
    pub(crate) is_complement: bool,
    /// Its bytes.
    pub(crate) len: usize,
}

/// How an edge is written.
pub(crate) const FORMS: &str = "A token is <its text>, <[its id]> or <[first-last]>.";

/// The edge with which a text begins, whose first byte is `<`.
///
/// # Errors
/// Why it is none.
pub(crate) fn bracketed(text: &str) -> Result<Bracketed, NoIds> {
    let end = if text.starts_with("<[") { text.find("]>").map(|end| end + 1) } else { text.find('>') };
    let Some(end) = end.filter(|&end| !text[..end].contains(is_line_end)) else {
        return Err(NoIds("an unclosed token edge".to_owned()));
    };
    let len = end + 1;
    let text = &text[..len];
    if let Some(list) = text.strip_prefix("<[").and_then(|text| text.strip_suffix("]>")) {
        let (is_complement, items) = ids(list)?;
        return Ok(Bracketed { items, is_complement, len });
    }
    if text == "<>" {
        return Err(NoIds("a token edge without a name".to_owned()));
    }
    Ok(Bracketed { items: vec![TokenItem::Name(text.to_owned())], is_complement: false, len })
}

/// Why a list of ids is none, or an edge.
#[derive(Debug)]
pub(crate) struct NoIds(pub(crate) String);

/// The ids between brackets: `7`, `5-9`, several with commas between; `^` before them means all others, and `*` alone means all tokens.
/// Whether it is a complement, and what is named.
fn ids(text: &str) -> Result<(bool, Vec<TokenItem>), NoIds> {
    let text = text.trim();
    if text == "*" {
        return Ok((false, vec![TokenItem::All]));
    }
    let (is_complement, list) = match text.strip_prefix('^') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let id = |digits: &str| {
        let digits = digits.trim();
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<TokenId>().ok().filter(|_| is_number).ok_or_else(|| {
            let shown = if digits.is_empty() { "nothing".to_owned() } else { format!("{digits:?}") };
            NoIds(format!("{shown} stands where a token id belongs"))
        })
    };
    let item = |part: &str| match part.split_once('-') {
        Some((first, last)) => {
            let (first, last) = (id(first)?, id(last)?);
            if last < first {
                return Err(NoIds(format!("the range {first}-{last} is empty: {last} is below {first}")));
            }
            Ok(TokenItem::Ids(first, last))
        }
        None => id(part).map(|id| TokenItem::Ids(id, id)),
    };
    Ok((is_complement, list.split(',').map(item).collect::<Result<_, _>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_read() {
        let name = |text: &str| vec![TokenItem::Name(text.to_owned())];
        let read = bracketed("<|end|> x>").unwrap();
        assert_eq!((read.items, read.is_complement, read.len), (name("<|end|>"), false, 7));
        let read = bracketed("<[^7]>").unwrap();
        assert_eq!((read.items, read.is_complement, read.len), (vec![TokenItem::Ids(7, 7)], true, 6));
        for text in ["<", "<x", "<x\n>", "<[7>", "<[7]", "<>", "<[]>"] {
            assert!(bracketed(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ids_are_read() {
        let of = |first, last| TokenItem::Ids(first, last);
        for (text, expected) in [
            ("7", (false, vec![of(7, 7)])),
            (" 7 , 9-12 ", (false, vec![of(7, 7), of(9, 12)])),
            ("^1-3,5", (true, vec![of(1, 3), of(5, 5)])),
            ("*", (false, vec![TokenItem::All])),
        ] {
            assert_eq!(ids(text).unwrap(), expected, "{text}");
        }
        for (text, word) in [
            ("", "nothing"),
            ("^", "nothing"),
            ("1,", "nothing"),
            ("a", "\"a\""),
            ("-1", "nothing"),
            ("+1", "\"+1\""),
            ("3-1", "below"),
            ("99999999999", "99999999999"),
            ("^*", "\"*\""),
        ] {
            assert!(ids(text).unwrap_err().0.contains(word), "{text}");
        }
    }
}
