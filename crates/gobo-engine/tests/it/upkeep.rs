//! What an engine does for its store in the long run, one round at a time.

use std::collections::BTreeSet;
use std::fs::{self, File, FileTimes};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use gobo_compiler::CompileOptions;
use gobo_engine::{
    CollectRequest, Engine, EngineConfig, EngineError, OpenVocabulary, Outcome, Request, Resolved, Source,
    UpkeepConfig, VocabularyRef,
};
use gobo_store::{CollectEvent, Quarantine};
use gobo_types::{CompileError, Constraint, IndexKey};
use gobo_worker::compile_constraint;

use crate::tiny::tiny;

fn config(store: &Path, upkeep: UpkeepConfig) -> EngineConfig {
    EngineConfig { workers: 2, queue_length: 64, upkeep, ..EngineConfig::new(store) }
}

/// Nothing by itself, and no grace.
fn bare() -> UpkeepConfig {
    UpkeepConfig { grace: Duration::ZERO, ..UpkeepConfig::default() }
}

fn open(store: &Path, upkeep: UpkeepConfig) -> Engine {
    let engine = Engine::open(config(store, upkeep)).unwrap();
    engine.import("tiny", &tiny(), None).unwrap();
    engine
}

fn vocabulary(engine: &Engine) -> Arc<OpenVocabulary> {
    engine.vocabulary(&VocabularyRef::Name("tiny".into())).wait().unwrap()
}

fn resolve(engine: &Engine, pattern: &str) -> Outcome {
    engine.resolve(Request::new(vocabulary(engine), Constraint::regex(pattern)))
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Makes a file look as if nobody had touched it for so many hours.
fn age(found: &Resolved, hours: u64) {
    let time = SystemTime::now() - Duration::from_secs(hours * 3600);
    let times = FileTimes::new().set_accessed(time).set_modified(time);
    File::open(&found.path).unwrap().set_times(times).unwrap();
}

fn removed(engine: &Engine, request: CollectRequest) -> BTreeSet<IndexKey> {
    let mut removed = BTreeSet::new();
    let garbage = engine
        .collect(&request, &mut |event| {
            if let CollectEvent::Removed(candidate) = event {
                removed.insert(candidate.key);
            }
        })
        .unwrap();
    assert_eq!(garbage.indices.removed, removed.len() as u64);
    removed
}

const ALL: CollectRequest = CollectRequest { max_bytes: Some(0), dry_run: false };

/// Damages a file in place of the published one.
fn damage(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

#[test]
fn rounds_evict_down_to_the_low_watermark_and_spare_what_is_pinned() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), bare());
    let found: Vec<Resolved> = (0..6).map(|n| resolve(&engine, &format!("a{{{n}}}b")).unwrap()).collect();
    let bytes: u64 = found.iter().map(|found| found.bytes).sum();
    drop(engine);
    for (hours, found) in (1..).zip(&found) {
        age(found, 10 - hours);
    }
    // What close stamped is forgotten with the catalog; the pin is not.
    let engine = open(folder.path(), bare());
    assert!(engine.pin(&found[0].key).unwrap() && !engine.pin(&found[0].key).unwrap());
    drop(engine);
    fs::remove_dir_all(folder.path().join("catalog")).unwrap();
    let upkeep = UpkeepConfig { max_bytes: Some(bytes - 1), low_percent: 70, ..bare() };
    let engine = open(folder.path(), upkeep);
    let stats = engine.store_stats();
    assert_eq!((stats.rebuilds, stats.indices, stats.bytes), (1, 6, bytes));

    engine.upkeep_round(true);
    let stats = engine.store_stats();
    assert!(stats.bytes <= (bytes - 1) / 100 * 70, "{stats:?}");
    assert_eq!((stats.indices + stats.evicted, stats.bytes + stats.evicted_bytes), (6, bytes));
    assert_eq!((stats.pinned, stats.upkeep_failures), (1, 0));
    assert!(found[0].path.exists(), "the oldest is pinned");
    assert!(!found[1].path.exists() && found[5].path.exists(), "the oldest use went first");
    let evicted = engine.store_stats().evicted;
    engine.upkeep_round(false);
    assert_eq!(engine.store_stats().evicted, evicted, "below the mark nothing goes");
    assert_eq!(resolve(&engine, "a{1}b").unwrap().source, Source::Compile);
    assert_eq!(engine.pins().unwrap(), [(found[0].key, Some(found[0].bytes))]);
    assert!(engine.unpin(&found[0].key).unwrap() && !engine.unpin(&found[0].key).unwrap());
    assert!(removed(&engine, ALL).contains(&found[0].key));
    let error = engine.pin(&found[0].key).unwrap_err();
    assert!(matches!(error, EngineError::UnknownIndex { .. }), "{error}");
    assert!(engine.pins().unwrap().is_empty(), "a pin that failed leaves nothing");
    assert_eq!(engine.usage().unwrap(), (0, 0));
}

