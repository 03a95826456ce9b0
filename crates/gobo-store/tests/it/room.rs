//! A disk without room: nothing becomes visible, nothing is left over, and the error says so.

use gobo_store::Store;

use crate::process;

#[test]
fn without_room_nothing_is_visible_and_what_fits_still_works() {
    let folder = tempfile::tempdir().unwrap();
    // The limit raises SIGXFSZ unless it is ignored; then writing fails as it does on a full disk.
    let status = process::run("trap '' XFSZ; ulimit -f 128;", "publish_without_room", folder.path(), &[]);
    assert!(status.success(), "{status}");
    assert_eq!(Store::open(folder.path()).unwrap().usage().unwrap().indices, 1);
}

#[cfg(feature = "catalog")]
mod catalog {
    use gobo_store::{Catalog, IndexRecord, Opened};

    use super::*;
    use crate::fixture::index;

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
        let status = process::run("trap '' XFSZ; ulimit -f 0;", "own_without_room", folder.path(), &[]);
        assert!(status.success(), "{status}");
        let (catalog, opened) = Catalog::open(&store).unwrap();
        assert_eq!((opened, catalog.get_index(&key).unwrap()), (Opened::Existing, Some(record)));
        assert!(crate::fixture::quarantined(&store).is_empty());
    }
}
