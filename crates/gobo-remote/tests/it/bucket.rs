//! Two hosts and a bucket between them.

use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use gobo_remote::object::{Kind, Names, Rejected, seal};
use gobo_remote::{
    Answer, Bucket, Content, Entry, Limits, Manifest, Mode, Put, Remote, RemoteConfig, RemoteError, Shard,
};
use gobo_store::Store;
use gobo_types::{CompileLimits, IndexKey, Limit, OverBudget, Refusal, RefusalKind};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _, PutPayload};
use tempfile::TempDir;

use crate::faulty::{Fault, Faulty};
use crate::fixture::{index, index_padded, key_of, store, temporary, vocabulary};
use crate::keys::{signer, trust};

/// Times that a test can wait for.
fn limits() -> Limits {
    Limits {
        lookup: Duration::from_millis(300),
        upload: Duration::from_millis(300),
        absent: Duration::from_millis(200),
        ..Limits::default()
    }
}

pub(crate) struct Host {
    _folder: TempDir,
    pub(crate) store: Store,
    pub(crate) remote: Remote,
}

impl Host {
    pub(crate) fn with(bucket: &Arc<Faulty>, config: RemoteConfig) -> Self {
        let (folder, store) = store();
        let bucket = Bucket {
            address: "memory:".into(),
            store: Arc::clone(bucket) as Arc<dyn ObjectStore>,
            prefix: Path::from("fleet"),
        };
        let remote = Remote::open(bucket, store.clone(), config).unwrap();
        Self { _folder: folder, store, remote }
    }

    pub(crate) fn writer(bucket: &Arc<Faulty>) -> Self {
        Self::with(bucket, RemoteConfig { mode: Mode::Write, limits: limits(), ..RemoteConfig::default() })
    }

    pub(crate) fn reader(bucket: &Arc<Faulty>) -> Self {
        Self::with(bucket, RemoteConfig { limits: limits(), ..RemoteConfig::default() })
    }

    pub(crate) fn look(&self, key: IndexKey) -> Answer {
        let (sender, answer) = mpsc::channel();
        let lookup = self.remote.lookup(key, move |answer| sender.send(answer).unwrap());
        let answer = answer.recv_timeout(Duration::from_secs(10)).unwrap();
        drop(lookup);
        answer
    }

    /// Publishes an index here, and puts it in the bucket.
    fn put_index(&self, pattern: &str, padding: usize, replaces: bool) -> (IndexKey, Vec<u8>) {
        let (key, bytes) = index_padded(pattern, padding);
        self.store.publish_index(&key, &bytes).unwrap();
        assert!(self.remote.put(Put { key, content: Content::Index, replaces }));
        (key, bytes)
    }

