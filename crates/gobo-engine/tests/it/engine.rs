//! An engine over a temporary store, with compiles that can be counted, held and broken.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use gobo_engine::{
    CompileFn, Engine, EngineConfig, EngineError, OpenVocabulary, Outcome, PassTime, Priority, Request,
    Source, Ticket, VocabularyRef,
};
use gobo_tokenizer::Imported;
use gobo_types::{CompileError, CompileLimits, Constraint, ErrorKind, Limit, RefusalKind};
use gobo_worker::compile_constraint;

use crate::tiny::tiny;

fn config(store: &Path) -> EngineConfig {
    EngineConfig { workers: 2, queue_length: 64, ..EngineConfig::new(store) }
}

fn open(store: &Path) -> Engine {
    with_tiny(Engine::open(config(store)).unwrap())
}

fn with_tiny(engine: Engine) -> Engine {
    engine.import("tiny", &tiny(), None).unwrap();
    engine
}

fn vocabulary(engine: &Engine) -> Arc<OpenVocabulary> {
    engine.vocabulary(&VocabularyRef::Name("tiny".into())).wait().unwrap()
}

fn request(engine: &Engine, pattern: &str) -> Request {
    Request::new(vocabulary(engine), Constraint::regex(pattern))
}

fn submit(engine: &Engine, pattern: &str) -> Ticket<Outcome> {
    engine.submit(request(engine, pattern))
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// On threads the clock is looked at where steps are charged.
#[test]
fn a_thread_that_takes_longer_than_its_pass_may_gives_up() {
    let folder = tempfile::tempdir().unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let compile: Box<CompileFn> = Box::new(move |_, _, budget| {
        counted.fetch_add(1, Ordering::SeqCst);
        loop {
            budget.charge_steps("a loop that charges too little", 0)?;
        }
    });
    let pass_time = PassTime { floor: Duration::from_millis(1), per_step: Duration::ZERO };
    let config = EngineConfig { pass_time, passes: vec![1000], ..config(folder.path()) };
    let engine = with_tiny(Engine::open_with(config, compile).unwrap());
    for tried in 1..3 {
        let outcome = submit(&engine, "a").wait();
        assert!(
            matches!(&outcome, Err(CompileError::Unavailable { why, .. }) if why.contains("a bug of gobo")),
            "{outcome:?}"
        );
        let stats = engine.stats();
        assert_eq!((stats.out_of_proportion, stats.later_passes, stats.killed()), (tried, 0, 0));
        assert_eq!(stats.negative_hits, 0, "it is not remembered");
    }
    assert_eq!(calls.load(Ordering::SeqCst), 2, "each is tried once");
}

/// A compile that waits for a gate, seeing to its cancel flag, and counts.
#[derive(Default)]
struct Gate {
    begun: AtomicUsize,
    cancelled: AtomicUsize,
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn compile(self: &Arc<Self>) -> Box<CompileFn> {
        let gate = Arc::clone(self);
        Box::new(move |vocabulary, constraint, budget| {
            gate.begun.fetch_add(1, Ordering::SeqCst);
            let mut open = gate.open.lock().unwrap();
            while !*open {
                if let Err(error) = budget.charge_steps("gate", 1) {
                    gate.cancelled.fetch_add(1, Ordering::SeqCst);
                    return Err(error);
                }
                open = gate.opened.wait_timeout(open, Duration::from_millis(1)).unwrap().0;
            }
            drop(open);
            compile_constraint(vocabulary, constraint, 1, budget)
        })
    }

    fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.opened.notify_all();
    }

    fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }
}

fn gated(store: &Path) -> (Engine, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    (with_tiny(Engine::open_with(config(store), gate.compile()).unwrap()), gate)
}

