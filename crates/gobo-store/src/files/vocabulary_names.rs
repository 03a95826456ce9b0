//! Names of vocabularies: one JSON file for each, replaced in one step.

use std::fs;
use std::io;
use std::path::Path;

use gobo_artifact::file::{Links, OpenError, OpenRegular, kind_name};
use gobo_types::{Binding, Digest, VocabularyDigest};
use serde::{Deserialize, Serialize};

use super::atomic_write::{OnConflict, Outcome, publish};
use super::quarantine::Reason;
use crate::directory::scan::entries;
use crate::{Store, StoreError};

/// Most bytes of the file of a name: a hundred times the usual length.
const MAX_NAME_BYTES: u64 = 1 << 18;

/// The vocabulary that a name stands for: the file `v0/names/<name>`, as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedVocabulary {
    /// The vocabulary.
    pub vocabulary: VocabularyDigest,
    /// The default binding. It belongs to the name: models that share a vocabulary differ in it.
    pub binding: Binding,
    /// The kind of tokenizer from which it was imported.
    pub kind: String,
    /// Number of ids that stand for bytes or are special.
    pub tokens: u32,
    /// How many of them are special.
    pub special: u32,
    /// The path from which it was imported; none for a built-in vocabulary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// blake3 of the imported file, so that an unchanged file need not be imported again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_digest: Option<Digest>,
}

impl Store {
    /// Lets `name` stand for `named`, durably and in one step, whatever it stood for before.
    ///
    /// # Errors
    /// [`StoreError::BadName`] for a name outside `[A-Za-z0-9][A-Za-z0-9._-]{0,99}`; [`StoreError::NoRoom`] and
    /// [`StoreError::Io`] if it cannot be written: then the name stands for what it did before.
    pub fn put_name(&self, name: &str, named: &NamedVocabulary) -> Result<(), StoreError> {
        self.write_name(name, named, OnConflict::Replace).map(drop)
    }

    /// Lets `name` stand for `named`, durably and in one step, unless it stands for something already: then false, and nothing
    /// has changed. Of several processes that do so at once, one succeeds.
    ///
    /// # Errors
    /// As for [`Store::put_name`].
    pub fn put_new_name(&self, name: &str, named: &NamedVocabulary) -> Result<bool, StoreError> {
        Ok(self.write_name(name, named, OnConflict::Keep)? != Outcome::Kept)
    }

    fn write_name(
        &self,
        name: &str,
        named: &NamedVocabulary,
        conflict: OnConflict,
    ) -> Result<Outcome, StoreError> {
        Self::check_name(name)?;
        let mut json = serde_json::to_vec_pretty(named)
            .map_err(|source| StoreError::Encode { what: "a vocabulary's name", source })?;
        json.push(b'\n');
        let path = self.layout().names().join(name);
        if let Some(found) = strange(&path) {
            // A folder cannot be replaced in one step. Every irregular file is kept in quarantine.
            self.quarantine(&path, Reason::Corrupt, &format!("it is {found}, not a regular file"))?;
        }
        publish(self, &path, &json, conflict, |_| Ok(()))
    }

    /// Whether `name` may be the name of a vocabulary.
    ///
    /// # Errors
    /// [`StoreError::BadName`] if not.
    ///
    /// ```
    /// use gobo_store::Store;
    ///
    /// assert!(Store::check_name("llama-3.1").is_ok());
    /// assert!(Store::check_name("../llama").is_err());
    /// ```
    pub fn check_name(name: &str) -> Result<(), StoreError> {
        if is_name(name) {
            Ok(())
        } else {
            Err(StoreError::BadName { name: name.chars().take(120).collect() })
        }
    }

    /// The vocabulary that `name` stands for; `None` if there is no such name, or if its file is irregular or far too long: such
    /// a file was moved to quarantine where possible. Never waits for another process.
    ///
    /// # Errors
    /// [`StoreError::BadName`] for a malformed name; [`StoreError::BrokenName`] for a damaged file;
    /// [`StoreError::Io`] if it cannot be read.
    pub fn get_name(&self, name: &str) -> Result<Option<NamedVocabulary>, StoreError> {
        Self::check_name(name)?;
        let path = self.layout().names().join(name);
        let bytes = match OpenRegular::new(Links::Refuse).read(&path, MAX_NAME_BYTES) {
            Ok(bytes) => bytes,
            Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(OpenError::Io(error)) => return Err(StoreError::io("read", &path)(error)),
            Err(other) => {
                self.set_aside(&path, Reason::Corrupt, &other.to_string());
                return Ok(None);
            }
        };
        serde_json::from_slice(&bytes).map(Some).map_err(|source| StoreError::BrokenName {
            name: name.to_owned(),
            path,
            source,
        })
    }

    /// All names, ascending. Their files are not opened, so one broken file hides no other; irregular files are skipped.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the folder cannot be read.
    pub fn list_names(&self) -> Result<Vec<String>, StoreError> {
        let paths = entries(&self.layout().names())?;
        let files = paths.iter().filter(|path| strange(path).is_none());
        let names = files.filter_map(|path| path.file_name()?.to_str());
        Ok(names.filter(|name| is_name(name)).map(str::to_owned).collect())
    }
}

/// The kind of file at `path`, if it is not a regular file.
fn strange(path: &Path) -> Option<&'static str> {
    let found = fs::symlink_metadata(path).ok()?.file_type();
    (!found.is_file()).then(|| kind_name(found))
}

fn is_name(name: &str) -> bool {
    name.len() <= 100
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_syntax_of_names() {
        let longest = "a".repeat(100);
        for good in ["gpt2", "llama-3.1", "0", "A_b", longest.as_str()] {
            assert!(is_name(good), "{good}");
        }
        let too_long = "a".repeat(101);
        for bad in ["", ".", "..", ".tmp-1-a", "-a", "_a", "a/b", "a b", "é", "a\0", too_long.as_str()] {
            assert!(!is_name(bad), "{bad:?}");
        }
    }
}
