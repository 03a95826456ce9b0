//! What callers may take of a daemon together, over its own sockets.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use gobo_proto::v1;
use gobo_server::ServeLimits;
use gobo_types::Constraint;
use http_body_util::{BodyExt as _, Full, StreamBody};
use prost::Message as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use tower::{Service as _, ServiceExt as _};

use crate::daemon::{Daemon, client};

/// What a client of HTTP/2 sends first: that it is one, and settings of which it says nothing.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

fn channel(store: &Path) -> Channel {
    let address = format!("unix:{}", store.join("daemon.sock").display());
    Endpoint::from_shared(address).unwrap().connect_lazy()
}

/// The status of a call of `method` whose body is `body`.
async fn call(channel: &Channel, method: &str, body: Body) -> Status {
    let request = http::Request::post(format!("http://daemon/gobo.v1.Gobo/{method}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(body)
        .unwrap();
    let mut channel = channel.clone();
    let response = channel.ready().await.unwrap().call(request).await.unwrap();
    if let Some(status) = Status::from_header_map(response.headers()) {
        return status;
    }
    let collected = response.into_body().collect().await.unwrap();
    Status::from_header_map(collected.trailers().unwrap()).unwrap()
}

fn framed(message: &[u8]) -> Body {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    raw(&[&[0][..], &length, message].concat())
}

fn raw(bytes: &[u8]) -> Body {
    Body::new(Full::new(Bytes::copy_from_slice(bytes)))
}

/// A body that never ends.
fn unfinished() -> Body {
    Body::new(StreamBody::new(tokio_stream::pending::<Result<http_body::Frame<Bytes>, Status>>()))
}

const METHODS: [&str; 17] = [
    "Resolve",
    "ResolveBatch",
    "Check",
    "FetchIndex",
    "FetchVocabulary",
    "GetVocabulary",
    "ImportVocabulary",
    "ListVocabularies",
    "Describe",
    "ListIndices",
    "Ping",
    "Status",
    "RebuildCatalog",
    "CollectGarbage",
    "Pin",
    "Unpin",
    "ListPins",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_request_is_a_mistake_of_its_sender() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let channel = channel(folder.path());
    for method in METHODS {
        for body in [
            framed(b"\xff\xff\xff"),
            framed(b"\x0a\x7fabc"),
            raw(b"garbage"),
            raw(b""),
            raw(b"\0\0\0\0\x09ab"),
        ] {
            let status = call(&channel, method, body).await;
            assert_eq!(status.code(), Code::InvalidArgument, "{method}: {status}");
        }
    }
    // Nor is anything said at length about it.
    let name = v1::vocabulary_ref::By::Name("n".repeat(500_000));
    let request = v1::GetVocabularyRequest { vocabulary: Some(v1::VocabularyRef { by: Some(name) }) };
    let status = call(&channel, "GetVocabulary", framed(&request.encode_to_vec())).await;
    assert!((1..=1024).contains(&status.message().len()), "{}", status.message().len());
    assert_eq!(
        client(folder.path()).status().await.unwrap().request_bytes,
        0,
        "nothing stays on the account"
    );
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_costs_much_to_decode_is_not_decoded() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let channel = channel(folder.path());
    // Constraints of two bytes each.
    let constraints = [0x12, 0].repeat(7 << 20);
    // Documents of two bytes each, in one schema.
    let documents = [0x4a, 0].repeat(2 << 20);
    let nested = |field: u8, inner: &[u8]| {
        let mut outer = vec![field];
        prost::encoding::encode_varint(inner.len() as u64, &mut outer);
        [outer.as_slice(), inner].concat()
    };
    let documents = nested(0x12, &nested(0x2a, &documents));
    let items = nested(0x12, &nested(0x12, &[0x0a, 0].repeat(2 << 20)));
    for (request, why) in [
        (constraints, "more than 16384 constraints"),
        (documents, "more than 65536 documents"),
        (items, "once it is decoded"),
    ] {
        for method in ["Resolve", "ResolveBatch", "Check"] {
            let status = call(&channel, method, framed(&request)).await;
            assert_eq!(status.code(), Code::InvalidArgument, "{method}: {status}");
            assert!(status.message().contains(why), "{method}: {status}");
        }
    }
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_do_not_come_whole_make_way() {
    let folder = tempfile::tempdir().unwrap();
    let limits = ServeLimits { calls: 8, body: Duration::from_secs(2), ..ServeLimits::default() };
    let daemon = Daemon::start_limited(folder.path(), limits).await;
    let channel = channel(folder.path());
    let unfinished: Vec<_> = (0..8)
        .map(|_| {
            let channel = channel.clone();
            tokio::spawn(async move { call(&channel, "Resolve", unfinished()).await })
        })
        .collect();
    let ping = || async { call(&channel, "Ping", framed(b"")).await };
    let other = self::channel(folder.path());
    let turned = loop {
        let status = ping().await;
        if status.code() != Code::Ok {
            break status;
        }
    };
    assert_eq!(turned.code(), Code::ResourceExhausted, "{turned}");
    assert!(turned.message().contains("limit 8"), "{turned}");
    // Another connection has a few calls of its own.
    assert_eq!(call(&other, "Ping", framed(b"")).await.code(), Code::Ok);
    for call in unfinished {
        let status = call.await.unwrap();
        assert_eq!(status.code(), Code::DeadlineExceeded, "{status}");
    }
    assert_eq!(ping().await.code(), Code::Ok);
    let status = client(folder.path()).status().await.unwrap();
    assert!(status.calls_turned_away >= 1 && status.calls == 1, "{status:?}");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_requests_have_to_find_room() {
    let folder = tempfile::tempdir().unwrap();
    let limits = ServeLimits { request_bytes: 1 << 20, ..ServeLimits::default() };
    let daemon = Daemon::start_limited(folder.path(), limits).await;
    let here = client(folder.path());
    let large = Constraint::regex("a?".repeat(300_000));
    let status = here.check("tiny", &large).await.unwrap_err();
    assert_eq!(status.kind(), gobo_types::ErrorKind::Busy, "{status}");
    assert!(here.resolve("tiny", &Constraint::regex("a+")).await.is_ok());
    let status = here.status().await.unwrap();
    assert_eq!((status.request_bytes, status.calls_turned_away), (0, 1));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_of_which_nothing_comes_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let limits = ServeLimits {
        first_call: Duration::from_millis(200),
        idle: Duration::from_millis(400),
        unread: Duration::from_millis(400),
        streams: 77,
        ..ServeLimits::default()
    };
    let daemon = Daemon::start_limited(folder.path(), limits).await;
    for sent in [&b""[..], &PREFACE[..20], PREFACE] {
        let mut connection = UnixStream::connect(folder.path().join("daemon.sock")).await.unwrap();
        connection.write_all(sent).await.unwrap();
        let mut heard = Vec::new();
        // Without an end this waits for ever.
        let _ = connection.read_to_end(&mut heard).await;
        if sent == PREFACE {
            // The setting of most streams at a time, number 3, among those that the daemon sends first.
            let setting = [&3_u16.to_be_bytes()[..], &77_u32.to_be_bytes()].concat();
            assert!(heard.windows(6).any(|window| window == setting), "{heard:?}");
        }
    }
    let status = client(folder.path()).status().await.unwrap();
    assert_eq!((status.connections_closed, status.connections), (3, 1), "{status:?}");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_without_a_call_make_room_for_new_ones() {
    let folder = tempfile::tempdir().unwrap();
    let limits = ServeLimits { connections: 4, ..ServeLimits::default() };
    let daemon = Daemon::start_limited(folder.path(), limits).await;
    let mut silent = Vec::new();
    for _ in 0..20 {
        let mut connection = UnixStream::connect(folder.path().join("daemon.sock")).await.unwrap();
        connection.write_all(PREFACE).await.unwrap();
        silent.push(connection);
    }
    let here = client(folder.path());
    assert!(here.resolve("tiny", &Constraint::regex("a+")).await.is_ok());
    let status = here.status().await.unwrap();
    assert!(status.connections <= 4 && status.connections_closed >= 17, "{status:?}");
    daemon.stop().await;
}

/// A caller that does not read its file holds a place until its deadline, and no longer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_sent_to_so_many_at_a_time_and_until_the_deadline() {
    let folder = tempfile::tempdir().unwrap();
    let limits = ServeLimits { fetches: 1, ..ServeLimits::default() };
    let daemon = Daemon::start_limited(folder.path(), limits).await;
    let here = client(folder.path());
    // A file of several chunks: no window has room for it.
    let items: Vec<String> =
        (0..60_000).map(|item: u32| format!("{:08x}", item.wrapping_mul(2_654_435_761))).collect();
    let found = here.resolve("tiny", &Constraint::choice(items)).await.unwrap();
    assert!(found.index.file_bytes().len() > 2 << 20, "{}", found.index.file_bytes().len());
    let ask = |timeout: Duration| {
        let key = Bytes::copy_from_slice(found.key.as_bytes());
        let mut request = tonic::Request::new(v1::FetchIndexRequest { key });
        request.set_timeout(timeout);
        let mut stub = crate::raw::raw(&here);
        async move { stub.fetch_index(request).await.map(tonic::Response::into_inner) }
    };
    let mut unread = ask(Duration::from_secs(6)).await.unwrap();
    let turned_away = ask(Duration::from_secs(60)).await.unwrap_err();
    assert_eq!(turned_away.code(), Code::ResourceExhausted);
    assert!(tonic_types::StatusExt::get_details_retry_info(&turned_away).is_some());
    // Its place is free once its deadline has passed, although it was not read.
    let begun = std::time::Instant::now();
    let mut whole = loop {
        match ask(Duration::from_secs(60)).await {
            Ok(stream) => break stream,
            Err(busy) => assert_eq!(busy.code(), Code::ResourceExhausted),
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "the place is not given back");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let mut bytes = 0;
    while let Some(reply) = whole.message().await.unwrap() {
        if let Some(v1::fetch_reply::Part::Chunk(chunk)) = reply.part {
            bytes += chunk.len();
        }
    }
    assert_eq!(bytes, found.index.file_bytes().len());
    let late = loop {
        match unread.message().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("it came whole"),
            Err(status) => break status,
        }
    };
    assert_eq!(late.code(), Code::DeadlineExceeded, "{late}");
    daemon.stop().await;
}
