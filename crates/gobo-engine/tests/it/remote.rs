//! Engines of several hosts that share a bucket: whatever it does, each ends with what it would have compiled alone.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use gobo_engine::{
    CompileFn, Engine, EngineConfig, LookupOrder, OpenVocabulary, Outcome, Priority, RemoteStats, RemoteTier,
    Request, Source, VocabularyRef,
};
use gobo_remote::object::{Kind, Names, seal};
use gobo_remote::{Bucket, Limits, Mode, RemoteConfig};
use gobo_types::{Budget, CompileError, CompileLimits, Constraint, IndexKey, index_key};
use gobo_worker::compile_constraint;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _, PutPayload};
use tempfile::TempDir;

use crate::faulty::{Fault, Faulty};
use crate::tiny::tiny;

const BUDGET: Duration = Duration::from_millis(400);
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn tier(bucket: &Arc<Faulty>, mode: Mode, order: LookupOrder) -> RemoteTier {
    let limits =
        Limits { lookup: BUDGET, upload: BUDGET, absent: Duration::from_millis(50), ..Limits::default() };
    let store = Arc::clone(bucket) as Arc<dyn ObjectStore>;
    let config = RemoteConfig { mode, limits, ..RemoteConfig::default() };
    RemoteTier { bucket: Bucket { address: "memory:".into(), store, prefix: Path::default() }, config, order }
}

/// The same with a budget that no test waits for.
fn patient(mut tier: RemoteTier) -> RemoteTier {
    tier.config.limits.lookup = PATIENCE;
    tier
}

pub(crate) struct Host {
    _folder: TempDir,
    pub(crate) engine: Engine,
    compiles: Arc<AtomicUsize>,
}

impl Host {
    pub(crate) fn open(tier: RemoteTier, change: impl FnOnce(EngineConfig) -> EngineConfig) -> Self {
        Self::compiling(
            tier,
            change,
            Box::new(|vocabulary, constraint, budget| compile_constraint(vocabulary, constraint, 1, budget)),
        )
    }

    pub(crate) fn compiling(
        tier: RemoteTier,
        change: impl FnOnce(EngineConfig) -> EngineConfig,
        compile: Box<CompileFn>,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let compiles = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&compiles);
        let counting: Box<CompileFn> = Box::new(move |vocabulary, constraint, budget| {
            counted.fetch_add(1, Ordering::SeqCst);
            compile(vocabulary, constraint, budget)
        });
        let config = EngineConfig { workers: 2, remote: Some(tier), ..EngineConfig::new(folder.path()) };
        let engine = Engine::open_with(change(config), counting).unwrap();
        engine.import("tiny", &tiny(), None).unwrap();
        Self { _folder: folder, engine, compiles }
    }

    pub(crate) fn without_vocabulary(tier: RemoteTier) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = EngineConfig { remote: Some(tier), ..EngineConfig::new(folder.path()) };
        let broken: Box<CompileFn> = Box::new(|_, _, _| panic!("nothing is to be compiled"));
        let engine = Engine::open_with(config, broken).unwrap();
        Self { _folder: folder, engine, compiles: Arc::default() }
    }

    pub(crate) fn vocabulary(&self) -> Arc<OpenVocabulary> {
        self.engine.vocabulary(&VocabularyRef::Name("tiny".into())).wait().unwrap()
    }

    pub(crate) fn request(&self, pattern: &str) -> Request {
        Request::new(self.vocabulary(), Constraint::regex(pattern))
    }

    pub(crate) fn resolve(&self, pattern: &str) -> Outcome {
        self.engine.resolve(self.request(pattern))
    }

    pub(crate) fn compiles(&self) -> usize {
        self.compiles.load(Ordering::SeqCst)
    }

    pub(crate) fn key(&self, pattern: &str) -> IndexKey {
        index_key(&self.vocabulary().digest(), &Constraint::regex(pattern).digest())
    }

    /// What the pattern is compiled to alone.
    pub(crate) fn alone(&self, pattern: &str) -> Vec<u8> {
        let budget = Budget::new(CompileLimits::default());
        let vocabulary = self.vocabulary();
        let compiled = compile_constraint(&vocabulary.vocabulary, &Constraint::regex(pattern), 1, &budget);
        compiled.unwrap().bytes().to_vec()
    }

    fn remote(&self) -> RemoteStats {
        self.engine.remote().unwrap().stats()
    }

    fn wait_until(&self, what: impl Fn(&RemoteStats) -> bool) {
        let begun = Instant::now();
        while !what(&self.remote()) {
            assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", self.remote());
            thread::sleep(Duration::from_millis(2));
        }
    }
}

