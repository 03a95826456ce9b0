//! Stores that cannot be written, are full, or lose and change their files; all as root too, whom modes do not bind.

use std::fs;
use std::path::Path;

use gobo_lookup::{FoundSource, LookupConfig, Reason};
use gobo_store::Store;
use gobo_types::{Constraint, ErrorKind};

use crate::fixture::{Place, bound, end, expected, get, no_temporary_file, open};

/// Puts a file where each of the folders for published files would be made.
fn forbid_new_files(store: &Path, kind: &str) {
    let folder = store.join("v0").join(kind);
    for byte in 0..=255 {
        fs::write(folder.join(format!("{byte:02x}")), "").unwrap();
    }
}

#[test]
fn what_a_store_does_not_take_stays_in_memory() {
    let place = Place::new();
    Store::open(&place.store).unwrap();
    forbid_new_files(&place.store, "index");
    forbid_new_files(&place.store, "vocab");
    let lookup = place.lookup();
    let vocabulary = bound(&lookup);
    assert_eq!(*vocabulary.vocabulary.file_bytes(), *crate::tiny::tiny().table.build().unwrap());
    let found = end(&lookup.request(&vocabulary, Constraint::regex("a+b"))).unwrap();
    assert_eq!((found.source, &found.path), (FoundSource::Local, &None));
    assert_eq!(found.index.file_bytes(), expected("a+b"));
    let again = lookup.find(&vocabulary, &Constraint::regex("a+b")).unwrap().unwrap();
    assert_eq!((again.source, again.path), (FoundSource::Map, None));
    let stats = lookup.stats();
    assert!(stats.fell_back(Reason::StoreFailed) > 0, "{stats:?}");
    assert_eq!(stats.in_memory, (1, found.index.file_bytes().len() as u64));
    lookup.close();
    // The vocabulary is still mapped.
    assert!(!vocabulary.vocabulary.bytes(0).is_empty());
}

#[test]
fn a_store_that_cannot_be_made_is_stood_in_for() {
    let place = Place::new();
    fs::write(&place.store, "a file").unwrap();
    let lookup = place.lookup();
    assert_eq!(lookup.store_root(), place.store);
    let found = get(&lookup, "a").unwrap();
    assert_eq!((found.source, found.path.clone()), (FoundSource::Local, None));
    assert_eq!(get(&lookup, "a").unwrap().source, FoundSource::Map);
}

#[test]
fn a_full_disk_keeps_the_index_in_memory() {
    let place = Place::new();
    let lookup = open(place.config("no_room_once"));
    let found = get(&lookup, "ab").unwrap();
    assert_eq!((found.source, &found.path), (FoundSource::Local, &None));
    assert_eq!(found.index.file_bytes(), expected("ab"));
    let stats = lookup.stats();
    assert_eq!((stats.fell_back(Reason::StoreFailed), stats.local_compiles), (1, 2));
    no_temporary_file(&place.store);
}

#[test]
fn a_worker_that_can_write_nothing_is_unavailable() {
    let place = Place::new();
    let mut config = place.config("told");
    let local = config.local.as_mut().unwrap();
    // The limit raises SIGXFSZ unless it is ignored; then writing fails as it does on a full disk.
    let shell = "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\"";
    local.args.splice(0..0, ["-c".into(), shell.into(), local.program.clone().into_os_string()]);
    local.program = "sh".into();
    let lookup = open(config);
    let error = get(&lookup, "a").unwrap_err();
    assert!(error.to_string().contains("cannot write"), "{error}");
    assert_eq!((error.kind(), lookup.stats().fell_back(Reason::StoreFailed)), (ErrorKind::Busy, 2));
    no_temporary_file(&place.store);
}

#[test]
fn a_store_that_holds_enough_gets_no_more() {
    let place = Place::new();
    let mut config = place.config("told");
    config.local.as_mut().unwrap().store_bytes = 1;
    let lookup = open(config.clone());
    assert!(get(&lookup, "a").unwrap().path.is_some(), "it was empty");
    let second = get(&lookup, "b").unwrap();
    assert_eq!((second.source, second.path.clone()), (FoundSource::Local, None));
    // Another process counts what is there.
    let other = open(config);
    assert!(get(&other, "c").unwrap().path.is_none());
    assert_eq!(other.stats().fell_back(Reason::StoreFull), 1);
}

#[test]
fn an_index_may_be_evicted_replaced_or_damaged_between_requests() {
    let place = Place::new();
    let lookup = place.lookup();
    let found = get(&lookup, "a+").unwrap();
    let path = found.path.clone().unwrap();
    let other = get(&lookup, "b+").unwrap().path.unwrap();

    fs::remove_file(&path).unwrap();
    assert_eq!(get(&lookup, "a+").unwrap().source, FoundSource::Map, "what is mapped stays");
    let fresh = place.lookup();
    assert_eq!(get(&fresh, "a+").unwrap().source, FoundSource::Local);

    // Another index in its place, and one with a wrong byte.
    let mut damaged = expected("a+");
    damaged[100] ^= 1;
    for bytes in [fs::read(other).unwrap(), damaged] {
        fs::remove_file(&path).unwrap();
        fs::write(&path, bytes).unwrap();
        let fresh = place.lookup();
        let again = get(&fresh, "a+").unwrap();
        assert_eq!((again.source, again.index.file_bytes()), (FoundSource::Local, &expected("a+")[..]));
        assert_eq!(again.path.as_ref(), Some(&path));
    }
    // The first one never saw any of it.
    assert_eq!(found.index.file_bytes(), expected("a+"));
}

#[test]
fn a_vocabulary_that_is_removed_is_written_again() {
    let place = Place::new();
    let lookup = place.lookup();
    let vocabulary = bound(&lookup);
    let path = Store::open(&place.store).unwrap().vocabulary_path(&vocabulary.vocabulary.digest());
    fs::remove_file(&path).unwrap();
    let found = end(&lookup.request(&vocabulary, Constraint::regex("a"))).unwrap();
    assert_eq!(found.source, FoundSource::Local);
    assert!(path.exists());
    // Damaged under a map that was made before: the worker gets a sound one.
    fs::remove_file(&path).unwrap();
    fs::write(&path, "damaged").unwrap();
    let found = end(&lookup.request(&vocabulary, Constraint::regex("b"))).unwrap();
    assert_eq!(found.index.file_bytes(), expected("b"));
    let none = open(LookupConfig::new(&place.store));
    assert!(none.vocabulary_by_name("tiny").unwrap().is_some());
}