#[test]
fn a_miss_compiles_and_a_hit_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let first = submit(&engine, "a+").wait().unwrap();
    assert_eq!(first.source, Source::Compile);
    assert_eq!(fs::metadata(&first.path).unwrap().permissions().mode() & 0o777, 0o444);
    assert_eq!(fs::metadata(&first.path).unwrap().len(), first.bytes);
    let second = submit(&engine, "a+").wait().unwrap();
    assert_eq!((second.source, second.artifact_digest), (Source::Host, first.artifact_digest));
    let stats = engine.stats();
    assert_eq!((stats.hits, stats.misses, stats.compiled), (1, 1, 1));
    assert_eq!(engine.usage().unwrap(), (1, first.bytes));
    drop(engine);

    let again = open(folder.path());
    let third = submit(&again, "a+").wait().unwrap();
    assert_eq!((third.source, third.artifact_digest), (Source::Host, first.artifact_digest));
    assert_eq!(again.stats().compiled, 0, "found again after a restart");
}

#[test]
fn a_hundred_identical_misses_are_one_compile() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, gate) = gated(folder.path());
    let tickets: Vec<_> = (0..100).map(|_| submit(&engine, "ab|c")).collect();
    gate.open();
    let outcomes: Vec<_> = tickets.into_iter().map(|ticket| ticket.wait().unwrap()).collect();
    assert!(outcomes.iter().all(|found| found == &outcomes[0]));
    assert_eq!((gate.begun(), engine.stats().compiled, engine.stats().misses), (1, 1, 100));
}

#[test]
fn a_panic_is_contained_told_to_all_and_never_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let compile: Box<CompileFn> = Box::new(move |vocabulary, constraint, budget| {
        // Both workers could die of it.
        assert!(counted.fetch_add(1, Ordering::SeqCst) >= 4, "broken on purpose");
        compile_constraint(vocabulary, constraint, 1, budget)
    });
    let engine = with_tiny(Engine::open_with(config(folder.path()), compile).unwrap());
    for _ in 0..4 {
        let outcome = submit(&engine, "a").wait();
        assert!(
            matches!(&outcome, Err(CompileError::Failed(why)) if why.contains("broken on purpose")),
            "{outcome:?}"
        );
    }
    assert!(submit(&engine, "a").wait().is_ok());
    assert_eq!((engine.stats().failed, engine.panics()), (4, 0));
}

#[test]
fn leaving_harms_nobody_and_the_last_to_leave_cancels() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, gate) = gated(folder.path());
    let first = submit(&engine, "a");
    let second = submit(&engine, "a");
    until("the compile begins", || gate.begun() == 1);
    drop(first);
    let alone = submit(&engine, "b");
    until("the other compile begins", || gate.begun() == 2);
    drop(alone);
    until("nobody wants b", || gate.cancelled.load(Ordering::SeqCst) == 1);
    gate.open();
    assert!(second.wait().is_ok());
    assert_eq!(submit(&engine, "b").wait().unwrap().source, Source::Compile, "being cancelled is no verdict");
}

#[test]
fn a_prewarm_goes_on_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, gate) = gated(folder.path());
    drop(engine.submit(Request { priority: Priority::Prewarm, ..request(&engine, "a") }));
    gate.open();
    until("it is compiled", || engine.stats().compiled == 1);
    assert_eq!(gate.cancelled.load(Ordering::SeqCst), 0);
}

#[test]
fn a_transient_end_is_tried_once_more() {
    let folder = tempfile::tempdir().unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let compile: Box<CompileFn> = Box::new(move |vocabulary, constraint, budget| {
        if constraint.text() == "b" || counted.fetch_add(1, Ordering::SeqCst) == 0 {
            return Err(CompileError::unavailable("the worker was killed"));
        }
        compile_constraint(vocabulary, constraint, 1, budget)
    });
    let engine = with_tiny(Engine::open_with(config(folder.path()), compile).unwrap());
    assert!(submit(&engine, "a").wait().is_ok());
    assert_eq!(calls.load(Ordering::SeqCst), 2);
    assert!(matches!(submit(&engine, "b").wait(), Err(CompileError::Unavailable { .. })));
}

