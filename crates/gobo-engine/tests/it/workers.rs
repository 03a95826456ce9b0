//! An engine that compiles in worker processes, and what those may do to it. The workers are the program of
//! `tests/worker`, which is told by name what to do.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gobo_engine::{
    Engine, EngineConfig, OpenVocabulary, PassTime, Priority, Request, Source, VocabularyRef, WorkerConfig,
};
use gobo_types::{CompileError, CompileLimits, Constraint, Limit, RefusalKind};

use crate::full_verdicts::full_verdict;
use crate::tiny::tiny;

fn processes(name: &str) -> WorkerConfig {
    let program = env!("CARGO_BIN_EXE_gobo-engine-test-worker");
    WorkerConfig { wall_clock: Duration::from_secs(60), ..WorkerConfig::new(program, [name]) }
}

fn open_with(store: &Path, workers: usize, processes: WorkerConfig) -> Engine {
    let config =
        EngineConfig { workers, queue_length: 64, processes: Some(processes), ..EngineConfig::new(store) };
    let engine = Engine::open(config).unwrap();
    engine.import("tiny", &tiny(), None).unwrap();
    engine
}

fn open(store: &Path) -> Engine {
    open_with(store, 1, processes("told"))
}

fn vocabulary(engine: &Engine) -> Arc<OpenVocabulary> {
    engine.vocabulary(&VocabularyRef::Name("tiny".into())).wait().unwrap()
}

fn request(engine: &Engine, pattern: &str) -> Request {
    Request::new(vocabulary(engine), Constraint::regex(pattern))
}

/// Asserts that `pattern` ends unavailable for a reason that says `why`, and that the next compile goes well.
fn is_unavailable(engine: &Engine, pattern: &str, why: &str) {
    let outcome = engine.resolve(request(engine, pattern));
    assert!(
        matches!(&outcome, Err(CompileError::Unavailable { why: said, .. }) if said.contains(why)),
        "{outcome:?}"
    );
    goes_on(engine);
}

fn goes_on(engine: &Engine) {
    static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(1);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let found = engine.resolve(request(engine, &format!("a{{{number}}}"))).unwrap();
    assert_eq!(found.source, Source::Compile);
    no_temporary_file(engine.store().root());
}

fn no_temporary_file(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        assert!(!path.file_name().unwrap().to_str().unwrap().starts_with(".tmp-"), "{}", path.display());
        if path.is_dir() && path.file_name().unwrap() != "catalog" {
            no_temporary_file(&path);
        }
    }
}

/// Process ids of the living workers of that name.
fn workers(name: &str) -> Vec<String> {
    let mut workers = Vec::new();
    for process in fs::read_dir("/proc").unwrap() {
        let path = process.unwrap().path();
        let line = fs::read(path.join("cmdline")).unwrap_or_default();
        let mut args = line.split(|byte| *byte == 0);
        if args.next().is_some() && args.next() == Some(name.as_bytes()) {
            workers.push(path.file_name().unwrap().to_str().unwrap().to_owned());
        }
    }
    workers
}

/// Whether a process is gone, or only waits for its parent to ask how it ended. Until its last thread has ended its parent is told
/// nothing, though the first may have ended before.
fn is_over(process: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| {
        let fields: Vec<&str> = rest.split(' ').collect();
        let (state, threads) = (fields[0], fields[17]);
        matches!(state, "Z" | "X") && matches!(threads, "0" | "1")
    })
}

#[test]
fn verdicts_come_from_a_process_and_from_the_catalog_with_every_field() {
    let folder = tempfile::tempdir().unwrap();
    for text in ["refused, in full", "over budget, in full"] {
        let expected = full_verdict(text).unwrap();
        for _ in 0..2 {
            let engine = open(folder.path());
            // From a process at first, and then as it is remembered; by the next engine from the disk.
            for _ in 0..2 {
                assert_eq!(engine.resolve(request(&engine, text)).unwrap_err(), expected);
            }
        }
    }
    let engine = open(folder.path());
    assert_eq!(
        engine.resolve(request(&engine, "busy, in full")),
        Err(full_verdict("busy, in full").unwrap())
    );
}

