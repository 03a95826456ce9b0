//! Requests that come again: the daemon answers them from what it remembers, and with what is true by then.

use std::time::Duration;

use gobo_client::Client;
use gobo_engine::{Existing, publish_vocabulary};
use gobo_proto::v1;
use gobo_proto::v1::resolve_reply::Outcome;
use gobo_store::Store;
use gobo_types::{Constraint, IndexKey, VocabularyDigest, index_key};
use tonic::Request;

use crate::daemon::{Daemon, client};
use crate::raw::raw;
use crate::tiny::tiny;

fn request(constraint: v1::Constraint) -> v1::ResolveRequest {
    let by = v1::vocabulary_ref::By::Name("tiny".to_owned());
    let vocabulary = Some(v1::VocabularyRef { by: Some(by) });
    v1::ResolveRequest { vocabulary, constraint: Some(constraint), limits: None }
}

async fn ask(client: &Client, request: v1::ResolveRequest) -> v1::IndexLocation {
    match raw(client).resolve(request).await.unwrap().into_inner().outcome {
        Some(Outcome::Index(location)) => location,
        other => panic!("{other:?}"),
    }
}

/// Often enough to be remembered, and to be answered from that. All answers after the first are the same.
async fn ask_again(client: &Client, request: &v1::ResolveRequest) -> v1::IndexLocation {
    ask(client, request.clone()).await;
    let read = ask(client, request.clone()).await;
    assert_eq!(read.source(), v1::Source::Host);
    for _ in 0..3 {
        assert_eq!(ask(client, request.clone()).await, read);
    }
    read
}

fn schema(text: &str, change: impl FnOnce(&mut v1::Schema)) -> v1::Constraint {
    let mut schema = v1::Schema { schema: text.to_owned(), ..v1::Schema::default() };
    change(&mut schema);
    v1::Constraint { source: Some(v1::constraint::Source::Schema(schema)), ..v1::Constraint::default() }
}

