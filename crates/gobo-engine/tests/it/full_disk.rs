//! An engine whose catalog has no room on the disk: at its start, or while it runs.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gobo_engine::{
    CollectRequest, Engine, EngineConfig, Outcome, Request, Source, UpkeepConfig, VocabularyRef,
};
use gobo_store::{DatabaseCall, DatabaseError, MemoryDatabase};
use gobo_types::{CompileError, Constraint};
use gobo_worker::compile_constraint;

use crate::tiny::tiny;

/// A disk that can be full, as the catalog's database meets it.
#[derive(Default)]
struct Disk {
    database: MemoryDatabase,
    is_full: Arc<AtomicBool>,
}

impl Disk {
    fn fill(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::SeqCst);
    }

    fn open(&self, store: &Path) -> Engine {
        self.open_bounded(store, None)
    }

    fn open_bounded(&self, store: &Path, max_bytes: Option<u64>) -> Engine {
        let is_full = Arc::clone(&self.is_full);
        // A database that has met a full disk answers nothing any more, not even what it knows.
        self.database.before(move |_: DatabaseCall| {
            let full = || DatabaseError::Io(io::ErrorKind::StorageFull.into());
            if is_full.load(Ordering::SeqCst) { Err(full()) } else { Ok(()) }
        });
        let upkeep = UpkeepConfig { max_bytes, grace: Duration::ZERO, ..UpkeepConfig::default() };
        let config = EngineConfig { workers: 2, upkeep, ..EngineConfig::new(store) };
        let compile = |vocabulary: &_, constraint: &_, budget: &_| {
            compile_constraint(vocabulary, constraint, 1, budget)
        };
        let engine = Engine::open_in(config, Box::new(compile), Box::new(self.database.clone())).unwrap();
        engine.import("tiny", &tiny(), None).unwrap();
        engine
    }
}

fn resolve(engine: &Engine, pattern: &str) -> Outcome {
    let vocabulary = engine.vocabulary(&VocabularyRef::Name("tiny".into())).wait().unwrap();
    engine.resolve(Request::new(vocabulary, Constraint::regex(pattern)))
}

fn is_off_disk(engine: &Engine) -> bool {
    engine.store_stats().is_catalog_off_disk
}

const ALL: CollectRequest = CollectRequest { max_bytes: Some(0), dry_run: false };

#[test]
fn an_engine_starts_on_a_full_disk_serves_collects_and_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk::default();
    let engine = disk.open(folder.path());
    let a = resolve(&engine, "a").unwrap();
    resolve(&engine, "b").unwrap();
    assert!(matches!(resolve(&engine, "(").unwrap_err(), CompileError::Refused(_)));
    assert!(!is_off_disk(&engine));
    drop(engine);

    disk.fill(true);
    let engine = disk.open(folder.path());
    assert!(is_off_disk(&engine));
    // Nobody else may own the store meanwhile.
    assert!(Engine::open(EngineConfig::new(folder.path())).is_err());
    let again = resolve(&engine, "a").unwrap();
    assert_eq!((again.source, again.artifact_digest), (Source::Host, a.artifact_digest));
    assert_eq!(resolve(&engine, "a").unwrap(), again);
    assert!(matches!(resolve(&engine, "(").unwrap_err(), CompileError::Refused(_)));
    engine.upkeep_round(true);
    assert!(is_off_disk(&engine), "still full");
    engine.pin(&a.key).unwrap();
    let garbage = engine.collect(&ALL, &mut |_| {}).unwrap();
    assert_eq!((garbage.indices.removed, garbage.indices.pinned), (1, 1));

    disk.fill(false);
    engine.upkeep_round(false);
    assert!(!is_off_disk(&engine));
    assert_eq!(engine.usage().unwrap(), (1, a.bytes), "in step with the files");
    assert_eq!(resolve(&engine, "a").unwrap().source, Source::Host);
    assert_eq!(resolve(&engine, "b").unwrap().source, Source::Compile);
    assert_eq!(engine.stats().negative_hits, 0);
    assert!(resolve(&engine, "(").is_err());
    assert_eq!(engine.stats().negative_hits, 1, "what it knew before it was full it knows again");
    drop(engine);
    disk.database.crash();
    assert_eq!(disk.open(folder.path()).usage().unwrap().0, 2, "and it is on the disk");
}

#[test]
fn a_disk_that_fills_while_the_engine_runs_takes_no_hit_away() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk::default();
    drop({
        let engine = disk.open(folder.path());
        resolve(&engine, "a").unwrap();
        engine
    });
    let engine = disk.open(folder.path());
    disk.fill(true);
    // It was not handed out by this engine yet.
    assert_eq!(resolve(&engine, "a").unwrap().source, Source::Host);
    // The file has room here, its record has not.
    let b = resolve(&engine, "b").unwrap();
    assert_eq!(b.source, Source::Compile);
    assert_eq!(resolve(&engine, "b").unwrap().source, Source::Host);
    engine.upkeep_round(false);
    engine.scrub().unwrap();
    assert!(is_off_disk(&engine));
    assert_eq!(resolve(&engine, "a").unwrap().source, Source::Host);
    let garbage = engine.collect(&ALL, &mut |_| {}).unwrap();
    assert_eq!(garbage.indices.removed, 2);
    assert_eq!(resolve(&engine, "a").unwrap().source, Source::Compile);

    disk.fill(false);
    // Whoever makes room brings it back.
    engine.collect(&CollectRequest::default(), &mut |_| {}).unwrap();
    assert!(!is_off_disk(&engine));
    assert_eq!(engine.usage().unwrap().0, 1);
    resolve(&engine, "c").unwrap();
    drop(engine);
    disk.database.crash();
    let engine = disk.open(folder.path());
    assert_eq!(engine.usage().unwrap().0, 2);
    for pattern in ["a", "c"] {
        assert_eq!(resolve(&engine, pattern).unwrap().source, Source::Host);
    }
}

#[test]
fn a_bound_holds_on_a_full_disk_too() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk::default();
    let engine = disk.open(folder.path());
    let bytes = resolve(&engine, "a").unwrap().bytes + resolve(&engine, "b").unwrap().bytes;
    drop(engine);
    disk.fill(true);
    let engine = disk.open_bounded(folder.path(), Some(bytes - 1));
    engine.upkeep_round(false);
    let stats = engine.store_stats();
    assert!(stats.evicted > 0 && engine.store().usage().unwrap().index_bytes < bytes, "{stats:?}");
}