#[test]
fn a_process_makes_the_same_files_and_verdicts_as_a_thread() {
    let (there, here) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let processes = open(there.path());
    let threads = Engine::open(EngineConfig::new(here.path())).unwrap();
    threads.import("tiny", &tiny(), None).unwrap();
    let few = CompileLimits { max_states: 10, ..CompileLimits::default() };
    let asked = [
        ("a+b|[0-9]{3}", None),
        ("\\w+\\s?", None),
        ("(", None),
        ("~", None),
        ("[ab]*a[ab]{9}", Some(few)),
        ("[ab]*a[ab]{9}", None),
    ];
    for (pattern, limits) in asked {
        let ask = |engine: &Engine| engine.resolve(Request { limits, ..request(engine, pattern) });
        match (ask(&processes), ask(&threads)) {
            (Ok(there), Ok(here)) => {
                assert_eq!((there.key, there.artifact_digest), (here.key, here.artifact_digest));
                assert_eq!(fs::read(&there.path).unwrap(), fs::read(&here.path).unwrap());
                assert_eq!((there.source, there.rows), (Source::Compile, here.rows));
            }
            (there, here) => assert_eq!(there, here, "{pattern}"),
        }
    }
    let stats = processes.stats();
    assert_eq!((stats.compiled, stats.refused, stats.failed, stats.died), (3, 3, 0, 0));
    no_temporary_file(there.path());
}

/// The first pass is too small for some of the diagnoses' trials, and none of the processes has the others' history.
#[test]
fn a_verdict_and_its_diagnosis_are_the_same_in_a_process_and_on_any_pass() {
    let (there, here, alone) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let processes = open(there.path());
    let passes = vec![100_000, 1_000_000];
    let threads = Engine::open(EngineConfig { passes, ..EngineConfig::new(here.path()) }).unwrap();
    let once = Engine::open(EngineConfig { passes: Vec::new(), ..EngineConfig::new(alone.path()) }).unwrap();
    for engine in [&threads, &once] {
        engine.import("tiny", &tiny(), None).unwrap();
    }
    // Plain numbers have more states than are allowed here.
    let numbers = gobo_types::NumberForm::Json;
    let schema =
        |text: &str| Constraint::schema(text, gobo_types::SchemaOptions { numbers, ..Default::default() });
    let few = CompileLimits { max_states: 200, max_steps: 3_000_000, ..CompileLimits::default() };
    for (constraint, place) in [
        (Constraint::regex("ab^a"), "offset 2"),
        (Constraint::gbnf("root ::= \"a\" b\nb ::= b", "root"), "line 2, column 1"),
        (
            schema(
                r#"{"properties":{"a":{"type":"string","minLength":2,"maxLength":1}},"required":["a"],"type":"object"}"#,
            ),
            "/properties/a",
        ),
        (Constraint::regex("b(a{999})"), "offset 3"),
        (Constraint::regex("(a|b)*a(a|b){25}"), "offset 12"),
        (schema(r#"{"type":"string","maxLength":2000}"#), "/maxLength"),
    ] {
        let ask = |engine: &Engine| {
            let asked = Request::new(vocabulary(engine), constraint.clone());
            engine.resolve(Request { limits: Some(few), ..asked }).unwrap_err()
        };
        let verdict = ask(&once);
        assert_eq!(ask(&processes), verdict);
        assert_eq!(ask(&threads), verdict);
        let found = match &verdict {
            CompileError::Refused(refusal) => &refusal.place,
            CompileError::OverBudget(over) => &over.place,
            other => panic!("{other:?}"),
        };
        assert_eq!(found.as_str(), place, "{verdict:?}");
    }
}

#[test]
fn every_kind_of_constraint_reaches_a_process_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let schema = r#"{"type": "object", "properties": {"b": {"const": 100000000000000000000001},
        "a": {"type": "integer"}}, "additionalProperties": false}"#;
    for constraint in [
        Constraint::regex("a\u{e9}?b"),
        Constraint::search("[a-c]"),
        Constraint::choice(["b", "a", "b"]),
        Constraint::gbnf("root ::= \"a\" root | \"b\"", "root"),
        Constraint::schema(schema, gobo_types::SchemaOptions::default()),
    ] {
        // The engine compares the key of what was made with that of what was asked for.
        engine.resolve(Request::new(vocabulary(&engine), constraint)).unwrap();
    }
}

