//! The same through `SeaweedFS`, a server of S3 that is not ours: `GOBO_WEED` names its program, which `.ci/object-store` fetches.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use super::{Fleet, TOKENIZER, exported, from_nothing};
use crate::gobo::{Daemon, one};

/// A server with one bucket, which is killed when the test ends: asked politely it takes a quarter of a minute.
struct Server {
    child: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The next port to be tried by any server of this process.
static NEXT: AtomicU16 = AtomicU16::new(0);

/// Ports that nobody has, with the ones beyond them by 10,000, which the server takes too. No two servers of this process try the same.
fn ports<const N: usize>() -> [u16; N] {
    let first = 20_000 + u16::try_from(std::process::id() % 2000).unwrap() * 10;
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    let next = || loop {
        let port = first + NEXT.fetch_add(1, Ordering::SeqCst);
        if is_free(port) && is_free(port + 10_000) {
            return port;
        }
    };
    std::array::from_fn(|_| next())
}

const IDENTITIES: &str = r#"{"identities":[
 {"name":"writer","credentials":[{"accessKey":"writer","secretKey":"writersecret"}],"actions":["Admin","Read","Write","List"]},
 {"name":"reader","credentials":[{"accessKey":"reader","secretKey":"readersecret"}],"actions":["Read:artifacts","List:artifacts"]}]}"#;

impl Server {
    fn start(folder: &Path) -> Self {
        let weed = PathBuf::from(std::env::var_os("GOBO_WEED").expect("GOBO_WEED is set"));
        let data = folder.join("data");
        fs::create_dir_all(&data).unwrap();
        let identities = folder.join("s3.json");
        fs::write(&identities, IDENTITIES).unwrap();
        let [master, volume, filer, s3] = ports();
        let child = Command::new(&weed)
            .args(["-logtostderr=true", "server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3"])
            .args([format!("-dir={}", data.display()), format!("-s3.config={}", identities.display())])
            .args([format!("-master.port={master}"), format!("-volume.port={volume}")])
            .args([format!("-filer.port={filer}"), format!("-s3.port={s3}")])
            .args(["-s3.port.iceberg=0", "-s3.port.lance=0", "-master.telemetry=false"])
            .args(["-volume.max=8", "-master.volumeSizeLimitMB=64"])
            // It leaves sockets there.
            .env("TMPDIR", folder)
            .stderr(fs::File::create(folder.join("weed.log")).unwrap())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { child, port: s3 };
        let begun = Instant::now();
        let make = || {
            let mut shell = Command::new(&weed)
                .args(["shell", &format!("-master=127.0.0.1:{master}"), &format!("-filer=127.0.0.1:{filer}")])
                .env("TMPDIR", folder)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            std::io::Write::write_all(
                &mut shell.stdin.take().unwrap(),
                b"s3.bucket.create -name artifacts\n",
            )
            .unwrap();
            shell.wait().unwrap();
        };
        let is_there =
            || data.join("filerldb2").exists() && std::net::TcpStream::connect(("127.0.0.1", s3)).is_ok();
        while !is_there() {
            assert!(begun.elapsed() < Duration::from_secs(60), "it does not start");
            std::thread::sleep(Duration::from_millis(100));
        }
        make();
        server
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    fn fleet(&self) -> Fleet {
        let environment = |who: &str| {
            vec![
                ("AWS_ACCESS_KEY_ID", who.to_owned()),
                ("AWS_SECRET_ACCESS_KEY", format!("{who}secret")),
                ("AWS_ENDPOINT", format!("http://127.0.0.1:{}", self.port)),
                ("AWS_ALLOW_HTTP", "true".to_owned()),
                ("AWS_REGION", "us-east-1".to_owned()),
            ]
        };
        Fleet {
            url: "s3://artifacts/gobo".into(),
            writer: environment("writer"),
            reader: environment("reader"),
        }
    }
}

fn daemon(fleet: &Fleet, environment: &[(&str, String)], store: &Path, more: &[&str]) -> Daemon {
    let args = [&["--remote", &fleet.url][..], more].concat();
    Daemon::start_under(&exported(environment), store, &args)
}

#[test]
#[ignore = "needs GOBO_WEED, a program that .ci/object-store fetches"]
fn from_nothing_to_two_warm_hosts_through_s3() {
    let home = tempfile::tempdir().unwrap();
    let server = Server::start(&home.path().join("seaweed"));
    let fleet = server.fleet();
    from_nothing(&fleet, home.path());
    // Who may not write, or is not who it says, is told so: running the shard again would change nothing.
    let library = home.path().join("library.jsonl.zst");
    let prewarm = ["prewarm", "--tokenizer", "cl100k_base", library.to_str().unwrap()];
    let mut stranger = fleet.writer.clone();
    stranger[1].1 = "guessed".into();
    for environment in [&fleet.reader, &stranger] {
        let output = fleet.run(environment, home.path(), &prewarm);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("with these credentials"), "{said}");
    }
}

