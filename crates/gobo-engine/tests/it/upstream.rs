//! Engines that have others compile for them: whatever those do, each ends with what it would have compiled alone.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread;
use std::time::{Duration, Instant};

use gobo_engine::{
    Engine, EngineConfig, Forward, Forwarded, OpenVocabulary, Outcome, Priority, Request, Source, Upstream,
    UpstreamStats, VocabularyRef,
};
use gobo_types::{Budget, CompileError, CompileLimits, Constraint};
use gobo_worker::compile_constraint;
use tempfile::TempDir;

use crate::tiny::tiny;

struct Host {
    _folder: TempDir,
    engine: Arc<Engine>,
    compiles: Arc<AtomicUsize>,
}

impl Host {
    fn open(upstream: Option<Arc<dyn Upstream>>) -> Self {
        Self::open_with(upstream, |config| config)
    }

    fn open_with(
        upstream: Option<Arc<dyn Upstream>>,
        change: impl FnOnce(EngineConfig) -> EngineConfig,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let compiles = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&compiles);
        let config = EngineConfig { workers: 2, upstream, ..EngineConfig::new(folder.path()) };
        let engine = Engine::open_with(
            change(config),
            Box::new(move |vocabulary, constraint, budget| {
                counted.fetch_add(1, Ordering::SeqCst);
                compile_constraint(vocabulary, constraint, 1, budget)
            }),
        );
        let engine = Arc::new(engine.unwrap());
        engine.import("tiny", &tiny(), None).unwrap();
        Self { _folder: folder, engine, compiles }
    }

    fn vocabulary(&self) -> Arc<OpenVocabulary> {
        self.engine.vocabulary(&VocabularyRef::Name("tiny".into())).wait().unwrap()
    }

    fn request(&self, pattern: &str) -> Request {
        Request::new(self.vocabulary(), Constraint::regex(pattern))
    }

    fn resolve(&self, pattern: &str) -> Outcome {
        self.engine.resolve(self.request(pattern))
    }

    fn compiles(&self) -> usize {
        self.compiles.load(Ordering::SeqCst)
    }

    fn stats(&self) -> UpstreamStats {
        self.engine.upstream_stats().unwrap()
    }

    /// The file of the pattern is the one that is compiled alone.
    fn is_right(&self, outcome: &Outcome, pattern: &str) -> bool {
        let budget = Budget::new(CompileLimits::default());
        let vocabulary = self.vocabulary();
        let alone = compile_constraint(&vocabulary.vocabulary, &Constraint::regex(pattern), 1, &budget);
        match (outcome, alone) {
            (Ok(found), Ok(alone)) => std::fs::read(&found.path).unwrap() == alone.bytes(),
            (Err(verdict), Err(alone)) => *verdict == alone,
            _ => false,
        }
    }
}

/// What an upstream does with the next calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Right,
    /// The index of another constraint, under its own key.
    OtherIndex,
    CutShort,
    Busy,
    Late,
    Down,
    Failed,
    OtherVersion,
    /// It never answers.
    Hangs,
    /// It gives a call up that nobody has cancelled.
    Forgets,
    Panics,
}

/// Another engine, as if there were a wire between.
struct Pool {
    engine: OnceLock<Weak<Engine>>,
    manner: Mutex<Manner>,
    calls: AtomicUsize,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pool")
    }
}

impl Pool {
    fn new(manner: Manner) -> Arc<Self> {
        Arc::new(Self { engine: OnceLock::new(), manner: Mutex::new(manner), calls: AtomicUsize::new(0) })
    }

    fn is(self: &Arc<Self>, host: &Host) {
        self.engine.set(Arc::downgrade(&host.engine)).unwrap();
    }

    fn of(host: &Host, manner: Manner) -> Arc<Self> {
        let pool = Self::new(manner);
        pool.is(host);
        pool
    }

