//! The catalog: one owner, a faithful map, and never a loss when it is lost.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use gobo_store::{CachedVerdict, Catalog, IndexRecord, Opened, Rebuilt, Store, StoreError};
use gobo_types::{CompileLimits, ErrorKind, IndexKey, Limit, OverBudget, Refusal, RefusalKind};
use proptest::prelude::*;

use crate::fixture::{index, index_padded, key_of, plant, quarantined, store, vocabulary};
use crate::process;

fn publish(store: &Store, catalog: &Catalog, constraint: &str) -> (IndexKey, IndexRecord) {
    let (key, bytes) = index(constraint);
    let digest = store.publish_index(&key, &bytes).unwrap();
    let opened = store.open_index(&key).unwrap().unwrap();
    let published = fs::metadata(store.index_path(&key)).unwrap().modified().unwrap();
    let record = IndexRecord::of(&opened, digest, published);
    catalog.put_index(&key, &record).unwrap();
    (key, record)
}

fn records(catalog: &Catalog) -> BTreeMap<IndexKey, IndexRecord> {
    catalog.indices().map(Result::unwrap).collect()
}

/// A store with two recorded indices and a vocabulary, its catalog closed.
fn filled() -> (tempfile::TempDir, Store, BTreeMap<IndexKey, IndexRecord>) {
    let (folder, store) = store();
    let (catalog, opened) = Catalog::open(&store).unwrap();
    assert_eq!(opened, Opened::Created);
    let expected = BTreeMap::from([publish(&store, &catalog, "a"), publish(&store, &catalog, "b")]);
    let (digest, bytes) = vocabulary();
    store.publish_vocabulary(&digest, &bytes).unwrap();
    assert_eq!(records(&catalog), expected);
    (folder, store, expected)
}

#[test]
fn what_was_recorded_is_there_after_reopening() {
    let (_folder, store, expected) = filled();
    let (catalog, opened) = Catalog::open(&store).unwrap();
    assert_eq!(opened, Opened::Existing);
    assert_eq!(records(&catalog), expected);
    let key = key_of("a");
    assert_eq!(catalog.get_index(&key).unwrap().as_ref(), expected.get(&key));
    assert!(catalog.remove_index(&key).unwrap() && !catalog.remove_index(&key).unwrap());
    assert_eq!(catalog.get_index(&key).unwrap(), None);
}

#[test]
fn a_lost_catalog_is_rebuilt_with_nothing_lost() {
    let (folder, store, expected) = filled();
    fs::remove_dir_all(folder.path().join("catalog")).unwrap();
    let (catalog, opened) = Catalog::open(&store).unwrap();
    let Opened::Rebuilt { why, found } = opened else { panic!("{opened:?}") };
    assert!(why.contains("missing"));
    let bytes = store.usage().unwrap().bytes();
    assert_eq!(found, Rebuilt { indices: 2, vocabularies: 1, quarantined: 0, bytes });
    assert_eq!(records(&catalog), expected);
    drop(catalog);
    assert_eq!(Catalog::open(&store).unwrap().1, Opened::Existing);
}

fn damage(file: &Path, how: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(file).unwrap();
    how(&mut bytes);
    fs::write(file, bytes).unwrap();
}

#[test]
fn a_damaged_catalog_is_set_aside_and_rebuilt_with_nothing_lost() {
    type Damage = fn(&Path);
    let cases: [(&str, Damage); 5] = [
        ("configuration", |catalog| damage(&catalog.join("conf"), |bytes| bytes[..8].fill(b'x'))),
        ("noise", |catalog| damage(&catalog.join("db"), |bytes| bytes.fill(0xa5))),
        ("flipped", |catalog| {
            damage(&catalog.join("db"), |bytes| bytes.iter_mut().for_each(|byte| *byte ^= 0x10));
        }),
        ("cut", |catalog| damage(&catalog.join("db"), |bytes| bytes.truncate(1000))),
        ("a file", |catalog| {
            fs::remove_dir_all(catalog).unwrap();
            fs::write(catalog, b"no folder").unwrap();
        }),
    ];
    for (name, damage) in cases {
        let (folder, store, expected) = filled();
        damage(&folder.path().join("catalog"));
        let (catalog, opened) = Catalog::open(&store).unwrap();
        // What lost only its tail opens as if nothing had happened, and is filled up.
        assert!(name == "cut" || matches!(opened, Opened::Rebuilt { .. }), "{name}: {opened:?}");
        assert_eq!(records(&catalog), expected, "{name}");
        drop(catalog);
        assert_eq!(Catalog::open(&store).unwrap().1, Opened::Existing, "{name}");
    }
}

