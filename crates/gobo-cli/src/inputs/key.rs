//! Indices by the beginnings of their keys, as they are given on a command line.
use std::path::{Path, PathBuf};

use gobo_artifact::{ArtifactError, Index};
use gobo_store::Store;
use gobo_types::{ErrorKind, IndexKey};

use crate::options::Global;

/// Fewest digits of the beginning of a key: fewer are rather a slip, or the name of a file.
pub const MIN_DIGITS: usize = 4;

/// Most candidates that are listed.
const CANDIDATES_SHOWN: usize = 8;

/// No index, or more than one, has a key that begins so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// No key begins so.
    #[error("{0:?} begins no key of an index: that is {MIN_DIGITS} to 64 of 0-9 and a-f")]
    Syntax(String),
    /// None that is there.
    #[error("no index here has a key that begins with {0}\nhint: `gobo ls` lists the indices")]
    Unknown(String),
    /// Several.
    #[error("{} indices have keys that begin with {prefix}:{}", candidates.len(), listed(candidates))]
    Ambiguous {
        /// What was given.
        prefix: String,
        /// The keys, ascending.
        candidates: Vec<IndexKey>,
    },
}

fn listed(candidates: &[IndexKey]) -> String {
    let mut lines: Vec<String> =
        candidates.iter().take(CANDIDATES_SHOWN).map(|key| format!("\n  {key}")).collect();
    if candidates.len() > CANDIDATES_SHOWN {
        lines.push(format!("\n  … {} more", candidates.len() - CANDIDATES_SHOWN));
    }
    lines.concat()
}

/// Whether a text can be the beginning of a key.
pub fn begins_key(text: &str) -> bool {
    (MIN_DIGITS..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// The one of `keys` that begins with `prefix`. O(keys).
///
/// # Errors
/// A [`KeyError`] if none does, or several do.
///
/// ```
/// use gobo_cli::inputs::{KeyError, key_of};
/// use gobo_types::{Digest, IndexKey};
///
/// let keys = ["a", "b"].map(|text| IndexKey(Digest::of(text.as_bytes())));
/// let beginning = &keys[0].to_string()[..8];
/// assert_eq!(key_of(beginning, keys), Ok(keys[0]));
/// assert_eq!(key_of("00ff", keys), Err(KeyError::Unknown("00ff".into())));
/// ```
pub fn key_of(prefix: &str, keys: impl IntoIterator<Item = IndexKey>) -> Result<IndexKey, KeyError> {
    if !begins_key(prefix) {
        return Err(KeyError::Syntax(prefix.to_owned()));
    }
    let mut candidates: Vec<IndexKey> =
        keys.into_iter().filter(|key| key.to_string().starts_with(prefix)).collect();
    candidates.sort_unstable();
    candidates.dedup();
    match candidates[..] {
        [] => Err(KeyError::Unknown(prefix.to_owned())),
        [key] => Ok(key),
        _ => Err(KeyError::Ambiguous { prefix: prefix.to_owned(), candidates }),
    }
}

/// The file of an index: `given` itself, or that of the one index in the store whose key begins so. A file wins over a key.
///
/// # Errors
/// If it is no file and looks like a key, and no index in the store or more than one begins so.
pub fn index_file(given: &Path, global: &Global) -> anyhow::Result<PathBuf> {
    let text = given.to_str().filter(|text| begins_key(text));
    let Some(text) = text.filter(|_| given.symlink_metadata().is_err()) else { return Ok(given.to_owned()) };
    let keys = match global.existing_store()? {
        Some(store) => keys_of(&store)?,
        None => Vec::new(),
    };
    let key = key_of(text, keys)?;
    Ok(Store::open(global.store_dir()?)?.index_path(&key))
}

/// The keys of all indices in a store. O(indices), none is opened.
///
/// # Errors
/// If a folder of the store cannot be read.
pub fn keys_of(store: &Store) -> anyhow::Result<Vec<IndexKey>> {
    Ok(store.scan_indices().map(|index| index.map(|index| index.key)).collect::<Result<_, _>>()?)
}

/// Opens the file of an index.
///
/// # Errors
/// If it cannot be read, or is no index of this version.
pub fn open_index(file: &Path) -> anyhow::Result<Index> {
    Index::open(file).map_err(advised)
}

/// The error with what to do about it.
pub fn advised(error: ArtifactError) -> anyhow::Error {
    let is_of_another_version = error.kind() == ErrorKind::Version;
    let error = anyhow::Error::new(error);
    if is_of_another_version {
        return error.context("a file of another version of gobo\nhint: compile it again");
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> IndexKey {
        format!("{text}{}", "0".repeat(64 - text.len())).parse().unwrap()
    }

    #[test]
    fn the_beginning_of_one_key_is_that_key() {
        let keys = [key("abcd1"), key("abcd2"), key("abff")];
        assert_eq!(key_of("abcd1", keys), Ok(keys[0]));
        assert_eq!(key_of("abff", keys), Ok(keys[2]));
        assert_eq!(key_of(&keys[1].to_string(), keys), Ok(keys[1]));
        let several = key_of("abcd", keys).unwrap_err();
        assert_eq!(several, KeyError::Ambiguous { prefix: "abcd".into(), candidates: keys[..2].to_vec() });
        assert_eq!(
            several.to_string(),
            format!("2 indices have keys that begin with abcd:\n  {}\n  {}", keys[0], keys[1])
        );
        for text in ["abc", "", "ABCD", "abcg", "é", &"a".repeat(65)] {
            assert_eq!(key_of(text, keys), Err(KeyError::Syntax(text.into())));
        }
        let many: Vec<IndexKey> = (0..20).map(|at| key(&format!("aaaa{at:02}"))).collect();
        assert!(key_of("aaaa", many).unwrap_err().to_string().ends_with("\n  … 12 more"));
    }
}
