//! Manifests: a host that has nothing is warm after a pull.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gobo_engine::{EngineError, LookupOrder, PullRequest, Pulled, Source, VocabularyRef};
use gobo_remote::object::{Kind, Names, seal};
use gobo_remote::{Entry, Manifest, ManifestName, Mode, Shard};
use gobo_types::{Binding, IndexKey, VocabularyDigest};
use object_store::path::Path;
use object_store::{ObjectStoreExt as _, PutPayload};

use crate::faulty::{Fault, Faulty};
use crate::remote::{Host, plant, same, tier, writer};

const PATTERNS: [&str; 6] = ["a+", "(ab|c)*d", "[0-9]{1,40}", "(?=a)b(", "x{3}", "y|z"];

fn request() -> PullRequest {
    PullRequest { manifest: "everyday".into(), max_bytes: None, deadline: None }
}

fn pull(host: &Host, request: &PullRequest) -> Pulled {
    host.engine.pull(request, &mut |_| ()).unwrap()
}

/// A bucket with all patterns, and a manifest of them.
fn prewarmed(bucket: &Arc<Faulty>) -> Host {
    let host = writer(bucket);
    let entries = (0..).zip(PATTERNS).map(|(position, pattern)| {
        let _ = host.resolve(pattern);
        Entry { position, key: host.key(pattern), bytes: 1 }
    });
    let entries = entries.collect();
    let open = host.vocabulary();
    let remote = host.engine.remote().unwrap();
    remote.put_vocabulary(&open.digest(), open.vocabulary.file_bytes()).unwrap();
    let (name, named) = open.named.clone().unwrap();
    let part = Manifest { names: vec![ManifestName { name, named }], entries };
    remote.put_part("everyday", Shard::WHOLE, &part).unwrap();
    assert!(remote.flush(Duration::from_secs(10)));
    host
}

fn reader(bucket: &Arc<Faulty>) -> Host {
    Host::without_vocabulary(tier(bucket, Mode::Read, LookupOrder::First))
}

#[test]
fn a_cold_host_is_warm_after_a_pull() {
    let bucket = Faulty::new();
    let one = prewarmed(&bucket);
    let cold = reader(&bucket);
    let pulled = pull(&cold, &request());
    let expected = Pulled {
        vocabularies: 1,
        names: 1,
        keys: 6,
        indices: 5,
        verdicts: 1,
        bytes: pulled.bytes,
        ..Pulled::default()
    };
    assert_eq!(pulled, expected);
    assert!(pulled.is_whole() && pulled.bytes > 0);
    // Whatever the bucket does then.
    bucket.reading(Fault::Hang);
    for pattern in PATTERNS {
        let (here, there) = (cold.resolve(pattern), one.resolve(pattern));
        match (here, there) {
            (Ok(here), Ok(there)) => {
                assert_eq!(here.source, Source::Host);
                assert!(fs::read(here.path).unwrap() == fs::read(there.path).unwrap(), "{pattern}");
            }
            (here, there) => assert_eq!(here.unwrap_err(), there.unwrap_err(), "{pattern}"),
        }
    }
    assert_eq!((cold.compiles(), cold.engine.stats().hits, cold.engine.stats().negative_hits), (0, 5, 1));
    let binding = |host: &Host| host.vocabulary().binding().cloned();
    assert_eq!(binding(&cold), binding(&one));
    bucket.reading(Fault::None);
    let again = pull(&cold, &request());
    assert_eq!(again, Pulled { keys: 6, present: 6, ..Pulled::default() });
}

#[test]
fn a_pull_keeps_within_its_bytes_and_its_time_and_leaves_the_names_of_the_host() {
    let bucket = Faulty::new();
    prewarmed(&bucket);
    let cold = reader(&bucket);
    let pulled = pull(&cold, &PullRequest { max_bytes: Some(1), ..request() });
    assert!(pulled.indices + pulled.verdicts + pulled.left == 6 && !pulled.is_whole(), "{pulled:?}");
    bucket.reading(Fault::Late(300));
    let cold = reader(&bucket);
    let begun = Instant::now();
    let deadline = Some(begun + Duration::from_secs(1));
    let pulled = pull(&cold, &PullRequest { deadline, ..request() });
    assert!(begun.elapsed() < Duration::from_secs(30) && pulled.keys == 6, "{pulled:?}");
    bucket.reading(Fault::None);
    // The same name with another binding.
    let other = reader(&bucket);
    let mut named = writer(&bucket).vocabulary().named.clone().unwrap().1;
    let mine = Binding { eos: vec![1], bos: None, pad: None, logits_width: 200 };
    named.binding = mine.clone();
    other.engine.store().put_name("tiny", &named).unwrap();
    let pulled = pull(&other, &request());
    assert_eq!((pulled.names, &*pulled.names_taken, pulled.indices), (0, &["tiny".to_owned()][..], 5));
    assert_eq!(other.engine.store().get_name("tiny").unwrap().unwrap().binding, mine);
}

