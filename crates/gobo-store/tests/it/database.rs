//! The catalog over a database that fails, panics, waits and forgets.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use gobo_store::{
    Catalog, DatabaseCall, DatabaseError, IndexRecord, MemoryDatabase, Opened, Store, StoreError,
    VerdictBounds, VerdictUsage,
};
use gobo_types::{CompileLimits, ErrorKind, IndexKey, Limit, OverBudget, Refusal, RefusalKind};

use crate::fixture::{index, key_of, plant, quarantined, store};

fn record(store: &Store) -> IndexRecord {
    let (key, bytes) = index("template");
    let digest = store.publish_index(&key, &bytes).unwrap();
    let record = IndexRecord::of(&store.open_index(&key).unwrap().unwrap(), digest, SystemTime::now());
    store.remove_index(&key).unwrap();
    record
}

fn key(number: u8) -> IndexKey {
    IndexKey::from([number; 32])
}

#[test]
fn what_many_writers_are_told_is_written_was_flushed() {
    const WRITERS: usize = 64;
    let (_folder, store) = store();
    let record = record(&store);
    let database = MemoryDatabase::default();
    let (catalog, _) = Catalog::open_in(&store, &database).unwrap();
    let before = database.flushes();
    // The first flush takes until everybody has written.
    let written = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&written);
    database.before(move |call| {
        if call == DatabaseCall::Insert {
            seen.fetch_add(1, Ordering::SeqCst);
        }
        while call == DatabaseCall::Flush && seen.load(Ordering::SeqCst) < WRITERS {
            thread::yield_now();
        }
        Ok(())
    });
    thread::scope(|scope| {
        for number in 0..u8::try_from(WRITERS).unwrap() {
            let (catalog, record) = (&catalog, &record);
            scope.spawn(move || catalog.put_index(&key(number), record).unwrap());
        }
    });
    assert_eq!(written.load(Ordering::SeqCst), WRITERS);
    let flushes = database.flushes() - before;
    assert!((1..=WRITERS as u64).contains(&flushes), "{flushes} flushes for {WRITERS} writers");
    database.crash();
    assert_eq!(catalog.indices().count(), WRITERS, "what was acknowledged is on the disk");
}

/// The same over sled: each acknowledged write is there after the flush that it shared.
#[test]
fn sixty_four_writers_flush_sled_no_more_often_than_they_write() {
    let (_folder, store) = store();
    let record = record(&store);
    let (catalog, _) = Catalog::open(&store).unwrap();
    let before = catalog.flushes();
    thread::scope(|scope| {
        for number in 0..64 {
            let (catalog, record) = (&catalog, &record);
            scope.spawn(move || catalog.put_index(&key(number), record).unwrap());
        }
    });
    let flushes = catalog.flushes() - before;
    assert!((1..=64).contains(&flushes));
    eprintln!("64 writers, {flushes} flushes");
    assert_eq!(catalog.usage(), (64, 64 * record.bytes));
}

#[test]
fn pages_begin_at_their_key_and_totals_are_kept() {
    let (_folder, store) = store();
    let record = record(&store);
    let database = MemoryDatabase::default();
    let (catalog, _) = Catalog::open_in(&store, &database).unwrap();
    for number in 0..100 {
        plant(&store.index_path(&key(number)), b"");
        catalog.put_index(&key(number), &IndexRecord { bytes: u64::from(number), ..record.clone() }).unwrap();
    }
    assert_eq!(catalog.usage(), (100, (0..100).sum()));
    catalog.put_index(&key(7), &IndexRecord { bytes: 1007, ..record.clone() }).unwrap();
    catalog.remove_index(&key(9)).unwrap();
    catalog.remove_indices(&[key(10), key(11), key(9)]).unwrap();
    let expected = (97, (0..100).sum::<u64>() + 1000 - 9 - 10 - 11);
    assert_eq!(catalog.usage(), expected);

    let looked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&looked);
    database.before(move |call| {
        count.fetch_add(usize::from(call == DatabaseCall::Scan), Ordering::SeqCst);
        Ok(())
    });
    let page: Vec<IndexKey> =
        catalog.indices_after(Some(&key(90))).take(3).map(|record| record.unwrap().0).collect();
    assert_eq!(page, [key(91), key(92), key(93)]);
    assert!(looked.load(Ordering::SeqCst) <= 4, "records before the page are not read");
    assert_eq!(catalog.indices_after(Some(&key(99))).count(), 0);
    drop(catalog);
    for number in [9, 10, 11] {
        fs::remove_file(store.index_path(&key(number))).unwrap();
    }
    assert_eq!(Catalog::open_in(&store, &database).unwrap().0.usage(), expected, "and added up at the start");
}

