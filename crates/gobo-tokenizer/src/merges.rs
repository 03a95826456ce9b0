//! The merges of a BPE model. They are no part of any token's bytes, but no tokenizer works with merges that cannot be:
//! a file that has such is damaged, and perhaps its vocabulary too.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};

use crate::ImportError;
use crate::id_map::{Index, Text};

/// One merge, as a file has it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Merge<'a> {
    Pair(Cow<'a, str>, Cow<'a, str>),
    /// Not two texts; or a comment, which older files begin with.
    Other(Cow<'a, str>),
}

/// What is wrong with a merge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MergeProblem {
    /// Neither a pair nor a text with one space in it.
    #[error("expected two tokens")]
    Form,
    /// A merge that makes a token out of itself and nothing: a cycle. There is no other, as the product is both parts
    /// put together, and so longer than either.
    #[error("a part is empty, so the merge would go on for ever")]
    EmptyPart,
    /// A part or the product is no token.
    #[error("{token:?} is not in the vocabulary")]
    UnknownToken {
        /// The text.
        token: String,
    },
    /// The same merge for the second time: which of its ranks counts would not be known.
    #[error("it already stands at position {first}")]
    Repeated {
        /// Position of the first, from 0.
        first: usize,
    },
}

impl<'a> Merge<'a> {
    /// A merge written as one text with a space in it.
    pub(crate) fn parse(text: Cow<'a, str>) -> Self {
        let (left, right) = match &text {
            Cow::Borrowed(text) => match at_space(text) {
                Some((left, right)) => (Cow::Borrowed(left), Cow::Borrowed(right)),
                None => return Self::Other(Cow::Borrowed(text)),
            },
            Cow::Owned(owned) => match at_space(owned) {
                Some((left, right)) => (Cow::Owned(left.to_owned()), Cow::Owned(right.to_owned())),
                None => return Self::Other(text),
            },
        };
        if right.as_bytes().contains(&b' ') || left.starts_with("#version") {
            Self::Other(text)
        } else {
            Self::Pair(left, right)
        }
    }

    fn is_comment(&self) -> bool {
        matches!(self, Self::Other(text) if text.starts_with("#version"))
    }
}

/// What is before the first space and what is behind it. Texts are so short that a search of the library begins too
/// slowly.
fn at_space(text: &str) -> Option<(&str, &str)> {
    let space = text.bytes().position(|byte| byte == b' ')?;
    Some((&text[..space], &text[space + 1..]))
}

impl fmt::Display for Merge<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pair(left, right) => write!(f, "{left:?} + {right:?}"),
            Self::Other(text) => write!(f, "{text:?}"),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Merge<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MergeVisitor;

        impl<'de> Visitor<'de> for MergeVisitor {
            type Value = Merge<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a merge: two tokens, or both in one text")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Merge::parse(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Merge::parse(Cow::Owned(text.to_owned())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
                let (left, right) =
                    (access.next_element::<Text<'de>>()?, access.next_element::<Text<'de>>()?);
                let rest = access.next_element::<IgnoredAny>()?;
                if rest.is_some() {
                    while access.next_element::<IgnoredAny>()?.is_some() {}
                }
                Ok(match (left, right, rest) {
                    (Some(Text(left)), Some(Text(right)), None) => Merge::Pair(left, right),
                    (left, _, _) => Merge::Other(left.map_or(Cow::Borrowed(""), |Text(left)| left)),
                })
            }
        }

        deserializer.deserialize_any(MergeVisitor)
    }
}

/// Checks that every merge makes a token of `ids` out of two, and each does so once; `text` is the text of an id. O(merges).
///
/// # Errors
/// [`ImportError::Merge`] naming the first that does not.
pub(crate) fn check<'t>(
    path: &Path,
    merges: &[Merge<'_>],
    text: impl Fn(usize) -> Option<&'t str>,
    ids: &Index<'_>,
) -> Result<(), ImportError> {
    let failed = |position: usize, source| ImportError::Merge {
        path: path.into(),
        position,
        merge: merges[position].to_string(),
        source,
    };
    let mut product = String::new();
    // The product before this one: most files list merges in the order of their products' ids.
    let mut last = 0;
    let mut pairs = Vec::with_capacity(merges.len());
    for (position, merge) in merges.iter().enumerate().filter(|(_, merge)| !merge.is_comment()) {
        let Merge::Pair(left, right) = merge else { return Err(failed(position, MergeProblem::Form)) };
        if left.is_empty() || right.is_empty() {
            return Err(failed(position, MergeProblem::EmptyPart));
        }
        let id = |token: &str| {
            let unknown = || failed(position, MergeProblem::UnknownToken { token: token.to_owned() });
            ids.get(token).ok_or_else(unknown)
        };
        pairs.push(u64::from(id(left)?) << 32 | u64::from(id(right)?));
        // By length first, which tells most apart.
        let is_product = |id: usize| {
            text(id).is_some_and(|text| {
                text.len() == left.len() + right.len()
                    && text.starts_with(&**left)
                    && text.ends_with(&**right)
            })
        };
        if is_product(last) {
            continue;
        }
        last += 1;
        if !is_product(last) {
            product.clear();
            product.extend([&**left, &**right]);
            last = id(&product)? as usize;
        }
    }
    pairs.sort_unstable();
    if pairs.windows(2).all(|pair| pair[0] != pair[1]) {
        return Ok(());
    }
    // Which one is looked for only now: it takes longer, and hardly ever happens.
    let mut seen = HashMap::new();
    for (position, merge) in merges.iter().enumerate().filter(|(_, merge)| !merge.is_comment()) {
        if let Some(first) = seen.insert(merge, position) {
            return Err(failed(position, MergeProblem::Repeated { first }));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(json: &str) -> Option<(usize, MergeProblem)> {
        let texts = ["a", "b", "ab", "ab b", " b"];
        let ids = texts.into_iter().zip(0..).collect();
        let merges: Vec<Merge<'_>> = serde_json::from_str(json).unwrap();
        match check(Path::new("t"), &merges, |id| texts.get(id).copied(), &ids) {
            Ok(()) => None,
            Err(ImportError::Merge { position, source, .. }) => Some((position, source)),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn merges_make_tokens_out_of_tokens() {
        for good in [
            "[]",
            r#"["a b"]"#,
            r##"["#version: 0.2", "#version 3", "a b"]"##,
            r#"[["a", "b"], ["ab", " b"]]"#,
            r#"["\u0061 b"]"#,
        ] {
            assert_eq!(problem(good), None, "{good}");
        }
        let unknown = |token: &str| MergeProblem::UnknownToken { token: token.into() };
        for (bad, position, expected) in [
            (r#"["a b", "ab"]"#, 1, MergeProblem::Form),
            (r#"["ab  b"]"#, 0, MergeProblem::Form),
            (r#"[["ab"]]"#, 0, MergeProblem::Form),
            (r#"[["a", "b", "c"]]"#, 0, MergeProblem::Form),
            (r#"["a "]"#, 0, MergeProblem::EmptyPart),
            (r#"[["", "ab"]]"#, 0, MergeProblem::EmptyPart),
            (r#"["c b"]"#, 0, unknown("c")),
            (r#"["a c"]"#, 0, unknown("c")),
            (r#"["a b", "b a"]"#, 1, unknown("ba")),
            (r#"["a b", ["ab", " b"], ["a", "b"]]"#, 2, MergeProblem::Repeated { first: 0 }),
        ] {
            assert_eq!(problem(bad), Some((position, expected)), "{bad}");
        }
    }
}