#[test]
fn a_check_keeps_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let checked = engine.check(request(&engine, "a+|\u{e9}")).wait().unwrap();
    assert!(!checked.is_published && checked.bytes > 0 && !checked.report.unspellable.is_empty());
    assert_eq!(engine.usage().unwrap(), (0, 0));
    no_temporary_file(folder.path());
    let Err(CompileError::Refused(refusal)) = engine.check(request(&engine, "(")).wait() else { panic!() };
    assert_eq!(refusal.kind, RefusalKind::Malformed);
    assert!(engine.check(request(&engine, "(")).wait().is_err());
    assert_eq!(engine.stats().negative_hits, 1, "the verdict was remembered");

    let found = engine.resolve(request(&engine, "a+|\u{e9}")).unwrap();
    let again = engine.check(request(&engine, "a+|\u{e9}")).wait().unwrap();
    assert_eq!((again.is_published, again.bytes, &again.report), (true, found.bytes, &checked.report));
    assert_eq!((checked.key, checked.bytes, checked.rows), (found.key, found.bytes, found.rows));
}

#[test]
fn a_worker_that_hangs_is_killed_by_the_clock() {
    let folder = tempfile::tempdir().unwrap();
    let config = WorkerConfig { wall_clock: Duration::from_millis(300), ..processes("told") };
    let engine = open_with(folder.path(), 1, config);
    is_unavailable(&engine, "hang", "killed after 0.3 s");
    assert_eq!(engine.stats().killed_wall_clock, 1, "it is not tried again");
}

#[test]
fn a_worker_that_spins_is_ended_by_its_processor_time() {
    let folder = tempfile::tempdir().unwrap();
    let config = WorkerConfig { processor_time: Duration::from_secs(1), ..processes("told") };
    let engine = open_with(folder.path(), 1, config);
    is_unavailable(&engine, "spin", "more than 1 s of processor time");
    assert_eq!(engine.stats().killed_processor_time, 1, "it is not tried again");
}

/// An engine each of whose passes may use so much processor time.
fn open_timed(store: &Path, workers: usize, passes: Vec<u64>, floor: Duration) -> Engine {
    let config = EngineConfig {
        workers,
        passes,
        pass_time: PassTime { floor, per_step: Duration::ZERO },
        processes: Some(processes("told")),
        ..EngineConfig::new(store)
    };
    let engine = Engine::open(config).unwrap();
    engine.import("tiny", &tiny(), None).unwrap();
    engine
}

#[test]
fn a_pass_that_charges_nothing_is_ended_by_its_processor_time() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open_timed(folder.path(), 2, vec![20_000], Duration::from_millis(500));
    let spins = engine.submit(request(&engine, "spin"));
    // The other worker is not affected.
    assert_eq!(engine.resolve(request(&engine, "b+")).unwrap().source, Source::Compile);
    let end = spins.wait();
    let Err(CompileError::Unavailable { why, .. }) = &end else { panic!("{end:?}") };
    assert!(why.contains("20000 steps") && why.contains("0.5 s of processor time"), "{why}");
    let stats = engine.stats();
    assert_eq!((stats.out_of_proportion, stats.killed_pass_time), (1, 1), "it is not tried again");
    assert_eq!((stats.later_passes, stats.died, stats.killed_processor_time, stats.killed()), (0, 0, 0, 1));
    goes_on(&engine);

    // It is not remembered.
    is_unavailable(&engine, "spin", "a bug of gobo");
    let stats = engine.stats();
    assert_eq!((stats.out_of_proportion, stats.negative_hits), (2, 0));
}

