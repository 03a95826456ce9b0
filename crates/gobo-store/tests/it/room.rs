//! A disk without room: nothing becomes visible, nothing is left over, and the error says so.

use std::ffi::OsStr;
use std::path::PathBuf;

use gobo_store::{Store, StoreError};
use gobo_types::ErrorKind;

use crate::fixture::{child, index, index_padded, temporary};

const STORE: &str = "GOBO_TEST_FULL_STORE";

/// Not a test by itself: what the process does that may not write files over 64 KiB.
#[test]
fn limited() {
    let Some(root) = std::env::var_os(STORE) else { return };
    let store = Store::open(PathBuf::from(root)).unwrap();
    let (key, bytes) = index_padded("large", 1 << 20);
    let error = store.publish_index(&key, &bytes).unwrap_err();
    assert!(matches!(error, StoreError::NoRoom { .. }), "{error:?}");
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(error.to_string().contains(&key.to_string()), "{error}");
    assert!(store.open_index(&key).unwrap().is_none());
    assert!(temporary(&store).is_empty());
    let (key, bytes) = index("small");
    store.publish_index(&key, &bytes).unwrap();
}

#[test]
fn without_room_nothing_is_visible_and_what_fits_still_works() {
    let folder = tempfile::tempdir().unwrap();
    // The limit raises SIGXFSZ unless it is ignored; then writing fails as it does on a full disk.
    let environment = [(STORE, OsStr::new(folder.path()))];
    let status = child("room::limited", "trap '' XFSZ; ulimit -f 128;", &environment);
    assert!(status.success(), "{status}");
    assert_eq!(Store::open(folder.path()).unwrap().usage().unwrap().indices, 1);
}
