//! What other processes do in the store's tests: `gobo-store-test-process ROLE STORE [ARG]`. A test starts one where it needs a
//! process that is killed, has no rights or no room, or owns a catalog already.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "what tests call is a test too")]

#[path = "../it/all_folders.rs"]
mod all_folders;
#[cfg(feature = "catalog")]
mod catalog;
#[path = "../it/fixture.rs"]
#[expect(dead_code, reason = "the tests need the rest of it")]
mod fixture;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use gobo_store::{PublishStep, Quarantine, Store, StoreError, Writers};
use gobo_types::{ArtifactDigest, ErrorKind, IndexKey};
use rustix::process::{Signal, getpid, kill_process};

use crate::all_folders::use_all_of_it;
use crate::fixture::{PADDING, index, index_padded, key_of, set_mode, temporary, vocabulary};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let [role, root, ref rest @ ..] = args[..] else { panic!("a role and a store, not {args:?}") };
    let root = Path::new(root);
    match (role, rest) {
        ("publish", [step]) => publish_until(root, step, false),
        ("publish_pending", [step]) => publish_until(root, step, true),
        ("read", []) => read_only(root),
        ("publish_without_room", []) => publish_without_room(root),
        ("prepare", []) => prepare_under_a_mask(root),
        #[cfg(feature = "catalog")]
        ("own", []) => catalog::own_a_second_time(root),
        #[cfg(feature = "catalog")]
        ("own_without_room", []) => catalog::own_without_room(root),
        #[cfg(feature = "catalog")]
        ("own_without_rights", []) => catalog::own_without_rights(root),
        #[cfg(feature = "catalog")]
        ("collect", [step]) => catalog::collect_until(root, step),
        #[cfg(feature = "catalog")]
        ("collect_without_rights", []) => catalog::collect_without_rights(root),
        _ => panic!("no role: {args:?}"),
    }
}

/// Publishes, and kills itself at a step.
fn publish_until(root: &Path, step: &str, is_pending: bool) {
    let step = step.to_owned();
    let observer = move |reached: PublishStep| {
        if format!("{reached:?}") == step {
            kill_process(getpid(), Signal::KILL).unwrap();
        }
    };
    let store = Store::open(root).unwrap().with_observer(Arc::new(observer));
    let (key, bytes) = index_padded("a", PADDING);
    publish(&store, &key, &bytes, is_pending);
}

#[cfg(feature = "catalog")]
fn publish(store: &Store, key: &IndexKey, bytes: &[u8], is_pending: bool) {
    use gobo_store::{Catalog, IndexRecord};

    let (catalog, _) = Catalog::open(store).unwrap();
    let digest = publish_file(store, key, bytes, is_pending);
    let index = store.open_index(key).unwrap().unwrap();
    let record = IndexRecord::of(&index, digest, std::time::SystemTime::now());
    catalog.put_index(key, &record).unwrap();
}

#[cfg(not(feature = "catalog"))]
fn publish(store: &Store, key: &IndexKey, bytes: &[u8], is_pending: bool) {
    publish_file(store, key, bytes, is_pending);
}

fn publish_file(store: &Store, key: &IndexKey, bytes: &[u8], is_pending: bool) -> ArtifactDigest {
    if !is_pending {
        return store.publish_verified_index(key, bytes).unwrap();
    }
    let pending = store.begin_index(key).unwrap();
    fs::write(pending.path(), bytes).unwrap();
    pending.publish().unwrap()
}

/// May write nothing.
fn read_only(root: &Path) {
    let store = Store::open(root).unwrap();
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

/// May not write files over 64 KiB.
fn publish_without_room(root: &Path) {
    let store = Store::open(root).unwrap();
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

/// Every folder that is made below a store, and its mode.
fn modes(root: &Path) -> Vec<(PathBuf, u32)> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        found.push((folder.clone(), fs::metadata(&folder).unwrap().mode() & 0o7777));
        let entries = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        folders.extend(entries.filter(|path| path.is_dir()));
    }
    found
}

/// Runs under a mask of modes that its parent has set.
fn prepare_under_a_mask(root: &Path) {
    let expect = |root: &Path, mode: u32, private: u32| {
        use_all_of_it(root);
        let found = modes(root);
        assert!(found.len() > 260);
        for (folder, found) in found {
            // What the database makes below is reached through its own folder alone.
            if folder.starts_with(root.join("catalog")) {
                assert!(folder != root.join("catalog") || found == private, "{found:o}");
            } else {
                assert_eq!(found, mode, "{} has {found:o}", folder.display());
            }
        }
        #[cfg(feature = "catalog")]
        {
            let lock = fs::metadata(root.join("catalog.lock")).unwrap().mode() & 0o777;
            assert_eq!(lock, private & 0o666, "{lock:o}");
        }
        Store::open(root).unwrap()
    };
    let store = expect(&root.join("new"), 0o755, 0o700);
    store.refuse_other_writers(Writers::Owner).unwrap();
    // Made by hand, for its owner alone, and for a group.
    fs::create_dir(root.join("own")).unwrap();
    set_mode(&root.join("own"), 0o700);
    expect(&root.join("own"), 0o700, 0o700).refuse_other_writers(Writers::Owner).unwrap();
    fs::create_dir(root.join("shared")).unwrap();
    set_mode(&root.join("shared"), 0o2775);
    let shared = expect(&root.join("shared"), 0o2775, 0o2770);
    shared.refuse_other_writers(Writers::Group).unwrap();
    assert!(shared.refuse_other_writers(Writers::Owner).is_err());
}