#[test]
fn a_compile_that_takes_longer_than_its_pass_may_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open_timed(folder.path(), 1, Vec::new(), Duration::from_millis(1));
    // No machine makes an index of 100 KB of words within a millisecond.
    let constraint = Constraint::choice((0..10_000).map(|n| format!("{n}aaaa")));
    let outcome = engine.resolve(Request::new(vocabulary(&engine), constraint));
    assert!(
        matches!(&outcome, Err(CompileError::Unavailable { why, .. }) if why.contains("0.001 s")),
        "{outcome:?}"
    );
    assert_eq!((engine.stats().out_of_proportion, engine.stats().retired), (1, 0));
}

#[test]
fn a_worker_that_eats_memory_ends_at_its_limit() {
    let folder = tempfile::tempdir().unwrap();
    let config = WorkerConfig { address_space_bytes: 1 << 30, ..processes("told") };
    let engine = open_with(folder.path(), 1, config);
    is_unavailable(&engine, "eat", "for want of memory (limit 1024 MiB)");
    assert_eq!(engine.stats().died, 2, "another one was tried");
}

#[test]
fn a_worker_that_dies_is_replaced_and_its_job_answered() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    is_unavailable(&engine, "die", "aborted");
    assert_eq!(engine.stats().died, 2);
}

#[test]
fn a_worker_that_is_killed_from_outside_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let name = "told_to_be_killed";
    let engine = open_with(folder.path(), 1, processes(name));
    goes_on(&engine);
    let kill = || {
        let workers = workers(name);
        for worker in &workers {
            // It may have ended by itself meanwhile.
            let _ = std::process::Command::new("kill").args(["-9", worker]).stderr(Stdio::null()).status();
        }
        workers
    };
    // While it has nothing to do nobody notices. Its command line is gone a moment before its parent is told.
    let killed = kill();
    until("it is dead", || killed.iter().all(|worker| is_over(worker)));
    goes_on(&engine);
    assert_eq!(engine.stats().died, 0);
    // One that is killed before it is given the job counts for nothing, so they are killed until two have had it.
    let ticket = engine.submit(request(&engine, "hang"));
    until("it is given up", || {
        kill();
        engine.stats().died == 2
    });
    let outcome = ticket.wait();
    assert!(
        matches!(&outcome, Err(CompileError::Unavailable { why, .. }) if why.contains("signal 9")),
        "{outcome:?}"
    );
    goes_on(&engine);
    engine.close();
    assert!(workers(name).is_empty(), "closing ends the workers");
}

#[test]
fn what_kills_all_workers_at_once_costs_a_job_one_attempt() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = processes("doomed");
    config.args.push(folder.path().join("death").into());
    let engine = open_with(folder.path(), 4, config);
    goes_on(&engine);
    assert_eq!(engine.stats().died, 1);
}

#[test]
fn a_panic_is_a_failure_and_its_worker_retires() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let outcome = engine.resolve(request(&engine, "panic"));
    assert!(matches!(&outcome, Err(CompileError::Failed(why)) if why.contains("on purpose")), "{outcome:?}");
    assert_eq!((engine.stats().failed, engine.stats().retired), (1, 1));
    goes_on(&engine);
}

#[test]
fn a_worker_that_holds_much_memory_retires() {
    let folder = tempfile::tempdir().unwrap();
    let config = WorkerConfig { retire_bytes: 1, ..processes("told") };
    let engine = open_with(folder.path(), 1, config);
    goes_on(&engine);
    goes_on(&engine);
    assert_eq!(engine.stats().retired, 2);
}

