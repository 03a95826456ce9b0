//! Files that other processes have put into the store of a running engine.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use gobo_engine::{
    CompileFn, Engine, EngineConfig, EngineError, OpenVocabulary, Outcome, Request, Source, Ticket,
    VocabularyRef,
};
use gobo_store::Store;
use gobo_types::{Budget, CompileError, CompileLimits, Constraint, ErrorKind, IndexKey, index_key};
use gobo_worker::compile_constraint;

use crate::tiny::tiny;

/// An engine that counts its compiles.
struct Counted {
    engine: Engine,
    compiles: Arc<AtomicUsize>,
}

impl Counted {
    fn open(config: EngineConfig) -> Self {
        let compiles = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&compiles);
        let compile: Box<CompileFn> = Box::new(move |vocabulary, constraint, budget| {
            counted.fetch_add(1, Ordering::SeqCst);
            compile_constraint(vocabulary, constraint, 1, budget)
        });
        let engine = Engine::open_with(config, compile).unwrap();
        engine.import("tiny", &tiny(), None).unwrap();
        Self { engine, compiles }
    }

    fn of(store: &Path) -> Self {
        Self::open(EngineConfig { workers: 2, ..EngineConfig::new(store) })
    }

    fn vocabulary(&self) -> Arc<OpenVocabulary> {
        self.engine.vocabulary(&VocabularyRef::Name("tiny".into())).wait().unwrap()
    }

    fn submit(&self, pattern: &str, limits: Option<CompileLimits>) -> Ticket<Outcome> {
        let request = Request::new(self.vocabulary(), Constraint::regex(pattern));
        self.engine.submit(Request { limits, ..request })
    }

    fn compiles(&self) -> usize {
        assert_eq!(self.engine.stats().compiled, self.compiles.load(Ordering::SeqCst) as u64);
        self.compiles.load(Ordering::SeqCst)
    }

    fn key(&self, pattern: &str) -> IndexKey {
        index_key(&self.vocabulary().digest(), &Constraint::regex(pattern).digest())
    }

    /// What another process would compile.
    fn bytes(&self, pattern: &str) -> Vec<u8> {
        let (vocabulary, budget) = (self.vocabulary(), Budget::new(CompileLimits::default()));
        let compiled = compile_constraint(&vocabulary.vocabulary, &Constraint::regex(pattern), 1, &budget);
        compiled.unwrap().bytes().to_vec()
    }

    /// Compiles and publishes as another process does, which owns no catalog.
    fn publish_elsewhere(&self, pattern: &str) -> IndexKey {
        let key = self.key(pattern);
        let store = Store::open(self.engine.store().root()).unwrap();
        store.publish_index(&key, &self.bytes(pattern)).unwrap();
        key
    }

    /// Copies a file in, without the protocol.
    fn copy_in(&self, pattern: &str, change: impl FnOnce(&mut Vec<u8>)) -> IndexKey {
        let (key, mut bytes) = (self.key(pattern), self.bytes(pattern));
        change(&mut bytes);
        let path = self.engine.store().index_path(&key);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
        key
    }
}

#[test]
fn a_file_of_another_process_is_verified_once_recorded_and_handed_out() {
    let folder = tempfile::tempdir().unwrap();
    let counted = Counted::of(folder.path());
    for (pattern, key) in [("a+", counted.publish_elsewhere("a+")), ("b+", counted.copy_in("b+", |_| ()))] {
        let verified = counted.engine.store().verifications();
        let records = counted.engine.usage().unwrap().0;
        let found = counted.submit(pattern, None).wait().unwrap();
        assert_eq!((found.source, found.key, found.compile_us), (Source::Host, key, 0));
        assert_eq!(counted.engine.usage().unwrap().0, records + 1, "it is on record");
        let again = counted.submit(pattern, None).wait().unwrap();
        assert_eq!(again, found);
        assert!(counted.engine.find_again(&key).is_some());
        assert_eq!(counted.engine.store().verifications(), verified + 1);
    }
    assert_eq!(counted.compiles(), 0);
}

#[test]
fn all_who_ask_at_once_wait_for_one_look() {
    let folder = tempfile::tempdir().unwrap();
    let counted = Counted::of(folder.path());
    counted.publish_elsewhere("(ab|c)+");
    let verified = counted.engine.store().verifications();
    thread::scope(|scope| {
        let ask = || counted.submit("(ab|c)+", None).wait().unwrap().source;
        let asking: Vec<_> = (0..16).map(|_| scope.spawn(ask)).collect();
        assert!(asking.into_iter().all(|asked| asked.join().unwrap() == Source::Host));
    });
    assert_eq!(counted.engine.store().verifications(), verified + 1);
    assert_eq!(counted.compiles(), 0);
}

