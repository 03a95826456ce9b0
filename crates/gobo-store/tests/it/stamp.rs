//! A vocabulary that was verified is believed by the processes to come, and nothing else is.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use gobo_store::Store;
use gobo_types::VocabularyDigest;
use tempfile::TempDir;

use crate::fixture::{plant, quarantined, store, vocabulary};

/// A store whose vocabulary was published long enough ago to be stamped, and the path of the stamp.
fn settled() -> (TempDir, Store, VocabularyDigest, PathBuf) {
    let (folder, store) = store();
    let (digest, bytes) = vocabulary();
    store.publish_vocabulary(&digest, &bytes).unwrap();
    settle();
    let stamp = store.vocabulary_path(&digest).with_extension("verified");
    (folder, store, digest, stamp)
}

fn settle() {
    sleep(Duration::from_millis(150));
}

/// How often the vocabulary was read whole by a process that starts now, or `None` if it got none.
fn opened_anew(store: &Store, digest: &VocabularyDigest) -> Option<u64> {
    let process = Store::open(store.root()).unwrap();
    let found = process.open_verified_vocabulary(digest).unwrap();
    found.map(|found| {
        assert_eq!(found.digest(), *digest);
        process.verifications()
    })
}

#[test]
fn a_stamped_vocabulary_is_not_verified_again() {
    let (_folder, store, digest, stamp) = settled();
    assert_eq!(opened_anew(&store, &digest), Some(1));
    assert!(stamp.is_file());
    assert_eq!(opened_anew(&store, &digest), Some(0));
    store.verify_vocabulary(&digest).unwrap().unwrap();
    assert_eq!(store.verifications(), 1, "asked for, it is read whatever the stamp says");
    // The stamp is no published file, nor one that a dead publisher left behind.
    assert_eq!((store.usage().unwrap().vocabularies, store.sweep().unwrap()), (1, 0));
    assert_eq!(store.scan_vocabularies().count(), 1);
    assert!(stamp.is_file());
}

#[test]
fn a_file_that_just_changed_is_not_stamped() {
    let (_folder, store) = store();
    let (digest, bytes) = vocabulary();
    store.publish_vocabulary(&digest, &bytes).unwrap();
    assert_eq!(opened_anew(&store, &digest), Some(1));
    assert!(!store.vocabulary_path(&digest).with_extension("verified").exists());
}

#[test]
fn a_flipped_bit_is_found_behind_a_stamp() {
    let (_folder, store, digest, stamp) = settled();
    assert_eq!(opened_anew(&store, &digest), Some(1));
    let path = store.vocabulary_path(&digest);
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    // Into the very file: its inode and its length stay.
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    fs::write(&path, bytes).unwrap();
    assert_eq!(opened_anew(&store, &digest), None);
    assert!(!path.exists() && !stamp.exists());
    assert_eq!(quarantined(&store).len(), 2);
}

#[test]
fn stamps_of_other_files_and_broken_ones_are_not_believed() {
    let (_folder, store, digest, stamp) = settled();
    assert_eq!(opened_anew(&store, &digest), Some(1));
    let good = fs::read_to_string(&stamp).unwrap();
    let believed = |text: &str| {
        fs::remove_file(&stamp).unwrap();
        fs::write(&stamp, text).unwrap();
        opened_anew(&store, &digest) == Some(0)
    };
    assert!(believed(&good));
    let half = &good[..good.len() / 2];
    let other = good.replace(&digest.to_string(), &"ab".repeat(32));
    for bad in ["", "x", half, &other, &good.to_uppercase(), &format!("{good}\n")] {
        assert!(!believed(bad), "{bad:?}");
        assert_eq!(fs::read_to_string(&stamp).unwrap(), good, "it was written anew");
    }
    // The same bytes in another file, under the stamp of the first.
    let path = store.vocabulary_path(&digest);
    plant(&path, &vocabulary().1);
    assert_eq!(opened_anew(&store, &digest), Some(1));
    // A folder in the place of the stamp: it can be neither read nor written.
    fs::remove_file(&stamp).unwrap();
    fs::create_dir(&stamp).unwrap();
    settle();
    assert_eq!((opened_anew(&store, &digest), opened_anew(&store, &digest)), (Some(1), Some(1)));
}

#[test]
fn where_nothing_can_be_written_each_process_verifies() {
    let (_folder, store, digest, stamp) = settled();
    let folder = stamp.parent().unwrap();
    fs::set_permissions(folder, Permissions::from_mode(0o555)).unwrap();
    // Permissions do not bind the superuser.
    let may_write = fs::write(folder.join("probe"), b"").is_ok();
    let seen = (opened_anew(&store, &digest), opened_anew(&store, &digest));
    fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    assert_eq!(seen, (Some(1), Some(u64::from(!may_write))));
}

#[test]
fn two_processes_at_once_leave_one_good_stamp() {
    let (_folder, store, digest, _) = settled();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert!(opened_anew(&store, &digest).is_some()));
        }
    });
    assert_eq!(opened_anew(&store, &digest), Some(0));
    assert!(crate::fixture::temporary(&store).is_empty());
}