pub(crate) fn same(config: EngineConfig) -> EngineConfig {
    config
}

pub(crate) fn writer(bucket: &Arc<Faulty>) -> Host {
    Host::open(tier(bucket, Mode::Write, LookupOrder::First), same)
}

pub(crate) fn plant(bucket: &Faulty, key: &IndexKey, content: &[u8]) {
    let object = seal(Kind::Index, key.0, content, None).unwrap();
    let name = Names::under(Path::default()).index(key);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(bucket.inner.put(&name, PutPayload::from(object))).unwrap();
}

/// A compile that goes on until it is cancelled.
fn endless() -> Box<CompileFn> {
    Box::new(|_, _, budget| {
        loop {
            budget.charge_steps("a compile without an end", 1)?;
            thread::yield_now();
        }
    })
}

#[test]
fn what_one_host_compiled_no_other_compiles() {
    let bucket = Faulty::new();
    let one = writer(&bucket);
    let patterns = ["a+", "(ab|c)*d", "[0-9]{1,40}"];
    for pattern in patterns {
        assert_eq!(one.resolve(pattern).unwrap().source, Source::Compile);
    }
    one.wait_until(|stats| stats.written == 3);
    for order in [LookupOrder::First, LookupOrder::Race] {
        let other = Host::open(tier(&bucket, Mode::Read, order), same);
        for pattern in patterns {
            let found = other.resolve(pattern).unwrap();
            assert!(fs::read(&found.path).unwrap() == other.alone(pattern), "{pattern}");
            if order == LookupOrder::First {
                assert_eq!((found.source, found.compile_us), (Source::Remote, 0));
                assert!(found.states > 0 && found.bytes > 0);
            }
            assert_eq!(other.resolve(pattern).unwrap().source, Source::Host);
        }
        let stats = other.engine.stats();
        assert_eq!((stats.fetched + stats.compiled, stats.hits), (3, 3));
        if order == LookupOrder::First {
            assert_eq!((other.compiles(), stats.fetched), (0, 3));
        }
        assert_eq!(other.engine.usage().unwrap().0, 3, "they are on record");
    }
}

#[test]
fn verdicts_are_found_out_once_and_hold_under_their_limits() {
    let bucket = Faulty::new();
    let one = writer(&bucket);
    let few = CompileLimits { max_states: 10, ..CompileLimits::default() };
    let (refused, dear) = ("(?=a)b(", "[ab]*a[ab]{9}");
    let limited =
        |host: &Host| host.engine.resolve(Request { limits: Some(few), ..host.request(dear) }).unwrap_err();
    let (verdict, over) = (one.resolve(refused).unwrap_err(), limited(&one));
    assert!(matches!(&over, CompileError::OverBudget(_)) && matches!(&verdict, CompileError::Refused(_)));
    one.wait_until(|stats| stats.written == 2);
    let other = writer(&bucket);
    assert_eq!((other.resolve(refused).unwrap_err(), limited(&other)), (verdict.clone(), over.clone()));
    assert_eq!((other.compiles(), other.engine.stats().fetched_verdicts), (0, 2));
    // Remembered as if they were its own.
    assert_eq!((other.resolve(refused).unwrap_err(), limited(&other)), (verdict, over));
    assert_eq!(other.engine.stats().negative_hits, 2);
    // Under other limits it is no answer, and gives way to one.
    assert_eq!(other.resolve(dear).unwrap().source, Source::Compile);
    other.wait_until(|stats| stats.written == 1);
    let third = writer(&bucket);
    assert_eq!(third.resolve(dear).unwrap().source, Source::Remote);
    assert_eq!(third.engine.check(third.request(refused)).wait().unwrap_err().verdict(), "refused");
}

