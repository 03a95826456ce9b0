//! What every store promises: whole files or none, never changed, and damage is a miss.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::{Arc, Mutex};
use std::thread;

use gobo_store::{NamedVocabulary, PublishStep, Store, StoreError, Usage};
use gobo_types::{ArtifactDigest, Binding, Digest, ErrorKind, IndexKey};

use crate::fixture::{index, index_padded, key_of, plant, quarantined, store, temporary, vocabulary};

#[test]
fn what_is_published_is_opened_scanned_counted_and_removed() {
    let (_folder, store) = store();
    let (key, bytes) = index("a");
    let (digest, table) = vocabulary();
    assert!(store.open_index(&key).unwrap().is_none() && store.open_vocabulary(&digest).unwrap().is_none());

    assert_eq!(store.publish_index(&key, &bytes).unwrap(), ArtifactDigest(Digest::of(&bytes)));
    assert_eq!(
        store.publish_verified_vocabulary(&digest, &table).unwrap(),
        ArtifactDigest(Digest::of(&table))
    );
    assert_eq!(fs::metadata(store.index_path(&key)).unwrap().permissions().mode() & 0o777, 0o444);
    assert_eq!(temporary(&store), Vec::<std::path::PathBuf>::new());

    // Another handle, as another process would have.
    let other = Store::open(store.root()).unwrap();
    let opened = other.open_index(&key).unwrap().unwrap();
    opened.verify().unwrap();
    assert_eq!(opened.file_bytes(), bytes);
    assert_eq!(other.open_vocabulary(&digest).unwrap().unwrap().digest(), digest);
    let keys: Vec<IndexKey> = other.scan_indices().map(|index| index.unwrap().key).collect();
    assert_eq!(keys, [key]);
    let expected = Usage {
        indices: 1,
        index_bytes: bytes.len() as u64,
        vocabularies: 1,
        vocabulary_bytes: table.len() as u64,
    };
    assert_eq!(other.usage().unwrap(), expected);

    assert!(other.remove_index(&key).unwrap() && !other.remove_index(&key).unwrap());
    assert!(store.open_index(&key).unwrap().is_none());
    assert_eq!(opened.file_bytes(), bytes, "a live map survives the unlink");
}

#[test]
fn scans_pass_over_what_is_not_published() {
    let (_folder, store) = store();
    let (key, bytes) = index("a");
    store.publish_index(&key, &bytes).unwrap();
    let folder = store.index_path(&key).parent().unwrap().to_owned();
    fs::write(folder.join(".tmp-1-abcdef"), b"").unwrap();
    fs::write(folder.join("README"), b"").unwrap();
    fs::write(folder.join(format!("{}.gobo", "zz".repeat(32))), b"").unwrap();
    let elsewhere =
        folder.parent().unwrap().join(if key.to_string().starts_with("00") { "01" } else { "00" });
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join(format!("{key}.gobo")), b"").unwrap();
    fs::write(folder.parent().unwrap().join("stray"), b"").unwrap();
    assert_eq!(store.scan_indices().map(|index| index.unwrap().key).collect::<Vec<_>>(), [key]);
}

#[test]
fn a_published_file_is_never_written_again() {
    let (_folder, store) = store();
    let (key, first) = index("a");
    let (_, second) = index_padded("a", 1000);
    assert_ne!(first, second);
    let digest = store.publish_index(&key, &first).unwrap();
    let inode = fs::metadata(store.index_path(&key)).unwrap().ino();
    assert_eq!(store.publish_index(&key, &first).unwrap(), digest);
    assert_eq!(store.publish_verified_index(&key, &second).unwrap(), digest, "the first one stays");
    assert_eq!(fs::metadata(store.index_path(&key)).unwrap().ino(), inode);
    assert_eq!(fs::read(store.index_path(&key)).unwrap(), first);
}

