//! The `vocab` field of a model, read in one pass and checked: one text for each id, one id for each text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use foldhash::fast::RandomState;
use gobo_types::TokenId;
use gobo_vocab::MAX_VOCABULARY_LEN;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::ImportError;

/// Number of ids that a vocabulary can have: checked before anything is allocated for an id.
pub(crate) const ID_LIMIT: u64 = MAX_VOCABULARY_LEN as u64;

/// The `vocab` field of a model.
#[derive(Debug)]
pub(crate) enum Vocab<'a> {
    /// An object from token text to id.
    Ids(IdMap<'a>),
    /// An array of `[piece, score]`, the form of Unigram: the position is the id.
    List(IdMap<'a>),
}

/// A JSON object from token text to id, inverted while it is read, in one pass and without copying keys that have no
/// escapes.
#[derive(Debug, Default)]
pub(crate) struct IdMap<'a> {
    by_id: Vec<Option<Cow<'a, str>>>,
    fault: Option<Fault>,
}

/// The first fault of the map. Kept until the whole file has been read: serde's own errors are text only.
#[derive(Debug)]
enum Fault {
    DuplicateId { id: TokenId, first: String, second: String },
    IdTooLarge { token: String, id: u64 },
}

impl<'a> IdMap<'a> {
    /// The texts by id: `[highest id + 1]`. [`index`] checks that they are distinct.
    ///
    /// # Errors
    /// [`ImportError::DuplicateId`], [`ImportError::IdTooLarge`]; [`ImportError::DuplicateToken`] for a text that gets the same
    /// id twice.
    pub(crate) fn into_texts(self, path: &Path) -> Result<Vec<Option<Cow<'a, str>>>, ImportError> {
        let path = path.to_owned();
        match self.fault {
            None => Ok(self.by_id),
            Some(Fault::IdTooLarge { token, id }) => {
                Err(ImportError::IdTooLarge { path, token, id, limit: ID_LIMIT })
            }
            Some(Fault::DuplicateId { id, first, second }) if first == second => {
                Err(ImportError::DuplicateToken { path, token: first, first: id, second: id })
            }
            Some(Fault::DuplicateId { id, first, second }) => {
                Err(ImportError::DuplicateId { path, id, first, second })
            }
        }
    }

    fn insert(&mut self, token: Cow<'a, str>, id: u64) {
        let (Some(index), Ok(small)) = (usize::try_from(id).ok(), TokenId::try_from(id)) else {
            self.fault = Some(Fault::IdTooLarge { token: token.into_owned(), id });
            return;
        };
        if id >= ID_LIMIT {
            self.fault = Some(Fault::IdTooLarge { token: token.into_owned(), id });
            return;
        }
        if index >= self.by_id.len() {
            self.by_id.resize(index + 1, None);
        }
        match &mut self.by_id[index] {
            Some(first) => {
                let (first, second) = (first.to_string(), token.into_owned());
                self.fault = Some(Fault::DuplicateId { id: small, first, second });
            }
            free => *free = Some(token),
        }
    }
}

/// Ids by text. A file has some hundred thousand texts, and most are looked up several times: the hash is a fast one, with a
/// seed of its own for each map, so that no file can be made to collide. Short texts, which most are, lie in the table
/// itself and not in the file.
#[derive(Debug, Default)]
pub(crate) struct Index<'t> {
    short: HashMap<(u64, u64), TokenId, RandomState>,
    long: HashMap<&'t str, TokenId, RandomState>,
}

impl<'t> Index<'t> {
    fn with_capacity(texts: usize) -> Self {
        Self { short: HashMap::with_capacity_and_hasher(texts, RandomState::default()), ..Self::default() }
    }

    /// The id of a text.
    pub(crate) fn get(&self, text: &str) -> Option<TokenId> {
        match packed(text.as_bytes()) {
            Some(text) => self.short.get(&text).copied(),
            None => self.long.get(text).copied(),
        }
    }

    /// Gives a text its id. Returns the one that it had.
    fn insert(&mut self, text: &'t str, id: TokenId) -> Option<TokenId> {
        match packed(text.as_bytes()) {
            Some(text) => self.short.insert(text, id),
            None => self.long.insert(text, id),
        }
    }
}

/// The last id of each text.
impl<'t> FromIterator<(&'t str, TokenId)> for Index<'t> {
    fn from_iter<I: IntoIterator<Item = (&'t str, TokenId)>>(texts: I) -> Self {
        let texts = texts.into_iter();
        let mut index = Self::with_capacity(texts.size_hint().0);
        texts.for_each(|(text, id)| {
            index.insert(text, id);
        });
        index
    }
}

/// Up to 15 bytes and their number as two numbers, `None` for more. Read from both ends, so that there is no loop; bytes that
/// are read twice agree.
fn packed(text: &[u8]) -> Option<(u64, u64)> {
    let length = text.len();
    let bytes = if let (Some(first), Some(last)) = (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        if length > 15 {
            return None;
        }
        u128::from(u64::from_le_bytes(*first)) | u128::from(u64::from_le_bytes(*last)) << (8 * (length - 8))
    } else if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        u128::from(u32::from_le_bytes(*first)) | u128::from(u32::from_le_bytes(*last)) << (8 * (length - 4))
    } else {
        text.iter().rev().fold(0, |bytes, &byte| bytes << 8 | u128::from(byte))
    };
    let bytes = bytes.to_le_bytes();
    let [first, last] = [0, 8].map(|from| u64::from_le_bytes(std::array::from_fn(|at| bytes[from + at])));
    Some((first, last | (length as u64) << 56))
}