#[test]
fn stamps_are_one_batch_one_flush_and_never_go_back_but_for_a_clock_that_was_ahead() {
    let (_folder, store) = store();
    let record = record(&store);
    let database = MemoryDatabase::default();
    let (catalog, _) = Catalog::open_in(&store, &database).unwrap();
    for number in 0..50 {
        plant(&store.index_path(&key(number)), b"");
        catalog.put_index(&key(number), &record).unwrap();
    }
    let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    let before = database.flushes();
    let all: Vec<_> = (0..60).map(|number| (key(number), at(1000))).collect();
    catalog.put_uses(&all, at(1000)).unwrap();
    assert_eq!(database.flushes(), before + 1);
    assert_eq!(catalog.get_use(&key(49)).unwrap(), Some(at(1000)));
    assert_eq!(catalog.get_use(&key(50)).unwrap(), None, "no record, no stamp");
    catalog.put_uses(&[(key(1), at(900))], at(1001)).unwrap();
    assert_eq!(catalog.get_use(&key(1)).unwrap(), Some(at(1000)));
    // The clock was ahead and went back.
    catalog.put_uses(&[(key(1), at(500))], at(500)).unwrap();
    assert_eq!(catalog.get_use(&key(1)).unwrap(), Some(at(500)));
    database.crash();
    assert_eq!(catalog.get_use(&key(1)).unwrap(), Some(at(500)));
    catalog.remove_index(&key(1)).unwrap();
    assert_eq!(catalog.get_use(&key(1)).unwrap(), None, "gone with its index");
    fs::remove_file(store.index_path(&key(2))).unwrap();
    catalog.reconcile().unwrap();
    assert_eq!(catalog.get_use(&key(2)).unwrap(), None);
}

#[test]
fn a_start_waits_for_the_disk_only_where_files_and_records_differ() {
    let (_folder, store) = store();
    let record = record(&store);
    let database = MemoryDatabase::default();
    let (catalog, _) = Catalog::open_in(&store, &database).unwrap();
    for number in 0..50 {
        plant(&store.index_path(&key(number)), b"");
        catalog.put_index(&key(number), &record).unwrap();
    }
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
    catalog.put_uses(&[(key(1), at), (key(2), at)], at).unwrap();
    drop(catalog);

    let before = database.flushes();
    let (catalog, opened) = Catalog::open_in(&store, &database).unwrap();
    assert_eq!((opened, database.flushes()), (Opened::Existing, before));
    assert_eq!(catalog.usage().0, 50);
    drop(catalog);

    for number in [1, 30] {
        fs::remove_file(store.index_path(&key(number))).unwrap();
    }
    let (unrecorded, bytes) = index("unrecorded");
    store.publish_index(&unrecorded, &bytes).unwrap();
    let (catalog, _) = Catalog::open_in(&store, &database).unwrap();
    assert_eq!(database.flushes(), before + 1);
    assert_eq!(catalog.usage().0, 49);
    let has = |key: &IndexKey| catalog.get_index(key).unwrap().is_some();
    assert!(!has(&key(1)) && !has(&key(30)) && has(&key(2)) && has(&unrecorded));
    assert_eq!(catalog.get_use(&key(1)).unwrap(), None);
    assert_eq!(catalog.get_use(&key(2)).unwrap(), Some(at), "the stamps of the others stay");
    database.crash();
    assert!(!has(&key(1)) && has(&unrecorded));
}

fn damaged() -> DatabaseError {
    DatabaseError::Damaged("flipped".into())
}

