//! What a client says beside its messages, and how often it says it: over a daemon of a few lines that answers every call alike.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use gobo_client::{
    Client, ClientError, CompileLimits, Constraint, Credentials, ErrorKind, ForwardedRequest, Forwarder,
};
use http::{HeaderMap, Response};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};

use crate::daemon::Daemon;

/// The method and the metadata of each call.
type Calls = Arc<Mutex<Vec<(String, HeaderMap)>>>;

/// Answers each call of a connection with this status and nothing else; `None`: the connection is cut.
async fn answer<S: AsyncRead + AsyncWrite + Unpin>(stream: S, status: Option<u8>, calls: Calls) {
    let mut connection = h2::server::handshake(stream).await.unwrap();
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let method = request.uri().path().rsplit('/').next().unwrap().to_owned();
        calls.lock().unwrap().push((method, request.headers().clone()));
        let Some(status) = status else { return };
        let response = Response::builder()
            .header("content-type", "application/grpc")
            .header("grpc-status", status.to_string())
            .body(())
            .unwrap();
        respond.send_response(response, true).unwrap();
    }
}

/// The address of a daemon that answers so, and its calls.
async fn over_tcp(status: Option<u8>) -> (String, Calls) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let calls = Calls::default();
    let seen = Arc::clone(&calls);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, status, Arc::clone(&seen)));
        }
    });
    (address, calls)
}

/// A store that has the vocabulary `tiny`, and nobody who compiles.
async fn store_with_vocabulary() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    daemon.stop().await;
    folder
}

fn methods(calls: &Calls) -> Vec<String> {
    calls.lock().unwrap().iter().map(|(method, _)| method.clone()).collect()
}

