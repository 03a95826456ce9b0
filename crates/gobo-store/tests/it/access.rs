//! Who may write to a store: how its folders are made, and what its owner refuses.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, chown};

use gobo_store::{Store, StoreError, Writers};
use gobo_types::ErrorKind;

use crate::all_folders::use_all_of_it;
use crate::fixture::{index, set_mode, vocabulary};
use crate::process;

#[test]
fn folders_are_what_the_one_above_is_whatever_the_mask() {
    for mask in ["000", "022", "077"] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("home");
        fs::create_dir(&root).unwrap();
        let status = process::run(&format!("umask {mask};"), "prepare", &root, &[]);
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
            set_mode(&folder, mode);
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
        set_mode(&folder, before);
    }
}

/// Only root gives folders away.
#[test]
#[ignore = "needs root"]
fn a_folder_of_another_user_is_one_that_others_may_write() {
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
