//! A lookup in a process that forks: a program of its own, because a test's harness has threads.
#![expect(unsafe_code, reason = "a fork is unsafe, and what happens after it is what is tested")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gobo_engine::{CompileFn, Engine, EngineConfig};
use gobo_lookup::{Bound, FoundSource, LocalConfig, Lookup, LookupConfig, LookupError, Reason};
use gobo_server::{ServeConfig, Server};
use gobo_types::Constraint;

#[path = "../../../gobo-engine/tests/it/tiny.rs"]
mod tiny;

const LONG: Duration = Duration::from_secs(60);

fn main() {
    let folder = tempfile::tempdir().unwrap();
    // The first, because the daemon is a fork of a process without threads.
    a_daemon_that_is_killed_in_a_burst_hands_it_over(&folder.path().join("zero"));
    a_child_begins_anew(&folder.path().join("one"));
    a_worker_ends_with_its_parent_though_a_child_lives(&folder.path().join("two"));
    a_temporary_folder_goes_with_its_process(&folder.path().join("three"));
}

fn open(folder: &Path) -> Arc<Lookup> {
    fs::create_dir_all(folder.join("workers")).unwrap();
    let program = env!("CARGO_BIN_EXE_gobo-lookup-test-worker");
    let local = Some(LocalConfig::new(program, ["told".as_ref(), folder.join("workers").as_os_str()]));
    let config = LookupConfig { local, timeout: Some(LONG), ..LookupConfig::new(folder.join("store")) };
    Arc::new(Lookup::open(config).unwrap())
}

fn get(lookup: &Arc<Lookup>, bound: &Bound, pattern: &str) -> FoundSource {
    let request = lookup.request(bound, Constraint::regex(pattern));
    request.wait(LONG).unwrap().unwrap().source
}

fn workers(folder: &Path) -> Vec<i32> {
    let names = fs::read_dir(folder.join("workers")).unwrap().map(|entry| entry.unwrap().file_name());
    names.map(|name| name.to_str().unwrap().parse().unwrap()).collect()
}

fn is_over(process: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, state)| state.starts_with(['Z', 'X']))
}

fn living(folder: &Path) -> usize {
    workers(folder).into_iter().filter(|worker| !is_over(*worker)).count()
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < LONG, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Runs `child` in a fork of this process, and returns its id.
fn fork(child: impl FnOnce()) -> i32 {
    // SAFETY: the other threads of this process are the lookup's, whose locks the child does not touch: that is the test.
    match unsafe { libc::fork() } {
        0 => {
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child));
            // SAFETY: ends the child at once, and runs nothing of its parent's.
            unsafe { libc::_exit(i32::from(ended.is_err())) }
        }
        process => process,
    }
}

fn wait(process: i32) -> i32 {
    let mut status = -1;
    // SAFETY: waits for a child of this process, and writes its status.
    let ended = unsafe { libc::waitpid(process, &raw mut status, 0) };
    assert_eq!(ended, process);
    status
}

fn a_child_begins_anew(folder: &Path) {
    let lookup = open(folder);
    let bound = lookup.publish_vocabulary(Some("tiny"), &tiny::tiny()).unwrap();
    assert_eq!(get(&lookup, &bound, "a"), FoundSource::Local);
    let ended = lookup.request(&bound, Constraint::regex("a"));
    let pending = lookup.request(&bound, Constraint::regex("hang"));
    until("the worker has begun", || lookup.stats().local_compiles == 2);
    let dropped_by_child =
        Mutex::new(Some(Arc::new(Lookup::open(LookupConfig::new(folder.join("store"))).unwrap())));

    let child = fork(|| {
        assert!(ended.poll().unwrap().is_ok(), "what had ended stays what it is");
        for _ in 0..2 {
            let error = pending.poll().unwrap().unwrap_err();
            assert!(matches!(*error, LookupError::Forked { .. }), "{error}");
        }
        drop(pending.clone());
        assert_eq!(lookup.stats().local_compiles, 0, "its own numbers");
        assert_eq!(get(&lookup, &bound, "a"), FoundSource::Host, "its own maps");
        assert_eq!(get(&lookup, &bound, "b"), FoundSource::Local);
        assert!(matches!(get(&lookup, &bound, "slow|c"), FoundSource::Local | FoundSource::Host));
        let grandchild = fork(|| assert_eq!(get(&lookup, &bound, "d"), FoundSource::Local));
        assert_eq!(wait(grandchild), 0, "the grandchild");
        drop(dropped_by_child.lock().unwrap().take());
        lookup.close();
    });
    assert_eq!(wait(child), 0, "the child");
    // The parent's worker was not touched, and what it does can still be cancelled.
    assert!(pending.poll().is_none());
    assert_eq!(workers(folder).len(), 3);
    until("those of child and grandchild end", || living(folder) == 1);
    drop(pending);
    assert_eq!(get(&lookup, &bound, "b"), FoundSource::Host, "published by the child");
    assert_eq!(get(&lookup, &bound, "e"), FoundSource::Local);

    // Two processes publish one key.
    let child =
        fork(|| assert!(matches!(get(&lookup, &bound, "slow|f"), FoundSource::Local | FoundSource::Host)));
    assert!(matches!(get(&lookup, &bound, "slow|f"), FoundSource::Local | FoundSource::Host));
    assert_eq!(wait(child), 0, "both have it");
}

