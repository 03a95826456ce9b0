//! On a file system of the network nothing is mapped, and nobody owns a catalog.

use std::fs;

use gobo_store::{FileSystem, Store};

use crate::fixture::{index, plant, quarantined, store, vocabulary};

const NFS: u64 = 0x6969;

fn on(store: &Store, magic: u64) -> Store {
    Store::open_on(store.root(), |_| Ok(FileSystem { magic, mount_type: None })).unwrap()
}

#[test]
fn what_is_opened_there_survives_that_its_file_is_cut() {
    let (_folder, here) = store();
    let (key, bytes) = index("a");
    here.publish_index(&key, &bytes).unwrap();
    let (digest, table) = vocabulary();
    here.publish_vocabulary(&digest, &table).unwrap();
    assert_eq!(here.network(), None);

    let there = on(&here, NFS);
    assert_eq!(there.network(), Some("NFS"));
    let open = there.open_index(&key).unwrap().unwrap();
    assert!(open.artifact().file_state().is_none(), "a copy, not a map");
    let table_open = there.open_verified_vocabulary(&digest).unwrap().unwrap();
    for path in [here.index_path(&key), here.vocabulary_path(&digest)] {
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o644);
        fs::set_permissions(&path, permissions).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_len(10).unwrap();
    }
    open.verify().unwrap();
    table_open.verify().unwrap();
    assert_eq!(open.file_bytes(), bytes);
    assert!(there.open_index(&key).unwrap().is_none(), "what is cut is a miss there too");
    assert_eq!(quarantined(&here).len(), 2);
    plant(&here.index_path(&key), &bytes);
    assert!(there.open_index(&key).unwrap().is_some());
}

#[cfg(feature = "catalog")]
#[test]
fn nobody_owns_a_store_there() {
    use std::io;

    use gobo_store::{Catalog, StoreError};
    use gobo_types::ErrorKind;

    let (folder, here) = store();
    for magic in [NFS, 0xff53_4d42, 0x0102_1997] {
        let error = Catalog::open(&on(&here, magic)).unwrap_err();
        assert!(matches!(error, StoreError::NetworkFileSystem { .. }), "{error:?}");
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("hint: put the store on a disk"), "{error}");
    }
    assert!(!folder.path().join("catalog").exists() && !folder.path().join("catalog.lock").exists());
    drop(Catalog::open(&on(&here, 0xef53)).unwrap());
    // A system that does not say is taken at its files.
    let silent = |_: &std::path::Path| Err(io::ErrorKind::Unsupported.into());
    assert_eq!(Store::open_on(folder.path(), silent).unwrap().network(), None);
}
