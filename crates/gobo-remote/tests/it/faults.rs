//! Whatever a bucket does, a lookup ends in time with the right answer, and something counts it.

use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use gobo_remote::object::{Kind, Rejected, seal};
use gobo_remote::{Answer, Content, Put, RemoteStats};

use crate::bucket::{Host, plant};
use crate::faulty::{Fault, Faulty};
use crate::fixture::{index, index_padded, temporary};

#[test]
fn each_fault_ends_in_time_and_is_counted() {
    fn failed(stats: &RemoteStats) -> u64 {
        stats.failed
    }
    fn timeouts(stats: &RemoteStats) -> u64 {
        stats.timeouts
    }
    fn denied(stats: &RemoteStats) -> u64 {
        stats.denied
    }
    fn content(stats: &RemoteStats) -> u64 {
        stats.rejected[Rejected::ALL.iter().position(|why| *why == Rejected::Content).unwrap()]
    }
    fn either(stats: &RemoteStats) -> u64 {
        stats.rejected.iter().sum()
    }
    let (key, bytes) = index_padded("a", 4000);
    for (fault, counter) in [
        (Fault::Hang, timeouts as fn(&RemoteStats) -> u64),
        (Fault::Late(1000), timeouts),
        (Fault::HangsInBody, timeouts),
        (Fault::Slow, timeouts),
        (Fault::Error, failed),
        (Fault::Breaks, failed),
        (Fault::Denied, denied),
        (Fault::Cut, content),
        (Fault::Flip, either),
    ] {
        let bucket = Faulty::new();
        let host = Host::reader(&bucket);
        plant(&bucket, &key, seal(Kind::Index, key.0, &bytes, None).unwrap());
        bucket.reading(fault);
        // Which waits for ten seconds at most.
        let answer = host.look(key);
        assert!(matches!(answer, Answer::Unknown | Answer::Rejected(_)), "{fault:?}: {answer:?}");
        assert_eq!(counter(&host.remote.stats()), 1, "{fault:?}: {:?}", host.remote.stats());
        assert!(temporary(&host.store).is_empty(), "{fault:?}");
        if fault == Fault::Denied {
            assert!(host.remote.stats().is_reading_paused, "no second try mends that");
            continue;
        }
        bucket.reading(Fault::None);
        assert!(host.look(key).is_found(), "{fault:?}: once is no reason to give up");
    }
}

#[test]
fn a_bucket_that_fails_is_left_alone_and_tried_again() {
    let bucket = Faulty::new();
    let host = Host::reader(&bucket);
    let (key, bytes) = index("a");
    plant(&bucket, &key, seal(Kind::Index, key.0, &bytes, None).unwrap());
    bucket.reading(Fault::Hang);
    for _ in 0..5 {
        host.look(key);
    }
    assert!(host.remote.stats().is_reading_paused);
    for _ in 0..100 {
        assert!(matches!(host.look(key), Answer::Unknown));
    }
    // Nobody waits for it but who tries it, once in a second and then less often.
    let RemoteStats { timeouts, skipped, .. } = host.remote.stats();
    assert_eq!((bucket.gets.load(Ordering::SeqCst) as u64, timeouts + skipped), (timeouts, 105));
    assert!(skipped > 50, "{skipped}");
    bucket.reading(Fault::None);
    let begun = Instant::now();
    while !host.look(key).is_found() {
        assert!(begun.elapsed() < Duration::from_secs(5));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!host.remote.stats().is_reading_paused);
}

#[test]
fn writes_that_hang_do_not_stop_reads() {
    let bucket = Faulty::new();
    let host = Host::writer(&bucket);
    let (key, bytes) = index("a");
    host.store.publish_index(&key, &bytes).unwrap();
    plant(&bucket, &key, seal(Kind::Index, key.0, &bytes, None).unwrap());
    bucket.writing(Fault::Hang);
    for _ in 0..8 {
        host.remote.put(Put { key, content: Content::Index, replaces: true });
    }
    host.wait_until(|stats| stats.is_writing_paused);
    assert!(host.look(key).is_found() && !host.remote.stats().is_reading_paused);
    // What waits is written once it can be.
    bucket.writing(Fault::None);
    host.wait_until(|stats| stats.queued == 0 && stats.written >= 1);
    assert!(!host.remote.stats().is_writing_paused);
}

#[test]
fn a_lookup_that_is_given_up_calls_nobody_and_leaves_nothing() {
    let bucket = Faulty::new();
    let host = Host::reader(&bucket);
    let (key, bytes) = index("a");
    plant(&bucket, &key, seal(Kind::Index, key.0, &bytes, None).unwrap());
    for fault in [Fault::Hang, Fault::HangsInBody] {
        bucket.reading(fault);
        let (sender, called) = mpsc::channel::<()>();
        let lookup = host.remote.lookup(key, move |_| sender.send(()).unwrap());
        std::thread::sleep(Duration::from_millis(50));
        drop(lookup);
        assert!(called.recv().is_err(), "{fault:?}");
    }
    host.wait_until(|stats| stats.given_up == 2);
    assert!(temporary(&host.store).is_empty());
    assert_eq!(host.remote.stats().timeouts, 0, "it says nothing of the bucket");
}
