//! What somebody has put where files of the store belong: nobody waits for it, and it is in nobody's way for good.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use gobo_store::NamedVocabulary;
use gobo_types::Binding;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::fixture::{index, quarantined, store, vocabulary};

/// Everything but a regular file that an ordinary user can make.
const KINDS: [&str; 6] = ["pipe", "socket", "folder", "dangling", "loop", "link"];

/// Puts one of [`KINDS`] at a path, whatever was there.
fn put(kind: &str, path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    if path.is_dir() && !path.is_symlink() {
        fs::remove_dir_all(path).unwrap();
    } else {
        let _ = fs::remove_file(path);
    }
    match kind {
        "pipe" => mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap(),
        "socket" => {
            // Paths of sockets are short.
            let short = tempfile::tempdir().unwrap();
            drop(UnixListener::bind(short.path().join("s")).unwrap());
            move_to(&short.path().join("s"), path);
        }
        "folder" => {
            fs::create_dir(path).unwrap();
            fs::write(path.join("inside"), b"something").unwrap();
        }
        "dangling" => symlink("nowhere", path).unwrap(),
        "loop" => symlink(path, path).unwrap(),
        _ => symlink("/etc/hostname", path).unwrap(),
    }
}

#[expect(clippy::disallowed_methods, reason = "a test that plants what no publish makes")]
fn move_to(from: &Path, to: &Path) {
    fs::rename(from, to).unwrap();
}

fn named() -> NamedVocabulary {
    NamedVocabulary {
        vocabulary: vocabulary().0,
        binding: Binding { logits_width: 1, eos: vec![], bos: None, pad: None },
        kind: "test".into(),
        tokens: 1,
        special: 0,
        source: None,
        source_digest: None,
    }
}

#[test]
fn in_an_indexs_place_it_blocks_the_key_for_nobody() {
    for kind in KINDS {
        let (_folder, store) = store();
        let (key, bytes) = index("a");
        let path = store.index_path(&key);
        put(kind, &path);
        assert!(store.open_index(&key).unwrap().is_none(), "{kind}");
        assert!(fs::symlink_metadata(&path).is_err(), "{kind} was moved away");
        assert!(quarantined(&store)[0].contains("corrupt"), "{kind}: {:?}", quarantined(&store));

        // Each way to publish finds it for itself too.
        put(kind, &path);
        store.publish_index(&key, &bytes).unwrap();
        store.verify_index(&key).unwrap().unwrap();
        put(kind, &path);
        store.publish_verified_index(&key, &bytes).unwrap();
        put(kind, &path);
        let pending = store.begin_index(&key).unwrap();
        fs::write(pending.path(), &bytes).unwrap();
        pending.publish().unwrap();
        store.verify_index(&key).unwrap().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o444, "{kind}");
    }
}

#[test]
fn in_a_vocabularys_or_its_stamps_place_it_is_no_vocabulary() {
    for kind in KINDS {
        let (_folder, store) = store();
        let (digest, bytes) = vocabulary();
        let path = store.vocabulary_path(&digest);
        put(kind, &path);
        assert!(store.open_verified_vocabulary(&digest).unwrap().is_none(), "{kind}");
        store.publish_vocabulary(&digest, &bytes).unwrap();
        put(kind, &path.with_extension("verified"));
        store.open_verified_vocabulary(&digest).unwrap().unwrap();
        store.verify_vocabulary(&digest).unwrap().unwrap();
    }
}

#[test]
fn in_a_names_place_it_is_no_name_until_it_is_given_again() {
    for kind in KINDS {
        let (_folder, store) = store();
        let path = store.root().join("v0/names/mine");
        put(kind, &path);
        assert!(store.list_names().unwrap().is_empty(), "{kind}");
        assert_eq!(store.get_name("mine").unwrap(), None, "{kind}");
        put(kind, &path);
        store.put_name("mine", &named()).unwrap();
        assert_eq!(store.get_name("mine").unwrap(), Some(named()), "{kind}");
        assert_eq!(store.list_names().unwrap(), ["mine"]);
    }
    // Nor is a name read that fills the memory.
    let (_folder, store) = store();
    fs::write(store.root().join("v0/names/long"), vec![b' '; 1 << 20]).unwrap();
    assert_eq!(store.get_name("long").unwrap(), None);
    assert!(quarantined(&store)[0].starts_with("long-"));
}

#[test]
fn in_a_pins_place_it_pins_and_can_be_taken_back() {
    for kind in KINDS {
        let (_folder, store) = store();
        let (key, _) = index("a");
        put(kind, &store.root().join("v0/pins").join(key.to_string()));
        assert!(store.is_pinned(&key).unwrap(), "{kind}");
        assert!(!store.pin(&key).unwrap(), "{kind}");
        assert_eq!(store.pins().unwrap(), [key], "{kind}");
        assert!(store.unpin(&key).unwrap(), "{kind}");
        assert!(!store.is_pinned(&key).unwrap(), "{kind}");
    }
}

