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

#[cfg(feature = "catalog")]
mod catalog {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    use gobo_store::{Catalog, IndexRecord, Opened};

    use super::*;

    const FULL: &str = "GOBO_TEST_FULL_CATALOG";

    /// The files of a folder with their bytes.
    fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.is_file()).map(|path| (path.clone(), fs::read(path).unwrap())).collect()
    }

    /// Not a test by itself: what an owner does that may write nothing.
    #[test]
    fn starved() {
        let Some(root) = std::env::var_os(FULL).map(PathBuf::from) else { return };
        let store = Store::open(&root).unwrap();
        let before = files(&root.join("catalog"));
        // Again, as an operator does.
        for _ in 0..3 {
            let error = Catalog::open(&store).unwrap_err();
            assert!(matches!(error, StoreError::NoRoom { .. }), "{error:?}");
            assert_eq!(error.kind(), ErrorKind::Busy);
            let mut catalog = Catalog::in_memory(&store).unwrap();
            assert!(catalog.is_in_memory());
            assert!(matches!(Catalog::open(&store).unwrap_err(), StoreError::Locked { .. }));
            assert_eq!(catalog.usage(), (0, 0));
            assert!(matches!(catalog.reopen(&gobo_store::Sled).unwrap_err(), StoreError::NoRoom { .. }));
            assert!(catalog.is_in_memory());
        }
        assert!(files(&root.join("catalog")) == before, "nothing of the catalog on the disk was touched");
    }

    #[test]
    fn a_catalog_without_room_is_in_memory_and_the_one_on_the_disk_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let (key, bytes) = index("a");
        let digest = store.publish_index(&key, &bytes).unwrap();
        let record =
            IndexRecord::of(&store.open_index(&key).unwrap().unwrap(), digest, std::time::SystemTime::now());
        let (catalog, _) = Catalog::open(&store).unwrap();
        catalog.put_index(&key, &record).unwrap();
        drop(catalog);
        let environment = [(FULL, OsStr::new(folder.path()))];
        let status = child("room::catalog::starved", "trap '' XFSZ; ulimit -f 0;", &environment);
        assert!(status.success(), "{status}");
        let (catalog, opened) = Catalog::open(&store).unwrap();
        assert_eq!((opened, catalog.get_index(&key).unwrap()), (Opened::Existing, Some(record)));
        assert!(crate::fixture::quarantined(&store).is_empty());
    }
}
