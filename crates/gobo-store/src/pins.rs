use std::fs;
use std::io;
use std::path::PathBuf;

use gobo_types::IndexKey;

use crate::publish::{Taken, publish};
use crate::quarantine::Reason;
use crate::scan::entries;
use crate::{Store, StoreError};

impl Store {
    fn pin_path(&self, key: &IndexKey) -> PathBuf {
        self.layout().pins().join(key.to_string())
    }

    /// Keeps the index of `key` from eviction, durably: a plain file, `v0/pins/<key>`, so that the loss of a catalog does
    /// not lose it. It holds whether the index is there or not, and again once it was compiled anew. Says whether it was
    /// not pinned before.
    ///
    /// # Errors
    /// [`StoreError::NoRoom`] and [`StoreError::Io`] if it cannot be written.
    pub fn pin(&self, key: &IndexKey) -> Result<bool, StoreError> {
        if self.is_pinned(key)? {
            return Ok(false);
        }
        // The key once more, for a person; what counts is the name.
        let text = format!("{key}\n");
        publish(self, &self.pin_path(key), text.as_bytes(), Taken::Keep, |_| Ok(()))?;
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
                crate::access::sync_folder(&self.layout().pins())?;
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

    /// Whether the index of `key` is pinned. One look at a file's metadata.
    ///
    /// # Errors
    /// [`StoreError::Io`] if that is refused.
    pub fn is_pinned(&self, key: &IndexKey) -> Result<bool, StoreError> {
        let path = self.pin_path(key);
        // Whatever lies there pins: a link that leads nowhere too.
        match fs::symlink_metadata(&path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(StoreError::io("read", &path)(error)),
        }
    }

    /// The pinned indices, ascending, whether they are in the store or not. O(pins).
    ///
    /// # Errors
    /// [`StoreError::Io`] if the folder cannot be read.
    pub fn pins(&self) -> Result<Vec<IndexKey>, StoreError> {
        let paths = entries(&self.layout().pins())?;
        Ok(paths.iter().filter_map(|path| path.file_name()?.to_str()?.parse().ok()).collect())
    }
}