#[test]
fn sweeps_and_scans_pass_it_over() {
    for kind in KINDS {
        let (_folder, store) = store();
        let (key, bytes) = index("a");
        store.publish_index(&key, &bytes).unwrap();
        let fan_out = store.index_path(&key).parent().unwrap().to_owned();
        put(kind, &fan_out.join(".tmp-2000000000-dead"));
        put(kind, &fan_out.join(format!("{}.gobo", "7".repeat(64))));
        put(kind, &store.root().join("v0/index/zz"));
        put(kind, &store.quarantine_path().join("corrupt"));
        assert_eq!(store.sweep().unwrap(), 0, "{kind}");
        assert_eq!(store.usage().unwrap().indices, 1, "{kind}");
        let all = gobo_store::Quarantine { max_bytes: 0, max_age: std::time::Duration::ZERO };
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
        assert_eq!(store.trim_quarantine(&all, later, true).unwrap().left, 0, "{kind}");
        assert!(Path::new("/etc/hostname").exists());
    }
}

/// Where a folder is to be, only another folder will do.
#[test]
fn in_the_place_of_a_folder_of_files_it_makes_way() {
    for kind in KINDS.into_iter().filter(|kind| *kind != "folder") {
        let (_folder, store) = store();
        let (key, bytes) = index("a");
        let fan_out = store.index_path(&key).parent().unwrap().to_owned();
        put(kind, &fan_out);
        let words = store.vocabulary_path(&vocabulary().0).parent().unwrap().to_owned();
        put(kind, &words);
        assert_eq!(store.usage().unwrap().indices, 0, "{kind}");
        store.prepare().unwrap();
        store.publish_index(&key, &bytes).unwrap();
        store.publish_vocabulary(&vocabulary().0, &vocabulary().1).unwrap();
        assert_eq!(quarantined(&store).len(), 4, "{kind}, twice with a note");
    }
}

#[cfg(feature = "catalog")]
mod owner {
    use std::fs::Permissions;
    use std::time::{Duration, SystemTime};

    use gobo_store::{Catalog, CollectPolicy, NoUses, Opened, StoreError};
    use gobo_types::ErrorKind;

    use super::*;
    use crate::process;

    #[test]
    fn an_owner_starts_and_collects_in_spite_of_it() {
        for kind in KINDS {
            let (_folder, store) = store();
            let (key, bytes) = index("a");
            store.publish_index(&key, &bytes).unwrap();
            let (other, _) = index("b");
            put(kind, &store.index_path(&other));
            put(kind, &store.root().join("v0/index/zz"));
            let (catalog, _) = Catalog::open(&store).unwrap();
            assert_eq!(catalog.usage().0, 1, "{kind}");
            assert_eq!(catalog.reconcile().unwrap(), (0, 0), "{kind}");
            assert_eq!(catalog.rebuild().unwrap().indices, 1, "{kind}");
            let policy = CollectPolicy { high_bytes: 0, low_bytes: 0, grace: Duration::ZERO, dry_run: false };
            let later = SystemTime::now() + Duration::from_secs(60);
            assert_eq!(catalog.collect(&policy, &NoUses, later, &mut |_| {}).unwrap().removed, 1, "{kind}");
        }
    }

    #[test]
    fn in_the_catalogs_place_or_in_it_the_catalog_is_made_anew() {
        for kind in KINDS {
            for name in ["catalog", "catalog/db", "catalog/conf", "catalog/blobs", "catalog/more"] {
                if kind == "folder" && name != "catalog/db" {
                    continue;
                }
                let (_folder, store) = store();
                let (key, bytes) = index("a");
                store.publish_index(&key, &bytes).unwrap();
                drop(Catalog::open(&store).unwrap());
                put(kind, &store.root().join(name));
                let (catalog, opened) = Catalog::open(&store).unwrap();
                assert!(matches!(opened, Opened::Rebuilt { .. }), "{kind} {name}: {opened:?}");
                assert_eq!(catalog.usage().0, 1);
            }
        }
    }

    #[test]
    fn in_the_locks_place_it_is_refused_by_name() {
        for kind in KINDS {
            let (_folder, store) = store();
            let lock = store.root().join("catalog.lock");
            put(kind, &lock);
            let error = Catalog::open(&store).unwrap_err();
            assert!(matches!(error, StoreError::NotRegular { .. }), "{kind}: {error:?}");
            assert_eq!(error.kind(), ErrorKind::Corrupt);
            assert!(error.to_string().contains(lock.to_str().unwrap()), "{error}");
        }
    }

    #[test]
    fn what_may_not_be_read_keeps_nobody_from_starting() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let status = process::run(process::as_nobody(), "own_without_rights", folder.path(), &[]);
        assert!(status.success(), "{status}");
    }
}