/// The ids by text.
///
/// # Errors
/// [`ImportError::DuplicateToken`] for a text with two ids.
pub(crate) fn index<'t>(path: &Path, texts: &'t [Option<Cow<'_, str>>]) -> Result<Index<'t>, ImportError> {
    let mut ids = Index::with_capacity(texts.len());
    for (second, text) in (0..).zip(texts) {
        let Some(text) = text else { continue };
        if let Some(first) = ids.insert(text, second) {
            let (path, token) = (path.into(), text.to_string());
            return Err(ImportError::DuplicateToken { path, token, first, second });
        }
    }
    Ok(ids)
}

impl<'de: 'a, 'a> Deserialize<'de> for Vocab<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct VocabVisitor;

        impl<'de> Visitor<'de> for VocabVisitor {
            type Value = Vocab<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a vocabulary: an object from tokens to ids, or an array of pieces with scores")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
                let mut map = IdMap::default();
                while let Some(Text(token)) = access.next_key()? {
                    let id = access.next_value()?;
                    if map.fault.is_none() {
                        map.insert(token, id);
                    }
                }
                Ok(Vocab::Ids(map))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
                let mut map = IdMap::default();
                let mut id = 0;
                // The score only decides how texts are cut.
                while let Some((Text(piece), _)) = access.next_element::<(_, IgnoredAny)>()? {
                    if map.fault.is_none() {
                        map.insert(piece, id);
                    }
                    id += 1;
                }
                Ok(Vocab::List(map))
            }
        }

        deserializer.deserialize_any(VocabVisitor)
    }
}

/// A string that borrows from the input where it can (serde's own `Cow` always copies).
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;

        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a token")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }

        deserializer.deserialize_str(TextVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(json: &str) -> Result<Vec<Option<Cow<'_, str>>>, ImportError> {
        let (Vocab::Ids(map) | Vocab::List(map)) = serde_json::from_str(json).unwrap();
        let texts = map.into_texts(Path::new("t"))?;
        index(Path::new("t"), &texts)?;
        Ok(texts)
    }

    #[test]
    fn ids_may_come_in_any_order_and_with_holes() {
        let found = texts(r#"{"b\n": 3, "a": 0}"#).unwrap();
        assert_eq!(found, [Some("a".into()), None, None, Some("b\n".into())]);
        assert!(matches!(found[0], Some(Cow::Borrowed(_))));
    }

    #[test]
    fn pieces_have_their_position_as_id() {
        assert_eq!(texts(r#"[["b", -1.5], ["a", 0]]"#).unwrap(), [Some("b".into()), Some("a".into())]);
        let error = texts(r#"[["a", -1], ["b", -2], ["a", -3]]"#).unwrap_err();
        assert!(matches!(error, ImportError::DuplicateToken { first: 0, second: 2, .. }));
        for json in [r#"["a"]"#, r#"[["a"]]"#, "[[1, 2]]"] {
            assert!(serde_json::from_str::<Vocab<'_>>(json).unwrap_err().is_data(), "{json}");
        }
    }

    #[test]
    fn duplicates_name_the_token_and_its_ids() {
        let error = texts(r#"{"a": 1, "b": 1}"#).unwrap_err();
        assert!(
            matches!(error, ImportError::DuplicateId { id: 1, first, second, .. } if first == "a" && second == "b")
        );
        for (json, ids) in [(r#"{"a": 1, "\u0061": 4}"#, (1, 4)), (r#"{"a": 4, "a": 4}"#, (4, 4))] {
            let error = texts(json).unwrap_err();
            assert!(
                matches!(&error, ImportError::DuplicateToken { first, second, .. } if (*first, *second) == ids),
                "{error:?}"
            );
        }
    }

    #[test]
    fn ids_out_of_range_are_refused_before_allocating() {
        for id in [ID_LIMIT, u64::from(u32::MAX), u64::MAX] {
            let json = format!(r#"{{"a": {id}}}"#);
            let error = texts(&json).unwrap_err();
            assert!(matches!(error, ImportError::IdTooLarge { id: found, .. } if found == id));
        }
    }

    #[test]
    fn texts_of_every_length_have_their_own_ids() {
        // All that begin alike, all that end alike, and with the byte that fills up short ones.
        let text = "abcdefghijklmnopqrst\0\0".to_owned();
        let mut texts: Vec<&str> = (0..=text.len()).map(|end| &text[..end]).collect();
        texts.extend((1..text.len()).map(|begin| &text[begin..]));
        let index: Index<'_> = texts.iter().copied().zip(0..).collect();
        for (id, text) in (0..).zip(&texts) {
            assert_eq!(index.get(text), Some(id), "{text:?}");
        }
        assert_eq!((index.get("b\0"), index.get("abcdefghijklmnopqrs!")), (None, None));
    }

    #[test]
    fn ids_that_are_not_numbers_are_shape_errors() {
        for json in [r#"{"a": -1}"#, r#"{"a": 1.5}"#, r#"{"a": "1"}"#, r#"{"a": null}"#, "7", "\"a\""] {
            assert!(serde_json::from_str::<Vocab<'_>>(json).unwrap_err().is_data(), "{json}");
        }
    }
}