#[test]
fn a_path_that_was_just_named_can_be_opened() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), UpkeepConfig { max_bytes: Some(0), ..UpkeepConfig::default() });
    let found = resolve(&engine, "a+").unwrap();
    age(&found, 100);
    assert!(removed(&engine, ALL).is_empty(), "this engine has just named it, whatever its file says");
    drop(engine);
    // The next engine knows from the stamp.
    let engine = open(folder.path(), UpkeepConfig { max_bytes: Some(0), ..UpkeepConfig::default() });
    assert!(removed(&engine, ALL).is_empty());
    engine.upkeep_round(false);
    assert!(found.path.exists(), "by itself it removes nothing before it has watched for the grace");
    assert!(removed(&engine, CollectRequest { max_bytes: None, dry_run: true }).is_empty());
}

#[test]
fn dry_runs_remove_nothing_and_tell_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let quarantine = Quarantine { max_bytes: 0, ..Quarantine::default() };
    let engine = open(folder.path(), UpkeepConfig { quarantine, ..bare() });
    let found = [resolve(&engine, "a").unwrap(), resolve(&engine, "b").unwrap()];
    fs::write(folder.path().join("quarantine/x"), b"odd").unwrap();
    let dry = CollectRequest { dry_run: true, ..ALL };
    let said = engine.collect(&dry, &mut |_| {}).unwrap();
    assert!(found.iter().all(|found| found.path.exists()));
    assert_eq!((said.indices.removed, said.quarantine.removed), (2, 1));
    assert_eq!(engine.collect(&ALL, &mut |_| {}).unwrap(), said);
    assert_eq!(engine.store_stats().evicted, 2);
    assert!(!folder.path().join("quarantine/x").exists());
}

#[test]
fn resolving_while_everything_is_evicted_ends_well() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), bare());
    let barrier = Barrier::new(4);
    thread::scope(|scope| {
        let work = || {
            barrier.wait();
            for n in 0..100 {
                match resolve(&engine, &format!("a{{{}}}", 1 + n % 3)) {
                    Ok(found) => assert!(found.bytes > 0),
                    // Without a grace an index may go between its publishing and its opening.
                    Err(error) => assert!(matches!(error, CompileError::Unavailable { .. }), "{error:?}"),
                }
            }
        };
        let threads = [0; 3].map(|_| scope.spawn(work));
        barrier.wait();
        while threads.iter().any(|thread| !thread.is_finished()) {
            engine.collect(&ALL, &mut |_| {}).unwrap();
        }
    });
    assert_eq!(engine.panics(), 0);
    engine.upkeep_round(true);
    let files = engine.store().usage().unwrap();
    assert_eq!(
        engine.usage().unwrap(),
        (files.indices, files.index_bytes),
        "the totals are those of the files"
    );
    assert_eq!(engine.store_stats().quarantined, 0);
}

#[test]
fn the_scrubber_sets_damaged_files_aside_and_forgets_them() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), bare());
    let (sound, broken) = (resolve(&engine, "sound").unwrap(), resolve(&engine, "broken").unwrap());
    engine.scrub().unwrap();
    let stats = engine.store_stats();
    assert_eq!((stats.scrub_passes, stats.scrubbed, stats.scrub_damaged), (1, 3, 0));
    assert!(stats.scrubbed_bytes >= sound.bytes + broken.bytes);

    let (length, modified) = {
        let metadata = fs::metadata(&broken.path).unwrap();
        (metadata.len(), metadata.modified().unwrap())
    };
    damage(&broken.path);
    File::open(&broken.path).unwrap().set_modified(modified).unwrap();
    assert_eq!(fs::metadata(&broken.path).unwrap().len(), length);
    engine.scrub().unwrap();
    let stats = engine.store_stats();
    assert_eq!((stats.scrub_damaged, stats.quarantined, stats.indices), (1, 1, 1));
    assert!(!broken.path.exists() && sound.path.exists());
    assert_eq!(resolve(&engine, "broken").unwrap().source, Source::Compile);
    assert_eq!(resolve(&engine, "sound").unwrap().source, Source::Host);
}

