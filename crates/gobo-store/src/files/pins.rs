//! Pins: indices that eviction never removes, each a file of its own.

use std::fs;
use std::io;
use std::path::PathBuf;

use gobo_types::IndexKey;

use super::atomic_write::{OnConflict, publish};
use super::quarantine::Reason;
use crate::directory::folders::sync_folder;
use crate::directory::scan::entries;
use crate::{Store, StoreError};

impl Store {
    fn pin_path(&self, key: &IndexKey) -> PathBuf {
        self.layout().pins().join(key.to_string())
    }

    /// Protects the index of `key` from eviction, durably: a plain file, `v0/pins/<key>`, so that the loss of a catalog does
    /// not lose it. The pin holds whether the index exists or not, and also after it is compiled again. Says whether the pin
    /// is new.
    ///
    /// # Errors
    /// [`StoreError::NoRoom`] and [`StoreError::Io`] if it cannot be written.
    pub fn pin(&self, key: &IndexKey) -> Result<bool, StoreError> {
        if self.is_pinned(key)? {
            return Ok(false);
        }
        // The content is for a person; only the name counts.
        let text = format!("{key}\n");
        publish(self, &self.pin_path(key), text.as_bytes(), OnConflict::Keep, |_| Ok(()))?;
        Ok(true)
    }

    /// Lets the index of `key` be evicted again; says whether it was pinned.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the pin is there and cannot be removed.
    pub fn unpin(&self, key: &IndexKey) -> Result<bool, StoreError> {
        let path = self.pin_path(key);
        match fs::remove_file(&path) {
            Ok(()) => {
                sync_folder(&self.layout().pins())?;
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(_) if path.is_dir() => {
                self.quarantine(&path, Reason::Corrupt, "a folder in the place of a pin")?;
                Ok(true)
            }
            Err(error) => Err(StoreError::io("remove", &path)(error)),
        }
    }

    /// Whether the index of `key` is pinned. Reads the metadata of one file.
    ///
    /// # Errors
    /// [`StoreError::Io`] if that is refused.
    pub fn is_pinned(&self, key: &IndexKey) -> Result<bool, StoreError> {
        let path = self.pin_path(key);
        // Any entry pins, also a dangling link.
        match fs::symlink_metadata(&path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(StoreError::io("read", &path)(error)),
        }
    }

    /// The keys of all pins, ascending, whether their indices exist or not. O(pins).
    ///
    /// # Errors
    /// [`StoreError::Io`] if the folder cannot be read.
    pub fn pins(&self) -> Result<Vec<IndexKey>, StoreError> {
        let paths = entries(&self.layout().pins())?;
        Ok(paths.iter().filter_map(|path| path.file_name()?.to_str()?.parse().ok()).collect())
    }
}