#[test]
fn a_hostile_manifest_and_hostile_objects_change_nothing_else() {
    let bucket = Faulty::new();
    let one = prewarmed(&bucket);
    let remote = one.engine.remote().unwrap();
    let named = one.vocabulary().named.clone().unwrap().1;
    let with = |name: &str, vocabulary: VocabularyDigest| ManifestName {
        name: name.into(),
        named: gobo_store::NamedVocabulary { vocabulary, ..named.clone() },
    };
    let strange = VocabularyDigest::from([5; 32]);
    let names = vec![with("../x", named.vocabulary), with("a\0b", named.vocabulary), with("gone", strange)];
    // Keys without an object, twice, of lengths that lie; an index of another key; one whose vocabulary is another.
    let forged = {
        let (mut bytes, own) = (one.alone("x{3}"), one.key("x{3}"));
        let at = bytes.windows(32).position(|part| part == own.as_bytes()).unwrap();
        bytes[at..at + 32].copy_from_slice(&[9; 32]);
        bytes
    };
    plant(&bucket, &IndexKey::from([9; 32]), &forged);
    let entry = |position, key: IndexKey| Entry { position, key, bytes: u64::MAX };
    let absent = IndexKey::from([8; 32]);
    let entries = vec![
        entry(u64::MAX, absent),
        entry(0, absent),
        entry(1, IndexKey::from([9; 32])),
        entry(2, one.key("a+")),
        entry(2, one.key("a+")),
    ];
    remote.put_part("everyday", Shard::WHOLE, &Manifest { names, entries }).unwrap();
    let cold = reader(&bucket);
    // Its vocabulary is not named: what is over it cannot be told from a forgery.
    let pulled = pull(&cold, &request());
    assert_eq!((pulled.keys, pulled.absent, pulled.indices), (3, 1, 0), "{pulled:?}");
    assert_eq!((pulled.failed, pulled.rejected), (1, 1), "{pulled:?}");
    assert_eq!((pulled.vocabularies_missing.len(), pulled.names), (1, 0), "{pulled:?}");
    let known = one.vocabulary();
    cold.engine.store().publish_vocabulary(&known.digest(), known.vocabulary.file_bytes()).unwrap();
    let pulled = pull(&cold, &request());
    assert_eq!((pulled.rejected, pulled.absent, pulled.indices), (1, 1, 1), "{pulled:?}");
    assert!(!cold.engine.store().index_path(&IndexKey::from([9; 32])).exists());
    assert_eq!(cold.engine.store().list_names().unwrap().len(), 0);
    // A vocabulary that is none.
    let name = Names::under(Path::default()).vocabulary(&strange);
    let object = seal(Kind::Vocabulary, strange.0, known.vocabulary.file_bytes(), None).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(bucket.inner.put(&name, PutPayload::from(object))).unwrap();
    let pulled = pull(&cold, &request());
    assert_eq!((pulled.vocabularies, pulled.vocabularies_missing.len()), (0, 1));
    assert!(matches!(
        cold.engine.vocabulary(&VocabularyRef::Digest(strange)).wait().map(drop).unwrap_err().as_ref(),
        EngineError::UnknownDigest { .. }
    ));
}

#[test]
fn there_is_no_manifest_or_no_bucket() {
    let bucket = Faulty::new();
    let host = reader(&bucket);
    let failed = |host: &Host| host.engine.pull(&request(), &mut |_| ()).unwrap_err();
    assert!(
        matches!(failed(&host), EngineError::Remote(error) if error.to_string().contains("has not a manifest"))
    );
    let alone = Host::open(tier(&bucket, Mode::Read, LookupOrder::First), |config| {
        gobo_engine::EngineConfig { remote: None, ..same(config) }
    });
    assert!(matches!(failed(&alone), EngineError::NoRemote));
    assert_eq!(alone.engine.resolve(alone.request("a")).unwrap().source, Source::Compile);
}