    fn turns(&self, manner: Manner) {
        *self.manner.lock().unwrap() = manner;
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

fn file(call: &Forward, bytes: &[u8], digest: gobo_types::ArtifactDigest) -> Forwarded {
    let file = call.store.begin_index(&call.key).unwrap();
    let mut pieces = bytes.chunks(100);
    file.write(|| pieces.next()).unwrap();
    Forwarded::Index { file, digest }
}

/// What the engine behind a pool makes of a call.
fn made(engine: &Engine, call: &Forward, constraint: Constraint) -> Forwarded {
    let vocabulary = engine.vocabulary(&VocabularyRef::Digest(call.vocabulary.digest())).wait().unwrap();
    let request = Request {
        limits: Some(call.limits),
        priority: call.priority,
        tenant: Arc::clone(&call.tenant),
        deadline: call.deadline,
        is_forwarded: true,
        ..Request::new(vocabulary, constraint)
    };
    if call.is_check {
        return match engine.check(request).wait() {
            Ok(checked) => Forwarded::Report(Box::new(checked)),
            Err(verdict) => Forwarded::Verdict(verdict),
        };
    }
    match engine.resolve(request) {
        Ok(found) => file(call, &std::fs::read(found.path).unwrap(), found.artifact_digest),
        Err(verdict) => Forwarded::Verdict(verdict),
    }
}

impl Upstream for Pool {
    fn address(&self) -> &'static str {
        "another thread"
    }

    fn forward(&self, call: Forward, done: Box<dyn FnOnce(Forwarded) + Send>) {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let (manner, engine) = (*self.manner.lock().unwrap(), self.engine.get().cloned());
        thread::spawn(move || {
            let engine = || engine.unwrap().upgrade().unwrap();
            let why = || "as the test wants it".to_owned();
            let forwarded = match manner {
                Manner::Right => made(&engine(), &call, call.constraint.clone()),
                Manner::OtherIndex => made(&engine(), &call, Constraint::regex("other")),
                Manner::CutShort => {
                    let Forwarded::Index { file: whole, digest } =
                        made(&engine(), &call, call.constraint.clone())
                    else {
                        return;
                    };
                    let bytes = std::fs::read(whole.path()).unwrap();
                    file(&call, &bytes[..bytes.len() / 2], digest)
                }
                Manner::Busy => Forwarded::Busy(CompileError::Unavailable {
                    why: "full".into(),
                    retry_after: Some(Duration::from_millis(1234)),
                }),
                Manner::Late => Forwarded::Late,
                Manner::Down => Forwarded::Down(why()),
                Manner::Failed => Forwarded::Failed(why()),
                Manner::OtherVersion => Forwarded::OtherVersion(why()),
                Manner::Hangs => {
                    while !call.cancelled.load(Ordering::Relaxed) {
                        thread::sleep(Duration::from_millis(1));
                    }
                    return;
                }
                Manner::Forgets => return,
                Manner::Panics => std::panic::resume_unwind(Box::new(())),
            };
            done(forwarded);
        });
    }
}

fn wait_until(what: impl Fn() -> bool) {
    let begun = Instant::now();
    while !what() {
        assert!(begun.elapsed() < Duration::from_secs(30));
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_pool_compiles_for_hosts_that_end_with_what_they_would_have_made() {
    let pool = Host::open(None);
    let hosts = [(); 3].map(|()| Host::open(Some(Pool::of(&pool, Manner::Right))));
    for (nth, pattern) in ["a+", "[a-d]{1,3}", "(", "b+", "a+"].into_iter().enumerate() {
        for host in &hosts {
            let outcome = host.resolve(pattern);
            assert!(host.is_right(&outcome, pattern), "{pattern}");
            if let Ok(found) = outcome {
                assert_eq!(found.source, if nth == 4 { Source::Host } else { Source::Upstream });
            }
            let checked = host.engine.check(host.request(&format!("{pattern}c"))).wait();
            assert_eq!(checked.is_ok(), pattern != "(", "{checked:?}");
        }
    }
    for host in &hosts {
        assert_eq!(host.compiles(), 0);
        let UpstreamStats { indices, reports, verdicts, under_way, .. } = host.stats();
        // A refusal is remembered by constraint: `(` and `(c` are two.
        assert_eq!((indices, reports, verdicts, under_way), (3, 4, 2, 0), "{:?}", host.stats());
        let stats = host.engine.stats();
        assert_eq!((stats.forwarded, stats.compiled, stats.fetched), (3, 0, 0));
    }
    // Each index once; a report is no index, and is made for each host.
    assert_eq!(pool.engine.stats().compiled, 3 + 3 * 4);
}

#[test]
fn whatever_a_pool_does_a_host_ends_with_the_right_index() {
    let pool = Host::open(None);
    for (manner, count) in [
        (Manner::OtherIndex, (|stats| stats.failed) as fn(&UpstreamStats) -> u64),
        (Manner::CutShort, |stats| stats.failed),
        (Manner::Late, |stats| stats.late),
        (Manner::Down, |stats| stats.down),
        (Manner::Failed, |stats| stats.failed),
        (Manner::OtherVersion, |stats| stats.other_version),
        (Manner::Forgets, |stats| stats.given_up),
        (Manner::Panics, |stats| stats.given_up),
    ] {
        let host = Host::open(Some(Pool::of(&pool, manner)));
        let outcome = host.resolve("[ab]+c");
        assert!(host.is_right(&outcome, "[ab]+c"), "{manner:?}");
        assert_eq!(outcome.unwrap().source, Source::Compile, "{manner:?}");
        assert_eq!((host.compiles(), count(&host.stats())), (1, 1), "{manner:?}: {:?}", host.stats());
        assert_eq!(host.stats().under_way, 0);
        assert_eq!(host.stats().is_paused, manner == Manner::OtherVersion);
        // Nothing of it lies around.
        assert_eq!(
            std::fs::read_dir(host.engine.store().root().join("v0/tmp")).map_or(0, Iterator::count),
            0
        );
    }
}

#[test]
fn who_is_turned_away_by_the_pool_is_told_when_to_come_back() {
    let pool = Host::open(None);
    let upstream = Pool::of(&pool, Manner::Busy);
    let host = Host::open(Some(Arc::clone(&upstream) as _));
    let error = host.resolve("a+").unwrap_err();
    assert!(
        matches!(&error, CompileError::Unavailable { retry_after: Some(after), .. } if after.as_millis() == 1234),
        "{error:?}"
    );
    assert_eq!((host.compiles(), host.stats().busy, host.engine.stats().unavailable), (0, 1, 1));
    upstream.turns(Manner::Right);
    assert_eq!(host.resolve("a+").unwrap().source, Source::Upstream, "it is not remembered");
}

#[test]
fn a_pool_that_is_down_is_left_alone_and_tried_again() {
    let pool = Host::open(None);
    let upstream = Pool::of(&pool, Manner::Down);
    let host = Host::open(Some(Arc::clone(&upstream) as _));
    for number in 0..20 {
        let pattern = format!("a{{{number}}}b");
        assert!(host.is_right(&host.resolve(&pattern), &pattern));
    }
    let stats = host.stats();
    assert!(stats.is_paused && stats.down >= 5 && stats.down + stats.skipped == 20, "{stats:?}");
    assert_eq!((upstream.calls() as u64, host.compiles()), (stats.down, 20));
    upstream.turns(Manner::Right);
    let begun = Instant::now();
    for number in 0.. {
        assert!(begun.elapsed() < Duration::from_secs(30));
        if host.resolve(&format!("c{{{number}}}b")).unwrap().source == Source::Upstream {
            break;
        }
        thread::sleep(Duration::from_millis(20));
    }
    assert!(!host.stats().is_paused);
}

#[test]
fn all_who_want_one_index_make_one_call() {
    let pool = Host::open(None);
    let upstream = Pool::of(&pool, Manner::Right);
    let host = Host::open(Some(Arc::clone(&upstream) as _));
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| assert!(host.resolve("[a-d]{2,9}").is_ok()));
        }
    });
    assert_eq!((upstream.calls(), pool.compiles(), host.compiles()), (1, 1, 0));
}