/// Changes a closed catalog behind its back.
fn tamper(folder: &Path, change: impl FnOnce(&sled::Db)) {
    let mut tries = 0;
    let db = loop {
        match sled::open(folder.join("catalog")) {
            Ok(db) => break db,
            Err(error) if tries > 300 => panic!("{error}"),
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
        tries += 1;
    };
    change(&db);
    db.flush().unwrap();
}

#[test]
fn a_catalog_of_an_earlier_step_is_migrated_and_keeps_its_records() {
    let (folder, store, expected) = filled();
    tamper(folder.path(), |db| {
        for step in ["m/0002", "m/0003"] {
            db.remove(step).unwrap();
        }
    });
    let (catalog, opened) = Catalog::open(&store).unwrap();
    assert_eq!(opened, Opened::Migrated { from: 1, to: 3 });
    assert_eq!(records(&catalog), expected);
    assert!(quarantined(&store).is_empty());
    drop(catalog);
    assert_eq!(Catalog::open(&store).unwrap().1, Opened::Existing);
}

#[test]
fn a_catalog_that_is_not_understood_is_never_guessed_at() {
    let cases: [(&str, &str, &str); 4] = [
        ("m/0001", "{\"digest\":\"00\"}", "another text"),
        ("m/0004", "{}", "newer"),
        ("z/1", "{}", "no step declares"),
        ("i/1", "no JSON", "damaged"),
    ];
    for (key, value, reason) in cases {
        let (folder, store, expected) = filled();
        tamper(folder.path(), |db| drop(db.insert(key, value).unwrap()));
        let (catalog, opened) = Catalog::open(&store).unwrap();
        let Opened::Rebuilt { why, found } = opened else { panic!("{key}: {opened:?}") };
        assert!(why.contains(reason), "{key}: {why}");
        assert_eq!((found.indices, found.vocabularies), (2, 1), "{key}");
        assert_eq!(records(&catalog), expected, "{key}");
        let names = quarantined(&store);
        assert!(names.iter().all(|name| name.starts_with("catalog-")) && names.len() == 2, "{names:?}");
    }
}

#[test]
fn an_empty_catalog_is_filled_from_the_files() {
    let (folder, store, expected) = filled();
    fs::remove_dir_all(folder.path().join("catalog")).unwrap();
    tamper(folder.path(), |_| {});
    let (catalog, opened) = Catalog::open(&store).unwrap();
    assert!(matches!(&opened, Opened::Rebuilt { why, .. } if why == "it was empty"), "{opened:?}");
    assert_eq!(records(&catalog), expected);
    assert!(quarantined(&store).is_empty());
}

#[test]
fn rebuild_verifies_every_file_and_forgets_those_that_are_gone() {
    let (_folder, store, expected) = filled();
    let (catalog, _) = Catalog::open(&store).unwrap();
    let (_, mut damaged) = index_padded("a", 100);
    *damaged.last_mut().unwrap() ^= 1;
    plant(&store.index_path(&key_of("a")), &damaged);
    let (unrecorded, bytes) = index("c");
    store.publish_index(&unrecorded, &bytes).unwrap();
    let found = catalog.rebuild().unwrap();
    assert_eq!((found.indices, found.vocabularies, found.quarantined), (2, 1, 1));
    let keys: Vec<IndexKey> = records(&catalog).into_keys().collect();
    let mut sound = vec![key_of("b"), unrecorded];
    sound.sort_unstable();
    assert_eq!(keys, sound);
    assert_eq!(catalog.get_index(&key_of("b")).unwrap().as_ref(), expected.get(&key_of("b")));
}

#[test]
fn what_changed_without_the_catalog_is_noticed_while_open_and_at_the_next_open() {
    let (_folder, store, _) = filled();
    let (catalog, _) = Catalog::open(&store).unwrap();
    assert_eq!(catalog.reconcile().unwrap(), (0, 0));
    store.remove_index(&key_of("a")).unwrap();
    let (key, bytes) = index("c");
    store.publish_index(&key, &bytes).unwrap();
    assert_eq!(catalog.reconcile().unwrap(), (1, 1));
    assert!(catalog.get_index(&key).unwrap().is_some() && catalog.get_index(&key_of("a")).unwrap().is_none());
    drop(catalog);
    store.remove_index(&key).unwrap();
    assert_eq!(records(&Catalog::open(&store).unwrap().0).len(), 1);
}

#[test]
fn a_second_owner_is_refused_in_this_process_and_in_another() {
    let (folder, store, _) = filled();
    let (first, _) = Catalog::open(&store).unwrap();
    let error = Catalog::open(&store).unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error:?}");
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(error.to_string().contains("daemon.sock"), "{error}");
    // A command that works by itself listens nowhere: nobody is told to ask it.
    assert!(error.to_string().contains("no daemon listens on"), "{error}");
    let listener = std::os::unix::net::UnixListener::bind(store.socket_path()).unwrap();
    let error = Catalog::open(&store).unwrap_err();
    assert!(error.to_string().contains("talk to it through"), "{error}");
    drop(listener);
    assert!(process::run("", "own", folder.path(), &[]).success());
    assert_eq!(first.indices().count(), 2, "the first owner is undisturbed");
    drop(first);
    assert_eq!(Catalog::open(&store).unwrap().1, Opened::Existing);
}