#[test]
fn what_does_not_fit_is_turned_away_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let gate = Arc::new(Gate::default());
    let config = EngineConfig { workers: 1, queue_length: 1, ..EngineConfig::new(folder.path()) };
    let engine = with_tiny(Engine::open_with(config, gate.compile()).unwrap());
    let running = submit(&engine, "a");
    until("the worker is busy", || gate.begun() == 1);
    let queued = submit(&engine, "b");
    assert_eq!((engine.stats().in_flight, engine.stats().queued), (1, 1));
    let turned = submit(&engine, "c").wait();
    assert!(
        matches!(&turned, Err(error @ CompileError::Unavailable { .. }) if error.kind() == ErrorKind::Busy),
        "{turned:?}"
    );
    // Joining is always possible.
    let joined = submit(&engine, "b");
    gate.open();
    for ticket in [running, queued, joined] {
        ticket.wait().unwrap();
    }
    submit(&engine, "c").wait().unwrap();
}

#[test]
fn verdicts_are_remembered_as_far_as_they_hold() {
    let folder = tempfile::tempdir().unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let counting = |calls: &Arc<AtomicUsize>| -> Box<CompileFn> {
        let counted = Arc::clone(calls);
        Box::new(move |vocabulary, constraint, budget| {
            counted.fetch_add(1, Ordering::SeqCst);
            compile_constraint(vocabulary, constraint, 1, budget)
        })
    };
    let engine = with_tiny(Engine::open_with(config(folder.path()), counting(&calls)).unwrap());
    for _ in 0..3 {
        let Err(CompileError::Refused(refusal)) = submit(&engine, "(").wait() else { panic!("not refused") };
        assert_eq!(refusal.kind, RefusalKind::Malformed);
    }
    assert_eq!(calls.load(Ordering::SeqCst), 1);

    let few = CompileLimits { max_states: 10, ..CompileLimits::default() };
    for _ in 0..3 {
        let outcome = engine.resolve(Request { limits: Some(few), ..request(&engine, "[ab]*a[ab]{9}") });
        let Err(CompileError::OverBudget(over)) = outcome else { panic!("not over budget: {outcome:?}") };
        assert_eq!((over.limit, over.given), (Limit::MaxStates, 10));
    }
    assert_eq!(calls.load(Ordering::SeqCst), 2);
    assert!(submit(&engine, "[ab]*a[ab]{9}").wait().is_ok(), "other limits, other verdict");
    let outcome = engine.resolve(Request { limits: Some(few), ..request(&engine, "[ab]*a[ab]{9}") });
    assert!(outcome.is_ok(), "a file is found whatever the limits");
    drop(engine);

    let calls = Arc::new(AtomicUsize::new(0));
    let again = with_tiny(Engine::open_with(config(folder.path()), counting(&calls)).unwrap());
    assert!(matches!(submit(&again, "(").wait(), Err(CompileError::Refused(_))));
    assert_eq!(calls.load(Ordering::SeqCst), 0);
}

fn overwrite(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    // A published file may not be written to; what breaks files does not ask.
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_damaged_or_removed_file_is_compiled_anew() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let sound = submit(&engine, "a+").wait().unwrap();
    overwrite(&sound.path, |bytes| bytes[100] ^= 1);
    let anew = submit(&engine, "a+").wait().unwrap();
    assert_eq!((anew.source, anew.artifact_digest), (Source::Compile, sound.artifact_digest));
    overwrite(&sound.path, |bytes| bytes.truncate(bytes.len() / 2));
    assert_eq!(submit(&engine, "a+").wait().unwrap().source, Source::Compile);
    fs::remove_file(&sound.path).unwrap();
    assert_eq!(submit(&engine, "a+").wait().unwrap().source, Source::Compile);
    assert!(fs::read_dir(engine.store().quarantine_path()).unwrap().count() >= 2);

    // Damage that opening in O(1) does not see is seen before the file is sent anywhere.
    overwrite(&sound.path, |bytes| *bytes.last_mut().unwrap() ^= 1);
    let error = engine.verified_index(&sound.key).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert_eq!(submit(&engine, "a+").wait().unwrap().source, Source::Compile);
    assert!(engine.verified_index(&sound.key).is_ok());
}

