//! A client in a process that forks. A binary of its own: a child has none of the threads of other tests, and may hold their locks.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../../../gobo-server/tests/it/daemon.rs"]
#[expect(dead_code, reason = "the tests of the server need the rest of it")]
mod daemon;
#[path = "../../../gobo-engine/tests/it/full_verdicts.rs"]
mod full_verdicts;
#[path = "../../../gobo-engine/tests/it/tiny.rs"]
mod tiny;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fork::Fork;
use gobo_client::{BlockingClient, Client, ClientError, Constraint, ErrorKind, Lost, Source};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use tokio::runtime::Runtime;

use crate::daemon::{Daemon, until};

/// Longer than any of these tests, and an end nevertheless.
const LONG: Option<Duration> = Some(Duration::from_secs(60));

/// A child of this process that runs `body`, and then ends.
#[expect(clippy::exit, reason = "a child must not go on with the tests of its parent")]
fn child(body: impl FnOnce()) -> Pid {
    match fork::fork().unwrap() {
        Fork::Child => {
            let has_failed = catch_unwind(AssertUnwindSafe(body)).is_err();
            std::process::exit(i32::from(has_failed));
        }
        Fork::Parent(child) => Pid::from_raw(child).unwrap(),
    }
}

/// Runs `body` in a child of this process, and waits for its end. A child that hangs is killed, and fails the test.
#[track_caller]
fn in_child(body: impl FnOnce()) {
    let child = child(body);
    let begun = Instant::now();
    loop {
        if let Some((_, status)) = waitpid(Some(child), WaitOptions::NOHANG).unwrap() {
            assert_eq!(status.exit_status(), Some(0), "the child failed: {status:?}");
            return;
        }
        if begun.elapsed() > Duration::from_secs(120) {
            kill_process(child, Signal::KILL).unwrap();
            panic!("the child hangs");
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// How many threads of this process have the name of a client's.
fn client_threads() -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| fs::read_to_string(task.unwrap().path().join("comm")).ok());
    names.filter(|name| name.trim_end() == "gobo-client").count()
}

fn resolve(client: &BlockingClient, pattern: &str) -> Source {
    client.resolve("tiny", &Constraint::regex(pattern), LONG).unwrap().source
}

/// One test, because a fork copies whatever others are doing.
#[test]
fn processes() {
    a_daemon_is_killed_while_it_compiles();
    a_child_has_a_thread_and_a_connection_of_its_own_and_hangs_nowhere();
}

fn a_daemon_is_killed_while_it_compiles() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = child(|| {
        Runtime::new().unwrap().block_on(async {
            let daemon = Daemon::start(folder.path()).await;
            daemon.gate.shut.store(true, Ordering::SeqCst);
            tokio::time::sleep(LONG.unwrap()).await;
        });
    });
    let client = Client::builder().store(folder.path()).connect_blocking().unwrap();
    let begun = Instant::now();
    let mut attempts = 0;
    let pending = loop {
        assert!(begun.elapsed() < LONG.unwrap());
        attempts += 1;
        let pending = client.request("tiny", Constraint::regex(format!("killed{attempts}")));
        match pending.wait(Some(Duration::from_millis(100))) {
            // No daemon yet, or one that listens already and is not held up yet.
            Some(ended) => assert!(ended.as_ref().err().is_none_or(|error| error.kind() == ErrorKind::Busy)),
            None => break pending,
        }
    };
    kill_process(daemon, Signal::KILL).unwrap();
    waitpid(Some(daemon), WaitOptions::empty()).unwrap();
    let ended = pending.wait(LONG).unwrap();
    assert!(matches!(ended, Err(ClientError::Unreachable { .. })), "{ended:?}");
    let none = client.resolve("tiny", &Constraint::regex("killed"), LONG);
    assert!(matches!(none, Err(ClientError::Unreachable { .. })), "{none:?}");
}

fn a_child_has_a_thread_and_a_connection_of_its_own_and_hangs_nowhere() {
    let runtime = Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let daemon = runtime.block_on(Daemon::start(folder.path()));
    let client = Client::builder().store(folder.path()).connect_blocking().unwrap();
    before_the_first_call(&client);
    assert_eq!(resolve(&client, "parent"), Source::Compile);
    assert_eq!(client_threads(), 1);

    with_a_call_under_way(&runtime, &daemon, &client);
    beside_busy_threads(&client);
    runtime.block_on(daemon.stop());
}