#[test]
fn nobody_waits_for_a_bucket_that_does_not_answer() {
    let bucket = Faulty::new();
    bucket.reading(Fault::Hang);
    let race = Host::open(patient(tier(&bucket, Mode::Read, LookupOrder::Race)), same);
    let begun = Instant::now();
    assert_eq!(race.resolve("a+").unwrap().source, Source::Compile);
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
    race.wait_until(|stats| stats.given_up == 1);
    // Who looks first waits for one budget; after five of them, for nothing, until one call tries it.
    let first = Host::open(tier(&bucket, Mode::Read, LookupOrder::First), same);
    for number in 0..12 {
        assert_eq!(first.resolve(&format!("a{{{}}}", number + 1)).unwrap().source, Source::Compile);
    }
    let RemoteStats { timeouts, skipped, .. } = first.remote();
    assert!(timeouts >= 5 && skipped > 0 && timeouts + skipped == 12, "{timeouts} and {skipped}");
}

#[test]
fn a_hit_ends_the_pass_beside_it() {
    let bucket = Faulty::new();
    let one = writer(&bucket);
    one.resolve("(ab|c)+").unwrap();
    one.wait_until(|stats| stats.written == 1);
    let limits = CompileLimits { max_steps: u64::MAX, ..CompileLimits::default() };
    let without_end = |config| EngineConfig { limits, ..config };
    let other = Host::compiling(tier(&bucket, Mode::Read, LookupOrder::Race), without_end, endless());
    bucket.reading(Fault::Late(100));
    let found = other.resolve("(ab|c)+").unwrap();
    assert_eq!((found.source, other.compiles()), (Source::Remote, 1));
    let begun = Instant::now();
    while other.engine.stats().in_flight > 0 {
        assert!(begun.elapsed() < Duration::from_secs(10), "its worker is free");
        thread::yield_now();
    }
    assert_eq!(other.engine.stats().unavailable + other.engine.stats().compiled, 0);
}

#[test]
fn a_later_pass_waits_for_the_lookup() {
    let bucket = Faulty::new();
    let dear = "[ab]*a[ab]{9}";
    let passes = |config| EngineConfig { passes: vec![1000], ..config };
    let race = || Host::open(tier(&bucket, Mode::Write, LookupOrder::Race), passes);
    // The answer is no: it goes on then.
    bucket.reading(Fault::Late(100));
    let one = race();
    let begun = Instant::now();
    assert_eq!(one.resolve(dear).unwrap().source, Source::Compile);
    assert!(begun.elapsed() >= Duration::from_millis(100));
    assert_eq!((one.compiles(), one.engine.stats().later_passes), (2, 1));
    one.wait_until(|stats| stats.written == 1);
    // The answer is yes.
    let other = race();
    assert_eq!(other.resolve(dear).unwrap().source, Source::Remote);
    assert_eq!((other.compiles(), other.engine.stats().later_passes), (1, 1));
    // There is no answer: it goes on after one budget.
    bucket.reading(Fault::Hang);
    let third = race();
    let begun = Instant::now();
    assert_eq!(third.resolve(dear).unwrap().source, Source::Compile);
    assert!(begun.elapsed() >= BUDGET && third.remote().timeouts == 1, "{:?}", begun.elapsed());
}

#[test]
fn prewarm_looks_first() {
    let bucket = Faulty::new();
    let one = writer(&bucket);
    one.resolve("a+").unwrap();
    one.wait_until(|stats| stats.written == 1);
    let other = Host::open(tier(&bucket, Mode::Read, LookupOrder::Race), same);
    let request = Request { priority: Priority::Prewarm, ..other.request("a+") };
    assert_eq!((other.engine.resolve(request).unwrap().source, other.compiles()), (Source::Remote, 0));
}

