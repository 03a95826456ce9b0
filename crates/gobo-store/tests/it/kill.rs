//! kill -9 at each step of publishing leaves either no file or a whole one, and the next start works.

use std::fs;
use std::os::unix::process::ExitStatusExt;

use gobo_store::{PublishStep, Store};
use gobo_types::{ArtifactDigest, Digest};

use crate::fixture::{PADDING, index_padded, temporary};
use crate::process;

#[test]
fn at_each_step_no_file_or_a_whole_one() {
    at_each_step("publish");
}

#[test]
fn of_what_another_process_wrote_too() {
    at_each_step("publish_pending");
}

fn at_each_step(role: &str) {
    let (key, bytes) = index_padded("a", PADDING);
    for step in PublishStep::ALL {
        if step == PublishStep::Catalogued && !cfg!(feature = "catalog") {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let status = process::run("", role, folder.path(), &[&format!("{step:?}")]);
        assert_eq!(status.signal(), Some(9), "{step:?}: {status}");

        let store = Store::open(folder.path()).unwrap();
        let is_visible = PublishStep::ALL.iter().position(|other| *other == step) >= Some(4);
        assert_eq!(store.index_path(&key).exists(), is_visible, "{step:?}");
        assert_eq!(temporary(&store).len(), usize::from(!is_visible), "{step:?}");
        if is_visible {
            assert_eq!(fs::read(store.index_path(&key)).unwrap(), bytes, "{step:?}");
        }
        assert_eq!(store.sweep().unwrap(), u64::from(!is_visible), "{step:?}");
        assert!(temporary(&store).is_empty(), "{step:?}");
        catalog_follows(&store, is_visible);

        assert_eq!(store.publish_index(&key, &bytes).unwrap(), ArtifactDigest(Digest::of(&bytes)));
        store.open_index(&key).unwrap().unwrap().verify().unwrap();
        assert!(fs::read_dir(store.quarantine_path()).unwrap().next().is_none(), "{step:?}");
    }
}

#[cfg(feature = "catalog")]
fn catalog_follows(store: &Store, is_visible: bool) {
    use gobo_store::{Catalog, Opened};

    let (catalog, opened) = Catalog::open(store).unwrap();
    assert_eq!(opened, Opened::Existing);
    assert_eq!(catalog.indices().count(), usize::from(is_visible));
}

#[cfg(not(feature = "catalog"))]
fn catalog_follows(_store: &Store, _is_visible: bool) {}
