//! What other processes do in the store's tests: `gobo-store-test-process ROLE STORE [ARG]`. A test starts one where it needs a
//! process that is killed, has no rights or no room, or owns a catalog already.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "what tests call is a test too")]

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

use crate::fixture::{PADDING, index, index_padded, key_of, set_mode, temporary, use_all_of_it, vocabulary};

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

#[cfg(feature = "catalog")]
mod catalog {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use gobo_store::{Catalog, CollectEvent, CollectPolicy, IndexRecord, NoUses, Opened};

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    pub(super) fn own_a_second_time(root: &Path) {
        let error = Catalog::open(&Store::open(root).unwrap()).unwrap_err();
        assert!(matches!(error, StoreError::Locked { .. }), "{error:?}");
    }

    /// The files of a folder with their bytes.
    fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.is_file()).map(|path| (path.clone(), fs::read(path).unwrap())).collect()
    }

    /// May write nothing.
    pub(super) fn own_without_room(root: &Path) {
        let store = Store::open(root).unwrap();
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

    /// Is not root, and meets folders and files that it may not read.
    pub(super) fn own_without_rights(root: &Path) {
        let store = Store::open(root.join("store")).unwrap();
        let keys: Vec<_> = ["a", "b", "c"].map(index).into();
        let (catalog, _) = Catalog::open(&store).unwrap();
        for (key, bytes) in &keys {
            let digest = store.publish_index(key, bytes).unwrap();
            let opened = store.open_index(key).unwrap().unwrap();
            catalog.put_index(key, &IndexRecord::of(&opened, digest, SystemTime::now())).unwrap();
        }
        drop(catalog);
        let folder_of = |at: usize| store.index_path(&keys[at].0).parent().map(Path::to_owned).unwrap();
        assert_ne!(folder_of(0), folder_of(1));
        assert_ne!(folder_of(0), folder_of(2));
        set_mode(&folder_of(0), 0o000);
        // A file that nobody may read was never published so.
        set_mode(&store.index_path(&keys[1].0), 0o000);
        let quarantined_folder = store.quarantine_path().join("closed");
        fs::create_dir(&quarantined_folder).unwrap();
        set_mode(&quarantined_folder, 0o000);

        store.sweep().unwrap();
        let (catalog, opened) = Catalog::open(&store).unwrap();
        assert_eq!(opened, Opened::Existing);
        assert!(catalog.get_index(&keys[0].0).unwrap().is_some(), "nobody knows whether its file is gone");
        assert_eq!(store.usage().unwrap().indices, 2);
        assert!(store.open_index(&keys[0].0).is_err(), "this process cannot read it");
        assert!(store.open_index(&keys[1].0).unwrap().is_none(), "it was touched");
        store.publish_index(&keys[1].0, &keys[1].1).unwrap();
        store.verify_index(&keys[1].0).unwrap().unwrap();
        assert_eq!(catalog.rebuild().unwrap().indices, 2);
        let none = gobo_store::Quarantine { max_bytes: u64::MAX, ..gobo_store::Quarantine::default() };
        store.trim_quarantine(&none, SystemTime::now(), true).unwrap();

        // What cannot be removed keeps no other.
        set_mode(&folder_of(2), 0o555);
        let policy = CollectPolicy { high_bytes: 0, low_bytes: 0, grace: Duration::ZERO, dry_run: false };
        let later = SystemTime::now() + Duration::from_secs(60);
        let error = catalog.collect(&policy, &NoUses, later, &mut |_| {}).unwrap_err();
        assert!(matches!(error, StoreError::Io { .. }), "{error:?}");
        assert!(store.index_path(&keys[2].0).exists() && !store.index_path(&keys[1].0).exists());
        set_mode(&folder_of(2), 0o755);
        set_mode(&folder_of(0), 0o755);
        set_mode(&quarantined_folder, 0o755);
    }

    /// Is not root, and evicts from a folder that it may not write to.
    pub(super) fn collect_without_rights(root: &Path) {
        let store = Store::open(root.join("store")).unwrap();
        let (catalog, _) = Catalog::open(&store).unwrap();
        let (key, bytes) = index_padded("a", 1000);
        let digest = store.publish_index(&key, &bytes).unwrap();
        let index = store.open_index(&key).unwrap().unwrap();
        let now = SystemTime::now() + HOUR;
        catalog.put_index(&key, &IndexRecord::of(&index, digest, SystemTime::now())).unwrap();
        let path = store.index_path(&key);
        let folder = path.parent().unwrap();
        set_mode(folder, 0o555);
        let policy = CollectPolicy { high_bytes: 0, low_bytes: 0, grace: HOUR / 6, dry_run: false };
        let error = catalog.collect(&policy, &NoUses, now, &mut |_| {}).unwrap_err();
        set_mode(folder, 0o755);
        assert!(error.to_string().contains("cannot remove"), "{error}");
        assert_eq!(catalog.usage().0, 1);
    }

    fn step(event: &CollectEvent) -> &'static str {
        match event {
            CollectEvent::Scanned { .. } => "scanned",
            CollectEvent::Chosen(_) => "chosen",
            CollectEvent::Removed(_) => "removed",
            CollectEvent::Forgotten(_) => "forgotten",
            CollectEvent::Spared(..) => "spared",
        }
    }

    /// Evicts, and kills itself at a step.
    pub(super) fn collect_until(root: &Path, until: &str) {
        let policy = CollectPolicy { high_bytes: 0, low_bytes: 0, grace: HOUR / 6, dry_run: false };
        let now = SystemTime::UNIX_EPOCH + 500_000 * HOUR;
        let store = Store::open(root).unwrap();
        let (catalog, _) = Catalog::open(&store).unwrap();
        let kill = &mut |event: CollectEvent| {
            if step(&event) == until {
                kill_process(getpid(), Signal::KILL).unwrap();
            }
        };
        catalog.collect(&policy, &NoUses, now, kill).unwrap();
    }
}
