//! The merges of a BPE model. They are no part of any token's bytes, but no tokenizer works with impossible merges: a file
//! that has some is damaged, and perhaps its vocabulary too.
//!
//! [`check`] looks up the parts and the product of each merge, and finds repeated ones by sorting. Cost: O(merges · log merges).

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use gobo_types::TokenId;
use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};

use super::id_map::{Index, Text};
use crate::{ImportError, MergeProblem};

/// One merge, as it is written in a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Merge<'a> {
    Pair(Cow<'a, str>, Cow<'a, str>),
    /// Not two texts; or a comment, with which older files begin.
    Other(Cow<'a, str>),
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

/// The texts before and after the first space. They are so short that the library's search would start too slowly.
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

/// Checks that every merge makes a token of `ids` out of two, and each does so once; `text` is the text of an id. Returns the ids of
/// each, comments left out. O(merges · log merges).
///
/// # Errors
/// [`ImportError::Merge`] naming the first that does not.
pub(crate) fn check<'t>(
    path: &Path,
    merges: &[Merge<'_>],
    text: impl Fn(usize) -> Option<&'t str>,
    ids: &Index<'_>,
) -> Result<Vec<gobo_vocab::Merge>, ImportError> {
    let failed = |position: usize, source| ImportError::Merge {
        path: path.into(),
        position,
        merge: merges[position].to_string(),
        source,
    };
    let mut product = String::new();
    // The product before this one: most files list merges in the order of their products' ids.
    let mut last = 0;
    let mut found = Vec::with_capacity(merges.len());
    for (position, merge) in merges.iter().enumerate().filter(|(_, merge)| !merge.is_comment()) {
        let Merge::Pair(left, right) = merge else { return Err(failed(position, MergeProblem::Form)) };
        if left.is_empty() || right.is_empty() {
            return Err(failed(position, MergeProblem::EmptyPart));
        }
        let id = |token: &str| {
            let unknown = || failed(position, MergeProblem::UnknownToken { token: token.to_owned() });
            ids.get(token).ok_or_else(unknown)
        };
        let (left_id, right_id) = (id(left)?, id(right)?);
        // By length first: most texts differ in it.
        let is_product = |id: usize| {
            text(id).is_some_and(|text| {
                text.len() == left.len() + right.len()
                    && text.starts_with(&**left)
                    && text.ends_with(&**right)
            })
        };
        if !is_product(last) {
            last += 1;
            if !is_product(last) {
                product.clear();
                product.extend([&**left, &**right]);
                last = id(&product)? as usize;
            }
        }
        let product = TokenId::try_from(last).expect("ids are below the limit");
        found.push(gobo_vocab::Merge { left: left_id, right: right_id, product });
    }
    let mut pairs: Vec<(TokenId, TokenId)> = found.iter().map(|of| (of.left, of.right)).collect();
    pairs.sort_unstable();
    if pairs.windows(2).all(|pair| pair[0] != pair[1]) {
        return Ok(found);
    }
    // Only now is the repeated one searched for: it takes longer, and is rare.
    let mut seen = HashMap::new();
    for (position, merge) in merges.iter().enumerate().filter(|(_, merge)| !merge.is_comment()) {
        if let Some(first) = seen.insert(merge, position) {
            return Err(failed(position, MergeProblem::Repeated { first }));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(json: &str) -> Option<(usize, MergeProblem)> {
        let texts = ["a", "b", "ab", "ab b", " b"];
        let ids = texts.into_iter().zip(0..).collect();
        let merges: Vec<Merge<'_>> = serde_json::from_str(json).unwrap();
        match check(Path::new("t"), &merges, |id| texts.get(id).copied(), &ids) {
            Ok(_) => None,
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
