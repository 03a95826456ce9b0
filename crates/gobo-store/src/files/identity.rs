//! What a store is, wherever it is mounted: a random name in a file.
//!
//! Two processes may see one store under two paths, as containers do that mount a volume each in its own place. They know it by the name in
//! `store.id`. A copy of a store has the same name; so whoever finds it still looks whether a file is there.

use std::fs::File;
use std::io::Read as _;

use gobo_artifact::file::{Links, OpenRegular};

use super::atomic_write::{OnConflict, publish};
use crate::{Store, StoreError};

/// Random bytes of a name.
const BYTES: usize = 16;

/// Hexadecimal digits and the end of the line.
const LENGTH: u64 = 2 * BYTES as u64 + 1;

impl Store {
    /// The name that is in the store, if it has one. Reads one small file.
    pub fn id(&self) -> Option<String> {
        let text = OpenRegular::new(Links::Refuse).read(&self.layout().id(), LENGTH).ok()?;
        let text = String::from_utf8(text).ok()?;
        let id = text.strip_suffix('\n')?;
        let is_id =
            id.len() == 2 * BYTES && id.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        is_id.then(|| id.to_owned())
    }

    /// Gives the store a name, unless it has one. For its owner.
    ///
    /// # Errors
    /// [`StoreError::Io`] and [`StoreError::NoRoom`] if the file cannot be written; the store works without.
    pub fn name_itself(&self) -> Result<(), StoreError> {
        if self.id().is_some() {
            return Ok(());
        }
        let path = self.layout().id();
        let mut random = [0; BYTES];
        let urandom = std::path::Path::new("/dev/urandom");
        File::open(urandom)
            .and_then(|mut file| file.read_exact(&mut random))
            .map_err(StoreError::io("read", urandom))?;
        let text = format!("{:032x}\n", u128::from_be_bytes(random));
        publish(self, &path, text.as_bytes(), OnConflict::Replace, |_| Ok(())).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_store_keeps_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        assert_eq!(store.id(), None);
        store.name_itself().unwrap();
        let id = store.id().unwrap();
        store.name_itself().unwrap();
        assert_eq!(Store::open(folder.path()).unwrap().id(), Some(id.clone()));
        let other = tempfile::tempdir().unwrap();
        let other = Store::open(other.path()).unwrap();
        other.name_itself().unwrap();
        assert_ne!(other.id().unwrap(), id);
    }

    #[test]
    fn what_is_no_name_is_none_and_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        for wrong in ["", "\n", "../../../../../../../etc/passwd\n", &"g".repeat(32), &"ab".repeat(17)] {
            let _ = fs::remove_file(folder.path().join("store.id"));
            fs::write(folder.path().join("store.id"), wrong).unwrap();
            assert_eq!(store.id(), None, "{wrong:?}");
            store.name_itself().unwrap();
            assert!(store.id().is_some());
        }
        fs::remove_file(folder.path().join("store.id")).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", folder.path().join("store.id")).unwrap();
        assert_eq!(store.id(), None);
    }
}