#[test]
fn an_error_or_a_panic_at_opening_is_answered_by_a_rebuild() {
    type Fault = fn() -> Result<(), DatabaseError>;
    let faults: [(&str, Fault); 3] = [
        ("damaged", || Err(damaged())),
        ("panicked: out of its mind", || panic!("out of its mind")),
        ("version", || Err(DatabaseError::Version("1.0".into()))),
    ];
    for (reason, fault) in faults {
        for call in [DatabaseCall::Open, DatabaseCall::Scan] {
            let (_folder, store) = store();
            let database = MemoryDatabase::default();
            let (catalog, opened) = Catalog::open_in(&store, &database).unwrap();
            assert_eq!(opened, Opened::Created);
            drop(catalog);
            let (key, bytes) = index("a");
            store.publish_index(&key, &bytes).unwrap();
            let once = AtomicBool::new(true);
            database.before(move |called| {
                if called == call && once.swap(false, Ordering::SeqCst) { fault() } else { Ok(()) }
            });
            let (catalog, opened) = Catalog::open_in(&store, &database).unwrap();
            let Opened::Rebuilt { why, found } = opened else { panic!("{reason} {call:?}: {opened:?}") };
            assert!(why.contains(reason), "{call:?}: {why}");
            assert_eq!((found.indices, catalog.usage().0), (1, 1));
            assert!(quarantined(&store).iter().all(|name| name.starts_with("catalog-")));
            drop(catalog);
            assert_eq!(Catalog::open_in(&store, &database).unwrap().1, Opened::Existing);
        }
    }
}

#[test]
fn what_the_machine_refuses_moves_nothing_away() {
    for kind in
        [io::ErrorKind::StorageFull, io::ErrorKind::ReadOnlyFilesystem, io::ErrorKind::PermissionDenied]
    {
        let (_folder, store) = store();
        let database = MemoryDatabase::default();
        drop(Catalog::open_in(&store, &database).unwrap());
        database.before(move |call| {
            if call == DatabaseCall::Open { Err(DatabaseError::Io(kind.into())) } else { Ok(()) }
        });
        let error = Catalog::open_in(&store, &database).unwrap_err();
        assert!(matches!(error, StoreError::Io { .. } | StoreError::NoRoom { .. }), "{error:?}");
        assert!(quarantined(&store).is_empty());
        database.before(|_| Ok(()));
        assert_eq!(Catalog::open_in(&store, &database).unwrap().1, Opened::Existing);
    }
}

#[test]
fn a_panic_later_on_is_an_error_and_the_catalog_goes_on() {
    let (_folder, store) = store();
    let record = record(&store);
    let database = MemoryDatabase::default();
    let (catalog, _) = Catalog::open_in(&store, &database).unwrap();
    let (limits, now) = (CompileLimits::default(), SystemTime::now());
    database.before(|call| panic!("{call:?} is out of order"));
    let errors = [
        catalog.put_index(&key_of("a"), &record).unwrap_err(),
        catalog.get_index(&key_of("a")).unwrap_err(),
        catalog.remove_index(&key_of("a")).unwrap_err(),
        catalog.flush().unwrap_err(),
        catalog.get_verdict(&key_of("a"), &limits, now).unwrap_err(),
        catalog.indices().next().unwrap().unwrap_err(),
        catalog.drop_expired(now).unwrap_err(),
    ];
    assert_eq!(catalog.indices().count(), 1, "an iterator ends after its panic");
    for error in errors {
        let StoreError::Catalog { source: DatabaseError::Panicked { message }, .. } = &error else {
            panic!("{error:?}")
        };
        assert!(message.contains("out of order"), "{message}");
        assert_eq!(error.kind(), ErrorKind::Internal);
    }
    database.before(|_| Ok(()));
    catalog.put_index(&key_of("a"), &record).unwrap();
    assert_eq!(catalog.usage().0, 1);
}

#[test]
fn a_flush_that_fails_acknowledges_nobody() {
    let (_folder, store) = store();
    let record = record(&store);
    let database = MemoryDatabase::default();
    let (catalog, _) = Catalog::open_in(&store, &database).unwrap();
    database.before(|call| {
        let full = || DatabaseError::Io(io::ErrorKind::StorageFull.into());
        if call == DatabaseCall::Flush { Err(full()) } else { Ok(()) }
    });
    let error = catalog.put_index(&key_of("a"), &record).unwrap_err();
    assert!(matches!(error, StoreError::NoRoom { .. }), "{error:?}");
    database.before(|_| Ok(()));
    catalog.put_index(&key_of("a"), &record).unwrap();
}