const OBJECT: &str = r#"{"type":"object","properties":{"a":{"type":"boolean"},"b":{"type":"null"}}}"#;
const TURNED: &str = r#"{"type":"object","properties":{"b":{"type":"null"},"a":{"type":"boolean"}}}"#;
const SPACED: &str = r#"{ "type":"object","properties":{"a":{"type":"boolean"},"b":{"type":"null"}}}"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_differ_in_anything_get_each_its_own_answer() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let client = client(folder.path());
    let (vocabulary, _) = {
        client.resolve("tiny", &Constraint::regex("a")).await.unwrap();
        client.find_vocabulary("tiny").unwrap().unwrap()
    };
    let document = |document: &str| v1::SchemaDocument { uri: "urn:x".into(), document: document.into() };
    let closed = |change: fn(&mut v1::Schema)| {
        schema(OBJECT, |schema| {
            schema.closed = true;
            change(schema);
        })
    };
    let mut starting = v1::Constraint::from(&Constraint::regex("ab"));
    starting.text_start = v1::TextStart::StripOneSpace.into();
    let constraints = [
        closed(|_| ()),
        closed(|schema| schema.schema = TURNED.into()),
        closed(|schema| schema.schema = SPACED.into()),
        closed(|schema| schema.draft = v1::Draft::Draft7.into()),
        closed(|schema| schema.draft = v1::Draft::Draft4.into()),
        closed(|schema| schema.order = v1::PropertyOrder::Any.into()),
        closed(|schema| schema.whitespace = "compact".into()),
        closed(|schema| schema.whitespace = "flexible:2".into()),
        closed(|schema| schema.spelling = v1::Spelling::Any.into()),
        closed(|schema| schema.format = v1::FormatMode::Annotate.into()),
        closed(|schema| schema.dialect = v1::SchemaDialect::Openapi30.into()),
        closed(|schema| schema.date_times = v1::DateTimes::Naive.into()),
        closed(|schema| schema.max_depth = Some(2)),
        closed(|schema| schema.max_depth = Some(3)),
        closed(|schema| schema.allow_widening = true),
        schema(r#"{"$ref":"urn:x"}"#, |schema| schema.documents = vec![document(r#"{"type":"null"}"#)]),
        schema(r#"{"$ref":"urn:x"}"#, |schema| schema.documents = vec![document(r#"{"type":"boolean"}"#)]),
        (&Constraint::regex("ab")).into(),
        (&Constraint::search("ab")).into(),
        (&Constraint::choice(["ab"])).into(),
        starting,
    ];
    // All of them are remembered before the first is asked for again.
    let mut keys = Vec::new();
    for round in 0..3 {
        for (at, constraint) in constraints.iter().enumerate() {
            let expected = Constraint::try_from(constraint.clone()).unwrap().digest();
            let expected = index_key(&vocabulary.digest(), &expected);
            let location = ask(&client, request(constraint.clone())).await;
            assert_eq!(location.key, expected.as_bytes()[..], "{at} in round {round}");
            if round == 0 {
                keys.push(expected);
            }
        }
    }
    assert_eq!(keys.remove(2), keys[0], "blanks mean nothing");
    for (at, key) in keys.iter().enumerate() {
        assert!(!keys[..at].contains(key), "{at}");
    }
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_stands_for_something_else_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let client = client(folder.path());
    let constraint = Constraint::regex("(ab|c)+");
    let request = request((&constraint).into());
    let before = ask_again(&client, &request).await;

    let mut other = tiny();
    other.table.insert(200, b"abab".to_vec(), false).unwrap();
    other.logits_width = 256;
    let store = Store::open(folder.path()).unwrap();
    let named = publish_vocabulary(&store, "tiny", &other, None, Existing::Replace).unwrap();
    let bound_before: VocabularyDigest = <[u8; 32]>::try_from(&before.vocabulary_digest[..]).unwrap().into();
    assert_ne!(named.vocabulary, bound_before);
    // The daemon believes a name for a second.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let after = ask_again(&client, &request).await;
    let expected: IndexKey = index_key(&named.vocabulary, &constraint.digest());
    assert_eq!(after.key, expected.as_bytes()[..]);
    assert_eq!(after.vocabulary_digest, named.vocabulary.as_bytes()[..]);
    assert_eq!(after.binding.as_ref().map(|binding| binding.logits_width), Some(256));

    // And back, where both are in the store.
    publish_vocabulary(&store, "tiny", &tiny(), None, Existing::Replace).unwrap();
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert_eq!(ask_again(&client, &request).await, before);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_gone_or_changed_is_compiled_anew() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let client = client(folder.path());
    let request = request((&Constraint::regex("(ab|c)+")).into());
    let known = ask_again(&client, &request).await;
    let bytes = std::fs::read(&known.path).unwrap();
    std::fs::remove_file(&known.path).unwrap();
    let anew = ask(&client, request.clone()).await;
    assert_eq!((anew.source(), &anew.key), (v1::Source::Compile, &known.key));
    assert_eq!(std::fs::read(&known.path).unwrap(), bytes);
    assert_eq!(ask_again(&client, &request).await.artifact_digest, known.artifact_digest);

    // Another file in its place.
    std::fs::remove_file(&known.path).unwrap();
    std::fs::write(&known.path, &bytes[..bytes.len() / 2]).unwrap();
    assert_eq!(ask(&client, request.clone()).await.source(), v1::Source::Compile);
    assert_eq!(std::fs::read(&known.path).unwrap(), bytes);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_known_request_is_counted_and_its_caller_looked_at_as_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let client = client(folder.path());
    let request = request((&Constraint::regex("(ab|c)+")).into());
    ask_again(&client, &request).await;
    let status = client.status().await.unwrap();
    assert_eq!((status.misses, status.hits), (1, 4));

    let mut nameless = Request::new(request.clone());
    nameless.metadata_mut().insert("x-gobo-tenant", "no tenant".parse().unwrap());
    let refused = raw(&client).resolve(nameless).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::InvalidArgument);
    let by_digest = v1::vocabulary_ref::By::Digest(ask(&client, request.clone()).await.vocabulary_digest);
    let vocabulary = Some(v1::VocabularyRef { by: Some(by_digest) });
    let unbound = ask_again(&client, &v1::ResolveRequest { vocabulary, ..request }).await;
    assert_eq!(unbound.binding, None, "a digest has no binding");
    daemon.stop().await;
}
