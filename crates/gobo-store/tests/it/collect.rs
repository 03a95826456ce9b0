//! Eviction: oldest use first, nothing that is pinned or in its grace, and kill -9 at any step.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File, FileTimes};
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, SystemTime};

use gobo_store::{
    Catalog, CollectEvent, CollectPolicy, Collected, IndexRecord, NoUses, Opened, Spared, Store, StoreError,
    Uses,
};
use gobo_types::IndexKey;

use crate::fixture::{index_padded, quarantined, set_mode, store};
use crate::process;

const HOUR: Duration = Duration::from_secs(3600);
const GRACE: Duration = Duration::from_secs(600);

/// A fixed moment, so that nothing here depends on how long the test takes.
fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + 500_000 * HOUR
}

/// Publishes and records the index of `constraint`, last touched `ago` hours before [`now`].
fn put(store: &Store, catalog: &Catalog, constraint: &str, ago: u32) -> (IndexKey, u64) {
    let (key, bytes) = index_padded(constraint, 1000);
    let digest = store.publish_index(&key, &bytes).unwrap();
    let index = store.open_index(&key).unwrap().unwrap();
    catalog.put_index(&key, &IndexRecord::of(&index, digest, now())).unwrap();
    date(store, &key, now() - ago * HOUR);
    (key, bytes.len() as u64)
}

/// Sets both times of a file.
fn date(store: &Store, key: &IndexKey, time: SystemTime) {
    let times = FileTimes::new().set_accessed(time).set_modified(time);
    File::open(store.index_path(key)).unwrap().set_times(times).unwrap();
}

fn policy(high_bytes: u64, low_bytes: u64) -> CollectPolicy {
    CollectPolicy { high_bytes, low_bytes, grace: GRACE, dry_run: false }
}

/// What was removed, in order, and what was spared.
fn collect(
    catalog: &Catalog,
    policy: &CollectPolicy,
    uses: &dyn Uses,
    at: SystemTime,
) -> (Collected, Vec<IndexKey>, BTreeMap<IndexKey, Spared>) {
    let (mut removed, mut spared) = (Vec::new(), BTreeMap::new());
    let collected = catalog
        .collect(policy, uses, at, &mut |event| match event {
            CollectEvent::Removed(candidate) => removed.push(candidate.key),
            CollectEvent::Spared(candidate, why) => drop(spared.insert(candidate.key, why)),
            _ => {}
        })
        .unwrap();
    assert_eq!(collected.removed, removed.len() as u64);
    (collected, removed, spared)
}

/// Uses as a process might know them.
#[derive(Default)]
struct Known {
    idle: BTreeMap<IndexKey, Duration>,
    watched: Duration,
    /// Used at the last moment, after everything was looked at.
    late: RefCell<Option<IndexKey>>,
}

impl Uses for Known {
    fn idle(&self, key: &IndexKey) -> Option<Duration> {
        self.idle.get(key).copied()
    }

    fn watched(&self) -> Duration {
        self.watched
    }

    fn retire(
        &self,
        key: &IndexKey,
        _: Duration,
        remove: &mut dyn FnMut() -> Result<(), StoreError>,
    ) -> Result<bool, StoreError> {
        if *self.late.borrow() == Some(*key) {
            return Ok(false);
        }
        remove().map(|()| true)
    }
}