/// A client that was opened and not used yet.
fn before_the_first_call(client: &BlockingClient) {
    assert!(client.client().find("tiny", &Constraint::regex("nothing")).unwrap().is_none());
    assert_eq!(client_threads(), 0, "no call, no thread");
    in_child(|| {
        assert_eq!(resolve(client, "first"), Source::Compile);
        assert_eq!(client_threads(), 1);
    });
    assert_eq!(client_threads(), 0, "the child's thread is the child's");
    assert_eq!(resolve(client, "first"), Source::Map);
}

fn with_a_call_under_way(runtime: &Runtime, daemon: &Daemon, client: &BlockingClient) {
    let begun = daemon.gate.begun.load(Ordering::SeqCst);
    daemon.gate.shut.store(true, Ordering::SeqCst);
    let ended = client.request("tiny", Constraint::regex("parent"));
    let pending = client.request("tiny", Constraint::regex("under way"));
    let compiling = || daemon.gate.begun.load(Ordering::SeqCst) == begun + 1;
    runtime.block_on(until("it compiles", compiling));
    let before = client.client();
    in_child(|| {
        // What was there is there; what was under way goes on in the parent alone.
        assert_eq!(ended.poll().unwrap().as_ref().unwrap().source, Source::Map);
        for lost in [pending.poll(), pending.wait(None)] {
            let lost = lost.unwrap().as_ref().unwrap_err();
            assert!(matches!(lost, ClientError::Lost(Lost::Forked)), "{lost}");
            assert_eq!(lost.kind(), ErrorKind::Cancelled);
        }
        assert_eq!(client_threads(), 0);
        let ping = client.spawn(|client| async move { client.ping().await });
        assert!(ping.wait(LONG).unwrap().is_ok());
        assert_eq!(client_threads(), 1);
        assert!(!std::sync::Arc::ptr_eq(&before, &client.client()));
        assert!(std::sync::Arc::ptr_eq(&client.client(), &client.client()), "made once");
        // A child of the child.
        in_child(|| {
            assert!(ping.poll().unwrap().is_ok());
            assert_eq!(client_threads(), 0);
            assert_eq!(resolve(client, "parent"), Source::Map);
            let late = client.resolve("tiny", &Constraint::regex("late"), Some(Duration::from_millis(50)));
            assert_eq!(late.unwrap_err().kind(), ErrorKind::Deadline);
            assert_eq!(client_threads(), 1);
        });
        drop((pending.clone(), ping));
        assert!(client.client().find("tiny", &Constraint::regex("parent")).unwrap().is_some());
    });
    // Neither the call nor the connection of the parent was disturbed.
    assert!(pending.poll().is_none());
    daemon.gate.shut.store(false, Ordering::SeqCst);
    assert_eq!(pending.wait(LONG).unwrap().as_ref().unwrap().source, Source::Compile);
    assert_eq!(resolve(client, "afterwards"), Source::Compile);
    assert_eq!(client_threads(), 1);

    // Whatever the child drops, the parent's goes on.
    let other = Client::builder().store(client.client().store().root()).connect_blocking().unwrap();
    let ping = other.spawn(|client| async move { client.ping().await });
    let (other, ping) = (std::cell::Cell::new(Some(other)), std::cell::Cell::new(Some(ping)));
    in_child(|| drop((other.take(), ping.take())));
    assert!(ping.take().unwrap().wait(LONG).unwrap().is_ok());
}

/// Forks while other threads hold the locks of the client as often as they can.
fn beside_busy_threads(client: &BlockingClient) {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for nth in 0..6 {
            let stop = &stop;
            scope.spawn(move || {
                let known = Constraint::regex("parent");
                while !stop.load(Ordering::SeqCst) {
                    assert!(client.client().find("tiny", &known).unwrap().is_some());
                    if nth == 0 {
                        assert!(
                            client.spawn(|client| async move { client.ping().await }).wait(LONG).is_some()
                        );
                    }
                }
            });
        }
        for round in 0..40 {
            in_child(|| {
                assert_eq!(resolve(client, "parent"), Source::Map);
                assert_eq!(resolve(client, &format!("round {round}")), Source::Compile);
                let ping = client.spawn(|client| async move { client.ping().await });
                assert!(ping.wait(LONG).unwrap().is_ok());
            });
        }
        stop.store(true, Ordering::SeqCst);
    });
}
