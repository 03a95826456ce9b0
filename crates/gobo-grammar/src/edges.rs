//! Token edges of a grammar: the sets of tokens that it names, each once, and how ids and classes of tokens are written.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use gobo_automata::{CharSet, TokenItem, TokenSet};
use gobo_types::{CompileError, IdRange, NamedClasses, RefusalKind, TokenId};

use crate::near::near;
use crate::outline::is_line_end;

/// Most token sets of a grammar.
pub const MAX_TOKEN_SETS: usize = 10_000;

/// The token sets of a grammar.
#[derive(Debug)]
pub(crate) struct TokenSets<'a> {
    pub(crate) sets: Vec<TokenSet>,
    known: HashMap<(Vec<TokenItem>, bool), usize>,
    /// None: the text is looked at, and any name may have a class.
    classes: Option<&'a NamedClasses>,
}

/// What stands for a number of tokens of a set, from a least to a most one.
pub(crate) type Tokens = (CharSet, u32, Option<u32>);

impl<'a> TokenSets<'a> {
    /// None so far, where classes of tokens have these names, or any names.
    pub(crate) fn of(classes: Option<&'a NamedClasses>) -> Self {
        Self { sets: Vec::new(), known: HashMap::new(), classes }
    }

    /// What is written in angle brackets where a text begins, after `!` or not: one token of a set, or a class of tokens. With how many bytes
    /// of the text are read, for which `place` tells where they stand.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn bracketed(
        &mut self,
        text: &str,
        is_negated: bool,
        place: impl FnOnce(usize) -> (String, Option<Range<usize>>),
    ) -> Result<(Vec<Tokens>, usize), NoEdge> {
        let Bracketed { items, is_complement, len } = bracketed(text)?;
        if let [TokenItem::Name(name)] = &items[..]
            && let Some(name) = name.strip_prefix("<class:").and_then(|name| name.strip_suffix('>'))
        {
            if is_negated {
                let reason = "a class of tokens reads several, and has no complement";
                return Err(NoEdge::Malformed(reason.to_owned()));
            }
            return Ok((self.class(name)?, len));
        }
        let set = self.edge(items, is_complement != is_negated, || place(len)).ok_or(NoEdge::TooMany)?;
        Ok((vec![(set, 1, Some(1))], len))
    }

    /// The parts of a class of tokens.
    ///
    /// # Errors
    /// If no class has that name, or there are too many sets.
    pub(crate) fn class(&mut self, name: &str) -> Result<Vec<Tokens>, NoEdge> {
        let Some(classes) = self.classes else { return Ok(Vec::new()) };
        let Some(class) = classes.get(name) else {
            return Err(NoEdge::NoClass(near(name, classes.iter().map(|class| class.0)).map(str::to_owned)));
        };
        let of_part = |(part, ids, (min, max)): (&str, &[IdRange], _)| {
            let items = ids.iter().map(|range| TokenItem::Ids(range.first, range.last)).collect();
            let place = || (format!("token class {name}, {part}"), None);
            Ok((self.edge(items, false, place).ok_or(NoEdge::TooMany)?, min, max))
        };
        class.parts().map(of_part).collect()
    }

    /// What stands for one token of a set; an equal one is the same set. `None` past [`MAX_TOKEN_SETS`].
    pub(crate) fn edge(
        &mut self,
        mut items: Vec<TokenItem>,
        is_complement: bool,
        place: impl FnOnce() -> (String, Option<Range<usize>>),
    ) -> Option<CharSet> {
        items.sort_unstable();
        items.dedup();
        let fresh = self.sets.len();
        let number = match self.known.entry((items, is_complement)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(_) if fresh == MAX_TOKEN_SETS => return None,
            Entry::Vacant(entry) => {
                let items = entry.key().0.clone();
                let (place, span) = place();
                self.sets.push(TokenSet { items, is_complement, place, span });
                *entry.insert(fresh)
            }
        };
        Some(CharSet::token_set(number))
    }
}

/// A token edge in angle brackets, after `!` or not: `<[7]>`, `<[5-9,12]>`, `<[^7]>`, `<[*]>`, `<think>`.
#[derive(Debug, PartialEq, Eq)]
struct Bracketed {
    items: Vec<TokenItem>,
    is_complement: bool,
    /// Its bytes.
    len: usize,
}

/// How an edge is written.
const FORMS: &str = "A token is <its text>, <[its id]> or <[first-last]>.";

/// Why there is no edge.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoEdge {
    /// What is wrong with how it is written.
    Malformed(String),
    /// No class of tokens has that name; this one has one like it.
    NoClass(Option<String>),
    /// There are [`MAX_TOKEN_SETS`] before it.
    TooMany,
}

impl NoEdge {
    /// The refusal, as one who knows the place makes it of a kind and a reason.
    pub(crate) fn refusal(self, refuse: impl FnOnce(RefusalKind, String) -> CompileError) -> CompileError {
        match self {
            Self::Malformed(why) => refuse(RefusalKind::Malformed, why).advising(FORMS),
            Self::NoClass(near) => {
                let help = near.map_or_else(
                    || "The constraint's token classes say which tokens each has.".to_owned(),
                    |near| format!("Did you mean {near}?"),
                );
                refuse(RefusalKind::Malformed, "no token class has that name".to_owned()).advising(help)
            }
            Self::TooMany => {
                let reason = format!("the grammar has more than {MAX_TOKEN_SETS} different token edges");
                refuse(RefusalKind::Unsupported, reason)
            }
        }
    }
}

/// The edge with which a text begins, whose first byte is `<`.
///
/// # Errors
/// Why it is none.
fn bracketed(text: &str) -> Result<Bracketed, NoEdge> {
    let end = if text.starts_with("<[") { text.find("]>").map(|end| end + 1) } else { text.find('>') };
    let Some(end) = end.filter(|&end| !text[..end].contains(is_line_end)) else {
        return Err(NoEdge::Malformed("an unclosed token edge".to_owned()));
    };
    let len = end + 1;
    let text = &text[..len];
    if let Some(list) = text.strip_prefix("<[").and_then(|text| text.strip_suffix("]>")) {
        let (is_complement, items) = ids(list)?;
        return Ok(Bracketed { items, is_complement, len });
    }
    if text == "<>" {
        return Err(NoEdge::Malformed("a token edge without a name".to_owned()));
    }
    Ok(Bracketed { items: vec![TokenItem::Name(text.to_owned())], is_complement: false, len })
}

/// The ids between brackets: `7`, `5-9`, several with commas between; `^` before them means all others, and `*` alone means all tokens.
/// Whether it is a complement, and what is named.
fn ids(text: &str) -> Result<(bool, Vec<TokenItem>), NoEdge> {
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
            NoEdge::Malformed(format!("{shown} stands where a token id belongs"))
        })
    };
    let item = |part: &str| match part.split_once('-') {
        Some((first, last)) => {
            let (first, last) = (id(first)?, id(last)?);
            if last < first {
                return Err(NoEdge::Malformed(format!(
                    "the range {first}-{last} is empty: {last} is below {first}"
                )));
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
            let NoEdge::Malformed(why) = ids(text).unwrap_err() else { panic!("{text}") };
            assert!(why.contains(word), "{text}");
        }
    }
}