#[test]
fn the_scrubber_audits_its_share_and_sets_wrong_files_aside() {
    let folder = tempfile::tempdir().unwrap();
    let upkeep = UpkeepConfig { audit_share: Some(1), ..bare() };
    // A compile with a bug: it publishes the language of another constraint.
    let is_broken = Arc::new(AtomicBool::new(true));
    let breaks = Arc::clone(&is_broken);
    let engine = Engine::open_with(
        config(folder.path(), upkeep),
        Box::new(move |vocabulary, constraint, budget| {
            let is_wrong = *constraint == Constraint::regex("wrong") && breaks.load(Ordering::Relaxed);
            let meant = if is_wrong { Constraint::regex("other") } else { constraint.clone() };
            let lowered = gobo_worker::lower(&meant, budget)?;
            gobo_compiler::compile(vocabulary, constraint, &lowered, &CompileOptions::default(), budget)
        }),
    )
    .unwrap();
    engine.import("tiny", &tiny(), None).unwrap();
    let (right, wrong) = (resolve(&engine, "right").unwrap(), resolve(&engine, "wrong").unwrap());
    engine.store().verify_index(&wrong.key).unwrap().expect("every digest in it is right");
    engine.scrub().unwrap();
    let stats = engine.store_stats();
    assert_eq!((stats.audited, stats.audits_differing, stats.audits_undecided), (2, 1, 0));
    assert_eq!((stats.scrub_damaged, stats.quarantined, stats.indices), (0, 1, 1));
    assert!(!wrong.path.exists() && right.path.exists());
    is_broken.store(false, Ordering::Relaxed);
    assert_eq!(resolve(&engine, "wrong").unwrap().source, Source::Compile);
    engine.scrub().unwrap();
    let stats = engine.store_stats();
    assert_eq!((stats.audited, stats.audits_differing, stats.audits_undecided), (4, 1, 0));
}

#[test]
fn nothing_is_compiled_over_a_damaged_vocabulary() {
    let folder = tempfile::tempdir().unwrap();
    let gate = Arc::new((AtomicUsize::new(0), AtomicBool::new(false)));
    let inside = Arc::clone(&gate);
    let engine = Engine::open_with(
        config(folder.path(), bare()),
        Box::new(move |vocabulary, constraint, budget| {
            inside.0.fetch_add(1, Ordering::SeqCst);
            while !inside.1.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(1));
            }
            compile_constraint(vocabulary, constraint, 1, budget)
        }),
    )
    .unwrap();
    let named = engine.import("tiny", &tiny(), None).unwrap();
    let held = vocabulary(&engine);
    let request = |pattern: &str| Request::new(Arc::clone(&held), Constraint::regex(pattern));
    let under_way = engine.submit(request("under way"));
    until("the compile begins", || gate.0.load(Ordering::SeqCst) == 1);
    let path = engine.store().vocabulary_path(&named.vocabulary);
    damage(&path);
    engine.scrub().unwrap();
    assert!(!path.exists());
    assert_eq!(engine.store_stats().scrub_damaged, 1);
    gate.1.store(true, Ordering::SeqCst);
    let error = under_way.wait().unwrap_err();
    assert!(matches!(&error, CompileError::Unavailable { why, .. } if why.contains("damaged")), "{error:?}");
    // Who still holds the old one gets nothing compiled over it either.
    assert!(matches!(engine.resolve(request("later")), Err(CompileError::Unavailable { .. })));
    assert_eq!(engine.usage().unwrap().0, 0);
    let error = engine.vocabulary(&VocabularyRef::Name("tiny".into())).wait().unwrap_err();
    assert!(matches!(*error, EngineError::MissingVocabulary { .. }), "{error}");
    engine.import("tiny", &tiny(), None).unwrap();
    assert_eq!(resolve(&engine, "later").unwrap().source, Source::Compile);
}

#[test]
fn the_background_does_it_all_by_itself_and_ends_with_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), bare());
    let found = resolve(&engine, "a+").unwrap();
    damage(&found.path);
    fs::write(folder.path().join("quarantine/x"), b"odd").unwrap();
    drop(engine);
    let upkeep = UpkeepConfig {
        background: true,
        max_bytes: Some(0),
        every: Duration::ZERO,
        scrub_rate: Some(u64::MAX),
        quarantine: Quarantine { max_bytes: 0, ..Quarantine::default() },
        ..bare()
    };
    let engine = open(folder.path(), upkeep);
    until("the scrubber sees it", || engine.store_stats().scrub_damaged + engine.store_stats().evicted == 1);
    until("the quarantine is emptied", || {
        fs::read_dir(folder.path().join("quarantine")).unwrap().next().is_none()
    });
    resolve(&engine, "b+").unwrap();
    until("what nobody uses any more goes", || engine.usage().unwrap() == (0, 0));
    assert_eq!(engine.store_stats().upkeep_failures, 0);
    engine.close();
    engine.close();
    // Nothing holds the store any more.
    drop(open(folder.path(), bare()));
}

#[test]
fn readers_of_an_evicted_index_are_counted_until_they_let_go() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), bare());
    let found = resolve(&engine, "a+").unwrap();
    let (_, open_index) = engine.index(&found.key).unwrap();
    assert!(!removed(&engine, ALL).is_empty());
    assert!(engine.store_stats().removed_but_mapped_bytes >= found.bytes);
    open_index.verify().unwrap();
    drop(open_index);
    engine.upkeep_round(false);
    assert_eq!(engine.store_stats().removed_but_mapped_bytes, 0);
}
