//! A store that may only be read serves what it has, and says no to the rest.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::fixture::{index, key_of, plant, store, vocabulary};
use crate::process;

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
    let shell = process::as_nobody();
    let (folder, store) = store();
    let (key, bytes) = index("a");
    store.publish_index(&key, &bytes).unwrap();
    let (digest, table) = vocabulary();
    store.publish_vocabulary(&digest, &table).unwrap();
    plant(&store.index_path(&key_of("damaged")), b"damaged");
    plant(&store.quarantine_path().join("old"), b"old");
    set_modes(folder.path(), 0o555);
    let status = process::run(shell, "read", folder.path(), &[]);
    set_modes(folder.path(), 0o755);
    assert!(status.success(), "{status}");
    assert_eq!(store.usage().unwrap().indices, 2, "nothing was moved or removed");
    assert!(!folder.path().join("catalog.lock").exists());
}