#[test]
fn a_file_without_a_record_is_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let first = submit(&engine, "a+").wait().unwrap();
    let other = tempfile::tempdir().unwrap();
    let second = open(other.path());
    second.store().publish_index(&first.key, &fs::read(&first.path).unwrap()).unwrap();
    let found = submit(&second, "a+").wait().unwrap();
    assert_eq!((found.source, found.artifact_digest), (Source::Host, first.artifact_digest));
    assert_eq!(second.usage().unwrap().0, 1);
}

#[test]
fn one_engine_per_store() {
    let folder = tempfile::tempdir().unwrap();
    let _engine = open(folder.path());
    let error = Engine::open(config(folder.path())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
}

#[test]
fn closing_ends_every_ticket_and_refuses_more() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, gate) = gated(folder.path());
    let tickets: Vec<_> = ["a", "b", "c", "d"].iter().map(|pattern| submit(&engine, pattern)).collect();
    until("both workers are busy", || gate.begun() == 2);
    let vocabulary = request(&engine, "e");
    engine.close();
    for ticket in tickets.into_iter().chain([engine.submit(vocabulary)]) {
        let outcome = ticket.wait();
        assert!(matches!(outcome, Err(CompileError::Unavailable { .. })), "{outcome:?}");
    }
    assert!(matches!(engine.run(|| Ok(())).wait(), Err(EngineError::Closed)));
    engine.close();
    // The closed engine is still held, and owns the store no more.
    open(folder.path());
}

#[tokio::test]
async fn tickets_can_be_awaited_and_dropped_by_tasks() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, gate) = gated(folder.path());
    let late = tokio::time::timeout(Duration::from_millis(20), submit(&engine, "a")).await;
    assert!(late.is_err());
    until("it is cancelled", || gate.cancelled.load(Ordering::SeqCst) == 1);
    gate.open();
    assert!(submit(&engine, "a").await.is_ok());
}

#[test]
fn names_stand_for_what_was_imported_last() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    assert_eq!(vocabulary(&engine).binding(), Some(&tiny().binding()));
    let wider = Imported { logits_width: 256, bos: Some(0), ..tiny() };
    engine.import("tiny", &wider, None).unwrap();
    assert_eq!(vocabulary(&engine).binding(), Some(&wider.binding()));
    let digest = vocabulary(&engine).digest();
    let by_digest = engine.vocabulary(&VocabularyRef::Digest(digest)).wait().unwrap();
    assert_eq!((by_digest.digest(), by_digest.binding()), (digest, None));

    let unknown = engine.vocabulary(&VocabularyRef::Name("nobody".into())).wait().unwrap_err();
    assert!(matches!(&*unknown, EngineError::UnknownVocabulary { name } if name == "nobody"));
    let odd = engine.vocabulary(&VocabularyRef::Name("../tiny".into())).wait().unwrap_err();
    assert_eq!(odd.kind(), ErrorKind::Invalid);
    fs::remove_file(engine.store().vocabulary_path(&digest)).unwrap();
    drop(engine);
    let engine = Engine::open(config(folder.path())).unwrap();
    let missing = engine.vocabulary(&VocabularyRef::Name("tiny".into())).wait().unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound, "{missing}");
}

#[test]
fn a_built_in_vocabulary_is_imported_at_its_first_use() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(config(folder.path())).unwrap();
    let name = VocabularyRef::Name("r50k_base".into());
    let tickets: Vec<_> = (0..4).map(|_| engine.vocabulary(&name)).collect();
    for ticket in tickets {
        assert_eq!(ticket.wait().unwrap().vocabulary.len(), 50_257);
    }
    assert_eq!(engine.store().list_names().unwrap(), ["r50k_base"]);
}

