//! What a server of S3 may answer beside an object: over a server of a few lines that answers every call alike.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::exported;
use crate::cli::tiny_tokenizer;
use crate::gobo::{Daemon, one};

/// How a server answers.
#[derive(Clone, Copy)]
enum Answer {
    /// With this, and an end of the connection.
    Text(&'static str),
    /// With a body that goes on at so many bytes a second.
    Slowly(usize),
}

struct Server {
    endpoint: String,
    calls: Arc<AtomicUsize>,
}

impl Server {
    fn start(answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                counted.fetch_add(1, Ordering::SeqCst);
                // Whoever is answered may have gone.
                thread::spawn(move || drop(reply(stream, answer)));
            }
        });
        Self { endpoint, calls }
    }
}

fn reply(mut stream: TcpStream, answer: Answer) -> std::io::Result<()> {
    let (mut head, mut piece) = (Vec::<u8>::new(), [0; 4096]);
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        let read = stream.read(&mut piece)?;
        if read == 0 {
            return Ok(());
        }
        head.extend(&piece[..read]);
    }
    match answer {
        Answer::Text(text) => stream.write_all(text.as_bytes()),
        Answer::Slowly(per_second) => {
            let head = "HTTP/1.1 200 OK\r\ncontent-length: 100000\r\netag: \"x\"\r\nlast-modified: Sat, 28 Nov 2026 10:00:00 GMT\r\n\r\nGOBOOBJ\0";
            stream.write_all(head.as_bytes())?;
            loop {
                thread::sleep(Duration::from_millis(100));
                stream.write_all(&vec![1; per_second / 10])?;
            }
        }
    }
}

/// A status without more.
macro_rules! status {
    ($status:literal) => {
        Answer::Text(concat!("HTTP/1.1 ", $status, "\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"))
    };
    ($status:literal, $header:literal) => {
        Answer::Text(concat!(
            "HTTP/1.1 ",
            $status,
            "\r\n",
            $header,
            "\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        ))
    };
}

/// An object with this body, which may be shorter than announced.
macro_rules! object {
    ($length:literal, $body:literal) => {
        Answer::Text(concat!(
            "HTTP/1.1 200 OK\r\nconnection: close\r\netag: \"x\"\r\nlast-modified: Sat, 28 Nov 2026 10:00:00 GMT\r\ncontent-length: ",
            $length,
            "\r\n\r\n",
            $body
        ))
    };
}

fn environment(endpoint: &str) -> Vec<(&'static str, String)> {
    [
        ("AWS_ENDPOINT", endpoint),
        ("AWS_ACCESS_KEY_ID", "x"),
        ("AWS_SECRET_ACCESS_KEY", "x"),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_REGION", "us-east-1"),
    ]
    .map(|(name, value)| (name, value.to_owned()))
    .into()
}

/// A daemon asks a bucket at `endpoint` twice; then `expected` of its counters are not zero, and it has compiled twice.
fn asks(store: &Path, tokenizer: &str, name: &str, endpoint: &str, expected: &[&str]) {
    let args = ["--remote", "s3://artifacts/x", "--lookup", "first", "--remote-budget-ms", "700"];
    let daemon = Daemon::start_under(&exported(&environment(endpoint)), store, &args);
    for number in 1..=2 {
        let pattern = format!("(ab){{{number}}}c|{}", name.chars().map(|_| 'a').collect::<String>());
        let begun = Instant::now();
        let got = one(store, 0, &["get", "--tokenizer", tokenizer, "--regex", &pattern]);
        assert!(begun.elapsed() < Duration::from_secs(20), "{name}");
        assert_ne!(got["source"], "remote", "{name}");
    }
    let status = one(store, 0, &["status"]);
    let counts = ["absent", "rejected", "failed", "timeouts", "denied", "indices", "verdicts"];
    for count in counts {
        let is_expected = expected.contains(&count);
        assert_eq!(status[format!("remote_{count}")] != 0, is_expected, "{name}: {count} in {status}");
    }
    assert_eq!(status["failed"], 0, "{name}");
    daemon.terminate();
}

#[test]
fn whatever_a_bucket_answers_a_host_compiles() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("tiny");
    std::fs::create_dir(&folder).unwrap();
    let tokenizer = tiny_tokenizer(&folder);
    let cases: [(&str, Answer, &str); 15] = [
        ("absent", status!("404 Not Found"), "absent"),
        (
            "no such bucket",
            Answer::Text(
                "HTTP/1.1 404 Not Found\r\ncontent-length: 49\r\nconnection: close\r\n\r\n<Error><Code>NoSuchBucket</Code><Key/></Error>   ",
            ),
            "absent",
        ),
        ("denied", status!("403 Forbidden"), "denied"),
        (
            "another clock",
            Answer::Text(
                "HTTP/1.1 403 Forbidden\r\ncontent-length: 48\r\nconnection: close\r\n\r\n<Error><Code>RequestTimeTooSkewed</Code></Error>",
            ),
            "denied",
        ),
        (
            "expired credentials",
            Answer::Text(
                "HTTP/1.1 400 Bad Request\r\ncontent-length: 47\r\nconnection: close\r\n\r\n<Error><Code>ExpiredToken</Code><Key/></Error> ",
            ),
            "failed",
        ),
        ("conflict", status!("409 Conflict"), "failed"),
        ("precondition", status!("412 Precondition Failed"), "failed"),
        ("throttled", status!("429 Too Many Requests", "retry-after: 3600"), "failed"),
        ("broken", status!("500 Internal Server Error"), "failed"),
        ("unavailable", status!("503 Slow Down"), "failed"),
        ("elsewhere", status!("307 Temporary Redirect", "location: http://127.0.0.1:1/x"), "failed"),
        ("moved", status!("301 Moved Permanently"), "failed"),
        ("no object of ours", object!("5", "hello"), "rejected"),
        ("cut short", object!("500", "GOBOOBJ\0"), "failed"),
        ("slow", Answer::Slowly(50), "timeouts"),
    ];
    for (nth, (name, answer, expected)) in cases.into_iter().enumerate() {
        let server = Server::start(answer);
        asks(&home.path().join(nth.to_string()), &tokenizer, name, &server.endpoint, &[expected]);
        let calls = server.calls.load(Ordering::SeqCst);
        // Two lookups, each tried twice at most; what is absent or denied is not asked for again.
        assert!((1..=4).contains(&calls), "{name}: {calls}");
    }
    let nowhere = home.path().join("nowhere");
    asks(&nowhere, &tokenizer, "no such host", "http://bucket.invalid", &["failed"]);
}