/// The child has a copy of the parent's end of the worker's socket, which therefore does not end with the parent.
fn a_worker_ends_with_its_parent_though_a_child_lives(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    let told = folder.join("child");
    let parent = fork(|| {
        let lookup = open(folder);
        let bound = lookup.publish_vocabulary(None, &tiny::tiny()).unwrap();
        assert_eq!(get(&lookup, &bound, "a"), FoundSource::Local);
        let child = fork(|| std::thread::sleep(LONG));
        fs::write(&told, child.to_string()).unwrap();
        // SAFETY: ends this process as a kill would: nothing is dropped.
        unsafe { libc::_exit(0) }
    });
    assert_eq!(wait(parent), 0);
    let child: i32 = fs::read_to_string(told).unwrap().parse().unwrap();
    let worker = workers(folder)[0];
    until("the worker ends", || is_over(worker));
    assert!(!is_over(child), "and did not because the child ended");
    // SAFETY: a process that this one started, by its id.
    unsafe { libc::kill(child, libc::SIGKILL) };
}

fn a_temporary_folder_goes_with_its_process(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("store"), "no store").unwrap();
    let lookup = open(folder);
    let bound = lookup.publish_vocabulary(None, &tiny::tiny()).unwrap();
    assert_eq!(get(&lookup, &bound, "a"), FoundSource::Local);
    let made = || {
        let prefix = format!("gobo-{}-", std::process::id());
        let names = fs::read_dir(std::env::temp_dir()).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_str().is_some_and(|name| name.starts_with(&prefix))).count()
    };
    assert_eq!(made(), 1);
    let child = fork(|| {
        assert_eq!(get(&lookup, &bound, "b"), FoundSource::Local);
        assert_eq!(made(), 1, "its own");
        lookup.close();
        assert_eq!(made(), 0);
    });
    assert_eq!(wait(child), 0);
    assert_eq!(made(), 1, "the child left its parent's alone");
    lookup.close();
    assert_eq!(made(), 0);
    assert!(!bound.vocabulary.bytes(0).is_empty(), "what was mapped of it stays mapped");
}

fn a_daemon_that_is_killed_in_a_burst_hands_it_over(folder: &Path) {
    let (store, up) = (folder.join("store"), folder.join("up"));
    fs::create_dir_all(&store).unwrap();
    let daemon = fork(|| serve(&store, &up));
    until("the daemon listens", || up.exists());
    let lookup = open(folder);
    let bound = lookup.publish_vocabulary(Some("tiny"), &tiny::tiny()).unwrap();
    let ask = |number: u32| lookup.request(&bound, Constraint::regex(format!("a{{{number}}}")));
    let requests: Vec<_> = (1..=8).map(ask).collect();
    let first = requests[0].wait(LONG).unwrap().unwrap();
    // SAFETY: a process that this one started, by its id.
    unsafe { libc::kill(daemon, libc::SIGKILL) };
    wait(daemon);
    let ends: Vec<_> = requests.iter().map(|request| request.wait(LONG).unwrap().unwrap().source).collect();
    assert_eq!(first.source, FoundSource::Compile);
    let passed_over = lookup.stats().fell_back(Reason::NoDaemon);
    assert!(passed_over > 0, "{:?}", lookup.stats());
    assert!(ends.contains(&FoundSource::Local), "{ends:?}");
    assert!(lookup.stats().failures == 0 && ends.len() == 8);
}

/// A daemon that takes its time, until it is killed.
fn serve(store: &Path, up: &Path) {
    let compile: Box<CompileFn> = Box::new(|vocabulary, constraint, budget| {
        std::thread::sleep(Duration::from_millis(200));
        gobo_worker::compile_constraint(vocabulary, constraint, 1, budget)
    });
    let config = EngineConfig { workers: 1, ..EngineConfig::new(store) };
    let engine = Arc::new(Engine::open_with(config, compile).unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let server = Server::bind(Arc::clone(&engine), &ServeConfig::of(&engine)).await.unwrap();
        fs::write(up, "").unwrap();
        server.run(std::future::pending()).await.unwrap();
    });
}
