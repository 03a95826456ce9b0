//! Mapped, file, daemon, local worker: who serves, and what happens to the daemon.

use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use gobo_lookup::{FoundSource, LookupConfig, LookupError, Reason};
use gobo_types::{Binding, Constraint, ErrorKind};
use tokio::task::block_in_place;

use crate::daemon::{Daemon, client};
use crate::fixture::{LONG, Place, ask, bound, end, expected, get, open, until};
use crate::full_verdicts::full_verdict;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_then_files_then_maps() {
    let place = Place::new();
    let daemon = Daemon::start(&place.store).await;
    let first = place.lookup();
    assert!(first.find(&bound(&first), &Constraint::regex("a+b")).unwrap().is_none());
    let compiled = get(&first, "a+b").unwrap();
    assert_eq!((compiled.source, compiled.index.file_bytes()), (FoundSource::Compile, &expected("a+b")[..]));
    assert!(compiled.path.as_ref().unwrap().starts_with(&place.store));
    let request = ask(&first, "a+b");
    let mapped = request.poll().expect("at once").unwrap();
    assert_eq!(mapped.source, FoundSource::Map);
    assert!(Arc::ptr_eq(&mapped.index, &compiled.index), "mapped once");

    // Another process of this host, by file; and the daemon's own answer for a file that this one does not see.
    let second = place.lookup();
    assert_eq!(get(&second, "a+b").unwrap().source, FoundSource::Host);
    assert_eq!(get(&second, "a+b").unwrap().source, FoundSource::Map);
    daemon.stop().await;
    let [first_found, second_found] =
        [&first, &second].map(|lookup| FoundSource::ALL.map(|source| lookup.stats().found.of(source)));
    assert_eq!(
        (first_found, second_found),
        ([1, 0, 0, 0, 1, 0, 0], [1, 1, 0, 0, 0, 0, 0]),
        "in the order of `ALL`"
    );
    let stats = first.stats();
    assert_eq!((stats.waits.count, stats.local_compiles, stats.fallbacks), (1, 0, vec![]));
    assert!(place.workers().is_empty(), "no worker was started");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_takes_over_what_a_local_worker_published() {
    let place = Place::new();
    let found = get(&place.lookup(), "[0-9]{3}").unwrap();
    assert_eq!(found.source, FoundSource::Local);
    let daemon = Daemon::start(&place.store).await;
    // As a client without files asks.
    let located = client(&place.store).locate("tiny", &Constraint::regex("[0-9]{3}")).await.unwrap();
    assert_eq!((located.key, Some(located.path)), (found.key, found.path));
    assert_eq!(daemon.gate.begun.load(Ordering::SeqCst), 0, "nothing was compiled");
    daemon.stop().await;
}

#[test]
fn without_a_daemon_the_local_worker_serves_and_publishes() {
    let place = Place::new();
    let lookup = place.lookup();
    let found = get(&lookup, "a+b").unwrap();
    assert_eq!((found.source, found.index.file_bytes()), (FoundSource::Local, &expected("a+b")[..]));
    assert!(found.path.as_ref().unwrap().starts_with(&place.store));
    let stats = lookup.stats();
    assert_eq!((stats.fell_back(Reason::NoDaemon), stats.fallbacks.len()), (1, 1));
    assert_eq!(stats.fallbacks[0].first.as_ref().unwrap().0, found.key);
    // Whoever comes next finds the file.
    let none = open(LookupConfig::new(&place.store));
    assert_eq!(get(&none, "a+b").unwrap().source, FoundSource::Host);
    let by_name = none.vocabulary_by_name("tiny").unwrap().unwrap();
    assert_eq!((by_name.kind.as_str(), by_name.binding), ("test", bound(&lookup).binding));
    let by_digest = none.vocabulary_by_digest(&by_name.vocabulary.digest(), Binding::new(vec![1], 200));
    assert_eq!(*by_digest.unwrap().unwrap().binding, Binding::new(vec![1], 200));
    assert!(none.vocabulary_by_name("another").unwrap().is_none());
    assert!(none.vocabulary_by_name("no/name").unwrap().is_none());
}

#[test]
fn nobody_to_ask_is_said_by_name() {
    let place = Place::new();
    let lookup = open(LookupConfig { local: None, ..place.config("told") });
    for _ in 0..2 {
        let error = get(&lookup, "a").unwrap_err();
        assert!(
            matches!(&*error, LookupError::Unavailable { tried, .. } if tried.contains("daemon")),
            "{error}"
        );
        assert_eq!(error.kind(), ErrorKind::Busy);
    }
    let stats = lookup.stats();
    assert_eq!((stats.fell_back(Reason::NoDaemon), stats.fell_back(Reason::NoLocal)), (2, 2));
    assert_eq!(stats.failures, 2, "transient ends are not remembered");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_that_ends_in_the_middle_of_a_burst_hands_it_over() {
    let place = Place::new();
    let daemon = Daemon::start_with(&place.store, Duration::ZERO).await;
    daemon.gate.shut.store(true, Ordering::SeqCst);
    let lookup = place.lookup();
    let requests: Vec<_> = (1..=8).map(|number| ask(&lookup, &format!("a{{{number}}}"))).collect();
    until("compiles begin", || daemon.gate.begun.load(Ordering::SeqCst) > 0);
    daemon.shut_down();
    for (number, request) in (1..=8).zip(requests) {
        let found = block_in_place(|| end(&request)).unwrap();
        assert_eq!(found.source, FoundSource::Local);
        assert_eq!(found.index.file_bytes(), expected(&format!("a{{{number}}}")));
    }
    daemon.gate.shut.store(false, Ordering::SeqCst);
    daemon.stop().await;
    let stats = lookup.stats();
    assert_eq!((stats.found.of(FoundSource::Local), stats.failures), (8, 0));
    let passed_over: u64 = stats.fallbacks.iter().map(|fallback| fallback.count).sum();
    assert_eq!(passed_over, 8, "{stats:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_that_is_late_or_busy_is_passed_over() {
    let place = Place::new();
    let daemon = Daemon::start(&place.store).await;
    let config = LookupConfig { timeout: Some(Duration::from_secs(4)), ..place.config("told") };
    let lookup = open(config);
    let bound = bound(&lookup);
    daemon.gate.shut.store(true, Ordering::SeqCst);
    // It lives, and answers what it is not asked to compile.
    let request = lookup.request_within(&bound, Constraint::regex("a"), Some(LONG));
    assert_eq!(block_in_place(|| end(&request)).unwrap().source, FoundSource::Local);
    daemon.gate.shut.store(false, Ordering::SeqCst);
    assert_eq!(lookup.stats().fell_back(Reason::LateDaemon), 1);

    // Neither the daemon nor the worker has room, and both are heard.
    let request = lookup.request_within(&bound, Constraint::regex("busy, in full"), Some(LONG));
    let error = block_in_place(|| end(&request)).unwrap_err();
    assert_eq!(error.to_string().matches("the room is full").count(), 2, "{error}");
    let stats = lookup.stats();
    assert_eq!((stats.fell_back(Reason::BusyDaemon), stats.fell_back(Reason::DeafDaemon)), (1, 0));
    daemon.stop().await;
}

#[test]
fn a_deaf_daemon_is_passed_over_and_not_asked_again_at_once() {
    let place = Place::new();
    let config = LookupConfig { timeout: Some(Duration::from_secs(4)), ..place.config("told") };
    let lookup = open(config.clone());
    // Takes connections, and says nothing.
    let _deaf = UnixListener::bind(place.store.join("daemon.sock")).unwrap();
    for pattern in ["a", "b"] {
        let request = lookup.request_within(&bound(&lookup), Constraint::regex(pattern), Some(LONG));
        assert_eq!(end(&request).unwrap().source, FoundSource::Local);
    }
    let stats = lookup.stats();
    assert_eq!((stats.fell_back(Reason::DeafDaemon), stats.fallbacks.len()), (2, 1), "{stats:?}");

    // With nobody behind it, the request ends by name all the same.
    let alone = open(LookupConfig { local: None, ..config });
    let error = get(&alone, "c").unwrap_err();
    assert!(matches!(*error, LookupError::Unavailable { .. } | LookupError::Timeout { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_on_another_host_is_sent_the_vocabulary() {
    let (here, there) = (Place::new(), Place::new());
    let daemon = Daemon::start(&there.store).await;
    let lookup = open(LookupConfig { server: Some(daemon.tcp.clone()), ..here.config("told") });
    // One that the daemon does not have.
    let mut imported = crate::tiny::tiny();
    let id = imported.eos[0] + 1;
    imported.table.insert(id, b"more".to_vec(), false).unwrap();
    let bound = lookup.publish_vocabulary(None, &imported).unwrap();
    let requests: Vec<_> =
        (1..=8).map(|number| lookup.request(&bound, Constraint::regex(format!("a{{{number}}}")))).collect();
    for request in requests {
        let found = block_in_place(|| end(&request)).unwrap();
        assert_eq!(found.source, FoundSource::Stream);
        assert!(found.path.unwrap().starts_with(&here.store));
    }
    assert_eq!(lookup.stats().fallbacks, vec![]);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verdicts_are_the_daemons_and_are_remembered() {
    let (with, without) = (Place::new(), Place::new());
    let daemon = Daemon::start(&with.store).await;
    let asked = [with.lookup(), without.lookup()];
    for text in ["refused, in full", "over budget, in full", "(", "~"] {
        let mut ends = Vec::new();
        for lookup in &asked {
            for _ in 0..2 {
                let request = ask(lookup, text);
                let ended = block_in_place(|| end(&request));
                let LookupError::Verdict(verdict) = &*ended.unwrap_err() else { panic!("{text}") };
                ends.push(verdict.clone());
            }
        }
        ends.dedup();
        assert_eq!(ends.len(), 1, "{text}");
        if let Some(full) = full_verdict(text) {
            assert_eq!(ends[0], full);
        }
    }
    for lookup in &asked {
        let stats = lookup.stats();
        assert_eq!((stats.verdicts, stats.remembered, stats.failures), (8, 4, 0));
    }
    // Once each, and the one over its steps in each of three passes.
    assert_eq!(asked[1].stats().local_compiles, 6);
    daemon.stop().await;
}

#[test]
fn a_request_may_be_cancelled_or_run_out_of_time() {
    let place = Place::new();
    let lookup = place.lookup();
    let request = ask(&lookup, "hang");
    assert!(request.poll().is_none() && !request.is_done());
    assert!(request.wait(Duration::from_millis(1)).is_none());
    let (clone, other) = (request.clone(), ask(&lookup, "hang"));
    request.cancel();
    assert!(matches!(*clone.poll().unwrap().unwrap_err(), LookupError::Cancelled { .. }));
    assert!(other.poll().is_none(), "who asked for the same is not concerned");
    drop(other);

    let bound = bound(&lookup);
    let late = lookup.request_within(&bound, Constraint::regex("hang"), Some(Duration::from_millis(20)));
    let error = end(&late).unwrap_err();
    assert!(matches!(*error, LookupError::Timeout { .. }), "{error}");
    assert_eq!(error.kind(), ErrorKind::Deadline);
    assert!(matches!(*late.poll().unwrap().unwrap_err(), LookupError::Timeout { .. }), "it stays so");
    assert_eq!(lookup.stats().fell_back(Reason::Timeout), 1);
    // Nothing of it is left running: the next has its turn.
    assert_eq!(get(&lookup, "a").unwrap().source, FoundSource::Local);
}

#[test]
fn closing_ends_requests_and_the_worker() {
    let place = Place::new();
    let lookup = place.lookup();
    let request = ask(&lookup, "hang");
    until("the worker begins", || !place.workers().is_empty());
    lookup.close();
    let error = end(&request).unwrap_err();
    assert!(matches!(*error, LookupError::Unavailable { .. }), "{error}");
    for worker in place.workers() {
        until("the worker ends", || crate::fixture::is_over(&worker));
    }
}