#[test]
#[ignore = "needs GOBO_WEED, a program that .ci/object-store fetches"]
fn hosts_serve_while_their_bucket_refuses_them_hangs_and_dies() {
    let home = tempfile::tempdir().unwrap();
    let server = Server::start(&home.path().join("seaweed"));
    let fleet = server.fleet();
    let get = |store: &Path, pattern: &str| {
        let begun = Instant::now();
        let got = one(store, 0, &["get", "--tokenizer", TOKENIZER, "--regex", pattern]);
        assert!(begun.elapsed() < Duration::from_secs(10), "{pattern}");
        got["source"].as_str().unwrap().to_owned()
    };
    let number = |store: &Path, name: &str| one(store, 0, &["status"])[name].as_u64().unwrap();
    let wait = |store: &Path, name: &str, least: u64| {
        let begun = Instant::now();
        while number(store, name) < least {
            assert!(begun.elapsed() < Duration::from_secs(30), "{name}: {}", one(store, 0, &["status"]));
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    // What one host writes another finds; one that may not write says so, and serves.
    let (writes, reads, denied) =
        (home.path().join("writes"), home.path().join("reads"), home.path().join("denied"));
    let writer = daemon(&fleet, &fleet.writer, &writes, &["--remote-mode", "write"]);
    assert_eq!(get(&writes, "a+"), "compile");
    wait(&writes, "remote_written", 1);
    let refused = daemon(&fleet, &fleet.reader, &denied, &["--remote-mode", "write", "--lookup", "first"]);
    assert_eq!((get(&denied, "a+"), get(&denied, "b+")), ("remote".into(), "compile".into()));
    wait(&denied, "remote_denied", 1);
    assert_eq!(number(&denied, "remote_writing_paused"), 1);
    assert!(refused.said().contains("refuses to be written to"), "{}", refused.said());
    let reader = daemon(&fleet, &fleet.reader, &reads, &["--lookup", "first", "--remote-budget-ms", "500"]);
    assert_eq!(get(&reads, "a+"), "remote");
    // It stops in the middle of everything.
    server.signal("-STOP");
    for number in 1..=8 {
        assert_eq!(get(&reads, &format!("c{{{number}}}")), "compile");
    }
    let (timeouts, skipped) = (number(&reads, "remote_timeouts"), number(&reads, "remote_skipped"));
    assert!(timeouts >= 5 && timeouts + skipped == 8, "{timeouts} and {skipped}");
    assert_eq!(get(&reads, "a+"), "map");
    server.signal("-CONT");
    let begun = Instant::now();
    for number in 1.. {
        assert!(begun.elapsed() < Duration::from_secs(30));
        get(&reads, &format!("d{{{number}}}"));
        if one(&reads, 0, &["status"])["remote_reading_paused"] == 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    // It dies.
    drop(server);
    for number in 1..=8 {
        assert_eq!(get(&reads, &format!("e{{{number}}}")), "compile");
    }
    assert_eq!(number(&reads, "remote_reading_paused"), 1);
    let began_without = home.path().join("without");
    let late = daemon(&fleet, &fleet.reader, &began_without, &["--pull", "everyday"]);
    assert_eq!(get(&began_without, "a+"), "compile");
    for daemon in [writer, refused, reader, late] {
        daemon.terminate();
    }
}
