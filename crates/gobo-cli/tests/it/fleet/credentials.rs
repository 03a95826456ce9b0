//! Credentials that a host is lent for a while, as pods and instances are: they rotate, and they expire.

use std::collections::HashMap;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use super::exported;
use super::pool::number;
use super::server::get;
use crate::gobo::Daemon;

/// A server of objects that takes one key, and beside it the endpoint that lends keys, which takes one token.
#[derive(Default)]
struct Cloud {
    objects: HashMap<String, Vec<u8>>,
    /// The key that it lends.
    lent: String,
    /// The key that it takes.
    taken: String,
    /// What whoever wants to be lent a key has to show.
    token: String,
    /// Calls for objects.
    calls: u64,
}

/// A call, as far as this server reads it.
#[derive(Default)]
struct Request {
    method: String,
    path: String,
    authorization: String,
    body: Vec<u8>,
}

fn read(stream: &TcpStream) -> io::Result<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split(' ').map(ToOwned::to_owned);
    let mut request = Request {
        method: words.next().unwrap_or_default(),
        path: words.next().unwrap_or_default(),
        ..Request::default()
    };
    let mut length = 0;
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        let Some((name, value)) = line.trim_end().split_once(": ") else { continue };
        match &*name.to_ascii_lowercase() {
            "authorization" => value.clone_into(&mut request.authorization),
            "content-length" => length = value.parse().unwrap_or(0),
            _ => {}
        }
    }
    request.body.resize(length, 0);
    reader.read_exact(&mut request.body)?;
    Ok(request)
}

impl Cloud {
    /// Status and body.
    fn answer(&mut self, request: Request) -> (&'static str, Vec<u8>) {
        if request.path == "/lend" {
            if request.authorization != self.token {
                return ("403 Forbidden", b"not this token".to_vec());
            }
            // By its date it has expired already, so that each call that comes later asks for it again.
            let lent = serde_json::json!({
                "AccessKeyId": self.lent, "SecretAccessKey": "secret", "Token": "session",
                "Expiration": "2026-01-01T00:00:00Z",
            });
            return ("200 OK", lent.to_string().into_bytes());
        }
        self.calls += 1;
        if !request.authorization.contains(&format!("Credential={}/", self.taken)) {
            return ("403 Forbidden", b"<Error><Code>ExpiredToken</Code></Error>".to_vec());
        }
        if request.method == "PUT" {
            self.objects.insert(request.path, request.body);
            return ("200 OK", Vec::new());
        }
        match self.objects.get(&request.path) {
            Some(object) => ("200 OK", object.clone()),
            None => ("404 Not Found", b"<Error><Code>NoSuchKey</Code></Error>".to_vec()),
        }
    }
}

/// Serves until the process ends. The port.
fn serve(cloud: &Arc<Mutex<Cloud>>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let cloud = Arc::clone(cloud);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let cloud = Arc::clone(&cloud);
            thread::spawn(move || {
                // Who hangs up is not answered.
                let Ok(request) = read(&stream) else { return };
                let (status, body) = cloud.lock().unwrap().answer(request);
                let head = format!(
                    "HTTP/1.1 {status}\r\nContent-Length: {}\r\nETag: \"e\"\r\nLast-Modified: Sat, 28 Nov 2026 00:00:00 GMT\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                let _ = (&stream).write_all(&[head.as_bytes(), &body].concat());
            });
        }
    });
    port
}

struct Lender {
    cloud: Arc<Mutex<Cloud>>,
    environment: Vec<(&'static str, String)>,
    token: std::path::PathBuf,
}

impl Lender {
    fn start(home: &Path) -> Self {
        let (cloud, token) = (Arc::new(Mutex::new(Cloud::default())), home.join("token"));
        let address = format!("http://127.0.0.1:{}", serve(&cloud));
        let environment = vec![
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI", format!("{address}/lend")),
            ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", token.display().to_string()),
            ("AWS_ENDPOINT", address),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
        ];
        let lender = Self { cloud, environment, token };
        lender.rotate("first");
        lender
    }

    fn cloud(&self) -> MutexGuard<'_, Cloud> {
        self.cloud.lock().unwrap()
    }

    /// Another key from now on, and another token to be shown for it.
    fn rotate(&self, key: &str) {
        let mut cloud = self.cloud();
        (cloud.lent, cloud.taken, cloud.token) = (key.into(), key.into(), format!("token of {key}"));
        fs::write(&self.token, &cloud.token).unwrap();
        drop(cloud);
        // The crate that asks for keys does so ten times a second at most.
        thread::sleep(Duration::from_millis(200));
    }

    fn daemon(&self, store: &Path, more: &[&str]) -> Daemon {
        let args = [&["--remote", "s3://artifacts/gobo", "--lookup", "first"][..], more].concat();
        Daemon::start_under(&exported(&self.environment), store, &args)
    }
}

#[test]
fn credentials_rotate_under_hosts_and_expired_ones_are_an_alarm() {
    let home = tempfile::tempdir().unwrap();
    let lender = Lender::start(home.path());
    let (writes, reads) = (home.path().join("writes"), home.path().join("reads"));
    let writer = lender.daemon(&writes, &["--remote-mode", "write"]);
    let reader = lender.daemon(&reads, &[]);
    for round in 1..=4 {
        let pattern = format!("a{{{round}}}b");
        assert_eq!(get(&writes, &pattern), "compile");
        let begun = Instant::now();
        while number(&writes, "remote_written") < round {
            assert!(begun.elapsed() < Duration::from_secs(30), "{}", writer.said());
            thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(get(&reads, &pattern), "remote");
        lender.rotate(&format!("key{round}"));
    }
    assert_eq!((number(&writes, "remote_denied"), number(&reads, "remote_denied")), (0, 0));
    // The key that is lent has expired: one call finds it out, nobody waits, and nothing is asked again for half a minute.
    lender.cloud().taken = "another".into();
    let before = lender.cloud().calls;
    for round in 1..=5 {
        assert_eq!(get(&reads, &format!("c{{{round}}}")), "compile");
    }
    assert_eq!((number(&reads, "remote_denied"), number(&reads, "remote_reading_paused")), (1, 1));
    assert_eq!(lender.cloud().calls, before + 1);
    assert!(reader.said().contains("ExpiredToken"), "{}", reader.said());
    // Who begins with the right one has what is there.
    lender.rotate("last");
    let begins = home.path().join("begins");
    let late = lender.daemon(&begins, &[]);
    assert_eq!(get(&begins, "a{1}b"), "remote");
    for daemon in [writer, reader, late] {
        daemon.terminate();
    }
}