#[test]
fn a_damaged_file_of_another_process_goes_to_quarantine_and_is_compiled() {
    let folder = tempfile::tempdir().unwrap();
    let counted = Counted::of(folder.path());
    // Damage that opening does not see, a cut, another index, and no file at all.
    counted.copy_in("a", |bytes| *bytes.last_mut().unwrap() ^= 1);
    counted.copy_in("b", |bytes| bytes.truncate(100));
    let other = counted.bytes("a");
    counted.copy_in("c", |bytes| *bytes = other);
    fs::create_dir_all(counted.engine.store().index_path(&counted.key("ab"))).unwrap();
    for (compiles, pattern) in (1..).zip(["a", "b", "c", "ab"]) {
        let found = counted.submit(pattern, None).wait().unwrap();
        assert_eq!(found.source, Source::Compile, "{pattern}");
        assert_eq!(counted.compiles(), compiles, "{pattern}");
        assert_eq!(counted.engine.store().quarantined(), compiles as u64, "{pattern}");
        assert!(fs::read(&found.path).unwrap() == counted.bytes(pattern));
    }
}

#[test]
fn a_file_counts_more_than_the_verdict_of_an_earlier_compile() {
    let folder = tempfile::tempdir().unwrap();
    let counted = Counted::of(folder.path());
    let pattern = "[ab]*a[ab]{9}";
    let few = Some(CompileLimits { max_states: 10, ..CompileLimits::default() });
    let over = || counted.submit(pattern, few).wait();
    assert!(matches!(over(), Err(CompileError::OverBudget(_))));
    // Another process may use more. What is damaged changes nothing about the verdict, which costs no second compile.
    counted.copy_in(pattern, |bytes| bytes.truncate(200));
    assert!(matches!(over(), Err(CompileError::OverBudget(_))));
    assert_eq!(counted.compiles.load(Ordering::SeqCst), 1);
    assert_eq!(counted.engine.stats().negative_hits, 1);
    counted.publish_elsewhere(pattern);
    assert_eq!(over().unwrap().source, Source::Host);
    assert_eq!(counted.compiles.load(Ordering::SeqCst), 1);
}

#[test]
fn a_full_queue_of_compiles_turns_nobody_away_whose_file_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let compile: Box<CompileFn> = Box::new(|_, _, budget| {
        loop {
            budget.charge_steps("a compile that waits to be cancelled", 1)?;
            thread::yield_now();
        }
    });
    let config = EngineConfig {
        workers: 1,
        kept_workers: 0,
        queue_length: 1,
        limits: CompileLimits { max_steps: u64::MAX, ..CompileLimits::default() },
        passes: vec![],
        ..EngineConfig::new(folder.path())
    };
    let engine = Engine::open_with(config, compile).unwrap();
    engine.import("tiny", &tiny(), None).unwrap();
    let counted = Counted { engine, compiles: Arc::default() };
    let running = counted.submit("a", None);
    while counted.engine.stats().in_flight == 0 {
        thread::yield_now();
    }
    let queued = counted.submit("b", None);
    let turned = counted.submit("c", None).wait().unwrap_err();
    assert_eq!(turned.kind(), ErrorKind::Busy);
    counted.publish_elsewhere("c");
    assert_eq!(counted.submit("c", None).wait().unwrap().source, Source::Host);
    drop((running, queued));
}

#[test]
fn who_asks_by_key_or_for_a_report_is_told_of_it_too() {
    let folder = tempfile::tempdir().unwrap();
    let counted = Counted::of(folder.path());
    let key = counted.publish_elsewhere("a+");
    assert_eq!(counted.engine.index(&key).unwrap().0.source, Source::Host);
    let key = counted.publish_elsewhere("b+");
    let (found, index) = counted.engine.verified_index(&key).unwrap();
    assert_eq!((found.key, index.key()), (key, key));
    counted.publish_elsewhere("c+");
    let request = Request::new(counted.vocabulary(), Constraint::regex("c+"));
    assert!(counted.engine.check(request).wait().unwrap().is_published);
    assert_eq!(counted.engine.usage().unwrap().0, 3);
    assert_eq!(counted.compiles(), 0);
    let key = counted.copy_in("ab", |bytes| *bytes.last_mut().unwrap() ^= 1);
    let error = counted.engine.verified_index(&key).unwrap_err();
    assert!(matches!(error, EngineError::UnknownIndex { .. }), "{error:?}");
    assert_eq!(counted.engine.store().quarantined(), 1);
}