#[test]
fn a_refusal_keeps_little_of_what_was_sent() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    for number in 0..8 {
        let schema = format!(r##"{{"$ref": "#/{}/{number}"}}"##, "long".repeat(1 << 18));
        let constraint = Constraint::schema(&schema, gobo_types::SchemaOptions::default());
        let outcome = engine.resolve(Request::new(vocabulary(&engine), constraint));
        let Err(CompileError::Refused(refusal)) = outcome else { panic!("{:?}", outcome.is_ok()) };
        assert!(refusal.place.len() <= 1024 && refusal.reason.len() <= 1024, "{refusal}");
        assert!(refusal.to_string().contains("bytes) …"), "it says how long it was: {refusal}");
    }
    let stats = engine.store_stats();
    assert_eq!(stats.verdicts, 8);
    assert!(stats.verdict_bytes < 8 * 2500, "{stats:?}");
}

#[test]
fn nobody_may_use_more_than_the_engine_allows_and_equal_limits_share_a_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let few = CompileLimits { max_states: 100, ..CompileLimits::default() };
    let engine = with_tiny(Engine::open(EngineConfig { limits: few, ..config(folder.path()) }).unwrap());
    let most = CompileLimits { max_states: u64::MAX, max_steps: u64::MAX, max_bytes: u64::MAX };
    let ask = |limits| engine.resolve(Request { limits, ..request(&engine, "[ab]*a[ab]{9}") });
    for limits in [Some(most), None, Some(few), Some(CompileLimits { max_states: 101, ..most })] {
        let outcome = ask(limits);
        assert!(
            matches!(&outcome, Err(CompileError::OverBudget(over)) if (over.limit, over.given) == (Limit::MaxStates, 100)),
            "{limits:?}: {outcome:?}"
        );
        let request = Request { limits, ..request(&engine, "[ab]*a[ab]{9}") };
        assert_eq!(engine.check(request).wait().unwrap_err(), outcome.unwrap_err());
    }
    let stats = engine.stats();
    assert_eq!((stats.misses, stats.refused, stats.negative_hits), (1, 1, 7), "one verdict for all of them");
    let fewer = ask(Some(CompileLimits { max_states: 10, ..most }));
    assert!(matches!(&fewer, Err(CompileError::OverBudget(over)) if over.given == 10), "{fewer:?}");
}

/// Three tenants fill the queue, each within its quota. A fourth is let in, and only those who waited most are turned away.
#[test]
fn a_full_queue_has_room_for_another_tenant() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, gate) = gated(folder.path());
    let ask = |tenant: &str, pattern: String| {
        engine.submit(Request { tenant: tenant.into(), ..request(&engine, &pattern) })
    };
    let mut flood = Vec::new();
    for number in 0..2 {
        flood.push(ask("on workers", format!("b{{{number}}}")));
    }
    until("both workers are busy", || gate.begun() == 2);
    for number in 1..=64 {
        flood.push(ask(["x", "y", "z"][number % 3], format!("a{{{number}}}")));
    }
    let calm: Vec<_> = (1..=4).map(|number| ask("calm", format!("c{{{number}}}"))).collect();
    gate.open();
    for ticket in calm {
        assert!(ticket.wait().is_ok());
    }
    let turned: Vec<_> = flood.into_iter().filter_map(|ticket| ticket.wait().err()).collect();
    assert_eq!(turned.len(), 4);
    for error in turned {
        let CompileError::Unavailable { why, retry_after: Some(_) } = &error else { panic!("{error:?}") };
        assert!(why.contains("limit 64") && why.contains("most of them were this tenant's"), "{why}");
    }
    let stats = engine.stats();
    assert_eq!((stats.shed_queue, stats.unavailable, stats.compiled), (4, 4, 66));
}