#[test]
fn the_oldest_use_goes_first_down_to_the_low_watermark() {
    let (_folder, store) = store();
    let (catalog, _) = Catalog::open(&store).unwrap();
    let files: Vec<_> = ["a", "b", "c", "d", "e", "f"]
        .iter()
        .zip([6, 5, 4, 3, 2, 1])
        .map(|(constraint, ago)| put(&store, &catalog, constraint, ago))
        .collect();
    let each = files[0].1;
    assert!(files.iter().all(|(_, bytes)| *bytes == each));

    let (collected, removed, _) = collect(&catalog, &policy(6 * each, each), &NoUses, now());
    assert_eq!((collected.indices, collected.bytes, removed.len()), (6, 6 * each, 0), "not above the mark");
    // The oldest by its file was used lately by its stamp, the next one through this process.
    catalog.put_uses(&[(files[0].0, now() - 2 * HOUR)], now()).unwrap();
    let uses = Known { idle: BTreeMap::from([(files[1].0, HOUR / 2)]), ..Known::default() };
    let dry = CollectPolicy { dry_run: true, ..policy(6 * each - 1, 3 * each) };
    let (said, would, _) = collect(&catalog, &dry, &uses, now());
    assert_eq!(store.usage().unwrap().indices, 6, "only said");
    let (collected, removed, spared) = collect(&catalog, &policy(6 * each - 1, 3 * each), &uses, now());
    assert_eq!((said, would), (collected, removed.clone()));
    let mut last = [files[0].0, files[4].0];
    last.sort_unstable();
    assert_eq!(removed, [files[2].0, files[3].0, last[0]]);
    assert_eq!((collected.removed_bytes, spared.len()), (3 * each, 0));
    assert_eq!(catalog.usage(), (3, 3 * each));
    for key in &removed {
        assert!(!store.index_path(key).exists() && catalog.get_index(key).unwrap().is_none());
        assert_eq!(catalog.get_use(key).unwrap(), None);
    }
    assert_eq!(catalog.reconcile().unwrap(), (0, 0));
}

#[test]
fn what_is_pinned_or_in_its_grace_stays_whatever_the_bytes() {
    let (_folder, store) = store();
    let (catalog, _) = Catalog::open(&store).unwrap();
    let (pinned, each) = put(&store, &catalog, "pinned", 9);
    let (published, _) = put(&store, &catalog, "published", 0);
    let (used, _) = put(&store, &catalog, "used", 8);
    let (late, _) = put(&store, &catalog, "late", 7);
    let (stamped, _) = put(&store, &catalog, "stamped", 6);
    let (old, _) = put(&store, &catalog, "old", 5);
    store.pin(&pinned).unwrap();
    catalog.put_uses(&[(stamped, now() - GRACE / 2)], now()).unwrap();
    let uses = Known {
        idle: BTreeMap::from([(used, GRACE / 2)]),
        late: RefCell::new(Some(late)),
        ..Known::default()
    };
    let (collected, removed, spared) = collect(&catalog, &policy(0, 0), &uses, now());
    assert_eq!(removed, [old]);
    let in_grace = [published, used, late, stamped].map(|key| (key, Spared::InGrace));
    let mut expected = BTreeMap::from(in_grace);
    expected.insert(pinned, Spared::Pinned);
    assert_eq!(spared, expected);
    assert_eq!((collected.pinned, collected.pinned_bytes), (1, each));
    assert_eq!((collected.in_grace, collected.removed_bytes), (4, each));
    store.unpin(&pinned).unwrap();
    assert_eq!(collect(&catalog, &policy(0, 0), &uses, now()).1, [pinned]);
}

#[test]
fn a_clock_that_jumps_evicts_nothing_that_is_in_use_and_nothing_for_ever() {
    let (_folder, store) = store();
    let (catalog, _) = Catalog::open(&store).unwrap();
    let (idle, _) = put(&store, &catalog, "idle", 1);
    let (busy, _) = put(&store, &catalog, "busy", 1);
    let uses = |watched| Known { idle: BTreeMap::from([(busy, GRACE / 2)]), watched, ..Known::default() };
    // A year ahead: everything looks old, but this process knows better of what it used.
    let ahead = now() + 9000 * HOUR;
    let (_, removed, spared) = collect(&catalog, &policy(0, 0), &uses(HOUR), ahead);
    assert_eq!((removed, spared), (vec![idle], BTreeMap::from([(busy, Spared::InGrace)])));
    // And back: what is dated in the future may have been used just now, until somebody has watched for the grace.
    let (future, _) = put(&store, &catalog, "future", 0);
    date(&store, &future, ahead);
    catalog.put_uses(&[(future, ahead)], ahead).unwrap();
    let (_, removed, _) = collect(&catalog, &policy(0, 0), &uses(GRACE / 2), now());
    assert!(removed.is_empty());
    let (_, removed, _) = collect(&catalog, &policy(0, 0), &uses(GRACE), now());
    assert_eq!(removed, [future]);
    // Before 1970, and as far ahead as times go.
    let (odd, _) = put(&store, &catalog, "odd", 1);
    let early = SystemTime::UNIX_EPOCH - HOUR;
    assert!(collect(&catalog, &policy(0, 0), &NoUses, early).1.is_empty());
    let late = SystemTime::UNIX_EPOCH + 2_000_000 * HOUR;
    assert_eq!(collect(&catalog, &policy(0, 0), &uses(HOUR), late).1, [odd]);
}