#[test]
fn limits_of_a_pool_are_not_those_of_a_host() {
    let dear = "[ab]*a[ab]{9}";
    let few = CompileLimits { max_states: 10, ..CompileLimits::default() };
    let limited = |limits, upstream| Host::open_with(upstream, |config| EngineConfig { limits, ..config });
    // Lower ones: the host makes of it what it makes alone, whoever has asked before.
    let pool = limited(few, None);
    let host = limited(CompileLimits::default(), Some(Pool::of(&pool, Manner::Right) as _));
    for _ in 0..2 {
        let outcome = host.resolve(dear);
        assert!(host.is_right(&outcome, dear), "{outcome:?}");
    }
    assert_eq!((host.compiles(), host.stats().verdicts, host.stats().failed), (1, 0, 1));
    // The host's own travel along, and a verdict under them is one of this host.
    let pool = limited(CompileLimits::default(), None);
    let host = limited(few, Some(Pool::of(&pool, Manner::Right) as _));
    for _ in 0..2 {
        let error = host.resolve(dear).unwrap_err();
        assert!(matches!(&error, CompileError::OverBudget(over) if over.given == 10), "{error:?}");
    }
    assert_eq!((host.compiles(), host.stats().verdicts, host.engine.stats().negative_hits), (0, 1, 1));
}