#[test]
fn no_answer_of_a_worker_is_believed() {
    for (name, is_failed) in [("liar", true), ("stranger", true), ("babbler", false), ("boaster", false)] {
        let folder = tempfile::tempdir().unwrap();
        let engine = open_with(folder.path(), 1, processes(name));
        let outcome = engine.resolve(request(&engine, "a"));
        match &outcome {
            Err(CompileError::Failed(_)) => assert!(is_failed, "{name}: {outcome:?}"),
            Err(CompileError::Unavailable { .. }) => assert!(!is_failed, "{name}: {outcome:?}"),
            _ => panic!("{name}: {outcome:?}"),
        }
        assert_eq!(engine.usage().unwrap(), (0, 0), "{name}");
        no_temporary_file(folder.path());
    }
}

#[test]
fn a_program_that_is_no_worker_makes_everything_unavailable() {
    for program in ["/nonexistent/gobo", "/bin/true"] {
        let folder = tempfile::tempdir().unwrap();
        let none: [&str; 0] = [];
        let engine = open_with(folder.path(), 1, WorkerConfig::new(program, none));
        let outcome = engine.resolve(request(&engine, "a"));
        assert!(matches!(outcome, Err(CompileError::Unavailable { .. })), "{program}: {outcome:?}");
    }
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_compile_that_nobody_waits_for_is_cancelled_even_if_it_does_not_listen() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let ticket = engine.submit(request(&engine, "hang"));
    until("it runs", || engine.stats().in_flight == 1);
    drop(ticket);
    until("it is killed", || engine.stats().killed_cancelled == 1);
    goes_on(&engine);

    // One that listens lives on.
    let dear = "[ab]*a[ab]{16}";
    let limits = Some(CompileLimits { max_states: 1 << 30, ..CompileLimits::default() });
    let ticket = engine.submit(Request { limits, ..request(&engine, dear) });
    until("it runs", || engine.stats().in_flight == 1);
    drop(ticket);
    until("it ends", || engine.stats().in_flight == 0);
    goes_on(&engine);
    assert_eq!((engine.stats().killed_cancelled, engine.stats().died), (1, 0));
}

#[test]
fn dear_compiles_do_not_stand_before_cheap_ones() {
    let folder = tempfile::tempdir().unwrap();
    let config = EngineConfig {
        workers: 1,
        passes: vec![20_000],
        processes: Some(processes("told")),
        ..EngineConfig::new(folder.path())
    };
    let engine = Engine::open(config).unwrap();
    engine.import("tiny", &tiny(), None).unwrap();
    let dear: Vec<_> =
        (0..4).map(|n| engine.submit(request(&engine, &format!("[ab]*a[ab]{{1{n}}}")))).collect();
    let cheap = engine.submit(request(&engine, "a")).wait().unwrap();
    assert_eq!(cheap.source, Source::Compile);
    for ticket in dear {
        ticket.wait().unwrap();
    }
    assert!(engine.stats().later_passes >= 3, "{:?}", engine.stats());

    // The budget of a pass is nobody's verdict; the caller's own is.
    let limits = Some(CompileLimits { max_steps: 30_000, ..CompileLimits::default() });
    let outcome = engine.resolve(Request { limits, ..request(&engine, "[ab]*b[ab]{12}") });
    let Err(CompileError::OverBudget(over)) = &outcome else { panic!("{outcome:?}") };
    assert_eq!((over.limit, over.given), (Limit::MaxSteps, 30_000));
}

#[test]
fn prewarm_leaves_the_kept_worker_free() {
    let folder = tempfile::tempdir().unwrap();
    let config = EngineConfig {
        workers: 2,
        kept_workers: 1,
        processes: Some(processes("told")),
        ..EngineConfig::new(folder.path())
    };
    let engine = Engine::open(config).unwrap();
    engine.import("tiny", &tiny(), None).unwrap();
    let hangs = engine.submit(Request { priority: Priority::Prewarm, ..request(&engine, "hang") });
    let waits = engine.submit(Request { priority: Priority::Prewarm, ..request(&engine, "a+") });
    until("one runs", || engine.stats().in_flight == 1);
    assert_eq!(engine.resolve(request(&engine, "b")).unwrap().source, Source::Compile);
    until("its worker is free again", || engine.stats().in_flight == 1);
    assert_eq!(engine.stats().queued, 1);
    drop((hangs, waits));
}
