//! Files that other processes have put into the store of a running daemon: it hands them out, and compiles nothing.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

use gobo_client::{Client, Source};
use gobo_proto::v1;
use gobo_proto::v1::resolve_reply::Outcome;
use gobo_store::Store;
use gobo_types::{Budget, CompileLimits, Constraint, IndexKey, index_key};
use gobo_worker::compile_constraint;
use tonic::Request;

use crate::daemon::{Daemon, client, remote};
use crate::raw::raw;

/// Compiles and publishes as an inference worker does by itself, without the daemon.
fn publish(store: &Path, pattern: &str) -> IndexKey {
    let (vocabulary, _) = client(store).find_vocabulary("tiny").unwrap().unwrap();
    let constraint = Constraint::regex(pattern);
    let key = index_key(&vocabulary.digest(), &constraint.digest());
    let compiled = compile_constraint(&vocabulary, &constraint, 1, &Budget::new(CompileLimits::default()));
    Store::open(store).unwrap().publish_index(&key, compiled.unwrap().bytes()).unwrap();
    key
}

async fn ask(client: &Client, pattern: &str) -> v1::IndexLocation {
    let by = v1::vocabulary_ref::By::Name("tiny".to_owned());
    let request = v1::ResolveRequest {
        vocabulary: Some(v1::VocabularyRef { by: Some(by) }),
        constraint: Some((&Constraint::regex(pattern)).into()),
        limits: None,
    };
    match raw(client).resolve(request).await.unwrap().into_inner().outcome {
        Some(Outcome::Index(location)) => location,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_daemon_hands_out_the_files_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let here = client(folder.path());
    let key = publish(folder.path(), "(ab|c)+");
    let asking: Vec<_> = (0..8)
        .map(|_| {
            let client = client(folder.path());
            tokio::spawn(async move { ask(&client, "(ab|c)+").await })
        })
        .collect();
    for asked in asking {
        let location = asked.await.unwrap();
        assert_eq!((location.source(), &*location.key), (v1::Source::Host, &key.as_bytes()[..]));
    }
    // On another host, by its constraint and by its key.
    let other = tempfile::tempdir().unwrap();
    publish(folder.path(), "ab|c");
    let there = remote(other.path(), &daemon);
    assert_eq!(there.resolve("tiny", &Constraint::regex("ab|c")).await.unwrap().source, Source::Stream);
    let key = publish(folder.path(), "a+b");
    let fetch = v1::FetchIndexRequest { key: key.as_bytes().to_vec().into() };
    let mut stream = raw(&here).fetch_index(Request::new(fetch)).await.unwrap().into_inner();
    let Some(v1::fetch_reply::Part::Head(head)) = stream.message().await.unwrap().unwrap().part else {
        panic!("the head comes first");
    };
    let file = Store::open(folder.path()).unwrap().index_path(&key);
    assert_eq!(head.total_bytes, fs::metadata(file).unwrap().len());
    let status = here.status().await.unwrap();
    assert_eq!((status.compiled, status.indices), (0, 3));
    assert_eq!(daemon.gate.begun.load(Ordering::SeqCst), 0);
    daemon.stop().await;
}