#[test]
fn a_pool_that_is_too_slow_for_its_callers_is_not_taken_for_one_that_answers() {
    let pool = Host::open(None);
    let upstream = Pool::of(&pool, Manner::Down);
    let host = Host::open(Some(Arc::clone(&upstream) as _));
    for number in 0..8 {
        // Between failures, somebody's deadline passes: those stay five in a row.
        upstream.turns(if number % 2 == 0 { Manner::Down } else { Manner::Late });
        host.resolve(&format!("a{{{number}}}b")).unwrap();
    }
    upstream.turns(Manner::Down);
    host.resolve("last").unwrap();
    let stats = host.stats();
    assert!(stats.is_paused && (stats.down, stats.late) == (5, 4), "{stats:?}");
}

#[test]
fn circles_end_after_one_step() {
    // A daemon that is its own upstream.
    let own = Pool::new(Manner::Right);
    let alone = Host::open(Some(Arc::clone(&own) as _));
    own.is(&alone);
    let outcome = alone.resolve("a+b");
    assert!(alone.is_right(&outcome, "a+b"));
    assert_eq!((own.calls(), alone.compiles()), (1, 1));

    // Two that are each other's, asked for the same at the same time.
    let (first_pool, second_pool) = (Pool::new(Manner::Right), Pool::new(Manner::Right));
    let first = Host::open(Some(Arc::clone(&second_pool) as _));
    let second = Host::open(Some(Arc::clone(&first_pool) as _));
    first_pool.is(&first);
    second_pool.is(&second);
    for number in 0..50 {
        let pattern = format!("[ab]{{{number}}}c");
        thread::scope(|scope| {
            for host in [&first, &second, &first, &second] {
                let pattern = &pattern;
                scope.spawn(move || assert!(host.is_right(&host.resolve(pattern), pattern)));
            }
        });
    }
    assert!(first_pool.calls() + second_pool.calls() <= 100);
}

#[test]
fn a_call_that_nobody_wants_is_given_up() {
    let pool = Host::open(None);
    let upstream = Pool::of(&pool, Manner::Hangs);
    let host = Host::open(Some(Arc::clone(&upstream) as _));
    let ticket = host.engine.submit(host.request("a+"));
    wait_until(|| host.stats().under_way == 1);
    drop(ticket);
    wait_until(|| host.stats().given_up == 1);
    assert_eq!((host.stats().under_way, host.compiles()), (0, 0));
    // And when the engine closes: whoever waits is told.
    let waiting = host.engine.submit(host.request("b+"));
    let kept = host.engine.submit(Request { priority: Priority::Prewarm, ..host.request("c+") });
    wait_until(|| host.stats().under_way == 2);
    let waiter = thread::spawn(move || [waiting.wait(), kept.wait()]);
    host.engine.close();
    for end in waiter.join().unwrap() {
        assert!(matches!(end, Err(CompileError::Unavailable { .. })), "{end:?}");
    }
}

#[test]
fn too_many_calls_under_way_are_no_call_more() {
    let pool = Host::open(None);
    let upstream = Pool::of(&pool, Manner::Hangs);
    let folder = tempfile::tempdir().unwrap();
    let config = EngineConfig {
        queue_length: 3,
        upstream: Some(Arc::clone(&upstream) as _),
        ..EngineConfig::new(folder.path())
    };
    let engine = Engine::open(config).unwrap();
    engine.import("tiny", &tiny(), None).unwrap();
    let vocabulary = engine.vocabulary(&VocabularyRef::Name("tiny".into())).wait().unwrap();
    let ask =
        |pattern: &str| engine.submit(Request::new(Arc::clone(&vocabulary), Constraint::regex(pattern)));
    let waiting: Vec<_> = ["a", "b", "c"].map(ask).into();
    wait_until(|| upstream.calls() == 3);
    assert_eq!(ask("d").wait().unwrap().source, Source::Compile);
    assert_eq!((upstream.calls(), engine.upstream_stats().unwrap().skipped), (3, 1));
    drop(waiting);
}