const UNAVAILABLE: u8 = 14;
const INTERNAL: u8 = 13;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_ends_unavailable_is_repeated_once() {
    let store = store_with_vocabulary().await;
    let constraint = Constraint::regex("a+b");
    for (status, times) in [(Some(UNAVAILABLE), 2), (None, 2), (Some(INTERNAL), 1)] {
        let (address, calls) = over_tcp(status).await;
        // Each a connection of its own: a call that is sent on a connection at the moment when it is cut reaches nobody.
        let client = || Client::builder().store(store.path()).server(&address).connect().unwrap();
        let errors = [
            client().resolve("tiny", &constraint).await.map(drop).unwrap_err(),
            client().locate("tiny", &constraint).await.map(drop).unwrap_err(),
            client().check("tiny", &constraint).await.map(drop).unwrap_err(),
        ];
        for error in errors {
            let expected = if status == Some(INTERNAL) { ErrorKind::Internal } else { ErrorKind::Busy };
            assert_eq!(error.kind(), expected, "{error:?}");
        }
        let expected: Vec<_> =
            ["Resolve", "Resolve", "Check"].iter().flat_map(|name| vec![*name; times]).collect();
        assert_eq!(methods(&calls), expected);
    }
    // Where there is nobody, nobody is asked again; nor is who has said when to come back.
    let nobody = Client::builder().store(store.path()).server("http://127.0.0.1:1").connect().unwrap();
    let error = nobody.resolve("tiny", &constraint).await.unwrap_err();
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_balancer_can_choose_by_the_key() {
    let store = store_with_vocabulary().await;
    let constraint = Constraint::regex("a+b");
    let (address, calls) = over_tcp(Some(INTERNAL)).await;
    let client = Client::builder().store(store.path()).server(&address).connect().unwrap();
    let (vocabulary, binding) = client.find_vocabulary("tiny").unwrap().unwrap();
    let key = vocabulary.index_key(&constraint);
    let _ = client.resolve("tiny", &constraint).await;
    let _ = client.check("tiny", &constraint).await;
    let _ = client
        .resolve(
            gobo_client::VocabularyRef::Digest { digest: &vocabulary.digest(), binding: &binding },
            &constraint,
        )
        .await;
    for (method, metadata) in calls.lock().unwrap().iter() {
        assert_eq!(metadata["x-gobo-key"], key.to_string(), "{method}");
        assert!(!metadata.contains_key("x-gobo-forwarded"));
    }
    assert_eq!(methods(&calls), ["Resolve", "Check", "Resolve"]);

    // Who has no vocabulary yet asks for it first; what the daemon lacks, it says of the resolve.
    let (address, calls) = over_tcp(Some(INTERNAL)).await;
    let bare = tempfile::tempdir().unwrap();
    let stranger = Client::builder().store(bare.path()).server(&address).connect().unwrap();
    let _ = stranger.resolve("tiny", &constraint).await;
    assert_eq!(methods(&calls), ["FetchVocabulary", "Resolve"]);

    // On the way to the daemon of the same host nothing chooses.
    let socket = bare.path().join("s");
    let listener = UnixListener::bind(&socket).unwrap();
    let calls = Calls::default();
    let seen = Arc::clone(&calls);
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        answer(stream, Some(INTERNAL), seen).await;
    });
    let near =
        Client::builder().store(store.path()).server(format!("unix:{}", socket.display())).connect().unwrap();
    let _ = near.resolve("tiny", &constraint).await;
    assert!(!calls.lock().unwrap()[0].1.contains_key("x-gobo-key"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_call_belongs_to_the_trace_that_is_told_then() {
    let store = store_with_vocabulary().await;
    let constraint = Constraint::regex("a+b");
    let (address, calls) = over_tcp(Some(INTERNAL)).await;
    let number = AtomicUsize::new(0);
    let told = move || match number.fetch_add(1, Ordering::Relaxed) {
        0 => Some("00-first".to_owned()),
        1 => None,
        _ => Some("no\nheader".to_owned()),
    };
    let client = Client::builder().store(store.path()).server(&address).trace_parent(told).connect().unwrap();
    for _ in 0..3 {
        let _ = client.check("tiny", &constraint).await;
    }
    let calls = calls.lock().unwrap();
    let parents: Vec<_> = calls.iter().map(|(_, metadata)| metadata.get("traceparent").cloned()).collect();
    assert_eq!(parents, [Some("00-first".parse().unwrap()), None, None]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_sends_calls_on_says_for_whom() {
    let store = store_with_vocabulary().await;
    let near = Client::builder().store(store.path()).connect().unwrap();
    let (vocabulary, _) = near.find_vocabulary("tiny").unwrap().unwrap();
    let constraint = Constraint::regex("a+b");
    let key = vocabulary.index_key(&constraint);
    let (address, calls) = over_tcp(Some(UNAVAILABLE)).await;
    let forwarder = Forwarder::new(address, Credentials::default()).unwrap();
    let mut request = ForwardedRequest {
        key: &key,
        vocabulary: &vocabulary,
        constraint: &constraint,
        limits: CompileLimits::default(),
        tenant: "alice",
        deadline: std::time::Instant::now() + std::time::Duration::from_secs(100),
        is_prewarm: false,
        trace_parent: None,
    };
    let _ = forwarder.fetch(&request, near.store()).await.map(drop).unwrap_err();
    let _ = forwarder.check(&request).await.map(drop).unwrap_err();
    (request.is_prewarm, request.tenant) = (true, "");
    let _ = forwarder.fetch(&request, near.store()).await.map(drop).unwrap_err();
    assert_eq!(methods(&calls), ["Resolve", "Resolve", "Check", "Check", "ResolveBatch", "ResolveBatch"]);
    for (method, metadata) in calls.lock().unwrap().iter() {
        assert_eq!(metadata["x-gobo-key"], key.to_string());
        assert_eq!(metadata["x-gobo-forwarded"], "1");
        let tenant = metadata.get("x-gobo-tenant").map(|tenant| tenant.to_str().unwrap());
        assert_eq!(tenant, Some("alice").filter(|_| method != "ResolveBatch"));
        let timeout = metadata["grpc-timeout"].to_str().unwrap();
        assert!(timeout.starts_with("99"), "{timeout}");
    }
}