fn refusal() -> Refusal {
    Refusal::new(RefusalKind::Unsupported, "offset 3", "a backreference")
}

fn over(given: u64) -> OverBudget {
    OverBudget::at(Limit::MaxStates, given, "determinise")
}

#[test]
fn verdicts_hold_for_their_limits_and_their_time() {
    let (_folder, store) = store();
    let (catalog, _) = Catalog::open(&store).unwrap();
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    let soon = now + Duration::from_secs(60);
    let limits = CompileLimits::default();
    let small = CompileLimits { max_states: 10, ..limits };
    let (a, b) = (key_of("a"), key_of("b"));

    catalog.put_refusal(&a, &refusal(), soon).unwrap();
    catalog.put_over_budget(&b, &over(10), &small, soon).unwrap();
    drop(catalog);
    let (catalog, _) = Catalog::open(&store).unwrap();

    for any in [&limits, &small] {
        assert_eq!(catalog.get_verdict(&a, any, now).unwrap(), Some(CachedVerdict::Refused(refusal())));
    }
    assert_eq!(catalog.get_verdict(&b, &small, now).unwrap(), Some(CachedVerdict::OverBudget(over(10))));
    assert_eq!(catalog.get_verdict(&b, &limits, now).unwrap(), None);

    assert_eq!(catalog.get_verdict(&a, &limits, soon).unwrap(), None, "expired");
    assert_eq!(catalog.get_verdict(&a, &limits, now).unwrap(), None, "and removed");
    catalog.rebuild().unwrap();
    assert_eq!(catalog.get_verdict(&b, &small, now).unwrap(), Some(CachedVerdict::OverBudget(over(10))));
}

/// One action on the catalog, over a handful of keys.
#[derive(Debug, Clone)]
enum Action {
    Put(u8, u32),
    Remove(u8),
    Refuse(u8, u64),
    Ask(u8, u64),
    Reopen,
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        4 => (0..6_u8, any::<u32>()).prop_map(|(key, states)| Action::Put(key, states)),
        2 => (0..6_u8).prop_map(Action::Remove),
        2 => (0..6_u8, 0..50_u64).prop_map(|(key, expires)| Action::Refuse(key, expires)),
        2 => (0..6_u8, 0..50_u64).prop_map(|(key, now)| Action::Ask(key, now)),
        1 => Just(Action::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_catalog_is_a_map_that_survives_reopening(actions in prop::collection::vec(action(), 1..40)) {
        let (_folder, store) = store();
        let (key, bytes) = index("a");
        let digest = store.publish_index(&key, &bytes).unwrap();
        let template = IndexRecord::of(&store.open_index(&key).unwrap().unwrap(), digest, SystemTime::now());
        store.remove_index(&key).unwrap();
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let (mut indices, mut refusals) = (BTreeMap::new(), BTreeMap::new());
        let mut catalog = Some(Catalog::open(&store).unwrap().0);
        for action in actions {
            let open = catalog.as_ref().unwrap();
            match action {
                Action::Put(key, states) => {
                    let (key, record) = (IndexKey::from([key; 32]), IndexRecord { states, ..template.clone() });
                    // A record without a file would not survive reopening; nobody looks into this one.
                    plant(&store.index_path(&key), b"");
                    open.put_index(&key, &record).unwrap();
                    indices.insert(key, record);
                }
                Action::Remove(key) => {
                    let key = IndexKey::from([key; 32]);
                    store.remove_index(&key).unwrap();
                    prop_assert_eq!(open.remove_index(&key).unwrap(), indices.remove(&key).is_some());
                }
                Action::Refuse(key, expires) => {
                    open.put_refusal(&IndexKey::from([key; 32]), &refusal(), at(expires)).unwrap();
                    refusals.insert(key, expires);
                }
                Action::Ask(key, now) => {
                    let limits = CompileLimits::default();
                    let found = open.get_verdict(&IndexKey::from([key; 32]), &limits, at(now)).unwrap();
                    let holds = refusals.get(&key).is_some_and(|expires| *expires > now);
                    prop_assert_eq!(found.is_some(), holds);
                    if !holds {
                        refusals.remove(&key);
                    }
                }
                Action::Reopen => {
                    drop(catalog.take());
                    let (again, opened) = Catalog::open(&store).unwrap();
                    prop_assert_eq!(opened, Opened::Existing);
                    catalog = Some(again);
                }
            }
            prop_assert_eq!(&records(catalog.as_ref().unwrap()), &indices);
        }
    }
}