#[test]
fn readers_keep_what_they_have_mapped() {
    let (_folder, store) = store();
    let (catalog, _) = Catalog::open(&store).unwrap();
    let (key, bytes) = put(&store, &catalog, "a", 2);
    let before = store.removed_but_mapped_bytes();
    let open = Store::open(store.root()).unwrap().open_index(&key).unwrap().unwrap();
    date(&store, &key, now() - HOUR);
    assert_eq!(store.removed_but_mapped_bytes(), before);
    assert_eq!(collect(&catalog, &policy(0, 0), &NoUses, now()).1, [key]);
    assert!(store.open_index(&key).unwrap().is_none());
    open.verify().unwrap();
    assert_eq!(open.file_bytes().len() as u64, bytes);
    assert!(store.removed_but_mapped_bytes() >= before + bytes, "it takes room until they let go");
    drop(open);
    assert_eq!(store.removed_but_mapped_bytes(), before);
    let (again, _) = put(&store, &catalog, "a", 2);
    assert_eq!(again, key, "published anew");
}

#[test]
fn looking_after_a_file_is_no_use_of_it() {
    let (_folder, store) = store();
    let (catalog, _) = Catalog::open(&store).unwrap();
    let (key, _) = put(&store, &catalog, "a", 48);
    let accessed = || fs::metadata(store.index_path(&key)).unwrap().accessed().unwrap();
    let before = accessed();
    store.verify_index(&key).unwrap().unwrap();
    catalog.rebuild().unwrap();
    assert_eq!(accessed(), before);
}

#[test]
fn killed_at_any_step_the_next_start_is_right_about_every_file() {
    for (until, left) in [("scanned", 3), ("chosen", 3), ("removed", 2), ("forgotten", 1), ("spared", 1)] {
        let (folder, store) = store();
        let (catalog, _) = Catalog::open(&store).unwrap();
        let (pinned, _) = put(&store, &catalog, "pinned", 1);
        store.pin(&pinned).unwrap();
        let all = [pinned, put(&store, &catalog, "a", 5).0, put(&store, &catalog, "b", 4).0];
        // The pinned one was used last, so that its turn comes when the others are gone, whatever their keys are.
        let uses = all.map(|key| (key, if key == pinned { now() - HOUR } else { now() - 2 * HOUR }));
        catalog.put_uses(&uses, now()).unwrap();
        drop(catalog);
        let status = process::run("", "collect", folder.path(), &[until]);
        assert_eq!(status.signal(), Some(9), "{until}: {status}");

        let files = store.scan_indices().map(|file| file.unwrap().key).collect::<Vec<_>>();
        assert_eq!(files.len(), left, "{until}");
        let (catalog, opened) = Catalog::open(&store).unwrap();
        assert_eq!(opened, Opened::Existing, "{until}");
        let records = catalog.indices().map(|record| record.unwrap().0).collect::<Vec<_>>();
        assert_eq!(records, files, "{until}");
        assert_eq!(catalog.usage().0, left as u64, "{until}");
        for key in all {
            let is_there = files.contains(&key);
            assert_eq!(catalog.get_use(&key).unwrap().is_some(), is_there, "{until}: no stamp is left over");
            assert_eq!(store.open_index(&key).unwrap().is_some(), is_there, "{until}");
        }
        assert_eq!(store.pins().unwrap(), [pinned]);
        assert!(quarantined(&store).is_empty(), "{until}");
        collect(&catalog, &policy(0, 0), &NoUses, now());
        assert_eq!(catalog.usage().0, 1, "{until}: and it goes on");
    }
}

#[test]
fn what_cannot_be_removed_is_an_error_and_the_rest_is_right() {
    let folder = tempfile::tempdir().unwrap();
    set_mode(folder.path(), 0o777);
    let status = process::run(process::as_nobody(), "collect_without_rights", folder.path(), &[]);
    assert!(status.success(), "{status}");
}