#[test]
fn racing_publishers_end_with_one_whole_file() {
    let (_folder, store) = store();
    let (key, bytes) = index_padded("a", 300_000);
    let digests: Vec<ArtifactDigest> = thread::scope(|scope| {
        let publish = || store.publish_index(&key, &bytes).unwrap();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(publish)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(digests.iter().all(|digest| *digest == ArtifactDigest(Digest::of(&bytes))));
    store.open_index(&key).unwrap().unwrap().verify().unwrap();
    assert_eq!(temporary(&store), Vec::<std::path::PathBuf>::new());
}

#[test]
fn steps_are_observed_in_their_order() {
    let (_folder, store) = store();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let store = store.with_observer(Arc::new(move |step| sink.lock().unwrap().push(step)));
    let (key, bytes) = index("a");
    store.publish_index(&key, &bytes).unwrap();
    assert_eq!(*seen.lock().unwrap(), PublishStep::ALL[..6]);
}

#[test]
fn what_another_process_wrote_is_verified_before_it_has_its_name() {
    for padding in [0, 3 << 20] {
        let (_folder, store) = store();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&seen);
        let store = store.with_observer(Arc::new(move |step| sink.lock().unwrap().push(step)));
        let (key, bytes) = index_padded("a", padding);
        let pending = |bytes: &[u8]| {
            let pending = store.begin_index(&key).unwrap();
            fs::write(pending.path(), bytes).unwrap();
            pending
        };
        let mut last_flipped = bytes.clone();
        *last_flipped.last_mut().unwrap() ^= 1;
        let (_, of_another) = index_padded("b", padding);
        for (what, unsound) in
            [("cut", &bytes[..bytes.len() - 1]), ("flipped", &last_flipped), ("foreign", &of_another)]
        {
            let error = pending(unsound).publish().unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Invalid), "{what}: {error:?}");
            assert!(!store.index_path(&key).exists() && temporary(&store).is_empty(), "{what}");
            assert!(!seen.lock().unwrap().contains(&PublishStep::Renamed), "{what}");
        }

        seen.lock().unwrap().clear();
        assert_eq!(pending(&bytes).publish().unwrap(), ArtifactDigest(Digest::of(&bytes)));
        assert_eq!(*seen.lock().unwrap(), PublishStep::ALL[..6]);
        let metadata = fs::metadata(store.index_path(&key)).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o444);
        // Again: the first one stays.
        assert_eq!(pending(&bytes).publish().unwrap(), ArtifactDigest(Digest::of(&bytes)));
        assert_eq!(fs::metadata(store.index_path(&key)).unwrap().ino(), metadata.ino());
        assert!(temporary(&store).is_empty());
    }
}

#[test]
fn folders_are_there_before_anything_is_published() {
    let (folder, store) = store();
    let indices = folder.path().join("v0/index");
    fs::create_dir(indices.join("ab")).unwrap();
    for _ in 0..2 {
        store.prepare().unwrap();
        assert_eq!(fs::read_dir(&indices).unwrap().count(), 256);
        assert!(indices.join("00").is_dir() && indices.join("ff").is_dir());
    }
    let (key, bytes) = index("a");
    store.publish_index(&key, &bytes).unwrap();
    assert_eq!(store.usage().unwrap().indices, 1);
    assert_eq!(fs::read_dir(&indices).unwrap().count(), 256);
    // A folder that somebody removed is made again.
    store.remove_index(&key).unwrap();
    fs::remove_dir(store.index_path(&key).parent().unwrap()).unwrap();
    store.publish_index(&key, &bytes).unwrap();
    assert!(store.open_index(&key).unwrap().is_some());
}

#[test]
fn damaged_files_are_a_miss_kept_in_quarantine_and_published_anew() {
    let (key, bytes) = index("a");
    let half = bytes.len() / 2;
    let mut wrong_magic = bytes.clone();
    wrong_magic[0] ^= 1;
    let cases: [&[u8]; 5] = [b"", b"x", &bytes[..half], &bytes[..bytes.len() - 1], &wrong_magic];
    for (number, damaged) in cases.into_iter().enumerate() {
        let (_folder, store) = store();
        plant(&store.index_path(&key), damaged);
        assert!(store.open_index(&key).unwrap().is_none(), "case {number}");
        assert!(!store.index_path(&key).exists(), "case {number}");
        let names = quarantined(&store);
        assert_eq!(names.len(), 2, "case {number}: {names:?}");
        assert!(names.iter().all(|name| name.starts_with(&key.to_string()) && name.contains("corrupt")));
        let note = names.iter().find(|name| name.contains(".txt")).unwrap();
        let note = fs::read_to_string(store.quarantine_path().join(note)).unwrap();
        assert!(note.contains(&store.index_path(&key).display().to_string()), "{note}");

        store.publish_index(&key, &bytes).unwrap();
        assert!(store.open_index(&key).unwrap().is_some(), "case {number}");
    }
}

#[test]
fn damage_that_open_cannot_see_does_not_survive_a_publish() {
    let (_folder, store) = store();
    let (key, bytes) = index_padded("a", 100);
    let mut damaged = bytes.clone();
    *damaged.last_mut().unwrap() ^= 1;
    plant(&store.index_path(&key), &damaged);
    store.publish_index(&key, &bytes).unwrap();
    assert_eq!(fs::read(store.index_path(&key)).unwrap(), bytes);
    assert_eq!(quarantined(&store).len(), 2);
}

#[test]
fn foreign_and_swapped_files_are_a_miss() {
    let (_folder, store) = store();
    let (_, other) = index("b");
    let (digest, table) = vocabulary();
    plant(&store.index_path(&key_of("a")), &other);
    assert!(store.open_index(&key_of("a")).unwrap().is_none());
    assert!(quarantined(&store).iter().all(|name| name.contains("foreign")));
    plant(&store.index_path(&key_of("a")), &table);
    assert!(store.open_index(&key_of("a")).unwrap().is_none());
    plant(&store.vocabulary_path(&digest), &other);
    assert!(store.open_vocabulary(&digest).unwrap().is_none());
    assert_eq!(quarantined(&store).len(), 6);
}

