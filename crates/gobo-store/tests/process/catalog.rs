//! What other processes do with a catalog.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use gobo_store::{Catalog, CollectEvent, CollectPolicy, IndexRecord, NoUses, Opened, Store, StoreError};
use gobo_types::ErrorKind;
use rustix::process::{Signal, getpid, kill_process};

use crate::fixture::{index, index_padded, set_mode};

const HOUR: Duration = Duration::from_secs(3600);

pub(crate) fn own_a_second_time(root: &Path) {
    let error = Catalog::open(&Store::open(root).unwrap()).unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error:?}");
}

/// The files of a folder with their bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_file()).map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// May write nothing.
pub(crate) fn own_without_room(root: &Path) {
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
pub(crate) fn own_without_rights(root: &Path) {
    let store = Store::open(root.join("store")).unwrap();
    // The folder of the first is its own, whatever the keys are.
    let mut keys: Vec<_> = ["a", "b", "c", "d", "e", "f"].map(index).into();
    let folder = store.index_path(&keys[0].0).parent().map(Path::to_owned);
    let mut at = 0;
    keys.retain(|(key, _)| {
        at += 1;
        at == 1 || store.index_path(key).parent() != folder.as_deref()
    });
    keys.truncate(3);
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
pub(crate) fn collect_without_rights(root: &Path) {
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
pub(crate) fn collect_until(root: &Path, until: &str) {
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