#[test]
fn what_is_not_the_index_of_the_constraint_is_compiled_and_replaced() {
    let bucket = Faulty::new();
    let host = writer(&bucket);
    let (wanted, other) = (host.alone("a+"), host.alone("b+"));
    let mut damaged = wanted.clone();
    *damaged.last_mut().unwrap() ^= 1;
    // An index that says it has this key, and was compiled from another constraint: the key stands at one place of the file.
    let mut forged = other.clone();
    let (key, others) = (host.key("a+"), host.key("b+"));
    let at = forged.windows(32).position(|bytes| bytes == others.as_bytes()).unwrap();
    forged[at..at + 32].copy_from_slice(key.as_bytes());
    for content in [&other, &damaged, &forged, &b"x".to_vec()] {
        let host = writer(&bucket);
        plant(&bucket, &key, content);
        let found = host.resolve("a+").unwrap();
        assert_eq!(found.source, Source::Compile);
        assert!(fs::read(&found.path).unwrap() == wanted);
        assert_eq!(host.remote().rejected.iter().sum::<u64>(), 1);
        host.wait_until(|stats| stats.written == 1);
        let third = writer(&bucket);
        assert_eq!(third.resolve("a+").unwrap().source, Source::Remote, "the right one is there now");
    }
}

#[test]
fn closing_waits_for_no_bucket() {
    let bucket = Faulty::new();
    let host = Host::open(patient(tier(&bucket, Mode::Write, LookupOrder::First)), same);
    bucket.reading(Fault::Hang);
    let tickets: Vec<_> =
        (1..20).map(|number| host.engine.submit(host.request(&format!("b{{{number}}}")))).collect();
    let begun = Instant::now();
    host.engine.close();
    for ticket in tickets {
        assert_eq!(ticket.wait().unwrap_err().verdict(), "unavailable");
    }
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
}

/// Order, host, order of lookups, and faults make no difference to any file or verdict.
#[test]
fn hosts_that_share_a_bucket_in_any_trouble_have_the_files_of_hosts_alone() {
    let bucket = Faulty::new();
    let patterns: Vec<String> = (0..60u32)
        .map(|number| match number % 5 {
            0 => format!("(a{{{number}}}|b)+c"),
            1 => format!("[a-f]{{1,{}}}", number + 1),
            2 => format!("(?=a)b{number}("),
            3 => format!("x{number}*y"),
            _ => format!("[ab]*a[ab]{{{}}}", number % 7),
        })
        .collect();
    let passes = |config| EngineConfig { passes: vec![500, 5000], ..config };
    let alone = Host::open(tier(&Faulty::new(), Mode::Read, LookupOrder::First), same);
    let expected: Vec<_> = patterns
        .iter()
        .map(|pattern| alone.resolve(pattern).map(|found| fs::read(found.path).unwrap()))
        .collect();
    let stop = AtomicUsize::new(0);
    thread::scope(|scope| {
        let asking: Vec<_> = (0..6usize)
            .map(|number| {
                let (bucket, patterns, expected) = (&bucket, &patterns, &expected);
                scope.spawn(move || {
                    let order = [LookupOrder::Race, LookupOrder::First][number % 2];
                    let host = Host::open(tier(bucket, Mode::Write, order), passes);
                    for step in 0..patterns.len() {
                        let at = (step * [1, 7, 11, 13, 17, 19][number] + number) % patterns.len();
                        let got = host.resolve(&patterns[at]).map(|found| fs::read(found.path).unwrap());
                        assert!(got == expected[at], "{}: {:?}", patterns[at], got.map(|bytes| bytes.len()));
                    }
                    assert_eq!(host.engine.panics(), 0);
                })
            })
            .collect();
        let faults =
            [Fault::None, Fault::Flip, Fault::Cut, Fault::Error, Fault::Breaks, Fault::None, Fault::Late(5)];
        let stopped = &stop;
        let troubled = &bucket;
        scope.spawn(move || {
            for fault in faults.into_iter().cycle() {
                if stopped.load(Ordering::SeqCst) == 1 {
                    break;
                }
                troubled.reading(fault);
                troubled.writing(if fault == Fault::Error { Fault::Error } else { Fault::None });
                thread::sleep(Duration::from_millis(20));
            }
        });
        let ended: Vec<_> = asking.into_iter().map(thread::ScopedJoinHandle::join).collect();
        stop.store(1, Ordering::SeqCst);
        ended.into_iter().for_each(|ended| ended.unwrap());
    });
}