    pub(crate) fn wait_until(&self, what: impl Fn(&gobo_remote::RemoteStats) -> bool) {
        let begun = Instant::now();
        while !what(&self.remote.stats()) {
            assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", self.remote.stats());
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Puts bytes in the place of the object of a key.
pub(crate) fn plant(bucket: &Faulty, key: &IndexKey, object: Vec<u8>) {
    let name = Names::under(Path::from("fleet")).index(key);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(bucket.inner.put(&name, PutPayload::from(object))).unwrap();
}

/// A bucket in memory, and one that is a folder.
fn buckets(folder: &TempDir) -> [Arc<Faulty>; 2] {
    let folder = LocalFileSystem::new_with_prefix(folder.path()).unwrap();
    [Faulty::new(), Faulty::over(Arc::new(folder))]
}

#[test]
fn what_one_host_puts_another_finds_and_publishes() {
    let folder = tempfile::tempdir().unwrap();
    buckets(&folder).iter().for_each(finds_and_publishes);
}

fn finds_and_publishes(bucket: &Arc<Faulty>) {
    let (one, other) = (Host::writer(bucket), Host::reader(bucket));
    let (key, bytes) = one.put_index("a", 3 << 20, false);
    one.wait_until(|stats| stats.written == 1);
    let Answer::Index { file, digest } = other.look(key) else { panic!("it is there") };
    assert_eq!(file.publish().unwrap(), digest);
    assert_eq!(std::fs::read(other.store.index_path(&key)).unwrap(), bytes);
    assert!(other.store.verify_index(&key).unwrap().is_some());
    let stats = other.remote.stats();
    assert_eq!((stats.indices, stats.written), (1, 0));
    assert!(stats.read_bytes < 1 << 20, "it is compressed: {}", stats.read_bytes);
    // What is given up leaves no file.
    drop(other.look(key));
    assert_eq!(temporary(&other.store), Vec::<std::path::PathBuf>::new());
}

#[test]
fn verdicts_travel_whole() {
    let bucket = Faulty::new();
    let (one, other) = (Host::writer(&bucket), Host::reader(&bucket));
    let refusal = Refusal::new(RefusalKind::Unsupported, "/properties/a", "a \u{1F980} \"\\ keyword");
    let over = OverBudget { needed: Some(9), ..OverBudget::at(Limit::MaxSteps, 7, "rows") };
    let few = CompileLimits { max_steps: 7, ..CompileLimits::default() };
    let contents =
        [Content::Refused(Box::new(refusal.clone())), Content::OverBudget(Box::new(over.clone()), few)];
    for (pattern, content) in ["a", "b"].into_iter().zip(contents) {
        one.remote.put(Put { key: key_of(pattern), content, replaces: false });
    }
    one.wait_until(|stats| stats.written == 2);
    assert!(matches!(other.look(key_of("a")), Answer::Refused(found) if *found == refusal));
    let found = other.look(key_of("b"));
    assert!(matches!(found, Answer::OverBudget(found, limits) if *found == over && limits == few));
    assert_eq!(other.remote.stats().verdicts, 2);
}

#[test]
fn what_is_not_there_is_asked_for_once_in_a_while() {
    let bucket = Faulty::new();
    let host = Host::writer(&bucket);
    let key = key_of("a");
    for _ in 0..20 {
        assert!(matches!(host.look(key), Answer::Absent));
    }
    assert_eq!(bucket.gets.load(Ordering::SeqCst), 1);
    std::thread::sleep(Duration::from_millis(210));
    assert!(matches!(host.look(key), Answer::Absent));
    assert_eq!(bucket.gets.load(Ordering::SeqCst), 2);
    // What this host has put is there.
    host.put_index("a", 0, false);
    host.wait_until(|stats| stats.written == 1);
    assert!(matches!(host.look(key), Answer::Index { .. }));
}

#[test]
fn many_hosts_look_for_many_keys_at_once() {
    let folder = tempfile::tempdir().unwrap();
    for bucket in buckets(&folder) {
        let one = Host::writer(&bucket);
        let keys: Vec<_> =
            (0..40).map(|number| one.put_index(&format!("a{number}"), 1 << 18, false).0).collect();
        one.wait_until(|stats| stats.written == 40);
        let limits = Limits { lookup: Duration::from_secs(60), ..Limits::default() };
        let other = Host::with(&bucket, RemoteConfig { limits, ..RemoteConfig::default() });
        let (sender, answers) = mpsc::channel();
        // Four for each key, so that all threads are taken.
        let lookups: Vec<_> = keys
            .iter()
            .cycle()
            .take(160)
            .map(|&key| {
                let sender = sender.clone();
                other.remote.lookup(key, move |answer| sender.send(answer.is_found()).unwrap())
            })
            .collect();
        drop(sender);
        assert_eq!(answers.iter().filter(|is_found| *is_found).count(), 160);
        drop(lookups);
    }
}

#[test]
fn a_reader_writes_nothing_and_a_put_leaves_what_is_there_unless_it_replaces_it() {
    let bucket = Faulty::new();
    let (one, reader) = (Host::writer(&bucket), Host::reader(&bucket));
    assert!(!reader.remote.put(Put { key: key_of("a"), content: Content::Index, replaces: true }));
    assert_eq!(bucket.puts.load(Ordering::SeqCst), 0);
    plant(&bucket, &key_of("a"), b"something else".to_vec());
    one.put_index("a", 0, false);
    one.wait_until(|stats| stats.present == 1);
    assert!(matches!(reader.look(key_of("a")), Answer::Rejected(Rejected::NoObject)));
    one.put_index("a", 0, true);
    one.wait_until(|stats| stats.written == 1);
    assert!(matches!(reader.look(key_of("a")), Answer::Index { .. }));
    assert_eq!(reader.remote.stats().rejected.iter().sum::<u64>(), 1);
    // Evicted before its turn.
    one.remote.put(Put { key: key_of("b"), content: Content::Index, replaces: false });
    one.wait_until(|stats| stats.write_failures == 1);
}

#[test]
fn only_what_a_trusted_key_has_signed_is_used() {
    let bucket = Faulty::new();
    let signing = |number: usize| RemoteConfig {
        mode: Mode::Write,
        signer: Some(Arc::new(signer(number))),
        limits: limits(),
        ..RemoteConfig::default()
    };
    let trusting = |numbers: &[usize]| RemoteConfig {
        trust: Some(trust(numbers)),
        limits: limits(),
        ..RemoteConfig::default()
    };
    let writers = [Host::with(&bucket, signing(0)), Host::with(&bucket, signing(1)), Host::writer(&bucket)];
    for (writer, pattern) in writers.iter().zip(["a", "b", "c"]) {
        writer.put_index(pattern, 0, false);
        writer.wait_until(|stats| stats.written == 1);
    }
    let (both, new, anybody) =
        (Host::with(&bucket, trusting(&[0, 1])), Host::with(&bucket, trusting(&[1])), Host::reader(&bucket));
    let finds = |host: &Host, pattern| host.look(key_of(pattern)).is_found();
    assert_eq!(["a", "b", "c"].map(|pattern| finds(&both, pattern)), [true, true, false]);
    assert_eq!(["a", "b", "c"].map(|pattern| finds(&new, pattern)), [false, true, false], "a removed key");
    assert_eq!(["a", "b", "c"].map(|pattern| finds(&anybody, pattern)), [true; 3]);
    assert!(matches!(new.look(key_of("a")), Answer::Rejected(Rejected::Unsigned)));
}

#[test]
fn an_object_of_another_key_or_kind_is_not_used() {
    let bucket = Faulty::new();
    let host = Host::reader(&bucket);
    let (key, bytes) = index("a");
    let other = key_of("b");
    plant(&bucket, &other, seal(Kind::Index, key.0, &bytes, None).unwrap());
    assert!(matches!(host.look(other), Answer::Rejected(Rejected::OtherKey)));
    plant(&bucket, &other, seal(Kind::Vocabulary, other.0, &bytes, None).unwrap());
    assert!(matches!(host.look(other), Answer::Rejected(Rejected::OtherKey)));
    plant(&bucket, &other, seal(Kind::Refused, other.0, b"{}", None).unwrap());
    assert!(matches!(host.look(other), Answer::Rejected(Rejected::Unsound)));
    // The head may say what it likes: the file says of which key it is, and publishing reads it.
    plant(&bucket, &other, seal(Kind::Index, other.0, &bytes, None).unwrap());
    let Answer::Index { file, .. } = host.look(other) else { panic!("its head is right") };
    assert!(file.publish().is_err());
    plant(&bucket, &other, seal(Kind::Index, other.0, b"no index", None).unwrap());
    let Answer::Index { file, .. } = host.look(other) else { panic!("its head is right") };
    assert!(file.publish().is_err());
    assert!(temporary(&host.store).is_empty());
}

#[test]
fn an_object_in_use_is_written_again_before_it_expires() {
    let bucket = Faulty::new();
    let config = RemoteConfig {
        mode: Mode::Write,
        limits: Limits { ttl: Duration::ZERO, ..limits() },
        ..RemoteConfig::default()
    };
    let (one, other) = (Host::writer(&bucket), Host::with(&bucket, config));
    let (key, _) = one.put_index("a", 0, false);
    one.wait_until(|stats| stats.written == 1);
    let (sender, published) = mpsc::channel();
    let lookup = other.remote.lookup(key, move |answer| {
        let Answer::Index { file, .. } = answer else { panic!("it is there") };
        sender.send(file.publish().is_ok()).unwrap();
    });
    assert!(published.recv().unwrap());
    other.wait_until(|stats| stats.written == 1);
    drop(lookup);
}

#[test]
fn the_queue_is_bounded_and_what_is_in_it_is_written_before_closing() {
    let bucket = Faulty::new();
    let config = RemoteConfig {
        mode: Mode::Write,
        limits: Limits { queue: 4, upload: Duration::from_secs(5), ..limits() },
        ..RemoteConfig::default()
    };
    let host = Host::with(&bucket, config);
    bucket.writing(Fault::Hang);
    let refusal = || Content::Refused(Box::new(Refusal::new(RefusalKind::Malformed, "", "no")));
    let put = |number: u8| Put { key: IndexKey::from([number; 32]), content: refusal(), replaces: false };
    // Two are under way, four wait.
    for number in 0..2 {
        assert!(host.remote.put(put(number)));
        while bucket.puts.load(Ordering::SeqCst) < usize::from(number) + 1 {
            std::thread::yield_now();
        }
    }
    assert_eq!((2..12).filter(|number| host.remote.put(put(*number))).count(), 4);
    let stats = host.remote.stats();
    assert_eq!((stats.queued, stats.dropped), (4, 6));
    drop(host);

    let bucket = Faulty::new();
    let host = Host::writer(&bucket);
    (0..100).for_each(|number| assert!(host.remote.put(put(number))));
    host.remote.close(Duration::from_secs(10));
    assert_eq!(host.remote.stats().written, 100);
    assert!(!host.remote.put(put(1)), "it is closed");
    let (sender, answer) = mpsc::channel::<()>();
    let lookup = host.remote.lookup(key_of("a"), move |_| sender.send(()).unwrap());
    assert!(answer.recv().is_err(), "nobody looks any more");
    drop(lookup);
}

#[test]
fn a_manifest_is_its_parts_in_order_and_nothing_that_somebody_else_put_there() {
    let folder = tempfile::tempdir().unwrap();
    for bucket in buckets(&folder) {
        let host = Host::writer(&bucket);
        assert!(matches!(host.remote.manifest("m"), Err(RemoteError::NotThere { .. })));
        let entry = |position: u64, key: u8| Entry { position, key: IndexKey::from([key; 32]), bytes: 1 };
        let part = |entries: &[Entry]| Manifest { names: vec![], entries: entries.to_vec() };
        let shard = |index| Shard::new(index, 2).unwrap();
        host.remote.put_part("m", shard(1), &part(&[entry(1, 0x90), entry(3, 0x80)])).unwrap();
        host.remote.put_part("m", shard(0), &part(&[entry(0, 1), entry(2, 2)])).unwrap();
        let state = host.remote.manifest_state("m").unwrap();
        let whole = host.remote.manifest("m").unwrap();
        let order: Vec<_> = whole.entries.iter().map(|entry| entry.key.as_bytes()[0]).collect();
        assert_eq!(order, [1, 0x90, 2, 0x80]);
        // N changed between runs: what both say counts once.
        host.remote.put_part("m", Shard::WHOLE, &part(&[entry(0, 1), entry(1, 0x90), entry(4, 7)])).unwrap();
        assert_eq!(host.remote.manifest("m").unwrap().entries.len(), 5);
        assert!(host.remote.manifest_state("m").unwrap() != state);
        // The part of another manifest, whose name is a path, and what is no part.
        host.remote.put_part("../m/x", Shard::WHOLE, &part(&[])).unwrap();
        assert_eq!(host.remote.manifest("../m/x").unwrap(), Manifest::default());
        assert_eq!(host.remote.manifest("m").unwrap().entries.len(), 5);
        let names = Names::under(Path::from("fleet"));
        let place = names.manifest("m").join("stranger");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(bucket.inner.put(&place, PutPayload::from_static(b"GOBO"))).unwrap();
        assert!(matches!(host.remote.manifest("m"), Err(RemoteError::Rejected { .. })));
    }
}

#[test]
fn a_shard_lists_its_own_keys_and_vocabularies_travel() {
    let folder = tempfile::tempdir().unwrap();
    for bucket in buckets(&folder) {
        let host = Host::writer(&bucket);
        let refusal = || Content::Refused(Box::new(Refusal::new(RefusalKind::Malformed, "", "no")));
        for number in 0..=u8::MAX {
            host.remote.put(Put { key: IndexKey::from([number; 32]), content: refusal(), replaces: false });
        }
        assert!(host.remote.flush(Duration::from_secs(10)));
        let mut all = 0;
        for index in 0..3 {
            let shard = Shard::new(index, 3).unwrap();
            let keys = host.remote.keys(shard).unwrap();
            assert!(keys.iter().all(|(key, listed)| shard.has(key) && listed.bytes > 100 && !listed.is_old));
            all += keys.len();
        }
        assert_eq!((all, host.remote.keys(Shard::WHOLE).unwrap().len()), (256, 256));
        let (digest, bytes) = vocabulary();
        assert!(!host.remote.has_vocabulary(&digest).unwrap());
        assert!(matches!(host.remote.vocabulary(&digest), Err(RemoteError::NotThere { .. })));
        host.remote.put_vocabulary(&digest, &bytes).unwrap();
        assert!(host.remote.has_vocabulary(&digest).unwrap());
        assert_eq!(host.remote.vocabulary(&digest).unwrap(), bytes);
        host.remote.close(Duration::ZERO);
        assert!(matches!(host.remote.vocabulary(&digest), Err(RemoteError::Closed)));
    }
}