#[test]
fn without_a_usable_quarantine_a_damaged_file_is_a_miss_all_the_same() {
    let (_folder, store) = store();
    fs::remove_dir(store.quarantine_path()).unwrap();
    fs::write(store.quarantine_path(), b"in the way").unwrap();
    plant(&store.index_path(&key_of("a")), b"damaged");
    assert!(store.open_index(&key_of("a")).unwrap().is_none());
    assert!(store.index_path(&key_of("a")).exists());
}

#[test]
fn bytes_from_a_network_are_published_only_if_sound_and_asked_for() {
    let (_folder, store) = store();
    let (key, bytes) = index_padded("a", 100);
    let mut damaged = bytes.clone();
    *damaged.last_mut().unwrap() ^= 1;
    for bad in [&damaged[..], &bytes[..100], b""] {
        let error = store.publish_verified_index(&key, bad).unwrap_err();
        assert!(matches!(error, StoreError::Artifact { .. }), "{error:?}");
        assert_eq!(error.kind(), ErrorKind::Corrupt);
    }
    let error = store.publish_verified_index(&key_of("b"), &bytes).unwrap_err();
    assert!(matches!(error, StoreError::WrongKey { found, .. } if found == key.0), "{error:?}");
    assert_eq!(store.usage().unwrap().indices, 0);
    assert!(temporary(&store).is_empty() && quarantined(&store).is_empty());
    store.publish_verified_index(&key, &bytes).unwrap();
}

fn named() -> NamedVocabulary {
    NamedVocabulary {
        vocabulary: vocabulary().0,
        binding: Binding { bos: Some(1), ..Binding::new(vec![7, 2], 32) },
        kind: "tiktoken".into(),
        tokens: 1,
        special: 0,
        source: Some("a.tiktoken".into()),
        source_digest: Some(Digest::of(b"a")),
    }
}

#[test]
fn names_are_put_replaced_listed_and_refused() {
    let (_folder, store) = store();
    assert!(store.list_names().unwrap().is_empty() && store.get_name("gpt2").unwrap().is_none());
    store.put_name("gpt2", &named()).unwrap();
    assert_eq!(store.get_name("gpt2").unwrap(), Some(named()));
    // Without what is optional: names that were written before there was a BOS are read too.
    let binding = Binding::new(vec![7, 2], 32);
    let built_in = NamedVocabulary { binding, source: None, source_digest: None, ..named() };
    store.put_name("gpt2", &built_in).unwrap();
    store.put_name("a-1.b_C", &named()).unwrap();
    assert_eq!(store.get_name("gpt2").unwrap(), Some(built_in));
    assert_eq!(store.list_names().unwrap(), ["a-1.b_C", "gpt2"]);
    for bad in ["", "../up", "a/b", ".hidden"] {
        let error = store.put_name(bad, &named()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("A-Z"), "{error}");
        assert_eq!(store.get_name(bad).unwrap_err().kind(), ErrorKind::Invalid);
    }
}

#[test]
fn a_broken_name_says_which_and_can_be_put_again() {
    let (folder, store) = store();
    plant(&folder.path().join("v0/names/gpt2"), b"{\"vocabulary\": 1}");
    let error = store.get_name("gpt2").unwrap_err();
    assert!(matches!(&error, StoreError::BrokenName { name, .. } if name == "gpt2"));
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert_eq!(store.list_names().unwrap(), ["gpt2"]);
    store.put_name("gpt2", &named()).unwrap();
    assert_eq!(store.get_name("gpt2").unwrap(), Some(named()));
}

#[test]
fn a_place_that_cannot_be_a_store_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, b"").unwrap();
    let cases = [
        (file.clone(), file.clone()),
        (file.join("below"), file),
        ("/proc/gobo".into(), "/proc/gobo".into()),
    ];
    for (root, obstacle) in cases {
        let error = Store::open(root).unwrap_err();
        assert!(matches!(error, StoreError::Io { .. }), "{error:?}");
        assert!(error.to_string().contains(obstacle.to_str().unwrap()), "{error}");
        assert!(matches!(error.kind(), ErrorKind::Invalid | ErrorKind::NotFound), "{error:?}");
    }
}

#[test]
fn a_name_and_a_vocabulary_are_removed_apart() {
    let (_folder, store) = store();
    let (digest, bytes) = vocabulary();
    store.publish_vocabulary(&digest, &bytes).unwrap();
    store.put_name("one", &named()).unwrap();
    store.put_name("two", &named()).unwrap();
    assert_eq!((store.remove_name("one").unwrap(), store.remove_name("one").unwrap()), (true, false));
    assert_eq!(store.list_names().unwrap(), ["two"]);
    assert!(matches!(store.remove_name("../two").unwrap_err(), StoreError::BadName { .. }));
    let mapped = store.open_verified_vocabulary(&digest).unwrap().unwrap();
    assert_eq!(
        (store.remove_vocabulary(&digest).unwrap(), store.remove_vocabulary(&digest).unwrap()),
        (true, false)
    );
    assert!(store.open_vocabulary(&digest).unwrap().is_none());
    assert_eq!(mapped.bytes(0), b"a", "whoever has it mapped keeps it");
    assert!(!store.vocabulary_path(&digest).with_extension("verified").exists());
}
