//! Who may write to a store: how its folders are made, and what its owner refuses.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use gobo_store::{Store, StoreError, Writers};
use gobo_types::ErrorKind;
use rustix::process::geteuid;

use crate::fixture::{child, index, vocabulary};

const ROOT: &str = "GOBO_TEST_ACCESS_ROOT";

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

fn use_all_of_it(root: &Path) {
    let store = Store::open(root).unwrap();
    store.prepare().unwrap();
    let (key, bytes) = index("a");
    store.publish_index(&key, &bytes).unwrap();
    store.publish_vocabulary(&vocabulary().0, &vocabulary().1).unwrap();
    store.pin(&key).unwrap();
    #[cfg(feature = "catalog")]
    drop(gobo_store::Catalog::open(&store).unwrap());
}

fn set(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Not a test by itself: what a process does under a mask of modes that its parent has set.
#[test]
fn masked() {
    let Some(root) = std::env::var_os(ROOT).map(PathBuf::from) else { return };
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
    set(&root.join("own"), 0o700);
    expect(&root.join("own"), 0o700, 0o700).refuse_other_writers(Writers::Owner).unwrap();
    fs::create_dir(root.join("shared")).unwrap();
    set(&root.join("shared"), 0o2775);
    let shared = expect(&root.join("shared"), 0o2775, 0o2770);
    shared.refuse_other_writers(Writers::Group).unwrap();
    assert!(shared.refuse_other_writers(Writers::Owner).is_err());
}

#[test]
fn folders_are_what_the_one_above_is_whatever_the_mask() {
    for mask in ["000", "022", "077"] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("home");
        fs::create_dir(&root).unwrap();
        let status = child("access::masked", &format!("umask {mask};"), &[(ROOT, OsStr::new(&root))]);
        assert!(status.success(), "umask {mask}: {status}");
    }
}

#[test]
fn an_owner_refuses_each_folder_into_which_others_may_put_files() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("it's mine");
    use_all_of_it(&root);
    let store = Store::open(&root).unwrap();
    store.refuse_other_writers(Writers::Owner).unwrap();
    let fan_out = store.index_path(&index("a").0).parent().unwrap().to_owned();
    let words = store.vocabulary_path(&vocabulary().0).parent().unwrap().to_owned();
    let mut folders = vec![root.clone(), store.quarantine_path(), fan_out, words];
    for name in ["v0", "v0/index", "v0/vocab", "v0/names", "v0/pins"] {
        folders.push(root.join(name));
    }
    #[cfg(feature = "catalog")]
    folders.push(root.join("catalog"));
    for folder in folders {
        let before = fs::metadata(&folder).unwrap().mode();
        for (mode, is_of_group) in [(0o777, false), (0o702, false), (0o1777, false), (0o775, true)] {
            set(&folder, mode);
            let error = store.refuse_other_writers(Writers::Owner).unwrap_err();
            let StoreError::OtherWriters { path, mode: found, mend, .. } = &error else {
                panic!("{error:?}")
            };
            assert_eq!((path, *found), (&folder, mode));
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert_eq!(
                mend,
                &format!("chmod -R go-w '{}'", root.display().to_string().replace('\'', r"'\''"))
            );
            assert!(error.to_string().contains(mend.as_str()), "{error}");
            assert_eq!(store.refuse_other_writers(Writers::Group).is_ok(), is_of_group, "{mode:o}");
            store.refuse_other_writers(Writers::Anyone).unwrap();
            // What it says helps.
            let mended = std::process::Command::new("sh").args(["-c", mend]).status().unwrap();
            assert!(mended.success());
            store.refuse_other_writers(Writers::Owner).unwrap();
        }
        set(&folder, before);
    }
}

#[test]
fn a_folder_of_another_user_is_one_that_others_may_write() {
    if !geteuid().is_root() {
        crate::fixture::not_run(
            "a_folder_of_another_user_is_one_that_others_may_write",
            "only root gives folders away",
        );
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("store");
    use_all_of_it(&root);
    let store = Store::open(&root).unwrap();
    chown(root.join("v0/names"), Some(65534), Some(65534)).unwrap();
    let error = store.refuse_other_writers(Writers::Owner).unwrap_err();
    let StoreError::OtherWriters { path, owner, mend, .. } = &error else { panic!("{error:?}") };
    assert_eq!((path, *owner), (&root.join("v0/names"), 65534));
    assert_eq!(mend, &format!("chown -R 0 {}", root.display()));
    store.refuse_other_writers(Writers::Group).unwrap();
}
