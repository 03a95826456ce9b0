//! The local worker: one compile for all who ask, and what may happen to it.

use std::sync::{Arc, Barrier};
use std::thread;

use gobo_lookup::{FoundSource, LookupConfig, LookupError, Reason};
use gobo_types::{CompileError, CompileLimits, ErrorKind, Limit};
use rustix::process::{Pid, Signal, kill_process};

use crate::fixture::{Place, ask, end, expected, get, is_over, no_temporary_file, open, until};

#[test]
fn sixteen_threads_start_one_compile() {
    let place = Place::new();
    let lookup = place.lookup();
    let barrier = Barrier::new(16);
    let found: Vec<_> = thread::scope(|scope| {
        let ask = || {
            barrier.wait();
            get(&lookup, "slow|a").unwrap()
        };
        let threads: Vec<_> = (0..16).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(found.iter().all(|one| Arc::ptr_eq(&one.index, &found[0].index)));
    let stats = lookup.stats();
    assert_eq!((stats.local_compiles, stats.waits.count), (1, stats.found.of(FoundSource::Local)));
    // One that asks between the publishing and the end of the flight opens the file itself.
    let sources = [FoundSource::Local, FoundSource::Host, FoundSource::Map];
    assert_eq!(sources.map(|source| stats.found.of(source)).iter().sum::<u64>(), 16);
}

#[test]
fn two_lookups_that_publish_one_key_agree() {
    let place = Place::new();
    let lookups = [place.lookup(), place.lookup()];
    let requests = lookups.each_ref().map(|lookup| ask(lookup, "slow|b"));
    let found = requests.each_ref().map(|request| end(request).unwrap());
    assert_eq!(found[0].path, found[1].path);
    assert!(found.iter().all(|found| found.index.file_bytes() == expected("slow|b")));
    no_temporary_file(&place.store);
}

#[test]
fn a_worker_that_is_killed_is_replaced_and_its_job_tried_once_more() {
    let place = Place::new();
    let lookup = open(place.config("hangs_first"));
    let request = ask(&lookup, "ab");
    until("the worker begins", || !place.workers().is_empty());
    let first = place.workers().remove(0);
    // It is killed in the middle of the compile, or before it has begun: another one has its turn in either case.
    kill_process(Pid::from_raw(first.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
    let found = end(&request).unwrap();
    assert_eq!((found.source, found.index.file_bytes()), (FoundSource::Local, &expected("ab")[..]));
    assert!(found.path.is_some(), "a death is no fault of the store");
    assert_eq!(lookup.stats().fell_back(Reason::LocalDied), 1);
    no_temporary_file(&place.store);
}

#[test]
fn what_kills_each_worker_is_unavailable_and_is_not_remembered() {
    let place = Place::new();
    let lookup = place.lookup();
    for compiles in [2, 4] {
        let error = get(&lookup, "die").unwrap_err();
        assert!(
            matches!(&*error, LookupError::Unavailable { tried, .. } if tried.contains("worker")),
            "{error}"
        );
        assert_eq!(lookup.stats().local_compiles, compiles);
    }
    let error = get(&lookup, "panic").unwrap_err();
    assert_eq!((error.kind(), error.verdict()), (ErrorKind::Internal, None), "{error}");
    assert_eq!(get(&lookup, "a").unwrap().source, FoundSource::Local, "and the next goes well");
    no_temporary_file(&place.store);
}

#[test]
fn a_worker_that_cannot_be_started_is_said_by_name() {
    let place = Place::new();
    let mut config = place.config("told");
    config.local.as_mut().unwrap().program = "/no/such/program".into();
    let lookup = open(config);
    let error = get(&lookup, "a").unwrap_err();
    assert!(error.to_string().contains("/no/such/program"), "{error}");
    assert_eq!(lookup.stats().fell_back(Reason::LocalDied), 2);
}

#[test]
fn an_expensive_compile_comes_back_behind_cheap_ones() {
    let place = Place::new();
    let lookup = place.lookup();
    let found = get(&lookup, "costly").unwrap();
    assert_eq!(found.index.file_bytes(), expected("costly"));
    assert_eq!(lookup.stats().local_compiles, 2, "a pass too small, and one that was not");
}

#[test]
fn limits_are_the_callers_whatever_the_passes_have() {
    let place = Place::new();
    for max_steps in [100, 9_000_000] {
        let limits = Some(CompileLimits { max_steps, ..CompileLimits::default() });
        let lookup = open(LookupConfig { limits, ..place.config("told") });
        let error = get(&lookup, "costly").unwrap_err();
        let Some(CompileError::OverBudget(over)) = error.verdict() else { panic!("{error}") };
        assert_eq!((over.limit, over.given), (Limit::MaxSteps, max_steps));
    }
    let limits = Some(CompileLimits { max_states: 10, ..CompileLimits::default() });
    let lookup = open(LookupConfig { limits, ..place.config("told") });
    let error = get(&lookup, "[ab]*a[ab]{9}").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
}

#[test]
fn the_worker_ends_with_its_lookup() {
    let place = Place::new();
    let lookup = place.lookup();
    get(&lookup, "a").unwrap();
    let worker = place.workers().remove(0);
    assert!(!is_over(&worker), "it waits for the next job");
    drop(lookup);
    until("the worker ends", || is_over(&worker));
}
