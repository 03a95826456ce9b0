//! A store that may only be read serves what it has, and says no to the rest.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use gobo_store::{Quarantine, Store, StoreError};
use gobo_types::ErrorKind;

use crate::fixture::{as_nobody, child, index, key_of, plant, store, vocabulary};

const STORE: &str = "GOBO_TEST_READ_ONLY_STORE";

/// Not a test by itself: what the process does that may write nothing.
#[test]
fn reader() {
    let Some(root) = std::env::var_os(STORE) else { return };
    let store = Store::open(PathBuf::from(root)).unwrap();
    let (key, _) = index("a");
    store.open_index(&key).unwrap().unwrap().verify().unwrap();
    store.verify_index(&key).unwrap().unwrap();
    store.open_verified_vocabulary(&vocabulary().0).unwrap().unwrap();
    assert!(store.open_index(&key_of("damaged")).unwrap().is_none(), "a miss, though it cannot be moved");
    let (other, bytes) = index("b");
    let refused = |error: StoreError| {
        assert!(matches!(error, StoreError::Io { .. }), "{error:?}");
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    };
    refused(store.publish_index(&other, &bytes).unwrap_err());
    refused(store.pin(&key).unwrap_err());
    refused(store.remove_index(&key).unwrap_err());
    let nothing = Quarantine { max_bytes: 0, ..Quarantine::default() };
    refused(store.trim_quarantine(&nothing, SystemTime::now(), true).unwrap_err());
    #[cfg(feature = "catalog")]
    refused(gobo_store::Catalog::open(&store).unwrap_err());
}

/// Sets the mode of a folder and all below it.
fn set_modes(path: &Path, folders: u32) {
    fs::set_permissions(path, Permissions::from_mode(folders)).unwrap();
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            set_modes(&path, folders);
        } else {
            fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
        }
    }
}

#[test]
fn what_is_there_serves_and_the_rest_is_refused() {
    let Some(shell) = as_nobody("what_is_there_serves_and_the_rest_is_refused") else { return };
    let (folder, store) = store();
    let (key, bytes) = index("a");
    store.publish_index(&key, &bytes).unwrap();
    let (digest, table) = vocabulary();
    store.publish_vocabulary(&digest, &table).unwrap();
    plant(&store.index_path(&key_of("damaged")), b"damaged");
    plant(&store.quarantine_path().join("old"), b"old");
    set_modes(folder.path(), 0o555);
    let status = child("read_only::reader", shell, &[(STORE, OsStr::new(folder.path()))]);
    set_modes(folder.path(), 0o755);
    assert!(status.success(), "{status}");
    assert_eq!(store.usage().unwrap().indices, 2, "nothing was moved or removed");
    assert!(!folder.path().join("catalog.lock").exists());
}