#[test]
fn expired_verdicts_are_dropped_and_live_ones_stay() {
    let (_folder, store) = store();
    let (catalog, _) = Catalog::open_in(&store, &MemoryDatabase::default()).unwrap();
    let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    let refusal = Refusal::new(RefusalKind::Malformed, "offset 0", "no");
    for number in 0..10 {
        catalog.put_refusal(&key(number), &refusal, at(100 + u64::from(number))).unwrap();
    }
    assert_eq!(catalog.drop_expired(at(0)).unwrap(), 0, "a clock that went back drops nothing");
    assert_eq!(catalog.drop_expired(at(104)).unwrap(), 5);
    let limits = CompileLimits::default();
    let live: BTreeSet<u8> = (0..10)
        .filter(|number| catalog.get_verdict(&key(*number), &limits, at(104)).unwrap().is_some())
        .collect();
    assert_eq!(live, (5..10).collect());
    assert_eq!(
        catalog.drop_expired(at(u64::from(u32::MAX))).unwrap(),
        5,
        "a clock that is ahead costs compiles"
    );
}

#[test]
fn verdicts_are_listed_by_key_without_expired_ones() {
    let (_folder, store) = store();
    let (catalog, _) = Catalog::open_in(&store, &MemoryDatabase::default()).unwrap();
    let now = SystemTime::now();
    let (live, expired) = (now + Duration::from_secs(60), now - Duration::from_secs(60));
    let refusal = |number: u8| Refusal::new(RefusalKind::Malformed, "", number.to_string());
    let limits = CompileLimits::default();
    for number in (0..5).rev() {
        let expires = if number == 2 { expired } else { live };
        catalog.put_refusal(&key(number), &refusal(number), expires).unwrap();
    }
    // A key with two verdicts has both, and neither again behind it.
    let over = OverBudget::at(Limit::MaxSteps, 7, "rows");
    catalog.put_over_budget(&key(1), &over, &limits, live).unwrap();
    let keys = |after: Option<u8>| -> Vec<IndexKey> {
        let after = after.map(key);
        catalog.verdicts_after(after.as_ref(), now).map(|found| found.unwrap().0).collect()
    };
    assert_eq!(keys(None), [0, 1, 1, 3, 4].map(key));
    assert_eq!((keys(Some(1)), keys(Some(4))), (vec![key(3), key(4)], Vec::new()));
}

/// Many callers send what is refused, each time something else: the catalog stays small, whatever they sent.
#[test]
fn verdicts_are_bounded_by_number_and_by_bytes() {
    let (_folder, store) = store();
    let database = MemoryDatabase::default();
    let (catalog, _) = Catalog::open_in(&store, &database).unwrap();
    let (now, later) = (SystemTime::UNIX_EPOCH, SystemTime::UNIX_EPOCH + Duration::from_secs(60));
    let limits = CompileLimits::default();
    let refusal = |length: usize| {
        gobo_types::Refusal::new(gobo_types::RefusalKind::Unsupported, "/".repeat(length), "x".repeat(length))
    };
    let is_known =
        |catalog: &Catalog, number| catalog.get_verdict(&key(number), &limits, now).unwrap().is_some();
    catalog.bound_verdicts(VerdictBounds { number: 10, ..VerdictBounds::default() }).unwrap();
    for number in 0..30 {
        catalog.put_refusal(&key(number), &refusal(7 << 20), later).unwrap();
        assert!(is_known(&catalog, number));
    }
    let usage = catalog.verdicts();
    assert_eq!((usage.number, usage.evicted), (10, 20));
    assert!(usage.bytes < 10 * 2500, "{usage:?}");
    let live: Vec<u8> = (0..30).filter(|number| is_known(&catalog, *number)).collect();
    assert_eq!(live, (20..30).collect::<Vec<_>>(), "the oldest have gone");

    catalog.bound_verdicts(VerdictBounds { bytes: 3 * 2500, ..VerdictBounds::default() }).unwrap();
    let usage = catalog.verdicts();
    assert_eq!((usage.number, usage.evicted), (3, 27));
    // What is counted is what is there, also for who opens it anew, and whatever else has gone.
    drop(catalog);
    let (catalog, _) = Catalog::open_in(&store, &database).unwrap();
    assert_eq!(catalog.verdicts(), VerdictUsage { evicted: 0, ..usage });
    catalog.put_refusal(&key(29), &refusal(1), later).unwrap();
    assert_eq!(catalog.verdicts().number, 3, "another one of the same key takes its place");
    assert_eq!(catalog.drop_expired(later).unwrap(), 3);
    assert_eq!(catalog.verdicts(), VerdictUsage::default());
}
