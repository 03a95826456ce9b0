//! kill -9 at each step of publishing leaves either no file or a whole one, and the next start works.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::sync::Arc;

use gobo_store::{PublishStep, Store};
use gobo_types::{ArtifactDigest, Digest};
use rustix::process::{Signal, getpid, kill_process};

use crate::fixture::{child, index_padded, temporary};

const STEP: &str = "GOBO_TEST_KILL_AT";
const STORE: &str = "GOBO_TEST_STORE";
/// Set: the bytes are written as a worker process writes them.
const PENDING: &str = "GOBO_TEST_PENDING";
/// Several pieces of writing.
const PADDING: usize = 3 << 20;

/// Not a test by itself: what the killed process does.
#[test]
fn victim() {
    let (Ok(step), Some(root)) = (std::env::var(STEP), std::env::var_os(STORE)) else { return };
    let observer = move |reached: PublishStep| {
        if format!("{reached:?}") == step {
            kill_process(getpid(), Signal::KILL).unwrap();
        }
    };
    let store = Store::open(PathBuf::from(root)).unwrap().with_observer(Arc::new(observer));
    let (key, bytes) = index_padded("a", PADDING);
    publish(&store, &key, &bytes);
}

#[cfg(feature = "catalog")]
fn publish(store: &Store, key: &gobo_types::IndexKey, bytes: &[u8]) {
    use gobo_store::{Catalog, IndexRecord};

    let (catalog, _) = Catalog::open(store).unwrap();
    let digest = publish_file(store, key, bytes);
    let index = store.open_index(key).unwrap().unwrap();
    let record = IndexRecord::of(&index, digest, std::time::SystemTime::now());
    catalog.put_index(key, &record).unwrap();
}

#[cfg(not(feature = "catalog"))]
fn publish(store: &Store, key: &gobo_types::IndexKey, bytes: &[u8]) {
    publish_file(store, key, bytes);
}

fn publish_file(store: &Store, key: &gobo_types::IndexKey, bytes: &[u8]) -> ArtifactDigest {
    if std::env::var_os(PENDING).is_none() {
        return store.publish_verified_index(key, bytes).unwrap();
    }
    let pending = store.begin_index(key).unwrap();
    fs::write(pending.path(), bytes).unwrap();
    pending.publish().unwrap()
}

#[test]
fn at_each_step_no_file_or_a_whole_one() {
    at_each_step(&[]);
}

#[test]
fn of_what_another_process_wrote_too() {
    at_each_step(&[(PENDING, OsStr::new("1"))]);
}

fn at_each_step(more: &[(&str, &OsStr)]) {
    let (key, bytes) = index_padded("a", PADDING);
    for step in PublishStep::ALL {
        if step == PublishStep::Catalogued && !cfg!(feature = "catalog") {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let name = format!("{step:?}");
        let environment = [&[(STEP, OsStr::new(&name)), (STORE, folder.path().as_os_str())], more].concat();
        let status = child("kill::victim", "", &environment);
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
